# The version of the provider. `tofu init` adds the hashes of the packages that it downloads: put them under version
# control too.

provider "registry.opentofu.org/hashicorp/google" {
  version     = "7.19.0"
  constraints = "7.19.0"
}
