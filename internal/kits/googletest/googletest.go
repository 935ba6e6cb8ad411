// Package googletest is a fake of Google's Compute Engine API on loopback, for tests. What is sent to it, and what it
// answers, is checked against Google's discovery document (folder discovery): methods, parameters, types, enumerations,
// patterns and required fields. Beyond the document it is as strict as the service where labs can break a rule: names
// are taken once, what a resource refers to must exist and be ready, what is in use cannot be deleted, work is done by
// operations that can fail, and quotas and capacity end (rules.go, instances.go and operation.go have the sources). The
// fake knows nothing of prices, of the guests of machines, or of how long anything takes.
package googletest

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/kits/googletest/discovery"
)

const (
	// Project is the only project of the fake.
	Project = "nearfar-test"
	// Region is the only region. Its zones are Region with -a, -b and -c.
	Region = "europe-west4"
	// Token is what the fake takes as an access token.
	Token = "fake-token-of-tests"
	// api is where links of the service's answers begin.
	api = "https://www.googleapis.com/compute/v1/"
)

// object is a JSON object.
type object = map[string]any

// A Cloud is a fake of the Compute Engine API. It is safe for concurrent use.
type Cloud struct {
	t testing.TB
	// URL is where the API listens, with the path that clients of it take: .../compute/v1/.
	URL      string
	document *discovery.Document

	mu sync.Mutex
	// resources are by their paths, such as projects/p/zones/z/instances/i.
	resources map[string]object
	// operations are by their paths, pending those that have not ended, in the order of their requests.
	operations map[string]*operation
	pending    []*operation
	// requested are operations by the identifiers of requests.
	requested map[string]*operation
	// exhausted are zones without capacity, by zone and type of machine.
	exhausted map[string]bool
	// limits are the limits of quotas.
	limits map[string]float64
	// duration is how long an operation takes.
	duration time.Duration
	// pageSize bounds the pages of lists.
	pageSize int
	// disabled is whether the project does not use the API.
	disabled bool
	last     int
}

// New starts a cloud with one project, in which there is nothing. Answers that the discovery document does not allow
// fail the test.
func New(t testing.TB) *Cloud {
	t.Helper()
	const brief = 20 * time.Millisecond
	c := &Cloud{
		t: t, document: discovery.Compute(), resources: map[string]object{}, operations: map[string]*operation{},
		requested: map[string]*operation{}, exhausted: map[string]bool{}, limits: defaultLimits(),
		duration: brief, pageSize: 500, last: 1000,
	}
	c.catalogue()
	server := httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(server.Close)
	c.URL = server.URL + "/compute/v1/"
	return c
}

// Resources lists the paths of all resources that a user has made: projects/p/global/networks/n.
func (c *Cloud) Resources() (paths []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	for _, path := range c.paths() {
		if isMade(path) {
			paths = append(paths, path)
		}
	}
	return paths
}

// Resource gives a copy of a resource, as a list of keys leads to it: scheduling, terminationTime. It is nil if there
// is none.
func (c *Cloud) Resource(path string, keys ...string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settle()
	found, ok := c.resources[path]
	if !ok {
		return nil
	}
	var value any = copied(found)
	for _, key := range keys {
		inner, _ := value.(object)
		value = inner[key]
	}
	return value
}

// Remove removes a resource, as a user who is not under test would, also if others use it.
func (c *Cloud) Remove(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.resources, path)
}

// Exhaust says whether a zone lacks capacity for a type of machine.
func (c *Cloud) Exhaust(zone, machineType string, lacks bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.exhausted[zone+" "+machineType] = lacks
}

// Limit sets the limit of a quota, such as C2_CPUS.
func (c *Cloud) Limit(metric string, limit float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limits[metric] = limit
}

// Disable says that the project does not use the API.
func (c *Cloud) Disable() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.disabled = true
}

// Pages sets how many resources a page of a list has at most.
func (c *Cloud) Pages(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pageSize = size
}

// paths are the paths of all resources, in order.
func (c *Cloud) paths() []string { return slices.Sorted(maps.Keys(c.resources)) }

// isMade says whether users make such resources.
func isMade(path string) bool {
	return slices.Contains([]string{"networks", "subnetworks", "firewalls", "resourcePolicies", "instances", "disks"},
		kindOf(path)) && strings.HasPrefix(path, "projects/"+Project+"/")
}

// kindOf is the kind of resource of a path: instances.
func kindOf(path string) string {
	parts := strings.Split(path, "/")
	return parts[max(len(parts)-2, 0)]
}

// nameOf is the last part of a path or link.
func nameOf(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// copied is a copy that shares nothing. Numbers stay as they are written.
func copied(o object) (other object) {
	data, err := json.Marshal(o)
	if err == nil {
		other, err = parse(data)
	}
	if err != nil {
		panic(err) // it came from JSON
	}
	return other
}

// parse reads a JSON object and keeps numbers as they are written.
func parse(data []byte) (o object, err error) {
	decoder := json.NewDecoder(strings.NewReader(string(data)))
	decoder.UseNumber()
	err = decoder.Decode(&o)
	return o, err
}

// valueAt follows keys into an object. It is nil if there is none.
func valueAt(o object, keys ...string) any {
	var value any = o
	for _, key := range keys {
		inner, _ := value.(object)
		value = inner[key]
	}
	return value
}

// textAt is the text at the end of keys; empty if there is none.
func textAt(o object, keys ...string) string {
	text, _ := valueAt(o, keys...).(string)
	return text
}

// Make changes the cloud as a user who is not under test would: it sends a request with a JSON object to a path of the
// project, such as global/networks, and waits until it is done.
func (c *Cloud) Make(verb, path, body string) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	r, err := http.NewRequestWithContext(c.t.Context(), verb, c.URL+"projects/"+Project+"/"+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+Token)
	a := c.answer(r, []byte(body))
	if a.failed() {
		c.t.Fatalf("%s %s: %v", verb, path, a.body)
	}
	link := strings.TrimPrefix(textAt(a.body, "selfLink"), api)
	if a = c.poll(link, true); valueAt(a.body, "error") != nil {
		c.t.Fatalf("%s %s: %v", verb, path, a.body)
	}
}
