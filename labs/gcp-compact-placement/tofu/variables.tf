variable "project" {
  description = "ID of the project of Google Cloud."
  type        = string
}

variable "region" {
  description = "Region of the network and of the policy."
  type        = string
  default     = "europe-west4"
}

variable "zone" {
  description = "Zone of all VMs, in that region."
  type        = string
  default     = "europe-west4-a"
}

variable "machine_type" {
  description = "Type of all VMs. Compact placement needs a series that supports it, such as C2, C3 or N2."
  type        = string
  default     = "c2-standard-4"
}

variable "admin" {
  description = "Name of the user that ssh logs in."
  type        = string
  default     = "nearfar"
}

variable "public_key" {
  description = "The public key of that user, as in ~/.ssh/id_ed25519.pub."
  type        = string
}

variable "ssh_from" {
  description = "From where ssh may reach the VMs: an address range such as 203.0.113.7/32."
  type        = string
}

variable "nearfar_owner" {
  description = "Whose the machines are. nearfar gives it."
  type        = string
}

variable "nearfar_run" {
  description = "Name of the experiment. nearfar gives it."
  type        = string
}

variable "nearfar_expires" {
  description = "Until when the machines are meant to exist, such as 2026-11-21T19:22:00Z. nearfar gives it."
  type        = string
}
