# `tofu test` runs this without a cloud: the provider is a mock. azurerm reads identifiers: the mock's have their form.

mock_provider "azurerm" {
  mock_resource "azurerm_availability_set" {
    defaults = {
      id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.Compute/availabilitySets/m"
    }
  }
  mock_resource "azurerm_linux_virtual_machine" {
    defaults = {
      id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/m"
    }
  }
  mock_resource "azurerm_network_interface" {
    defaults = {
      id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.Network/networkInterfaces/m"
    }
  }
  mock_resource "azurerm_network_security_group" {
    defaults = {
      id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.Network/networkSecurityGroups/m"
    }
  }
  mock_resource "azurerm_proximity_placement_group" {
    defaults = {
      id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.Compute/proximityPlacementGroups/m"
    }
  }
  mock_resource "azurerm_public_ip" {
    defaults = {
      id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.Network/publicIPAddresses/m"
    }
  }
  mock_resource "azurerm_subnet" {
    defaults = {
      id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/m/subnets/m"
    }
  }
  mock_resource "azurerm_windows_virtual_machine" {
    defaults = {
      id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/m"
    }
  }
}

variables {
  public_key      = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG5lYXJmYXIgdGVzdHMsIG5vdCBhIGtleSBvZiBhbnli test"
  ssh_from        = "203.0.113.7/32"
  admin_password  = "not-a-real-1-Password"
  latte_sha256    = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
  nearfar_owner   = "me@here"
  nearfar_run     = "test"
  nearfar_expires = "2026-11-21T19:22:00Z"
}

run "two_by_two" {
  command = apply
  assert {
    condition     = length(azurerm_windows_virtual_machine.this) == 8 && length(azurerm_linux_virtual_machine.this) == 0
    error_message = "Each of four arms has two VMs with Windows."
  }
  assert {
    condition = alltrue([for name, vm in azurerm_windows_virtual_machine.this :
    (vm.proximity_placement_group_id == azurerm_proximity_placement_group.this.id) == startswith(name, "proximity")])
    error_message = "The group has the VMs of the arms with proximity, and no others."
  }
  assert {
    condition = alltrue([for name, set in azurerm_availability_set.this :
    (set.proximity_placement_group_id == azurerm_proximity_placement_group.this.id) == startswith(name, "proximity")])
    error_message = "An availability set is in the group if its VMs are."
  }
  assert {
    condition = alltrue([for name, nic in azurerm_network_interface.this :
    nic.accelerated_networking_enabled == strcontains(name, "accelerated")])
    error_message = "Accelerated networking is on in the arms that have it in their name, and in no others."
  }
  assert {
    condition     = alltrue([for vm in azurerm_windows_virtual_machine.this : length(vm.computer_name) <= 15])
    error_message = "Windows takes at most 15 characters."
  }
}

run "article" {
  command = apply
  variables {
    arms = ["neither", "proximity-accelerated"]
  }
  assert {
    condition     = length(azurerm_windows_virtual_machine.this) == 4
    error_message = "The article has four VMs."
  }
}

run "end" {
  command = apply
  assert {
    condition = length(azurerm_dev_test_global_vm_shutdown_schedule.this) == 8 && alltrue([
      for s in azurerm_dev_test_global_vm_shutdown_schedule.this :
      s.daily_recurrence_time == "1922" && s.timezone == "UTC" && s.enabled
    ])
    error_message = "Azure deallocates each VM at the time of nearfar_expires."
  }
  assert {
    condition = alltrue([for vm in azurerm_windows_virtual_machine.this :
    strcontains(base64decode(vm.custom_data), "Parse('2026-11-21T19:22:00Z')")])
    error_message = "Each VM shuts itself down."
  }
}

run "linux" {
  command = apply
  variables {
    os             = "linux"
    size           = "Standard_D4as_v5"
    admin_password = null
  }
  assert {
    condition     = length(azurerm_linux_virtual_machine.this) == 8 && length(azurerm_windows_virtual_machine.this) == 0
    error_message = "The variant has Linux on all VMs."
  }
  assert {
    condition = alltrue([for name, vm in azurerm_linux_virtual_machine.this :
    (vm.proximity_placement_group_id == azurerm_proximity_placement_group.this.id) == startswith(name, "proximity")])
    error_message = "The group has the VMs of the arms with proximity, and no others."
  }
  assert {
    condition     = output.hosts["neither-front"].command == null && output.hosts["neither-front"].tools == null
    error_message = "nearfar copies its agent to Linux."
  }
}

run "windows_without_a_password" {
  command = plan
  variables {
    admin_password = null
  }
  expect_failures = [azurerm_windows_virtual_machine.this]
}

# https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules: networks have at most 64
# characters, groups do not end with a period.
run "longest_name" {
  command = apply
  variables {
    nearfar_run = "A.long_name.of-a-run.with-all-that-names.may_have.0123456789.en."
  }
  assert {
    condition = (can(regex("^nearfar-[a-z0-9-]{1,39}[a-z0-9]$", azurerm_resource_group.this.name)) &&
    azurerm_virtual_network.this.name == azurerm_resource_group.this.name)
    error_message = "The longest name of a run makes a name that Azure refuses."
  }
  assert {
    condition     = azurerm_resource_group.this.tags.nearfar_run == var.nearfar_run
    error_message = "The tag has the whole name, by which what is left is found."
  }
}

run "latte" {
  command = apply
  assert {
    condition = alltrue([for vm in azurerm_windows_virtual_machine.this : strcontains(base64decode(vm.custom_data),
    "if ($hash -ne '00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff')")])
    error_message = "Each VM compares the hash of latte."
  }
  assert {
    condition     = output.latte.sha256 == "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
    error_message = "What is installed is recorded."
  }
}

run "latte_without_hash" {
  command = plan
  variables {
    latte_sha256 = null
  }
  expect_failures = [azurerm_windows_virtual_machine.this]
}
