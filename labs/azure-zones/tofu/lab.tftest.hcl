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
}

variables {
  public_key      = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG5lYXJmYXIgdGVzdHMsIG5vdCBhIGtleSBvZiBhbnli test"
  ssh_from        = "203.0.113.7/32"
  nearfar_owner   = "me@here"
  nearfar_run     = "test"
  nearfar_expires = "2026-11-21T19:22:00Z"
}

run "placement" {
  command = apply
  assert {
    condition = alltrue([for name, vm in azurerm_linux_virtual_machine.this :
    vm.zone == lookup({ zone-client = "1", zone-server = "3" }, name, null)])
    error_message = "Only the pair across zones is in zones, and in two."
  }
  assert {
    condition = alltrue([for name, vm in azurerm_linux_virtual_machine.this :
    (vm.availability_set_id == azurerm_availability_set.this.id) == startswith(name, "set-")])
    error_message = "Only the pair of the set is in the availability set."
  }
  assert {
    condition = alltrue([for name, vm in azurerm_linux_virtual_machine.this :
    (vm.proximity_placement_group_id == azurerm_proximity_placement_group.this.id) == startswith(name, "group-")])
    error_message = "Only the pair of the group is in the proximity placement group."
  }
  assert {
    condition     = alltrue([for nic in azurerm_network_interface.this : nic.accelerated_networking_enabled])
    error_message = "All VMs have accelerated networking."
  }
}

run "end" {
  command = apply
  assert {
    condition = alltrue([for s in azurerm_dev_test_global_vm_shutdown_schedule.this :
    s.daily_recurrence_time == "1922" && s.timezone == "UTC" && s.enabled])
    error_message = "Azure deallocates each VM at the time of nearfar_expires."
  }
  assert {
    condition = alltrue([for vm in azurerm_linux_virtual_machine.this :
    strcontains(base64decode(vm.custom_data), "date -d '2026-11-21T19:22:00Z'")])
    error_message = "Each VM shuts itself down."
  }
}

run "same_zone_twice" {
  command = plan
  variables {
    zones = ["1", "1"]
  }
  expect_failures = [var.zones]
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
