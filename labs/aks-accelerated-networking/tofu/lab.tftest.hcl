# `tofu test` runs this without a cloud: the provider is a mock. azurerm reads identifiers: the mock's have their form.

mock_provider "azurerm" {
  mock_resource "azurerm_kubernetes_cluster" {
    defaults = {
      id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/m"
    }
  }
}

variables {
  nearfar_owner   = "me@here"
  nearfar_run     = "test"
  nearfar_expires = "2026-11-21T19:22:00Z"
}

run "linux" {
  command = apply
  assert {
    condition = alltrue([for name, pool in azurerm_kubernetes_cluster_node_pool.this :
    pool.os_type == "Linux" && pool.node_count == 2])
    error_message = "Both pools have two nodes with Linux."
  }
  assert {
    condition = (azurerm_kubernetes_cluster_node_pool.this["linoff"].vm_size == var.size_without &&
    azurerm_kubernetes_cluster_node_pool.this["linon"].vm_size == var.size_with)
    error_message = "The size of a pool's VMs decides about accelerated networking."
  }
  assert {
    condition = alltrue([for settings in concat([azurerm_kubernetes_cluster.this.default_node_pool[0].upgrade_settings],
      [for pool in azurerm_kubernetes_cluster_node_pool.this : pool.upgrade_settings]) :
    settings[0].max_surge == "10%" && settings[0].undrainable_node_behavior == "Schedule"])
    error_message = "Each pool has the settings that AKS gives it anyway: else azurerm would replace it."
  }
  assert {
    condition     = output.pools == { plain = "linoff", accelerated = "linon" }
    error_message = "The output names the pools."
  }
}

run "windows" {
  command = apply
  variables {
    os             = "windows"
    admin_password = "not-a-real-1-Password"
    latte_sha256   = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
  }
  assert {
    condition = alltrue([for name, pool in azurerm_kubernetes_cluster_node_pool.this :
    pool.os_type == "Windows" && pool.node_count == 2 && length(name) <= 6])
    error_message = "Both pools have two nodes with Windows, and names that AKS takes."
  }
  assert {
    condition = (azurerm_kubernetes_cluster_node_pool.this["winoff"].vm_size !=
    azurerm_kubernetes_cluster_node_pool.this["winon"].vm_size)
    error_message = "The size of a pool's VMs decides about accelerated networking."
  }
}

run "windows_without_a_password" {
  command = plan
  variables {
    os             = "windows"
    admin_password = null
    latte_sha256   = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
  }
  expect_failures = [azurerm_kubernetes_cluster.this]
}

run "windows_without_latte" {
  command = plan
  variables {
    os             = "windows"
    admin_password = "not-a-real-1-Password"
    latte_sha256   = "latest"
  }
  expect_failures = [azurerm_kubernetes_cluster.this]
}

# https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules: a cluster has at most 63
# letters, digits, underscores and hyphens. The group of its nodes is a label of Kubernetes, which has at most 63.
run "longest_name" {
  command = apply
  variables {
    nearfar_run = "A.long_name.of-a-run.with-all-that-names.may_have.0123456789.en."
  }
  assert {
    condition = alltrue([for name in [
      azurerm_kubernetes_cluster.this.name, azurerm_kubernetes_cluster.this.node_resource_group,
    ] : can(regex("^nearfar-[a-z0-9-]{1,54}[a-z0-9]$", name))])
    error_message = "The longest name of a run makes a name that AKS refuses."
  }
}
