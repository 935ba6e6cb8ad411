package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/check"
)

var (
	// gcpProject can have a domain before it: "example.com:perf".
	gcpProject = lazyregexp.New(`^[a-z][a-z0-9.:-]{1,98}[a-z0-9]$`)
	gcpName    = lazyregexp.New(`^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$`)
)

func gcloudDescribe(project, zone, instance string) []string {
	return []string{"gcloud", "compute", "instances", "describe", instance, "--project", project, "--zone", zone,
		"--format", "json", "--quiet"}
}

func gcloudPolicy(project, region, policy string) []string {
	return []string{"gcloud", "compute", "resource-policies", "describe", policy, "--project", project, "--region", region,
		"--format", "json", "--quiet"}
}

// gcp asks for the placement policy of an instance, and for its physical topology (Compute Engine's API, instances.get:
// resourcePolicies, resourceStatus). Only some types have a topology: A3, A4 and newer ones on reserved capacity
// (https://docs.cloud.google.com/ai-hypercomputer/docs/manage/instance-topology).
func (q *question) gcp(ctx context.Context, w *check.Where) error {
	if !gcpProject.MatchString(w.Account) || !gcpName.MatchString(w.Zone) || !gcpName.MatchString(w.Name) {
		return errors.New("the metadata service tells no project, zone and instance that gcloud could be asked about")
	}
	var instance struct {
		ID               string
		ResourcePolicies []string
		ResourceStatus   struct {
			PhysicalHost         string
			PhysicalHostTopology *check.Topology
		}
	}
	argv := gcloudDescribe(w.Account, w.Zone, w.Name)
	if err := q.read(ctx, argv, &instance); err != nil {
		return err
	}
	if w.InstanceID == "" || instance.ID != w.InstanceID {
		return errors.New("gcloud compute instances describe shows another machine")
	}
	unplaced := q.gcpPlacement(ctx, w.Account, instance.ResourcePolicies)
	status := instance.ResourceStatus
	q.answer.PhysicalHost = text(status.PhysicalHost)
	t := status.PhysicalHostTopology
	if t == nil || t.Cluster == "" || t.Block == "" {
		return errors.Join(unplaced, fmt.Errorf("gcloud compute instances describe names no physical topology of a %s",
			text(w.InstanceType)))
	}
	q.answer.Topology = &check.Topology{
		Cluster: text(t.Cluster), Block: text(t.Block), Subblock: text(t.Subblock), Host: text(t.Host),
	}
	return unplaced
}

// gcpPlacement asks about the policies of an instance, of which an instance has one at most, and notes the one that is
// about placement.
func (q *question) gcpPlacement(ctx context.Context, project string, links []string) error {
	group := ""
	for _, link := range links {
		before, name := path.Split(link)
		region := path.Base(strings.TrimSuffix(before, "/resourcePolicies/"))
		if !gcpName.MatchString(region) || !gcpName.MatchString(name) {
			return fmt.Errorf("gcloud compute instances describe names a policy %.80q", text(link))
		}
		var policy struct {
			Name, Status         string
			GroupPlacementPolicy *struct{ Collocation string }
		}
		if err := q.read(ctx, gcloudPolicy(project, region, name), &policy); err != nil {
			return err
		}
		if policy.Name != name {
			return errors.New("gcloud compute resource-policies describe shows another policy")
		}
		if policy.GroupPlacementPolicy != nil {
			group, q.answer.State = name, text(policy.Status)
			q.answer.Strategy = text(cmp.Or(policy.GroupPlacementPolicy.Collocation, "spread"))
		}
	}
	q.answer.Group = &group
	return nil
}
