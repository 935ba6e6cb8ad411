locals {
  ids = merge(
    { for name, vm in azurerm_windows_virtual_machine.this : name => vm.id },
    { for name, vm in azurerm_linux_virtual_machine.this : name => vm.id },
  )
}

# How nearfar reaches each VM. It measures between the private addresses. On Windows, the agent and latte are where
# setup.ps1 has made folders for them.
output "hosts" {
  value = {
    for name, vm in local.vms : name => {
      ssh     = "${var.admin}@${azurerm_public_ip.this[name].ip_address}"
      address = azurerm_network_interface.this[name].private_ip_address
      command = local.windows ? "C:\\nearfar\\nearfar-agent.exe --stdio" : null
      tools   = local.windows ? { latte = "C:\\tools\\latte.exe" } : null
    }
  }
  # A host is ready when its VM is, and on Windows when its script has ended.
  depends_on = [azurerm_linux_virtual_machine.this, azurerm_virtual_machine_extension.setup]
}

# What was installed as latte, for the record. It is in the state.
output "latte" {
  value = local.windows ? { url = var.latte_url, sha256 = lower(coalesce(var.latte_sha256, "none")) } : null
}
