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
provider "aws" {}

data "aws_region" "this" {}
