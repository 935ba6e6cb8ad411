variable "zones" {
  type        = list(string)
  default     = ["a", "b"]
  description = "The letters of two availability zones. All nodes are in the first; EKS asks for subnets in two."
  validation {
    condition     = length(distinct(var.zones)) == 2 && length(var.zones) == 2
    error_message = "Name two zones."
  }
}

variable "instance_type" {
  type        = string
  default     = "c5.large"
  description = "The type of all nodes, of the architecture x86_64. It must support cluster placement groups."
}

variable "kubernetes_version" {
  type        = string
  default     = null
  description = "The version of Kubernetes, for example 1.35. Without it, EKS takes its default."
}

variable "nearfar_owner" {
  type        = string
  description = "Who makes the cluster. nearfar sets it."
}

variable "nearfar_run" {
  type        = string
  description = "The name of the experiment. nearfar sets it."
}

variable "nearfar_expires" {
  type        = string
  description = "Until when the cluster is meant to exist. nearfar sets it."
}

locals {
  tags = {
    nearfar_owner   = var.nearfar_owner
    nearfar_run     = var.nearfar_run
    nearfar_expires = var.nearfar_expires
  }
  # Names of clusters and groups are unique in a region of an account, which several people may share.
  name = "nearfar-eks-${substr(sha256("${var.nearfar_owner} ${var.nearfar_run}"), 0, 8)}"
}
