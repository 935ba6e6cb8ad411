package preflight

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"nearfar/internal/cloud/cloudtool"
)

// gcloud runs gcloud for the project of the place.
func (a *asker) gcloud(ctx context.Context, into any, args ...string) error {
	if a.place.Part != "" && !slices.Contains(args, "--project") {
		args = append(args, "--project", a.place.Part)
	}
	return a.ask(ctx, into, "gcloud", append(args, "--format", "json", "--quiet")...)
}

// google looks at a region of a project.
func (a *asker) google(ctx context.Context) {
	if a.place.Part == "" {
		a.unknown(checkLogin, "the project, and all questions about it",
			errors.New("no project is known: set GOOGLE_PROJECT"))
		return
	}
	var project struct {
		State string `json:"lifecycleState"`
	}
	err := a.ask(ctx, &project, "gcloud", "projects", "describe", a.place.Part, "--format", "json", "--quiet")
	if err != nil {
		a.unknown(checkLogin, "the project, and all other questions to Google Cloud", err)
		return
	}
	if project.State != "ACTIVE" {
		a.note(checkLogin, "project "+a.place.Part, Refused, "its state is "+project.State, "choose another one")
		return
	}
	a.note(checkLogin, "project "+a.place.Part, OK, "active", "")
	cloudtool.Each(
		func() { a.googleServices(ctx) },
		func() { a.googleQuotas(ctx, a.googleTypes(ctx)) },
		func() { a.googleImages(ctx) },
		func() { a.googlePolicies(ctx) },
		func() { a.googleRights(ctx) },
	)
	a.googlePlacement()
}

// googleServices asks which APIs are enabled.
func (a *asker) googleServices(ctx context.Context) {
	var all []struct{ Config struct{ Name string } }
	if err := a.gcloud(ctx, &all, "services", "list", "--enabled"); err != nil {
		a.unknown(checkProvider, "enabled APIs", err)
		return
	}
	wanted := map[string]bool{}
	for _, kind := range a.place.Types {
		if service, _, found := strings.Cut(strings.TrimPrefix(kind, "google_"), "_"); found {
			wanted[service+".googleapis.com"] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		if slices.ContainsFunc(all, func(s struct{ Config struct{ Name string } }) bool { return s.Config.Name == name }) {
			a.note(checkProvider, name, OK, "enabled", "")
		} else {
			a.note(checkProvider, name, Refused, "it is not enabled in the project", "gcloud services enable "+name)
		}
	}
}

// googleTypes looks at the types of the machines, and gives their numbers of vCPUs.
func (a *asker) googleTypes(ctx context.Context) map[string]int {
	cpus, looked := map[string]int{}, map[string]bool{}
	for _, m := range a.place.Machines {
		about := m.Size + " in " + m.Zone
		if looked[about] {
			continue
		}
		looked[about] = true
		if m.Zone == "" {
			a.unknown(checkSize, m.Size, errors.New("the plan does not say in which zone it is"))
			continue
		}
		var t struct {
			CPUs       int `json:"guestCpus"`
			Deprecated struct{ State string }
		}
		err := a.gcloud(ctx, &t, "compute", "machine-types", "describe", m.Size, "--zone", m.Zone)
		switch {
		case err != nil && says(err, "was not found", "Invalid value for field"):
			a.note(checkSize, about, Refused, err.Error(),
				"choose another type or zone (gcloud compute machine-types list --filter=name="+m.Size+")")
		case err != nil:
			a.unknown(checkSize, about, err)
		case isOver(t.Deprecated.State):
			a.note(checkSize, about, Refused, "its state is "+t.Deprecated.State, "choose another type")
		default:
			cpus[m.Size] = t.CPUs
			a.note(checkSize, about, OK, fmt.Sprintf("%d vCPUs", t.CPUs), "")
		}
	}
	return cpus
}

// isOver says whether a state of Google's means that nothing can be made of it any more.
func isOver(state string) bool { return state == "OBSOLETE" || state == "DELETED" }

// googleQuota is a quota, as regions and projects list them.
type googleQuota struct {
	Metric       string
	Limit, Usage float64
}

// googleQuotas compares what is wanted with the quotas of the region and of the project.
func (a *asker) googleQuotas(ctx context.Context, cpus map[string]int) {
	region, project := map[string]float64{}, map[string]float64{}
	for _, m := range a.place.Machines {
		n := float64(m.Count * cpus[m.Size])
		if n == 0 {
			continue // said before
		}
		metric := googleMetric(m.Size)
		if m.Spot {
			metric = "PREEMPTIBLE_CPUS"
		}
		region[metric] += n
		region["INSTANCES"] += float64(m.Count)
		project["CPUS_ALL_REGIONS"] += n
		if m.Public {
			region["IN_USE_ADDRESSES"] += float64(m.Count)
		}
	}
	counts := a.place.Counts
	for metric, n := range map[string]int{
		"NETWORKS": counts[kindNetwork], "SUBNETWORKS": counts[kindSubnet], "FIREWALLS": counts[kindFirewall],
	} {
		if n > 0 {
			project[metric] = float64(n)
		}
	}
	a.googleCompare(ctx, "in "+a.place.Region, region, "compute", "regions", "describe", a.place.Region)
	a.googleCompare(ctx, "of the project", project, "compute", "project-info", "describe")
}

// googleMetric is the quota of a machine's series: E2, N1 and the shared-core types count as CPUS, others have their own
// (https://cloud.google.com/compute/resource-usage, "CPU quota").
func googleMetric(size string) string {
	series, _, _ := strings.Cut(size, "-")
	if slices.Contains([]string{"e2", "n1", "f1", "g1"}, series) {
		return "CPUS"
	}
	return strings.ToUpper(series) + "_CPUS"
}

// googleCompare compares what is wanted with quotas that a command prints.
func (a *asker) googleCompare(ctx context.Context, where string, wanted map[string]float64, command ...string) {
	if len(wanted) == 0 {
		return
	}
	var answer struct{ Quotas []googleQuota }
	err := a.gcloud(ctx, &answer, command...)
	for _, metric := range slices.Sorted(maps.Keys(wanted)) {
		about := metric + " " + where
		i := slices.IndexFunc(answer.Quotas, func(q googleQuota) bool { return q.Metric == metric })
		switch {
		case err != nil:
			a.unknown(checkQuota, about, err)
		case i < 0:
			a.unknown(checkQuota, about, errors.New("gcloud lists no such quota there"))
		default:
			a.quota(about, answer.Quotas[i].Usage, wanted[metric], answer.Quotas[i].Limit,
				"delete what is not needed, choose another region, or ask for more in the console under IAM, Quotas")
		}
	}
}

// googleImages looks at the images.
func (a *asker) googleImages(ctx context.Context) {
	looked := map[string]bool{}
	for _, m := range a.place.Machines {
		if m.Image == "" || looked[m.Image] {
			continue
		}
		looked[m.Image] = true
		project, name, found := strings.Cut(m.Image, "/")
		if !found || strings.Contains(name, "/") {
			a.unknown(checkImage, m.Image, errors.New("nearfar looks up images that are written PROJECT/FAMILY alone"))
			continue
		}
		var image struct {
			Name, Status string
			Deprecated   struct{ State string }
		}
		err := a.gcloud(ctx, &image, "compute", "images", "describe-from-family", name, "--project", project)
		if err != nil && says(err, "was not found") {
			err = a.gcloud(ctx, &image, "compute", "images", "describe", name, "--project", project)
		}
		switch {
		case err != nil && says(err, "was not found"):
			a.note(checkImage, m.Image, Refused, err.Error(), "choose another image (gcloud compute images list)")
		case err != nil:
			a.unknown(checkImage, m.Image, err)
		case isOver(image.Deprecated.State) || image.Status != "" && image.Status != "READY":
			a.note(checkImage, m.Image, Refused, fmt.Sprintf("%s is %s %s", image.Name, image.Status,
				image.Deprecated.State), "choose another image")
		default:
			a.note(checkImage, m.Image, OK, cmp.Or(image.Name, "there"), "")
		}
	}
}

// googlePolicies looks at constraints of the organization that stop such labs.
func (a *asker) googlePolicies(ctx context.Context) {
	type rule struct {
		DenyAll, AllowAll, Enforce bool
		Values                     struct{ AllowedValues []string }
	}
	public := slices.ContainsFunc(a.place.Machines, func(m Machine) bool { return m.Public })
	for _, c := range []struct {
		name, about, do string
		applies         bool
		denies          func(r rule) bool
	}{
		{
			"compute.vmExternalIpAccess", "public addresses of VMs",
			"ask for an exception, or reach the VMs in another way", public,
			func(r rule) bool { return r.DenyAll || len(r.Values.AllowedValues) > 0 },
		},
		{
			"compute.requireOsLogin", "keys of ssh in the metadata of VMs",
			"ask for an exception: the lab logs in by keys of the metadata", len(a.place.Machines) > 0,
			func(r rule) bool { return r.Enforce },
		},
	} {
		if !c.applies {
			continue
		}
		var policy struct{ Spec struct{ Rules []rule } }
		err := a.gcloud(ctx, &policy, "org-policies", "describe", c.name, "--effective")
		switch {
		case err != nil:
			a.unknown(checkPolicy, c.about, err)
		case slices.ContainsFunc(policy.Spec.Rules, c.denies):
			a.note(checkPolicy, c.about, Refused, "the constraint "+c.name+" of the organization forbids them", c.do)
		default:
			a.note(checkPolicy, c.about, OK, "the constraint "+c.name+" does not forbid them", "")
		}
	}
}

// googlePlacement looks at the series that a compact placement policy takes. Source, as of 2026:
// https://cloud.google.com/kubernetes-engine/docs/how-to/compact-placement, which lists C2, C2D, C3, C3D, C4D, H3, H4D,
// N2 and N2D, and the GPUs of A2, A3 and G2.
func (a *asker) googlePlacement() {
	takes := []string{"c2", "c2d", "c3", "c3d", "c4d", "h3", "h4d", "n2", "n2d", "a2", "a3", "g2"}
	looked := map[string]bool{}
	for _, m := range a.place.Machines {
		if !m.Placed || looked[m.Size] || !slices.Contains(a.place.Groups, "compact") {
			continue
		}
		looked[m.Size] = true
		about := m.Size + " with a compact placement policy"
		series, _, _ := strings.Cut(m.Size, "-")
		if slices.Contains(takes, series) {
			a.note(checkPlacement, about, OK, "Google's list of series has "+strings.ToUpper(series), "")
		} else {
			a.note(checkPlacement, about, Unknown, "the list of series that nearfar has does not name "+
				strings.ToUpper(series), "look at https://cloud.google.com/compute/docs/instances/placement-policies-overview")
		}
	}
}

// googlePermissions are the permissions that a type of resources takes.
func googlePermissions() map[string][]string {
	return map[string][]string{
		"google_compute_network":         {"compute.networks.create", "compute.networks.delete"},
		"google_compute_subnetwork":      {"compute.subnetworks.create", "compute.subnetworks.delete"},
		"google_compute_firewall":        {"compute.firewalls.create", "compute.firewalls.delete"},
		"google_compute_resource_policy": {"compute.resourcePolicies.create", "compute.resourcePolicies.delete"},
		"google_compute_instance": {
			"compute.instances.create", "compute.instances.delete", "compute.disks.create", "compute.subnetworks.use",
			"compute.subnetworks.useExternalIp", "compute.instances.setMetadata", "compute.instances.setLabels",
		},
		"google_container_cluster":   {"container.clusters.create", "container.clusters.delete"},
		"google_container_node_pool": {"container.clusters.update"},
	}
}

// googleEndpoint is where Google's Resource Manager answers. The variable is gcloud's own for another endpoint.
func googleEndpoint() string {
	return cmp.Or(os.Getenv("CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER"),
		"https://cloudresourcemanager.googleapis.com/")
}

// googleLimit is the time for the request of googleRights.
const googleLimit = 30 * time.Second

// googleRights asks which permissions the login of OpenTofu has (testIamPermissions). gcloud has no command for it, so
// gcloud gives a token, which is kept for this request alone
// (https://cloud.google.com/resource-manager/reference/rest/v1/projects/testIamPermissions).
func (a *asker) googleRights(ctx context.Context) {
	var wanted []string
	for _, kind := range a.place.Types {
		wanted = append(wanted, googlePermissions()[kind]...)
	}
	if len(wanted) == 0 {
		return
	}
	granted, err := a.testIamPermissions(ctx, wanted)
	for _, permission := range wanted {
		switch {
		case err != nil:
			a.unknown(checkRights, permission, err)
		case slices.Contains(granted, permission):
			a.note(checkRights, permission, OK, "the application default credentials have it", "")
		default:
			a.note(checkRights, permission, Refused, "the application default credentials do not have it in the project",
				"ask for a role such as roles/compute.admin")
		}
	}
}

func (a *asker) testIamPermissions(ctx context.Context, wanted []string) ([]string, error) {
	token, err := a.checker.Run(ctx, "gcloud", "auth", "application-default", "print-access-token", "--quiet")
	if err != nil {
		return nil, fmt.Errorf("gcloud gives no token: %w; log in with: gcloud auth application-default login", err)
	}
	body, err := json.Marshal(map[string]any{"permissions": wanted})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, googleLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(googleEndpoint(), "/")+
		"/v1/projects/"+url.PathEscape(a.place.Part)+":testIamPermissions", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	request.Header.Set("Content-Type", "application/json")
	answer, err := a.checker.HTTP.Do(request)
	if err != nil {
		return nil, fmt.Errorf("testIamPermissions: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("testIamPermissions: %s %s", answer.Status, cloudtool.Short(string(text)))
	}
	var granted struct{ Permissions []string }
	if err := json.Unmarshal(text, &granted); err != nil {
		return nil, fmt.Errorf("testIamPermissions: %w", err)
	}
	return granted.Permissions, nil
}
