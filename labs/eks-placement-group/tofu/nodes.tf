# Two node groups that differ in the placement group only: same zone, same type, same launch template otherwise.
locals {
  node_groups = { placed = true, apart = false }
}

resource "aws_placement_group" "this" {
  name     = local.name
  strategy = "cluster"
  tags     = local.tags
}

resource "aws_launch_template" "this" {
  for_each    = local.node_groups
  name_prefix = "${local.name}-${each.key}-"
  tags        = local.tags

  dynamic "placement" {
    for_each = each.value ? [true] : []
    content {
      group_name = aws_placement_group.this.name
    }
  }

  # Two hops, so that pods reach the metadata service: it proves in which placement group they are.
  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 2
  }

  # EKS does not pass the tags of a node group on to what it makes.
  dynamic "tag_specifications" {
    for_each = ["instance", "volume", "network-interface"]
    content {
      resource_type = tag_specifications.value
      tags          = local.tags
    }
  }
}

resource "aws_eks_node_group" "this" {
  for_each        = local.node_groups
  cluster_name    = aws_eks_cluster.this.name
  node_group_name = each.key
  node_role_arn   = aws_iam_role.this["ec2"].arn
  subnet_ids      = [aws_subnet.this[0].id]
  ami_type        = "AL2023_x86_64_STANDARD"
  capacity_type   = "ON_DEMAND"
  instance_types  = [var.instance_type]
  labels          = { placementGroup = tostring(each.value) }
  tags            = local.tags

  scaling_config {
    min_size     = 2
    desired_size = 2
    max_size     = 2
  }

  launch_template {
    id      = aws_launch_template.this[each.key].id
    version = aws_launch_template.this[each.key].latest_version
  }

  # Nodes join through the internet gateway.
  depends_on = [aws_route.internet, aws_route_table_association.this, aws_iam_role_policy_attachment.this]
}
