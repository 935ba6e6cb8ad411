variable "os" {
  description = "The system of all VMs: windows, as in the article, or linux."
  type        = string
  default     = "windows"
  validation {
    condition     = contains(["windows", "linux"], var.os)
    error_message = "Write windows or linux."
  }
}

variable "arms" {
  description = "For which arms VMs are made, two for each. The article has neither and proximity-accelerated."
  type        = list(string)
  default     = ["neither", "accelerated", "proximity", "proximity-accelerated"]
  validation {
    condition = alltrue([for arm in var.arms :
    contains(["neither", "accelerated", "proximity", "proximity-accelerated"], arm)])
    error_message = "The arms are neither, accelerated, proximity and proximity-accelerated."
  }
}

variable "location" {
  description = "Region of Azure. The article's is Australia East."
  type        = string
  default     = "australiaeast"
}

variable "size" {
  description = "Size of all VMs, on which accelerated networking can be on and off. README.md says why this one."
  type        = string
  default     = "Standard_D4as_v5"
}

variable "admin" {
  description = "Name of the user that ssh logs in."
  type        = string
  default     = "azureuser"
}

variable "admin_password" {
  description = "Password of that user on Windows. ssh uses the key. OpenTofu's state has it."
  type        = string
  sensitive   = true
  default     = null
}

variable "public_key" {
  description = "The public key of that user, as in ~/.ssh/id_ed25519.pub."
  type        = string
  validation {
    condition     = !strcontains(var.public_key, "'")
    error_message = "The comment of the key cannot have an apostrophe."
  }
}

variable "ssh_from" {
  description = "From where ssh may reach the VMs: an address range such as 203.0.113.7/32."
  type        = string
}

variable "latte_url" {
  description = "Where the VMs download latte from."
  type        = string
  default     = "https://github.com/microsoft/latte/releases/download/v0/latte.exe"
}

variable "latte_sha256" {
  description = "SHA-256 of latte.exe, from your own download of latte_url. The VMs refuse any other file."
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
