# The VMs with Linux.

resource "azurerm_linux_virtual_machine" "this" {
  for_each                     = local.windows ? {} : local.vms
  name                         = each.key
  location                     = azurerm_resource_group.this.location
  resource_group_name          = azurerm_resource_group.this.name
  size                         = var.size
  availability_set_id          = azurerm_availability_set.this[each.key].id
  proximity_placement_group_id = each.value.group ? azurerm_proximity_placement_group.this.id : null
  network_interface_ids        = [azurerm_network_interface.this[each.key].id]
  admin_username               = var.admin
  custom_data = base64encode(templatefile("${path.module}/cloud-init.yaml", {
    expires = var.nearfar_expires
  }))
  tags = local.tags
  admin_ssh_key {
    username   = var.admin
    public_key = var.public_key
  }
  os_disk {
    caching              = "ReadWrite"
    storage_account_type = "Standard_LRS"
  }
  source_image_reference {
    publisher = "Canonical"
    offer     = "ubuntu-24_04-lts"
    sku       = "server-gen1"
    version   = "latest"
  }
}
