"""Makes the stack of a template in moto, a fake AWS, looks at everything that it made, and deletes it again.

moto reports a stack as complete even if it has skipped resources. So every resource is asked for, after the stack was
made and after it was deleted. moto knows no placement groups, no clusters and node groups in stacks, and starts no nodes;
the classes below add that, as far as this stack needs it. They say nothing about how AWS places machines.
"""

import json
import os
import sys

os.environ |= {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "MOTO_IAM_LOAD_MANAGED_POLICIES": "true"}

import boto3  # noqa: E402
from moto import mock_aws  # noqa: E402
from moto.core.common_models import CloudFormationModel  # noqa: E402
from moto.ec2.models import ec2_backends  # noqa: E402
from moto.ec2.models.internet_gateways import InternetGateway  # noqa: E402
from moto.ec2.models.route_tables import RouteTable  # noqa: E402
from moto.ec2.models.subnets import Subnet, SubnetRouteTableAssociation  # noqa: E402
from moto.eks.models import eks_backends  # noqa: E402

REGION, IMAGE = "eu-west-1", "ami-12c6146b"
groups = {}  # the strategies of placement groups, by name
nodes = {}  # the instances of node groups, with the placement group that their launch template asks for


def lower(value):
    """Names of properties as EKS's own API has them: desiredSize and not DesiredSize."""
    if isinstance(value, dict):
        return {key[0].lower() + key[1:]: lower(inner) for key, inner in value.items()}
    return [lower(inner) for inner in value] if isinstance(value, list) else value


class Added:
    """A resource that moto cannot make in stacks."""

    def __init__(self, name, attributes):
        self.name, self.attributes = name, attributes

    physical_resource_id = property(lambda self: self.name)

    @staticmethod
    def cloudformation_name_type():
        return ""

    @classmethod
    def has_cfn_attr(cls, attr):
        return True

    def get_cfn_attribute(self, name):
        return self.attributes[name]

    @classmethod
    def update_from_cloudformation_json(cls, *args, **kwargs):
        raise NotImplementedError


class Group(Added, CloudFormationModel):
    __module__ = "moto.ec2.added"  # moto finds the service in it

    @staticmethod
    def cloudformation_type():
        return "AWS::EC2::PlacementGroup"

    @classmethod
    def create_from_cloudformation_json(cls, name, template, account, region, **kwargs):
        groups[name] = template["Properties"]["Strategy"]
        return cls(name, {"GroupName": name})

    @classmethod
    def delete_from_cloudformation_json(cls, name, template, account, region):
        if name in nodes.values():
            raise RuntimeError(f"InvalidPlacementGroup.InUse: {name}")
        del groups[name]


class Cluster(Added, CloudFormationModel):
    __module__ = "moto.ec2.added"  # moto finds the service in it

    @staticmethod
    def cloudformation_type():
        return "AWS::EKS::Cluster"

    @classmethod
    def create_from_cloudformation_json(cls, name, template, account, region, **kwargs):
        given = template["Properties"]
        made = eks_backends[account][region].create_cluster(
            name=given["Name"], role_arn=given["RoleArn"], resources_vpc_config=lower(given["ResourcesVpcConfig"]),
            tags={tag["Key"]: tag["Value"] for tag in given["Tags"]},
        )
        return cls(made.name, {"Arn": made.arn})

    @classmethod
    def delete_from_cloudformation_json(cls, name, template, account, region):
        eks_backends[account][region].delete_cluster(name)


class NodeGroup(Added, CloudFormationModel):
    __module__ = "moto.ec2.added"  # moto finds the service in it

    @staticmethod
    def cloudformation_type():
        return "AWS::EKS::Nodegroup"

    @classmethod
    def create_from_cloudformation_json(cls, name, template, account, region, **kwargs):
        given = template["Properties"]
        made = eks_backends[account][region].create_nodegroup(
            cluster_name=given["ClusterName"], nodegroup_name=given["NodegroupName"], node_role=given["NodeRole"],
            subnets=given["Subnets"], scaling_config=lower(given["ScalingConfig"]), labels=given["Labels"],
            instance_types=given["InstanceTypes"], launch_template=lower(given["LaunchTemplate"]), tags=given["Tags"],
        )
        # EKS has an Auto Scaling group, which launches the nodes from the template.
        ec2 = ec2_backends[account][region]
        launch = ec2.get_launch_template(given["LaunchTemplate"]["Id"])
        data = launch.get_version(int(given["LaunchTemplate"]["Version"])).data
        group = data.get("Placement", {}).get("GroupName", "")
        if group and group not in groups:
            raise RuntimeError(f"InvalidPlacementGroup.Unknown: {group}")
        tags = {s["ResourceType"]: {t["Key"]: t["Value"] for t in s["Tags"]} for s in data["TagSpecifications"]}
        started = ec2.run_instances(
            IMAGE, given["ScalingConfig"]["DesiredSize"], None, [], instance_type=given["InstanceTypes"][0],
            is_instance_type_default=False, subnet_id=given["Subnets"][0], tags={"instance": tags["instance"]},
        )
        for instance in started.instances:
            nodes[instance.id] = group
        return cls(f"{made.cluster_name}/{made.nodegroup_name}",
                   {"NodegroupName": made.nodegroup_name, "ids": [i.id for i in started.instances]})

    @classmethod
    def delete_from_cloudformation_json(cls, name, template, account, region):
        cluster, group = name.split("/")
        eks = eks_backends[account][region]
        label = eks.describe_nodegroup(cluster, group).labels["placementGroup"]
        ended = [i for i, of in nodes.items() if bool(of) == (label == "true")]
        eks.delete_nodegroup(cluster, group)
        ec2_backends[account][region].terminate_instances(ended)
        for i in ended:
            del nodes[i]


def associate(cls, name, template, account, region, **kwargs):
    """moto keeps associations of stacks where its own API does not see them."""
    given = template["Properties"]
    ec2_backends[account][region].associate_route_table(given["RouteTableId"], subnet_id=given["SubnetId"])
    return cls(given["RouteTableId"], given["SubnetId"])


def delete_route_table(cls, name, template, account, region):
    """moto deletes no route tables of stacks, and then not the VPC."""
    ec2 = ec2_backends[account][region]
    for association in ec2.get_route_table(name).all_associations_ids:
        ec2.disassociate_route_table(association)
    ec2.delete_route_table(name)


def delete_gateway(cls, name, template, account, region):
    """moto deletes no internet gateways of stacks."""
    ec2 = ec2_backends[account][region]
    ec2.detach_internet_gateway(name, ec2.get_internet_gateway(name).vpc.id)
    ec2.delete_internet_gateway(name)


InternetGateway.delete_from_cloudformation_json = classmethod(delete_gateway)
SubnetRouteTableAssociation.create_from_cloudformation_json = classmethod(associate)
RouteTable.delete_from_cloudformation_json = classmethod(delete_route_table)
Subnet.get_cfn_attribute = lambda self, name: {"AvailabilityZone": self.availability_zone}[name]


def look(stack):
    """Counts what there is, by the type that CloudFormation has for it."""
    ec2, eks, iam = (boto3.client(name, region_name=REGION) for name in ("ec2", "eks", "iam"))
    # A region has a VPC, with its parts, from the beginning.
    vpcs = ec2.describe_vpcs(Filters=[{"Name": "cidr", "Values": ["10.43.0.0/16"]}])["Vpcs"]
    within = [{"Name": "vpc-id", "Values": [v["VpcId"] for v in vpcs] or ["none"]}]
    tables = [t for t in ec2.describe_route_tables(Filters=within)["RouteTables"]
              if not any(a.get("Main") for a in t["Associations"])]
    gateways = ec2.describe_internet_gateways()["InternetGateways"]  # moto has none at the beginning
    clusters = eks.list_clusters()["clusters"]
    groups_of = [(c, n) for c in clusters for n in eks.list_nodegroups(clusterName=c)["nodegroups"]]
    instances = [i for r in ec2.describe_instances()["Reservations"] for i in r["Instances"]
                 if i["State"]["Name"] == "running"]
    return {
        "AWS::EC2::VPC": len(vpcs),
        "AWS::EC2::Subnet": len(ec2.describe_subnets(Filters=within)["Subnets"]),
        "AWS::EC2::InternetGateway": len(gateways),
        "AWS::EC2::VPCGatewayAttachment": sum(len(g["Attachments"]) for g in gateways),
        "AWS::EC2::RouteTable": len(tables),
        "AWS::EC2::Route": sum(r.get("GatewayId", "").startswith("igw-") for t in tables for r in t["Routes"]),
        "AWS::EC2::SubnetRouteTableAssociation": sum(len(t["Associations"]) for t in tables),
        "AWS::EC2::PlacementGroup": len(groups),
        "AWS::EC2::LaunchTemplate": len(ec2.describe_launch_templates()["LaunchTemplates"]),
        "AWS::IAM::Role": len([r for r in iam.list_roles()["Roles"] if stack in r["RoleName"]]),
        "AWS::EKS::Cluster": len(clusters),
        "AWS::EKS::Nodegroup": len(groups_of),
    }, instances, groups_of


def main():
    text = open(sys.argv[1], encoding="utf-8").read()
    want = {}
    for resource in json.loads(text)["Resources"].values():
        want[resource["Type"]] = want.get(resource["Type"], 0) + 1
    cloudformation = boto3.client("cloudformation", region_name=REGION)
    cloudformation.create_stack(StackName="lab", TemplateBody=text, Capabilities=["CAPABILITY_IAM"])
    stack = cloudformation.describe_stacks(StackName="lab")["Stacks"][0]
    assert stack["StackStatus"] == "CREATE_COMPLETE", stack["StackStatus"]

    got, instances, node_groups = look("lab")
    assert got == want, f"the stack made {got}, the template has {want}"
    outputs = {o["OutputKey"]: o["OutputValue"] for o in stack["Outputs"]}
    assert list(groups) == [outputs["group"]] and groups[outputs["group"]] == "cluster", (groups, outputs)
    command = f"aws eks update-kubeconfig --region {REGION} --name {outputs['cluster']}"
    assert outputs["kubeconfig"] == command and outputs["zone"] == REGION + "a", outputs
    assert len(instances) == 4 and {i["Placement"]["AvailabilityZone"] for i in instances} == {REGION + "a"}
    assert sorted(nodes.values()) == ["", "", outputs["group"], outputs["group"]], nodes
    for i in instances:
        assert {"nearfar_owner", "nearfar_run", "nearfar_expires"} <= {t["Key"] for t in i["Tags"]}, i["Tags"]
    eks = boto3.client("eks", region_name=REGION)
    for cluster, group in node_groups:
        labels = eks.describe_nodegroup(clusterName=cluster, nodegroupName=group)["nodegroup"]["labels"]
        assert labels == {"placementGroup": "true" if group == "placed" else "false"}, (group, labels)

    cloudformation.delete_stack(StackName="lab")
    left, instances, _ = look("lab")
    assert not any(left.values()) and not instances and not nodes, f"left are {left}, {instances}, {nodes}"
    print(f"made, found and deleted: {sum(want.values())} resources and 4 nodes")


with mock_aws():
    main()
