locals {
  arms = {
    apart       = { group = false, ena_express = false }
    group       = { group = true, ena_express = false }
    ena-express = { group = false, ena_express = true }
  }
  machines = merge([
    for name, arm in local.arms : { for side in ["client", "server"] : "${name}-${side}" => arm }
  ]...)
}

# Amazon Linux 2023: its ENA driver counts the packets of ENA Express.
data "aws_ssm_parameter" "image" {
  name = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-${var.architecture}"
}

resource "aws_key_pair" "this" {
  key_name   = local.name
  public_key = var.public_key
  tags       = local.tags
}

resource "aws_placement_group" "this" {
  name     = local.name
  strategy = "cluster"
  tags     = local.tags
}

# A launch template can say two things that an instance cannot: ENA Express, and the tags of what EC2 makes with the
# instance. Everything else is in aws_instance, so that a change of it is a change of the instance.
resource "aws_launch_template" "interface" {
  for_each    = { plain = false, ena-express = true }
  name_prefix = "${local.name}-${each.key}-"
  tags        = local.tags

  network_interfaces {
    device_index                = 0
    subnet_id                   = aws_subnet.this.id
    security_groups             = [aws_security_group.this.id]
    associate_public_ip_address = "true"
    delete_on_termination       = "true"

    dynamic "ena_srd_specification" {
      for_each = each.value ? [true] : []
      content {
        ena_srd_enabled = true
      }
    }
  }

  dynamic "tag_specifications" {
    for_each = ["instance", "volume", "network-interface"]
    content {
      resource_type = tag_specifications.value
      tags          = local.tags
    }
  }
}

resource "aws_instance" "this" {
  for_each        = local.machines
  ami             = data.aws_ssm_parameter.image.insecure_value
  instance_type   = var.instance_type
  key_name        = aws_key_pair.this.key_name
  placement_group = each.value.group ? aws_placement_group.this.name : null
  user_data = templatefile("${path.module}/start.sh", {
    expires = formatdate("YYYY-MM-DD hh:mm:ss 'UTC'", var.nearfar_expires)
  })
  # start.sh shuts the machine down when its time is over.
  instance_initiated_shutdown_behavior = "terminate"
  tags                                 = merge(local.tags, { Name = "${local.name}-${each.key}" })

  launch_template {
    id      = aws_launch_template.interface[each.value.ena_express ? "ena-express" : "plain"].id
    version = aws_launch_template.interface[each.value.ena_express ? "ena-express" : "plain"].latest_version
  }

  metadata_options {
    http_endpoint = "enabled"
    http_tokens   = "required"
  }

  lifecycle {
    # AWS publishes a new image every few weeks: a second plan must not replace machines that are measured.
    ignore_changes = [ami]
  }

  # Without a route, the machine is up before it can be reached.
  depends_on = [aws_route.internet, aws_route_table_association.this]
}
