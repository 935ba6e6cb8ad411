# How nearfar reaches each VM. It measures between the private addresses.
output "hosts" {
  value = {
    for name, vm in google_compute_instance.this : name => {
      ssh     = "${var.admin}@${vm.network_interface[0].access_config[0].nat_ip}"
      address = vm.network_interface[0].network_ip
    }
  }
}
