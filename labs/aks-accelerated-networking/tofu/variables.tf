variable "os" {
  description = "The system of both pools: linux or windows."
  type        = string
  default     = "linux"
  validation {
    condition     = contains(["windows", "linux"], var.os)
    error_message = "Write windows or linux."
  }
}

variable "location" {
  description = "Region of Azure."
  type        = string
  default     = "westeurope"
}

variable "size_with" {
  description = "Size of VM that has accelerated networking. ../sizes.sh chooses one that you can have."
  type        = string
  default     = "Standard_D4as_v5"
}

variable "size_without" {
  description = "Size of VM that does not have it, with as many CPUs. ../sizes.sh chooses one that you can have."
  type        = string
  default     = "Standard_A4_v2"
}

variable "admin_password" {
  description = "Password of the administrator of Windows nodes. OpenTofu's state has it."
  type        = string
  sensitive   = true
  default     = null
}

variable "latte_sha256" {
  description = "SHA-256 of latte.exe, from your own download. New Windows nodes have no latte: ../latte.sh brings it."
  type        = string
  default     = null
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
