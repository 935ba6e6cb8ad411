package audit

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/cloud/cloudtool"
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
	number := sync.OnceValue(func() string { return s.googleNumber(ctx) })
	for _, list := range googleLists() {
		tasks = append(tasks, func() { s.googleList(ctx, list.command, list.labels, number) })
	}
	cloudtool.Each(tasks...)
}

func (s *questions) googleList(ctx context.Context, command, labels string, number func() string) {
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
		service, _, _ := strings.Cut(kind, " ")
		if project := disabledIn(err, service+".googleapis.com"); project != "" {
			switch {
			case s.place.Part == "":
				err = fmt.Errorf("%w; name the project with: --provider google:PROJECT", err)
			case project == s.place.Part, project == number():
				return // a project that does not use the API has none of these
			}
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

// notUsed is how Google says that a project does not use an API. gcloud knows it by the same text
// (googlecloudsdk/api_lib/util/api_enablement.py), and prints it as it is.
var notUsed = lazyregexp.New(`API has not been used in project (\S+) before or it is disabled\. Enable it by ` +
	`visiting https://console\.(?:cloud|developers)\.google\.com/apis/api/` +
	`([a-z0-9.-]+)/overview\?project=(\S+) then retry\.`)

// several is before the reasons of a list that needed several requests.
var several = lazyregexp.New(`Some requests did not succeed[:.]\s+- `)

// disabledIn is the project that does not use a service, by its identifier or its number, if that is all that is wrong;
// otherwise empty. It need not be the project that was asked about: requests can count for another one
// (https://github.com/googleapis/google-cloud-go/issues/7485).
func disabledIn(err error, service string) (project string) {
	var failed *cloudtool.FailedError
	if !errors.As(err, &failed) || strings.Contains(failed.Said, "List results may be incomplete") {
		return ""
	}
	reasons := []string{failed.Said}
	if at := several.FindStringIndex(failed.Said); at != nil {
		reasons = strings.Split(failed.Said[at[1]:], " - ")
	}
	for _, reason := range reasons {
		found := notUsed.FindStringSubmatch(reason)
		switch {
		case found == nil, found[1] != found[3], found[2] != service, project != "" && project != found[1]:
			return ""
		}
		project = found[1]
	}
	return project
}

// googleNumber is the number of the project, by which services name it too; empty if it cannot be asked for.
func (s *questions) googleNumber(ctx context.Context) string {
	var project struct {
		Number string `json:"projectNumber"`
	}
	err := s.ask(ctx, &project, "gcloud", "projects", "describe", s.place.Part, "--format", "json", "--quiet")
	if err != nil {
		return ""
	}
	return project.Number
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
