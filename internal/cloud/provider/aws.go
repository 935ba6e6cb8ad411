package provider

import (
	"context"
	"errors"
	"fmt"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/cloud/cloudtool"
	"nearfar/internal/declare/check"
)

var (
	awsInstance = lazyregexp.New(`^i-[0-9a-f]{8,32}$`)
	awsRegion   = lazyregexp.New(`^[a-z][a-z0-9]*(-[a-z0-9]+){1,6}$`)
	// awsGroupName leaves out names that aws would take for a flag, a file or a URL (file://, http://).
	awsGroupName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9 ._/=+@-]{0,254}$`)
	awsNode      = lazyregexp.New(`^[A-Za-z0-9._-]{1,64}$`)
)

// maxNodes is the greatest number of network nodes above an instance; EC2 has three or four.
const maxNodes = 16

func awsTopology(region, instance string) []string {
	return []string{"aws", "ec2", "describe-instance-topology", "--region", region, "--instance-ids", instance,
		"--output", "json"}
}

func awsGroup(region, group string) []string {
	return []string{"aws", "ec2", "describe-placement-groups", "--region", region, "--group-names", group,
		"--output", "json"}
}

// aws asks for the network nodes above an instance (EC2's API, DescribeInstanceTopology) and for the strategy of its
// placement group (DescribePlacementGroups). The topology is known for some instance types alone.
func (q *question) aws(ctx context.Context, w *check.Where) error {
	if !awsRegion.MatchString(w.Region) || !awsInstance.MatchString(w.InstanceID) {
		return errors.New("the metadata service tells no region and instance that aws could be asked about")
	}
	err := q.awsNodes(ctx, w)
	group := w.PlacementGroup
	if q.answer.Group != nil {
		group = q.answer.Group
	}
	if group == nil || *group == "" {
		return err
	}
	return errors.Join(err, q.awsStrategy(ctx, w.Region, *group))
}

// awsNodes reads the network nodes and the group of an instance.
func (q *question) awsNodes(ctx context.Context, w *check.Where) error {
	var printed struct {
		Instances []struct {
			InstanceID   string `json:"InstanceId"`
			GroupName    *string
			NetworkNodes []string
		}
	}
	argv := awsTopology(w.Region, w.InstanceID)
	if err := q.read(ctx, argv, &printed); err != nil {
		return err
	}
	for _, i := range printed.Instances {
		if i.InstanceID != w.InstanceID {
			continue
		}
		if i.GroupName != nil && awsGroupName.MatchString(*i.GroupName) {
			q.answer.Group = i.GroupName
		}
		if len(i.NetworkNodes) == 0 {
			return fmt.Errorf("%s names no network nodes: the instance type may not support it",
				cloudtool.Name(argv...))
		}
		for _, node := range i.NetworkNodes {
			if len(i.NetworkNodes) > maxNodes || !awsNode.MatchString(node) {
				return fmt.Errorf("%s: the network nodes are none", cloudtool.Name(argv...))
			}
		}
		q.answer.NetworkNodes = i.NetworkNodes
		return nil
	}
	return fmt.Errorf("%s does not list %s: the instance type may not support it", cloudtool.Name(argv...),
		w.InstanceID)
}

// awsStrategy reads the strategy of a placement group.
func (q *question) awsStrategy(ctx context.Context, region, group string) error {
	if !awsGroupName.MatchString(group) {
		return errors.New("aws cannot be asked about a placement group with this name")
	}
	var printed struct {
		PlacementGroups []struct{ GroupName, State, Strategy string }
	}
	argv := awsGroup(region, group)
	if err := q.read(ctx, argv, &printed); err != nil {
		return err
	}
	if len(printed.PlacementGroups) != 1 || printed.PlacementGroups[0].GroupName != group {
		return fmt.Errorf("%s does not list the group", cloudtool.Name(argv...))
	}
	g := printed.PlacementGroups[0]
	q.answer.Strategy, q.answer.State = text(g.Strategy), text(g.State)
	return nil
}
