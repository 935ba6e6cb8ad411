variable "zone" {
  type        = string
  default     = "a"
  description = "The letter of the availability zone. All machines are in this zone."
}

variable "instance_type" {
  type        = string
  default     = "c6gn.4xlarge"
  description = "The type of all machines. It must support cluster placement groups and ENA Express."
}

variable "architecture" {
  type        = string
  default     = "arm64"
  description = "The architecture of instance_type."
  validation {
    condition     = contains(["arm64", "x86_64"], var.architecture)
    error_message = "The architecture is arm64 or x86_64."
  }
}

variable "public_key" {
  type        = string
  description = "The public key with which you log in, as a line of authorized_keys."
}

variable "ssh_from" {
  type        = string
  description = "The addresses from which you log in, for example 203.0.113.7/32."
}

variable "nearfar_owner" {
  type        = string
  description = "Who makes the machines. nearfar sets it."
}

variable "nearfar_run" {
  type        = string
  description = "The name of the experiment. nearfar sets it."
}

variable "nearfar_expires" {
  type        = string
  description = "When the machines end themselves, for example 2026-11-21T19:22:00Z. nearfar sets it."
  validation {
    condition     = can(formatdate("YYYY", var.nearfar_expires))
    error_message = "Write the time as 2026-11-21T19:22:00Z."
  }
}

locals {
  tags = {
    nearfar_owner   = var.nearfar_owner
    nearfar_run     = var.nearfar_run
    nearfar_expires = var.nearfar_expires
  }
  # Names of groups and keys are unique in a region of an account, which several people may share.
  name = "nearfar-ec2-${substr(sha256("${var.nearfar_owner} ${var.nearfar_run}"), 0, 8)}"
}
