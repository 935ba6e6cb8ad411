terraform {
  required_version = ">= 1.8"
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "6.47.0"
    }
  }
}

# Your own AWS configuration, such as AWS_REGION, gives the region and the credentials.
provider "aws" {
  # The default is 25, which is an hour for InsufficientInstanceCapacity, while the other machines cost. nearfar itself
  # tries again, as the file says.
  max_retries = 3
}

data "aws_region" "this" {}
