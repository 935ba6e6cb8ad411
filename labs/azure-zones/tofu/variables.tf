variable "location" {
  description = "Region of Azure. It must have zones."
  type        = string
  default     = "westeurope"
}

variable "size" {
  description = "Size of all VMs. It must have accelerated networking. The article's is the default."
  type        = string
  default     = "Standard_D4as_v4"
}

variable "zones" {
  description = "The zones of the pair across zones. Their numbers mean other data centres in each subscription."
  type        = list(string)
  default     = ["1", "3"]
  validation {
    condition     = length(distinct(var.zones)) == 2
    error_message = "Give two different zones."
  }
}

variable "admin" {
  description = "Name of the user that ssh logs in."
  type        = string
  default     = "azureuser"
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
