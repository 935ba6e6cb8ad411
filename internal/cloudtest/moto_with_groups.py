"""moto's server, with placement groups, which moto does not know. They can be made, listed and deleted."""
import sys

from moto.core.exceptions import ServiceException
from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response
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
        raise ServiceException("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
    return groups[name]


def describe(self):
    """Filters are not looked at: all groups are listed, or those that the request names."""
    names = self._get_param("GroupNames", []) or list(groups)
    return ActionResult({"PlacementGroups": [known(name) for name in names]})


def delete(self):
    del groups[known(self._get_param("GroupName"))["GroupName"]]
    return ActionResult({})


EC2Response.create_placement_group = create
EC2Response.describe_placement_groups = describe
EC2Response.delete_placement_group = delete

main(sys.argv[1:])
