"""moto's server, with placement groups, which moto does not know. They can be made, listed and deleted."""
import sys

from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response
from moto.server import main

groups = {}


def create(self):
    tags = [tag for spec in self._get_param("TagSpecifications", []) for tag in spec.get("Tags", [])]
    name = self._get_param("GroupName")
    groups[name] = {"GroupName": name, "State": "available", "Strategy": "cluster", "Tags": tags}
    return ActionResult({"PlacementGroup": groups[name]})


def describe(self):
    """Filters are not looked at: all groups are listed."""
    return ActionResult({"PlacementGroups": list(groups.values())})


def delete(self):
    groups.pop(self._get_param("GroupName"), None)
    return ActionResult({})


EC2Response.create_placement_group = create
EC2Response.describe_placement_groups = describe
EC2Response.delete_placement_group = delete

main(sys.argv[1:])
