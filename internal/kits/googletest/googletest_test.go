package googletest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client talks to a fake.
type client struct {
	t *testing.T
	*Cloud
}

// send sends a request and returns what is answered. path is relative to the project.
func (c client) send(verb, path string, body any) (int, object) {
	c.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			c.t.Fatal(err)
		}
	}
	r, err := http.NewRequestWithContext(c.t.Context(), verb, c.URL+"projects/"+Project+path, bytes.NewReader(text))
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+Token)
	return c.do(r)
}

func (c client) do(r *http.Request) (int, object) {
	c.t.Helper()
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	parsed, err := parse(data)
	if err != nil {
		c.t.Fatal(err)
	}
	return answer.StatusCode, parsed
}

// refusal is "reason: message" of a refused request, or "code: message" of a failed operation; empty if it is done.
func (c client) refusal(verb, path string, body any) string {
	c.t.Helper()
	status, o := c.send(verb, path, body)
	if status != http.StatusOK {
		one := valueAt(o, "error", "errors").([]any)[0].(object)
		return fmt.Sprintf("%v: %v", one["reason"], one["message"])
	}
	status, o = c.send(http.MethodPost, strings.TrimPrefix(textAt(o, "selfLink"), api+"projects/"+Project)+"/wait", nil)
	if status != http.StatusOK || o["status"] != "DONE" {
		c.t.Fatalf("an operation ends with %d, %v", status, o)
	}
	if errors, failed := valueAt(o, "error", "errors").([]any); failed {
		one := errors[0].(object)
		return fmt.Sprintf("%v: %v", one["code"], one["message"])
	}
	return ""
}

// wants sends a request that must be refused so. want is the beginning; empty if it must be done.
func (c client) wants(want, verb, path string, body any) {
	c.t.Helper()
	if got := c.refusal(verb, path, body); !strings.HasPrefix(got, want) || want == "" && got != "" {
		c.t.Errorf("%s %s: %q, want %q", verb, path, got, want)
	}
}

const (
	zone   = "/zones/" + Region + "-a"
	region = "/regions/" + Region
)

// machine is a request for a machine with changes, by the keys of the object.
func machine(name string, changes object) object {
	m := object{
		"name": name, "machineType": "zones/" + Region + "-a/machineTypes/c2-standard-4",
		"disks": []any{object{"boot": true, "autoDelete": true, "initializeParams": object{
			"sourceImage": "projects/ubuntu-os-cloud/global/images/family/ubuntu-2404-lts-amd64",
			"diskType":    "zones/" + Region + "-a/diskTypes/pd-balanced",
		}}},
		"networkInterfaces": []any{object{
			"subnetwork": "regions/" + Region + "/subnetworks/s", "accessConfigs": []any{object{}},
		}},
	}
	maps.Copy(m, changes)
	return m
}

// TestRules sends what the service refuses.
func TestRules(t *testing.T) {
	t.Parallel()
	c := client{t, New(t)}
	const post, remove = http.MethodPost, http.MethodDelete
	long := strings.Repeat("n", 64)
	c.wants("invalid: Invalid value for field 'resource.name': 'A_b'. Must be a match of regex", post, "/global/networks",
		object{"name": "A_b", "autoCreateSubnetworks": false})
	c.wants("invalid: Invalid value for field 'resource.name': '"+long, post, "/global/networks",
		object{"name": long, "autoCreateSubnetworks": false})
	c.wants("required: Required field 'resource.name'", post, "/global/networks", object{"autoCreateSubnetworks": false})
	c.wants("required: Required field 'resource' not", post, "/global/networks", nil)
	c.wants("badRequest: Invalid JSON payload received. Unknown name \"resource.colour\"", post, "/global/networks",
		object{"name": "n", "colour": "red"})
	c.wants("invalid: Invalid value for field 'resource.mtu'", post, "/global/networks",
		object{"name": "n", "mtu": "large"})
	c.wants("invalid: Invalid value for field 'resource.routingConfig.routingMode': 'LOCAL'", post, "/global/networks",
		object{"name": "n", "routingConfig": object{"routingMode": "LOCAL"}})
	c.wants("", post, "/global/networks", object{"name": "n", "autoCreateSubnetworks": false})
	c.wants("alreadyExists: The resource 'projects/nearfar-test/global/networks/n' already exists", post,
		"/global/networks", object{"name": "n", "autoCreateSubnetworks": false})

	c.Take(200 * time.Millisecond)
	status, _ := c.send(post, "/global/networks", object{"name": "slow", "autoCreateSubnetworks": false})
	if status != http.StatusOK {
		t.Error("a network is refused")
	}
	c.wants("resourceNotReady: The resource 'projects/nearfar-test/global/networks/slow' is not ready", post,
		"/global/firewalls", object{"name": "f", "network": "global/networks/slow",
			"allowed": []any{object{"IPProtocol": "tcp"}}})
	c.Take(time.Millisecond)
	for len(c.Busy()) > 0 {
		time.Sleep(time.Millisecond) // until the slow network is made
	}

	subnet := object{"name": "s", "network": "global/networks/n", "ipCidrRange": "10.0.1.0/24"}
	c.wants("invalid: Invalid value for field 'resource.network': 'global/networks/none'. The referenced network resource",
		post, region+"/subnetworks", object{"name": "s", "network": "global/networks/none", "ipCidrRange": "10.0.1.0/24"})
	c.wants("", post, region+"/subnetworks", subnet)
	c.wants("invalid: Invalid value for field 'resource.ipCidrRange': '10.0.0.0/16'. Invalid IPCidrRange: 10.0.0.0/16 "+
		"conflicts with existing subnetwork 's' in region 'europe-west4'.", post, region+"/subnetworks",
		object{"name": "t", "network": "global/networks/n", "ipCidrRange": "10.0.0.0/16"})
	c.wants("invalid: Invalid value for field 'region': 'mars'. Unknown region.", post, "/regions/mars/subnetworks",
		subnet)
	c.wants("invalid: Invalid value for field 'resource.sourceRanges[0]': 'me'", post, "/global/firewalls", object{
		"name": "f", "network": "global/networks/n", "sourceRanges": []any{"me"},
		"allowed": []any{object{"IPProtocol": "tcp"}}})
	c.wants("", post, "/global/firewalls", object{"name": "f", "network": "global/networks/n",
		"sourceRanges": []any{"192.0.2.1/32"}, "allowed": []any{object{"IPProtocol": "tcp", "ports": []any{"22"}}}})
	c.wants("", post, region+"/resourcePolicies", object{"name": "p",
		"groupPlacementPolicy": object{"collocation": "COLLOCATED"}})
	c.wants("invalid: Invalid value for field 'resource.groupPlacementPolicy.collocation': 'NEAR'", post,
		region+"/resourcePolicies", object{"name": "q", "groupPlacementPolicy": object{"collocation": "NEAR"}})

	in := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	for _, bad := range []struct {
		want    string
		changes object
	}{
		{"invalid: Invalid value for field 'resource.machineType': 'zones/europe-west4-a/machineTypes/c9'. Machine type " +
			"with name 'c9' does not exist in zone 'europe-west4-a'.", object{
			"machineType": "zones/europe-west4-a/machineTypes/c9"}},
		{"invalid: Invalid value for field 'resource.networkInterfaces[0].subnetwork': 'regions/europe-west4/subnetworks/x'" +
			". The referenced subnetwork resource cannot be found.", object{"networkInterfaces": []any{object{
			"subnetwork": "regions/europe-west4/subnetworks/x"}}}},
		{"invalid: Invalid value for field 'resource.networkInterfaces[0]': ''. Subnetwork should be specified",
			object{"networkInterfaces": []any{object{"network": "global/networks/n"}}}},
		{"required: Required field 'resource.networkInterfaces'", object{"networkInterfaces": []any{}}},
		{"invalid: Invalid value for field 'resource.networkInterfaces[0].nicType': 'FAST'", object{
			"networkInterfaces": []any{object{"subnetwork": "regions/europe-west4/subnetworks/s", "nicType": "FAST"}}}},
		{"invalid: Invalid value for field 'resource.labels': ''. Label value 'Me@Here' violates format constraints.",
			object{"labels": object{"nearfar_owner": "Me@Here"}}},
		{"invalid: Invalid value for field 'resource.labels': ''. Label key 'Owner' violates", object{"labels": object{
			"Owner": "me"}}},
		{"invalid: Invalid value for field 'resource.disks[0].initializeParams.sourceImage': 'x/family/none'",
			object{"disks": []any{object{"boot": true, "initializeParams": object{"sourceImage": "x/family/none"}}}}},
		{"invalid: Invalid value for field 'resource.disks'", object{"disks": []any{}}},
		{"invalid: Invalid value for field 'resource.scheduling.instanceTerminationAction': 'DELETE'. You cannot specify a " +
			"termination action for a VM instance that has the standard provisioning model",
			object{"scheduling": object{"instanceTerminationAction": "DELETE"}}},
		{"invalid: Invalid value for field 'resource.scheduling.terminationTime': 'tomorrow'",
			object{"scheduling": object{"terminationTime": "tomorrow"}}},
		{"invalid: Invalid value for field 'resource.scheduling.terminationTime'",
			object{"scheduling": object{"terminationTime": in(-time.Hour)}}},
		{"invalid: Invalid value for field 'resource.scheduling.terminationTime'",
			object{"scheduling": object{"terminationTime": in(121 * 24 * time.Hour)}}},
		{"invalid: Invalid value for field 'resource.scheduling.terminationTime'",
			object{"scheduling": object{"maxRunDuration": object{"seconds": "29"}}}},
		{"invalid: Invalid value for field 'resource.scheduling.onHostMaintenance': 'STAY'",
			object{"scheduling": object{"onHostMaintenance": "STAY"}}},
		{"invalid: Invalid value for field 'resource.resourcePolicies[0]': 'regions/europe-west4/resourcePolicies/x'. The " +
			"referenced resourcePolicy resource cannot be found.",
			object{"resourcePolicies": []any{"regions/europe-west4/resourcePolicies/x"}}},
		{"invalid: Invalid value for field 'resource.resourcePolicies'", object{
			"resourcePolicies": []any{"regions/europe-west4/resourcePolicies/p", "regions/europe-west4/resourcePolicies/q"}}},
		{"invalid: Invalid value for field 'resource.resourcePolicies': 'regions/europe-west4/resourcePolicies/p'. " +
			"Placement policy is not applicable to machine type n1-standard-1", object{
			"resourcePolicies": []any{"regions/europe-west4/resourcePolicies/p"},
			"machineType":      "zones/europe-west4-a/machineTypes/n1-standard-1"}},
	} {
		c.wants(bad.want, post, zone+"/instances", machine("v", bad.changes))
	}
	c.wants("", post, zone+"/instances", machine("v", object{
		"resourcePolicies": []any{"regions/europe-west4/resourcePolicies/p"},
		"scheduling":       object{"terminationTime": in(time.Hour), "instanceTerminationAction": "DELETE"},
	}))

	// What is in use stays.
	c.wants("resourceInUseByAnotherResource: The subnetwork resource 'projects/nearfar-test/regions/europe-west4/"+
		"subnetworks/s' is already being used by 'projects/nearfar-test/zones/europe-west4-a/instances/v'",
		remove, region+"/subnetworks/s", nil)
	c.wants("resourceInUseByAnotherResource: The resource_policy resource", remove, region+"/resourcePolicies/p", nil)
	c.wants("resourceInUseByAnotherResource: The disk resource", remove, zone+"/disks/v", nil)
	c.wants("RESOURCE_IN_USE_BY_ANOTHER_RESOURCE: The network resource 'projects/nearfar-test/global/networks/n' is "+
		"already being used by 'projects/nearfar-test/global/firewalls/f'", remove, "/global/networks/n", nil)

	// A change needs the last fingerprint.
	labels := object{"labels": object{"a": "b"}, "labelFingerprint": "AAAA"}
	c.wants("conditionNotMet: Labels fingerprint either invalid or resource labels have changed", post,
		zone+"/instances/v/setLabels", labels)
	labels["labelFingerprint"] = c.Resource("projects/"+Project+zone+"/instances/v", "labelFingerprint")
	c.wants("", post, zone+"/instances/v/setLabels", labels)
	c.wants("conditionNotMet: Labels", post, zone+"/instances/v/setLabels", labels)
	c.wants("conditionNotMet: Supplied fingerprint does not match current metadata fingerprint.", post,
		zone+"/instances/v/setMetadata", object{"items": []any{}, "fingerprint": "AAAA"})

	// In the right order, all goes.
	for _, path := range []string{zone + "/instances/v", region + "/resourcePolicies/p", region + "/subnetworks/s",
		"/global/firewalls/f", "/global/networks/n", "/global/networks/slow"} {
		c.wants("", remove, path, nil)
	}
	c.wants("notFound: The resource 'projects/nearfar-test/global/networks/n' was not found", remove, "/global/networks/n",
		nil)
	if left := c.Resources(); len(left) > 0 {
		t.Errorf("left are %q", left)
	}
}

// Capacity and quotas end in operations, and leave nothing.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	c := client{t, New(t)}
	const post = http.MethodPost
	c.wants("", post, "/global/networks", object{"name": "n", "autoCreateSubnetworks": false})
	c.wants("", post, region+"/subnetworks", object{"name": "s", "network": "global/networks/n",
		"ipCidrRange": "10.0.1.0/24"})
	c.Exhaust(Region+"-a", "c2-standard-4", true)
	c.wants("ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS: The zone 'projects/nearfar-test/zones/europe-west4-a' does not "+
		"have enough resources available to fulfill the request.", post, zone+"/instances", machine("v", nil))
	c.Exhaust(Region+"-a", "c2-standard-4", false)
	c.Limit("C2_CPUS", 7)
	c.wants("", post, zone+"/instances", machine("v", nil))
	c.wants("QUOTA_EXCEEDED: Quota 'C2_CPUS' exceeded.  Limit: 7.0 in region europe-west4.", post, zone+"/instances",
		machine("w", nil))
	c.Limit("NETWORKS", 1)
	_, o := c.send(post, "/global/networks", object{"name": "m", "autoCreateSubnetworks": false})
	if o["status"] == "DONE" {
		t.Error("an operation is done at once")
	}
	_, o = c.send(post, strings.TrimPrefix(textAt(o, "selfLink"), api+"projects/"+Project)+"/wait", nil)
	one := valueAt(o, "error", "errors").([]any)[0].(object)
	if detail := valueAt(one["errorDetails"].([]any)[0].(object), "quotaInfo", "limitName"); one["message"] !=
		"Quota 'NETWORKS' exceeded.  Limit: 1.0 globally." || detail != "NETWORKS-per-project" ||
		number(o["httpErrorStatusCode"]) != http.StatusForbidden || o["httpErrorMessage"] != "FORBIDDEN" {
		t.Errorf("an operation beyond a quota ends with %v", o)
	}
	if got := c.Resources(); len(got) != 4 { // the network, its subnet, v and its disk
		t.Errorf("there are %q", got)
	}
	_, o = c.send(http.MethodGet, region, nil)
	if text := fmt.Sprint(o["quotas"]); !strings.Contains(text, "map[limit:7 metric:C2_CPUS usage:4]") {
		t.Errorf("quotas are %s", text)
	}
}

// A request that is repeated with its identifier is done once.
func TestRequestsAreRepeated(t *testing.T) {
	t.Parallel()
	c := client{t, New(t)}
	const id = "?requestId=6f1c2a3e-1111-4222-8333-444455556666"
	body := object{"name": "n", "autoCreateSubnetworks": false}
	_, first := c.send(http.MethodPost, "/global/networks"+id, body)
	_, second := c.send(http.MethodPost, "/global/networks"+id, body)
	if first["name"] != second["name"] || first["name"] == nil {
		t.Errorf("the operations are %v and %v", first["name"], second["name"])
	}
	for _, bad := range []string{"?requestId=1", "?requestId=00000000-0000-0000-0000-000000000000"} {
		c.wants("invalid: Invalid value for field 'requestId'", http.MethodPost, "/global/networks"+bad, body)
	}
	c.wants("invalidParameter: colour", http.MethodPost, "/global/networks?colour=red", body)
}

// Who does not say who it is, or whose project does not use the API, gets nothing.
func TestAdmission(t *testing.T) {
	t.Parallel()
	c := client{t, New(t)}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+"projects/"+Project, nil)
	if err != nil {
		t.Fatal(err)
	}
	if status, o := c.do(r); status != http.StatusUnauthorized || valueAt(o, "error", "status") != "UNAUTHENTICATED" {
		t.Errorf("without a token: %d, %v", status, o)
	}
	c.Disable()
	status, o := c.send(http.MethodGet, "/zones", nil)
	if status != http.StatusForbidden || !strings.Contains(textAt(o, "error", "message"), "or it is disabled") {
		t.Errorf("with a disabled API: %d, %v", status, o)
	}
}

// Long lists come in pages, and lists of all zones by these.
func TestPages(t *testing.T) {
	t.Parallel()
	c := client{t, New(t)}
	c.Pages(2)
	for _, name := range []string{"a", "b", "c"} {
		c.wants("", http.MethodPost, zone+"/disks", object{"name": name})
	}
	var names []string
	pages := 0
	for token := ""; ; pages++ {
		_, o := c.send(http.MethodGet, "/aggregated/disks?includeAllScopes=True&maxResults=500&pageToken="+token, nil)
		for scope, value := range o["items"].(object) {
			disks, _ := value.(object)["disks"].([]any)
			if (len(disks) > 0) != (scope == "zones/"+Region+"-a") {
				t.Errorf("disks of %s: %v", scope, disks)
			}
			for _, disk := range disks {
				names = append(names, textAt(disk.(object), "name"))
			}
		}
		if token = textAt(o, "nextPageToken"); token == "" {
			break
		}
	}
	if fmt.Sprint(names) != "[a b c]" || pages != 1 {
		t.Errorf("the disks are %q, with %d more pages", names, pages)
	}
	_, o := c.send(http.MethodGet, "/zones?filter=name%3D%22"+Region+"-b%22", nil)
	if zones := o["items"].([]any); len(zones) != 1 {
		t.Errorf("zones are %v", zones)
	}
}

// Quotas of the fake are quotas of the service.
func TestQuotasAreKnown(t *testing.T) {
	t.Parallel()
	c := New(t)
	for metric := range c.limits {
		for _, p := range c.document.Response("regions.get", object{"quotas": []any{object{"metric": metric}}}) {
			t.Error(p)
		}
	}
}

// Take sets how long operations take.
func (c *Cloud) Take(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.duration = d
}

// Busy lists the links of resources on which operations work.
func (c *Cloud) Busy() (links []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	for _, o := range c.pending {
		links = append(links, textAt(o.shown, "targetLink"))
	}
	return links
}
