# The version of the provider. `tofu init` adds the hashes of the packages that it downloads: put them under version
# control too.

provider "registry.opentofu.org/hashicorp/azurerm" {
  version     = "5.2.0"
  constraints = "5.2.0"
}
