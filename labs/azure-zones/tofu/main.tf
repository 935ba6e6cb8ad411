# Six Linux VMs in one region and one virtual network: a pair across two zones, a pair in an availability set, and a
# pair in a proximity placement group.

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
  # A VM is in a zone, in the availability set, or in the proximity placement group.
  vms = {
    zone-client  = { zone = var.zones[0], set = false, group = false }
    zone-server  = { zone = var.zones[1], set = false, group = false }
    set-client   = { zone = null, set = true, group = false }
    set-server   = { zone = null, set = true, group = false }
    group-client = { zone = null, set = false, group = true }
    group-server = { zone = null, set = false, group = true }
  }
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
  name                 = "vms"
  resource_group_name  = azurerm_resource_group.this.name
  virtual_network_name = azurerm_virtual_network.this.name
  address_prefixes     = ["10.0.1.0/24"]
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
  subnet_id                 = azurerm_subnet.this.id
  network_security_group_id = azurerm_network_security_group.this.id
}

resource "azurerm_availability_set" "this" {
  name                        = local.name
  location                    = azurerm_resource_group.this.location
  resource_group_name         = azurerm_resource_group.this.name
  platform_fault_domain_count = 2
  tags                        = local.tags
}

resource "azurerm_proximity_placement_group" "this" {
  name                = local.name
  location            = azurerm_resource_group.this.location
  resource_group_name = azurerm_resource_group.this.name
  tags                = local.tags
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
  accelerated_networking_enabled = true # as in the article
  tags                           = local.tags
  ip_configuration {
    name                          = "ip"
    subnet_id                     = azurerm_subnet.this.id
    private_ip_address_allocation = "Dynamic"
    public_ip_address_id          = azurerm_public_ip.this[each.key].id
  }
}

resource "azurerm_linux_virtual_machine" "this" {
  for_each                     = local.vms
  name                         = each.key
  location                     = azurerm_resource_group.this.location
  resource_group_name          = azurerm_resource_group.this.name
  size                         = var.size
  zone                         = each.value.zone
  availability_set_id          = each.value.set ? azurerm_availability_set.this.id : null
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
    storage_account_type = "StandardSSD_LRS"
  }
  source_image_reference {
    publisher = "Canonical"
    offer     = "ubuntu-24_04-lts"
    sku       = "server"
    version   = "latest"
  }
}

# A VM that shuts itself down still costs its size; a deallocated one does not. The schedule repeats each day at the
# time of day of nearfar_expires, so a ttl of a day or more ends early.
resource "azurerm_dev_test_global_vm_shutdown_schedule" "this" {
  for_each              = local.vms
  virtual_machine_id    = azurerm_linux_virtual_machine.this[each.key].id
  location              = azurerm_resource_group.this.location
  enabled               = true
  daily_recurrence_time = formatdate("hhmm", var.nearfar_expires)
  timezone              = "UTC"
  tags                  = local.tags
  notification_settings {
    enabled = false
  }
}
