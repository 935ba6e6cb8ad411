# An AKS cluster with two pools of the same system: one whose size of VM has accelerated networking, and one whose size
# has not. AKS has no switch for it: a pool gets it if its size supports it.

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
  resource_providers_to_register = ["Microsoft.Compute", "Microsoft.ContainerService", "Microsoft.Network"]
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
  # By these tags, what is left can be found without a state. AKS gives the tags of the cluster and of a pool to what it
  # makes for them.
  tags = {
    nearfar_owner   = var.nearfar_owner
    nearfar_run     = var.nearfar_run
    nearfar_expires = var.nearfar_expires
  }
  windows = var.os == "windows"
  # Names of Windows pools have at most 6 characters.
  pools = local.windows ? {
    winoff = var.size_without
    winon  = var.size_with
    } : {
    linoff = var.size_without
    linon  = var.size_with
  }
}

resource "azurerm_resource_group" "this" {
  name     = local.name
  location = var.location
  tags     = local.tags
}

resource "azurerm_kubernetes_cluster" "this" {
  name                = local.name
  location            = azurerm_resource_group.this.location
  resource_group_name = azurerm_resource_group.this.name
  dns_prefix          = "nearfar"
  # Where AKS makes the nodes. Its own name for it would have group, cluster and region, and more than the 80 characters
  # that it may have; nodes have it as a label, which has at most 63.
  node_resource_group = "${local.name}-nodes"
  tags                = local.tags
  # The pool of AKS itself, which always has Linux. Nothing is measured there.
  default_node_pool {
    name       = "system"
    vm_size    = var.size_with
    node_count = 1
    tags       = local.tags
    # What AKS gives to every pool. If the module did not say it, azurerm would take it for a change by somebody else,
    # and replace the whole cluster at the next `nearfar up`.
    upgrade_settings {
      max_surge                 = "10%"
      undrainable_node_behavior = "Schedule"
    }
  }
  # Azure itself would else add nodes of sizes that it chooses.
  node_provisioning_profile {
    mode = "Manual"
  }
  identity {
    type = "SystemAssigned"
  }
  # Windows pools need this plugin.
  network_profile {
    network_plugin = "azure"
  }
  dynamic "windows_profile" {
    for_each = local.windows ? [1] : []
    content {
      admin_username = "azureuser"
      admin_password = var.admin_password
    }
  }
  lifecycle {
    precondition {
      condition     = !local.windows || var.admin_password != null
      error_message = "Windows needs admin_password."
    }
    precondition {
      condition = !local.windows || can(regex("^[0-9a-fA-F]{64}$", var.latte_sha256))
      error_message = join(" ", [
        "Windows needs latte_sha256: new nodes have no latte, and latte.sh brings it when they are up.",
        "Download https://github.com/microsoft/latte/releases/download/v0/latte.exe yourself, and give what sha256sum says.",
      ])
    }
  }
}

resource "azurerm_kubernetes_cluster_node_pool" "this" {
  for_each              = local.pools
  name                  = each.key
  kubernetes_cluster_id = azurerm_kubernetes_cluster.this.id
  vm_size               = each.value
  node_count            = 2
  os_type               = local.windows ? "Windows" : "Linux"
  os_sku                = local.windows ? "Windows2022" : "Ubuntu"
  tags                  = local.tags
  upgrade_settings {
    max_surge                 = "10%"
    undrainable_node_behavior = "Schedule"
  }
}
