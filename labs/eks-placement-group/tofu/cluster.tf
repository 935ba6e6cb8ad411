data "aws_partition" "this" {}

locals {
  # Roles by the service that takes them, with the policies of AWS that EKS asks for.
  policies = {
    eks = ["AmazonEKSClusterPolicy"]
    ec2 = ["AmazonEC2ContainerRegistryReadOnly", "AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy"]
  }
  attachments = merge([
    for service, names in local.policies : { for name in names : name => service }
  ]...)
}

resource "aws_iam_role" "this" {
  for_each    = local.policies
  name_prefix = "${local.name}-${each.key}-"
  assume_role_policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect    = "Allow"
      Action    = "sts:AssumeRole"
      Principal = { Service = "${each.key}.amazonaws.com" }
    }]
  })
  tags = local.tags
}

resource "aws_iam_role_policy_attachment" "this" {
  for_each   = local.attachments
  role       = aws_iam_role.this[each.value].name
  policy_arn = "arn:${data.aws_partition.this.partition}:iam::aws:policy/${each.key}"
}

resource "aws_eks_cluster" "this" {
  name     = local.name
  version  = var.kubernetes_version
  role_arn = aws_iam_role.this["eks"].arn
  tags     = local.tags

  vpc_config {
    subnet_ids              = aws_subnet.this[*].id
    endpoint_public_access  = true
    endpoint_private_access = true
  }

  access_config {
    authentication_mode                         = "API"
    bootstrap_cluster_creator_admin_permissions = true
  }

  # EKS needs the role's rights until the last of its network interfaces is gone.
  depends_on = [aws_iam_role_policy_attachment.this]
}
