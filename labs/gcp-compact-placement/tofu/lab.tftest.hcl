# `tofu test` runs this without a cloud: the provider is a mock.

mock_provider "google" {}

variables {
  project         = "test"
  public_key      = "ssh-ed25519 AAAA test"
  ssh_from        = "203.0.113.7/32"
  nearfar_owner   = "Me@Here"
  nearfar_run     = "test"
  nearfar_expires = "2026-11-21T19:22:00Z"
}

run "placement" {
  command = apply
  assert {
    condition = alltrue([for name, vm in google_compute_instance.this :
      startswith(name, "compact-") ==
    contains(coalesce(vm.resource_policies, []), google_compute_resource_policy.compact.id)])
    error_message = "The policy is on the pair that has it in its name, and on no other."
  }
  assert {
    condition     = google_compute_resource_policy.compact.group_placement_policy[0].collocation == "COLLOCATED"
    error_message = "The policy is compact."
  }
  assert {
    condition     = length(distinct([for vm in google_compute_instance.this : "${vm.zone} ${vm.machine_type}"])) == 1
    error_message = "Apart from the policy, both pairs are alike."
  }
}

run "end" {
  command = apply
  assert {
    condition = alltrue([for vm in google_compute_instance.this :
      vm.scheduling[0].termination_time == "2026-11-21T19:22:00Z" &&
    vm.scheduling[0].instance_termination_action == "DELETE"])
    error_message = "Google deletes each VM at the time of nearfar_expires."
  }
  assert {
    condition = alltrue([for vm in google_compute_instance.this :
    strcontains(vm.metadata["user-data"], "date -d '2026-11-21T19:22:00Z'")])
    error_message = "Each VM shuts itself down."
  }
}

run "labels" {
  command = apply
  assert {
    condition = alltrue([for value in values(google_compute_instance.this["compact-client"].labels) :
    can(regex("^[a-z0-9_-]{1,63}$", value))])
    error_message = "Google takes no other characters."
  }
}

# https://cloud.google.com/compute/docs/naming-resources: at most 63 lower-case letters, digits and hyphens.
run "longest_name" {
  command = apply
  variables {
    nearfar_run = "A.long_name.of-a-run.with-all-that-names.may_have.0123456789.en."
  }
  assert {
    condition = alltrue([for name in concat([for vm in google_compute_instance.this : vm.name], [
      google_compute_network.this.name, google_compute_subnetwork.this.name, google_compute_firewall.ssh.name,
      google_compute_firewall.inside.name, google_compute_resource_policy.compact.name,
    ]) : can(regex("^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$", name))])
    error_message = "The longest name of a run makes a name that Google refuses."
  }
}
