package audit

import (
	"context"
	"errors"
	"path"
	"strings"

	"nearfar/internal/cloudtool"
)

// googleResource is a resource as gcloud prints it.
type googleResource struct {
	Name     string            `json:"name"`
	SelfLink string            `json:"selfLink"`
	Labels   map[string]string `json:"labels"`
	// ResourceLabels are the labels of a cluster.
	ResourceLabels map[string]string `json:"resourceLabels"`
}

// googleLists are the lists of gcloud, with the key under which its resources have labels. Networks, subnets, firewall
// rules and placement policies have no labels and cost nothing.
func googleLists() []struct{ command, labels string } {
	return []struct{ command, labels string }{
		{"compute instances", "labels"},
		{"compute disks", "labels"},
		{"compute snapshots", "labels"},
		{"compute images --no-standard-images", "labels"},
		{"compute addresses", "labels"},
		{"compute forwarding-rules", "labels"},
		{"container clusters", "resourceLabels"},
	}
}

// google lists each kind of resource that costs money.
func (s *questions) google(ctx context.Context) {
	var tasks []func()
	for _, list := range googleLists() {
		tasks = append(tasks, func() { s.googleList(ctx, list.command, list.labels) })
	}
	cloudtool.Each(tasks...)
}

func (s *questions) googleList(ctx context.Context, command, labels string) {
	kind, flags, _ := strings.Cut(command, " --")
	args := append(strings.Fields(kind), "list")
	if flags != "" {
		args = append(args, "--"+flags)
	}
	args = append(args, "--filter", labels+"."+TagRun+"="+Label(s.value), "--format", "json", "--quiet")
	if s.place.Part != "" {
		args = append(args, "--project", s.place.Part)
	}
	var all []googleResource
	if err := s.ask(ctx, &all, "gcloud", args...); err != nil {
		if isDisabled(err) {
			return
		}
		s.fail(err)
	}
	for _, r := range all {
		if r.Labels == nil {
			r.Labels = r.ResourceLabels
		}
		s.add(Resource{Kind: path.Base(strings.ReplaceAll(kind, " ", "/")), ID: shortLink(r),
			Owner: r.Labels[TagOwner], Expires: r.Labels[TagExpires]})
	}
}

// isDisabled says that a project does not use the API of these resources, and so has none of them.
func isDisabled(err error) bool {
	var failed *cloudtool.FailedError
	return errors.As(err, &failed) &&
		(strings.Contains(failed.Said, "SERVICE_DISABLED") || strings.Contains(failed.Said, "or it is disabled"))
}

// shortLink is the part of a link after its project: zones/europe-west4-a/disks/d.
func shortLink(r googleResource) string {
	_, after, ok := strings.Cut(r.SelfLink, "/projects/")
	if !ok {
		return r.Name
	}
	_, after, _ = strings.Cut(after, "/")
	return after
}
