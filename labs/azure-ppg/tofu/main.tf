# For each arm, a pair of VMs: one in the subnet front, the other in the subnet back. An arm has a proximity
# placement group or none, and accelerated networking or none.

terraform {
  required_version = ">= 1.8"
  required_providers {
    azurerm = {
      source  = "hashicorp/azurerm"
      version = "5.2.0"
    }
  }
}

# The subscription and the credentials come from the environment or from `az login`.
provider "azurerm" {
  # Version 5 registers no resource providers by itself. In a new subscription, most are not registered.
  resource_providers_to_register = ["Microsoft.Compute", "Microsoft.DevTestLab", "Microsoft.Network"]
  features {
    # What Azure could not finish exists all the same. Without its id in the state, neither a second attempt nor
    # `nearfar down` could get rid of it.
    persist_id_on_create_before_polling_for_completion = true
    resource_group {
      # The group goes with all that is in it, also with what Azure itself has made there.
      prevent_deletion_if_contains_resources = false
    }
  }
}

locals {
  # A short name of the run, which all names below begin with: Azure's limits are 63 characters and more.
  plain = replace(lower(var.nearfar_run), "/[^a-z0-9-]/", "-")
  short = (local.plain == var.nearfar_run && length(local.plain) <= 40 && !endswith(local.plain, "-") ? local.plain :
  "${trim(substr(local.plain, 0, 31), "-")}-${substr(sha256(var.nearfar_run), 0, 8)}")
  name = "nearfar-${local.short}"
  # By these tags, what is left can be found without a state.
  tags = {
    nearfar_owner   = var.nearfar_owner
    nearfar_run     = var.nearfar_run
    nearfar_expires = var.nearfar_expires
  }
  # The 2 x 2. Names of computers have at most 15 characters on Windows, hence short.
  all = {
    neither               = { group = false, accelerated = false, short = "none" }
    accelerated           = { group = false, accelerated = true, short = "an" }
    proximity             = { group = true, accelerated = false, short = "ppg" }
    proximity-accelerated = { group = true, accelerated = true, short = "ppg-an" }
  }
  tiers = ["front", "back"]
  # One entry for each VM: "neither-front", "neither-back" and so on.
  vms = merge([for arm in var.arms : {
    for tier in local.tiers : "${arm}-${tier}" => merge(local.all[arm], { arm = arm, tier = tier })
  }]...)
  windows = var.os == "windows"
}

resource "azurerm_resource_group" "this" {
  name     = local.name
  location = var.location
  tags     = local.tags
}

resource "azurerm_virtual_network" "this" {
  name                = local.name
  location            = azurerm_resource_group.this.location
  resource_group_name = azurerm_resource_group.this.name
  address_space       = ["10.0.0.0/16"]
  tags                = local.tags
}

resource "azurerm_subnet" "this" {
  for_each             = { for i, tier in local.tiers : tier => i }
  name                 = each.key
  resource_group_name  = azurerm_resource_group.this.name
  virtual_network_name = azurerm_virtual_network.this.name
  address_prefixes     = ["10.0.${each.value}.0/24"]
}

# Azure's default rules let the VMs of a virtual network reach each other.
resource "azurerm_network_security_group" "this" {
  name                = local.name
  location            = azurerm_resource_group.this.location
  resource_group_name = azurerm_resource_group.this.name
  tags                = local.tags
  security_rule {
    name                       = "ssh"
    priority                   = 100
    direction                  = "Inbound"
    access                     = "Allow"
    protocol                   = "Tcp"
    source_address_prefix      = var.ssh_from
    source_port_range          = "*"
    destination_address_prefix = "*"
    destination_port_range     = "22"
  }
}

resource "azurerm_subnet_network_security_group_association" "this" {
  for_each                  = azurerm_subnet.this
  subnet_id                 = each.value.id
  network_security_group_id = azurerm_network_security_group.this.id
}

# One group for both arms that have one. It stays in its data centre until its last VM is deleted.
resource "azurerm_proximity_placement_group" "this" {
  name                = local.name
  location            = azurerm_resource_group.this.location
  resource_group_name = azurerm_resource_group.this.name
  tags                = local.tags
}

# As in the article, each tier has its availability set, and the set is in the group. Each arm has its own two sets: a
# set with accelerated networking can only be placed on hardware that has it.
resource "azurerm_availability_set" "this" {
  for_each                     = local.vms
  name                         = each.key
  location                     = azurerm_resource_group.this.location
  resource_group_name          = azurerm_resource_group.this.name
  platform_fault_domain_count  = 2
  proximity_placement_group_id = each.value.group ? azurerm_proximity_placement_group.this.id : null
  tags                         = local.tags
}

resource "azurerm_public_ip" "this" {
  for_each            = local.vms
  name                = each.key
  location            = azurerm_resource_group.this.location
  resource_group_name = azurerm_resource_group.this.name
  allocation_method   = "Static"
  sku                 = "Standard"
  tags                = local.tags
}

resource "azurerm_network_interface" "this" {
  for_each                       = local.vms
  name                           = each.key
  location                       = azurerm_resource_group.this.location
  resource_group_name            = azurerm_resource_group.this.name
  accelerated_networking_enabled = each.value.accelerated
  tags                           = local.tags
  ip_configuration {
    name                          = "ip"
    subnet_id                     = azurerm_subnet.this[each.value.tier].id
    private_ip_address_allocation = "Dynamic"
    public_ip_address_id          = azurerm_public_ip.this[each.key].id
  }
}

# A VM that shuts itself down still costs its size; a deallocated one does not. The schedule repeats each day at the
# time of day of nearfar_expires, so a ttl of a day or more ends early.
resource "azurerm_dev_test_global_vm_shutdown_schedule" "this" {
  for_each              = local.vms
  virtual_machine_id    = local.ids[each.key]
  location              = azurerm_resource_group.this.location
  enabled               = true
  daily_recurrence_time = formatdate("hhmm", var.nearfar_expires)
  timezone              = "UTC"
  tags                  = local.tags
  notification_settings {
    enabled = false
  }
}
