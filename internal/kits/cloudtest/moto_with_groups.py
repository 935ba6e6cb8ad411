"""moto's server, with placement groups, which moto does not know. They can be made, listed and deleted. Instances keep the
group that a request names, launch templates do not tag themselves in what they launch, clusters keep who may use them, and
node groups have no remote access that nobody asked for. Without these, hashicorp/aws plans changes of what it has made.
"""
import sys

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.responses import EC2Response
from moto.eks.responses import EKSResponse
from moto.server import main

groups = {}


def create(self):
    tags = [tag for spec in self._get_param("TagSpecifications", []) for tag in spec.get("Tags", [])]
    name = self._get_param("GroupName")
    groups[name] = {"GroupName": name, "State": "available", "Strategy": self._get_param("Strategy"), "Tags": tags}
    return ActionResult({"PlacementGroup": groups[name]})


def known(name):
    """The group with a name. EC2 refuses others: docs.aws.amazon.com/ec2/latest/devguide/ec2-api-error-codes.html."""
    if name not in groups:
        raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
    return groups[name]


def describe(self):
    """Filters are not looked at: all groups are listed, or those that the request names."""
    names = self._get_param("GroupNames", []) or list(groups)
    return ActionResult({"PlacementGroups": [known(name) for name in names]})


def delete(self):
    del groups[known(self._get_param("GroupName"))["GroupName"]]
    return ActionResult({})


def run_instances(self):
    made = moto_run_instances(self)
    group = self._get_param("Placement.GroupName")
    if group:
        known(group)
        for instance in made.result.instances:
            instance.placement.group_name = group
    return made


def create_launch_template(self, *args, **kwargs):
    made = moto_create_launch_template(self, *args, **kwargs)
    for version in made.versions:
        version.data["TagSpecifications"] = [spec for spec in version.data.get("TagSpecifications", [])
                                             if spec.get("ResourceType") != "launch-template"]
    return made


def create_cluster(self):
    made = moto_create_cluster(self)
    made.result["cluster"].access_config = self._get_param("accessConfig")
    return made


def create_nodegroup(self):
    made = moto_create_nodegroup(self)
    made.result["nodegroup"].remote_access = self._get_param("remoteAccess")
    return made


moto_create_cluster, EKSResponse.create_cluster = EKSResponse.create_cluster, create_cluster
moto_create_nodegroup, EKSResponse.create_nodegroup = EKSResponse.create_nodegroup, create_nodegroup
moto_run_instances, EC2Response.run_instances = EC2Response.run_instances, run_instances
moto_create_launch_template = EC2Backend.create_launch_template
EC2Backend.create_launch_template = create_launch_template
EC2Response.create_placement_group = create
EC2Response.describe_placement_groups = describe
EC2Response.delete_placement_group = delete

main(sys.argv[1:])
