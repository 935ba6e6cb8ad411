# How nearfar reaches each VM. It measures between the private addresses.
output "hosts" {
  value = {
    for name, vm in azurerm_linux_virtual_machine.this : name => {
      ssh     = "${var.admin}@${azurerm_public_ip.this[name].ip_address}"
      address = azurerm_network_interface.this[name].private_ip_address
    }
  }
}
