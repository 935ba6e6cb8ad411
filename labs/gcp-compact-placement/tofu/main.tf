# Two pairs of VMs in one zone: one with a compact placement policy, one without.

terraform {
  required_version = ">= 1.8"
  required_providers {
    google = {
      source  = "hashicorp/google"
      version = "7.19.0"
    }
  }
}

# The credentials come from the environment or from `gcloud auth application-default login`.
provider "google" {
  project = var.project
  region  = var.region
}

locals {
  # A short name of the run, which all names below begin with: Google's limit is 63 characters.
  plain = replace(lower(var.nearfar_run), "/[^a-z0-9-]/", "-")
  short = (local.plain == var.nearfar_run && length(local.plain) <= 40 && !endswith(local.plain, "-") ? local.plain :
  "${trim(substr(local.plain, 0, 31), "-")}-${substr(sha256(var.nearfar_run), 0, 8)}")
  name = "nearfar-${local.short}"
  # By these labels, what is left can be found without a state. A value has lower-case letters, digits, _ and
  # -, and at most 63 of them. Networks, firewall rules and policies take no labels: their names begin with local.name.
  labels = {
    for key, value in {
      nearfar_owner   = var.nearfar_owner
      nearfar_run     = var.nearfar_run
      nearfar_expires = var.nearfar_expires
    } : key => substr(replace(lower(value), "/[^a-z0-9_-]/", "-"), 0, 63)
  }
  vms = {
    compact-client = true
    compact-server = true
    default-client = false
    default-server = false
  }
}

resource "google_compute_network" "this" {
  name                    = local.name
  auto_create_subnetworks = false
}

resource "google_compute_subnetwork" "this" {
  name          = local.name
  network       = google_compute_network.this.id
  region        = var.region
  ip_cidr_range = "10.0.1.0/24"
}

resource "google_compute_firewall" "ssh" {
  name          = "${local.name}-ssh"
  network       = google_compute_network.this.id
  source_ranges = [var.ssh_from]
  allow {
    protocol = "tcp"
    ports    = ["22"]
  }
}

# The VMs reach each other on all ports: the tools use several.
resource "google_compute_firewall" "inside" {
  name          = "${local.name}-inside"
  network       = google_compute_network.this.id
  source_ranges = [google_compute_subnetwork.this.ip_cidr_range]
  allow {
    protocol = "tcp"
  }
  allow {
    protocol = "udp"
  }
  allow {
    protocol = "icmp"
  }
}

# Without a greatest distance, Google places the VMs as near to each other as it can at that moment.
resource "google_compute_resource_policy" "compact" {
  name   = local.name
  region = var.region
  group_placement_policy {
    collocation = "COLLOCATED"
  }
}

resource "google_compute_instance" "this" {
  for_each          = local.vms
  name              = "${local.name}-${each.key}"
  machine_type      = var.machine_type
  zone              = var.zone
  labels            = local.labels
  resource_policies = each.value ? [google_compute_resource_policy.compact.id] : null
  boot_disk {
    initialize_params {
      image  = "ubuntu-os-cloud/ubuntu-2404-lts-amd64"
      type   = "pd-balanced"
      labels = local.labels
    }
  }
  network_interface {
    subnetwork = google_compute_subnetwork.this.id
    nic_type   = "GVNIC"
    access_config {} # a public address
  }
  metadata = {
    ssh-keys       = "${var.admin}:${var.public_key}"
    enable-oslogin = "FALSE" # else the keys of the metadata are ignored
    user-data      = templatefile("${path.module}/cloud-init.yaml", { expires = var.nearfar_expires })
  }
  # Google deletes the VM with its disk when its time is over. A VM of the pair without policy must behave like one with
  # it under maintenance, so both are ended.
  scheduling {
    on_host_maintenance         = "TERMINATE"
    automatic_restart           = false
    provisioning_model          = "STANDARD"
    instance_termination_action = "DELETE"
    termination_time            = var.nearfar_expires
  }
}
