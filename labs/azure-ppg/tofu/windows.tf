# The VMs with Windows, and what they do when they start for the first time.

resource "azurerm_windows_virtual_machine" "this" {
  for_each                     = local.windows ? local.vms : {}
  name                         = each.key
  computer_name                = "${each.value.short}-${each.value.tier}"
  location                     = azurerm_resource_group.this.location
  resource_group_name          = azurerm_resource_group.this.name
  size                         = var.size
  availability_set_id          = azurerm_availability_set.this[each.key].id
  proximity_placement_group_id = each.value.group ? azurerm_proximity_placement_group.this.id : null
  network_interface_ids        = [azurerm_network_interface.this[each.key].id]
  admin_username               = var.admin
  admin_password               = var.admin_password
  custom_data = base64encode(templatefile("${path.module}/setup.ps1", {
    expires      = var.nearfar_expires, public_key = var.public_key, latte_url = var.latte_url,
    latte_sha256 = lower(coalesce(var.latte_sha256, "none"))
  }))
  tags = local.tags
  os_disk {
    caching              = "ReadWrite"
    storage_account_type = "Standard_LRS"
  }
  source_image_reference {
    publisher = "MicrosoftWindowsServer"
    offer     = "WindowsServer"
    sku       = "2022-datacenter"
    version   = "latest"
  }
  lifecycle {
    precondition {
      condition     = var.admin_password != null
      error_message = "Windows needs admin_password."
    }
    precondition {
      condition     = can(regex("^[0-9a-fA-F]{64}$", var.latte_sha256))
      error_message = "Windows needs latte_sha256: download ${var.latte_url} yourself, and give what sha256sum says of it."
    }
  }
}

# Runs the script that Azure has put on the VM as its custom data.
resource "azurerm_virtual_machine_extension" "setup" {
  for_each             = azurerm_windows_virtual_machine.this
  name                 = "setup"
  virtual_machine_id   = each.value.id
  publisher            = "Microsoft.Compute"
  type                 = "CustomScriptExtension"
  type_handler_version = "1.10"
  tags                 = local.tags
  settings = jsonencode({
    commandToExecute = join("; ", [
      "powershell -NoProfile -ExecutionPolicy Bypass -Command \"$ErrorActionPreference = 'Stop'",
      "Copy-Item C:\\AzureData\\CustomData.bin C:\\AzureData\\setup.ps1",
      "& C:\\AzureData\\setup.ps1\"",
    ])
  })
}
