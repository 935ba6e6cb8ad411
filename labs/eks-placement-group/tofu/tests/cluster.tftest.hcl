# Without a cloud: `tofu test` makes up what AWS would answer.
mock_provider "aws" {
  mock_data "aws_region" {
    defaults = { region = "eu-west-1" }
  }
  # The real provider reads the form of these also of a mock.
  mock_data "aws_partition" {
    defaults = { partition = "aws" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/mock" }
  }
  mock_resource "aws_launch_template" {
    defaults = { id = "lt-0123456789abcdef0" }
  }
}

variables {
  nearfar_owner   = "me@here"
  nearfar_run     = "eks-placement-group"
  nearfar_expires = "2026-11-21T19:22:00Z"
}

run "node_groups_differ_in_the_treatment_only" {
  assert {
    condition = (
      aws_launch_template.this["placed"].placement[0].group_name == aws_placement_group.this.name &&
      length(aws_launch_template.this["apart"].placement) == 0 &&
      aws_placement_group.this.strategy == "cluster"
    )
    error_message = "The nodes of the group placed are in a cluster placement group, and no others."
  }
  assert {
    condition = (
      aws_eks_node_group.this["placed"].labels["placementGroup"] == "true" &&
      aws_eks_node_group.this["apart"].labels["placementGroup"] == "false"
    )
    error_message = "The labels do not say which nodes are in the placement group."
  }
  assert {
    condition = (
      alltrue([for g in aws_eks_node_group.this : g.subnet_ids == toset([aws_subnet.this[0].id])]) &&
      output.zone == "eu-west-1a"
    )
    error_message = "The node groups are not in one zone."
  }
  assert {
    condition = length(distinct([
      for g in aws_eks_node_group.this : [g.instance_types, g.ami_type, g.capacity_type, g.scaling_config]
    ])) == 1
    error_message = "The node groups differ in something else than the placement group."
  }
}

run "pods_reach_the_metadata_service" {
  assert {
    condition = alltrue([
      for t in aws_launch_template.this : t.metadata_options[0].http_put_response_hop_limit == 2
    ])
    error_message = "Pods cannot read in which placement group they are."
  }
}

run "the_output_adds_the_cluster_to_the_kubeconfig" {
  assert {
    condition     = output.kubeconfig == "aws eks update-kubeconfig --region eu-west-1 --name ${aws_eks_cluster.this.name}"
    error_message = "The output kubeconfig is not the command."
  }
}
