package provider

import (
	"context"
	"errors"
	"fmt"

	"nearfar/internal/check"
	"nearfar/internal/lazyregexp"
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

// gcp asks for the physical topology of an instance (Compute Engine's API, instances.get, resourceStatus). Only some
// machine types have it.
func (q *question) gcp(ctx context.Context, w *check.Where) error {
	if !gcpProject.MatchString(w.Account) || !gcpName.MatchString(w.Zone) || !gcpName.MatchString(w.Name) {
		return errors.New("the metadata service tells no project, zone and instance that gcloud could be asked about")
	}
	var instance struct {
		ID             string
		ResourceStatus struct {
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
	status := instance.ResourceStatus
	q.answer.PhysicalHost = text(status.PhysicalHost)
	t := status.PhysicalHostTopology
	if t == nil || t.Cluster == "" || t.Block == "" {
		return fmt.Errorf("gcloud compute instances describe names no physical topology of a %s", text(w.InstanceType))
	}
	q.answer.Topology = &check.Topology{
		Cluster: text(t.Cluster), Block: text(t.Block), Subblock: text(t.Subblock), Host: text(t.Host),
	}
	return nil
}
