package audit

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"nearfar/internal/cloud/cloudtool"
)

// azureResource is a resource or a group, as az prints it.
type azureResource struct {
	ID   string            `json:"id"`
	Type string            `json:"type"`
	Name string            `json:"name"`
	Tags map[string]string `json:"tags"`
}

func (r azureResource) resource() Resource {
	return Resource{Kind: r.Type, ID: r.ID, Owner: r.Tags[TagOwner], Expires: r.Tags[TagExpires]}
}

// maxGroups bounds into how many resource groups is looked.
const maxGroups = 50

// azure lists the resources and groups that have the tag, and all resources in these groups: disks that Azure makes
// with a machine need not have its tags. Parts of a subscription that are not resources have no tags: subnets, role
// assignments, the history of deployments.
func (s *questions) azure(ctx context.Context) {
	var groups []azureResource
	cloudtool.Each(
		func() {
			if err := s.az(ctx, &groups, "group", "list", "--tag", TagRun+"="+s.value); err != nil {
				s.fail(err)
			}
		},
		func() {
			var resources []azureResource
			if err := s.az(ctx, &resources, "resource", "list", "--tag", TagRun+"="+s.value); err != nil {
				s.fail(err)
			}
			for _, r := range resources {
				s.add(r.resource())
			}
		},
	)
	var tasks []func()
	for i, group := range groups {
		group.Type = "Microsoft.Resources/resourceGroups"
		s.add(group.resource())
		if i < maxGroups {
			tasks = append(tasks, func() { s.azureGroup(ctx, group) })
		} else if i == maxGroups {
			s.fail(fmt.Errorf("%d resource groups have the tag: only %d were looked into", len(groups), maxGroups))
		}
	}
	cloudtool.Each(tasks...)
}

// azureGroup lists the contents of a group of the run. A resource without an owner belongs to the owner of the group.
func (s *questions) azureGroup(ctx context.Context, group azureResource) {
	var inside []azureResource
	err := s.az(ctx, &inside, "resource", "list", "--resource-group", group.Name)
	var failed *cloudtool.FailedError
	if errors.As(err, &failed) && strings.Contains(failed.Said, "ResourceGroupNotFound") {
		return // it was deleted meanwhile
	}
	if err != nil {
		s.fail(err)
	}
	for _, r := range inside {
		if r.Tags[TagOwner] == "" {
			r.Tags = group.Tags
		}
		s.add(r.resource())
	}
}

// az runs az, which gives all pages of a list.
func (s *questions) az(ctx context.Context, into any, args ...string) error {
	if s.place.Part != "" {
		args = append(args, "--subscription", s.place.Part)
	}
	return s.ask(ctx, into, "az", append(args, "--only-show-errors", "--output", "json")...)
}
