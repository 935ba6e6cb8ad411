# Without a cloud: `tofu test` makes up what AWS would answer.
mock_provider "aws" {
  mock_data "aws_region" {
    defaults = { region = "eu-west-1" }
  }
  # The real provider reads the form of these also of a mock.
  mock_resource "aws_launch_template" {
    defaults = { id = "lt-0123456789abcdef0" }
  }
}

variables {
  public_key      = "ssh-ed25519 AAAA"
  ssh_from        = "203.0.113.7/32"
  nearfar_owner   = "me@here"
  nearfar_run     = "ec2-placement-group"
  nearfar_expires = "2026-11-21T19:22:00Z"
}

run "arms_differ_in_the_treatment_only" {
  assert {
    condition = (
      [for name, m in aws_instance.this : name if m.placement_group == aws_placement_group.this.name] ==
      ["group-client", "group-server"]
    )
    error_message = "The machines of the arm group are in the placement group, and no others."
  }
  assert {
    condition = alltrue([
      for name, m in aws_instance.this :
      startswith(name, "group-") || m.placement_group != aws_placement_group.this.name
    ])
    error_message = "A machine outside of the arm group is in the placement group."
  }
  assert {
    condition     = aws_placement_group.this.strategy == "cluster"
    error_message = "The placement group is no cluster."
  }
  assert {
    condition = (
      aws_launch_template.interface["ena-express"].network_interfaces[0].ena_srd_specification[0].ena_srd_enabled &&
      length(aws_launch_template.interface["plain"].network_interfaces[0].ena_srd_specification) == 0
    )
    error_message = "ENA Express is on in its own launch template, and only there."
  }
  assert {
    condition     = length(distinct([for m in aws_instance.this : m.instance_type])) == 1
    error_message = "The machines differ in their type."
  }
  assert {
    condition = alltrue([
      for t in aws_launch_template.interface : t.network_interfaces[0].subnet_id == aws_subnet.this.id
    ]) && aws_subnet.this.availability_zone == "eu-west-1a"
    error_message = "The machines are not all in the subnet of one zone."
  }
}

run "machines_end_themselves" {
  assert {
    condition = alltrue([
      for m in aws_instance.this : m.instance_initiated_shutdown_behavior == "terminate" &&
      strcontains(m.user_data, "OnCalendar=2026-11-21 19:22:00 UTC\n")
    ])
    error_message = "A machine does not schedule its own shutdown, or is only stopped by it."
  }
}

run "hosts_have_what_nearfar_reads" {
  assert {
    condition = alltrue([
      for name, m in aws_instance.this :
      output.hosts[name] == { ssh = "ec2-user@${m.public_ip}", address = m.private_ip }
    ]) && length(output.hosts) == 6
    error_message = "The output hosts does not say how a machine is reached."
  }
}

run "a_time_that_is_none_is_refused" {
  command = plan
  variables {
    nearfar_expires = "tomorrow"
  }
  expect_failures = [var.nearfar_expires]
}
