# The hosts are pods, which nearfar makes through your kubeconfig.
output "hosts" {
  value = {}
}

# For `az aks get-credentials` and `nearfar migrate-pool`.
output "cluster" {
  value = {
    resource_group = azurerm_resource_group.this.name
    name           = azurerm_kubernetes_cluster.this.name
  }
}

# For the variables PLAIN and ACCELERATED of the experiment.
output "pools" {
  value = {
    plain       = local.windows ? "winoff" : "linoff"
    accelerated = local.windows ? "winon" : "linon"
  }
  depends_on = [azurerm_kubernetes_cluster_node_pool.this]
}
