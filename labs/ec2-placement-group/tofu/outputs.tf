output "hosts" {
  description = "How nearfar reaches the machines, by the names in experiment.yaml."
  value = {
    for name, machine in aws_instance.this : name => {
      ssh     = "ec2-user@${machine.public_ip}"
      address = machine.private_ip
    }
  }
}
