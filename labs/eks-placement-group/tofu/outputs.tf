# nearfar reaches pods through the kubeconfig, so there is no output "hosts". cdk/ has the same outputs.

output "cluster" {
  value = aws_eks_cluster.this.name
}

output "region" {
  value = data.aws_region.this.region
}

output "zone" {
  value = aws_subnet.this[0].availability_zone
}

output "group" {
  description = "The name of the cluster placement group."
  value       = aws_placement_group.this.name
}

output "kubeconfig" {
  description = "The command that adds the cluster to the kubeconfig and makes it the current context."
  value       = "aws eks update-kubeconfig --region ${data.aws_region.this.region} --name ${aws_eks_cluster.this.name}"
}
