// Package azuretest is a fake of Azure's Resource Manager on loopback, and the real Azure CLI that talks to it, for
// tests. It keeps resources as they are sent, and is as strict as the service where labs can break a rule: names are
// limited, a provider must be registered, what a resource refers to must exist, what is in use cannot be deleted, a PUT
// replaces the subnets of a network, and a machine whose allocation fails is there all the same (rules.go and
// operation.go have the sources). A machine makes its disk, and lists come in pages. The fake knows nothing of
// placement, prices or how long anything takes: other requests are done at once.
package azuretest

import (
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	// Subscription is the only subscription of the fake.
	Subscription = "00000000-0000-4000-8000-000000000001"
	// Tenant is the only tenant.
	Tenant = "00000000-0000-4000-8000-0000000000aa"
	// Client is the only one who can log in.
	Client = "00000000-0000-4000-8000-0000000000cc"
	// Location is the only region.
	Location = "westeurope"
)

// object is a JSON object.
type object = map[string]any

// A Cloud is a fake Resource Manager. It is safe for concurrent use.
type Cloud struct {
	t testing.TB
	// URL is where it listens.
	URL string
	// Secret is the password of Client. It is drawn for each cloud.
	Secret string
	// folder has the certificate and the configuration of az.
	folder string

	mu sync.Mutex
	// resources are by their identifiers in small letters.
	resources map[string]object
	// pageSize is how many resources a page of a list has.
	pageSize int
	// refusals are codes of errors by sizes of machines.
	refusals map[string]string
	// restricted are sizes that the subscription may not use; usage is how many vCPUs of a quota are used.
	restricted []string
	usage      map[string]int
	// zones are zones in which the subscription may not use a size; roles what the login may do; denied are the types
	// that a policy denies, with the assignments of the policies.
	zones  map[string][]string
	roles  []Role
	denied map[string]string
	// registered are the registered providers, in small letters; operations are the results of asynchronous requests,
	// and working is what is under way, by the names of operations.
	registered map[string]bool
	operations map[string]object
	working    map[string]*work
	// keyless says that no cluster of AKS gives its kubeconfig; sent are the last requests for clusters and their pools,
	// by paths.
	keyless bool
	sent    map[string]object
	// passwords are the passwords with which machines were made.
	passwords map[string]string
	// last counts addresses and identifiers that were given.
	last int
	// requests are methods and paths.
	requests []string
}

// New starts a cloud with one subscription, in which there is nothing.
func New(t testing.TB) *Cloud {
	t.Helper()
	c := &Cloud{
		t: t, folder: t.TempDir(), resources: map[string]object{}, pageSize: 100, refusals: map[string]string{},
		passwords: map[string]string{}, operations: map[string]object{}, working: map[string]*work{},
		sent: map[string]object{}, roles: []Role{{Actions: []string{"*"}}},
		// As in a subscription that has had machines, and nothing else.
		registered: map[string]bool{"microsoft.compute": true, "microsoft.network": true, "microsoft.resources": true},
		Secret:     "CANARY-password-" + filepath.Base(t.TempDir()),
	}
	server := httptest.NewTLSServer(http.HandlerFunc(c.serve))
	t.Cleanup(server.Close)
	c.URL = server.URL
	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	if err := os.WriteFile(c.certificate(), pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	return c
}

func (c *Cloud) certificate() string { return filepath.Join(c.folder, "certificate.pem") }

// Put makes a resource, as a user who is not under test would. Its parents need not exist.
func (c *Cloud) Put(id string, tags map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := split(id)
	c.resources[strings.ToLower(id)] = object{
		"id": id, "name": parts[len(parts)-1], "type": typeOf(parts), "location": Location, "tags": tags,
		"properties": object{"provisioningState": "Succeeded"},
	}
}

// Delete deletes a resource, also if others use it.
func (c *Cloud) Delete(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(strings.ToLower(id))
}

// Resources lists the identifiers of all resources and groups, without children such as subnets.
func (c *Cloud) Resources() (ids []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, key := range c.keys() {
		if parts := split(key); len(parts) == groupParts || isTracked(parts) {
			ids = append(ids, c.resources[key]["id"].(string))
		}
	}
	return ids
}

// Resource gives a copy of a resource, as a list of keys leads to it: properties, hardwareProfile, vmSize. It is nil if
// there is none.
func (c *Cloud) Resource(id string, keys ...string) any {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, ok := c.resources[strings.ToLower(id)]
	if !ok {
		return nil
	}
	var value any = copied(r)
	for _, key := range keys {
		inner, _ := value.(object)
		value = inner[key]
	}
	return value
}

// Password is the password with which a machine was made.
func (c *Cloud) Password(id string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.passwords[strings.ToLower(id)]
}

// Pages sets how many resources a page of a list has.
func (c *Cloud) Pages(size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pageSize = size
}

// Refuse lets the allocation of machines of a size fail with a code, such as OverconstrainedAllocationRequest. Without
// a code, there is room again.
func (c *Cloud) Refuse(size, code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refusals[size] = code
}

// Keyless lets no cluster give its kubeconfig, as one does whose control plane was not made.
func (c *Cloud) Keyless(keyless bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keyless = keyless
}

// Restrict says which sizes the subscription may not use.
func (c *Cloud) Restrict(sizes ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.restricted = sizes
}

// Use sets how many vCPUs of quotas of 100 are used: of families of sizes, or of the region (cores).
func (c *Cloud) Use(cpus map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.usage = maps.Clone(cpus)
}

// RestrictZones says in which zones the subscription may not use a size.
func (c *Cloud) RestrictZones(size string, zones ...string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.zones = map[string][]string{size: zones}
}

// A Role is what a login may do, in patterns.
type Role struct {
	Actions    []string `json:"actions"`
	NotActions []string `json:"notActions"`
}

// Allow sets what the login may do in the subscription. A new cloud allows all. The fake enforces none of it: it only
// says it.
func (c *Cloud) Allow(roles ...Role) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.roles = roles
}

// Deny says which types of resources policies deny: assignments of policies by types.
func (c *Cloud) Deny(types map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.denied = types
}

// Requests lists the methods and paths of all requests.
func (c *Cloud) Requests() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// keys are the identifiers of all resources in small letters, in order.
func (c *Cloud) keys() []string { return slices.Sorted(maps.Keys(c.resources)) }

// copied is a copy that shares nothing.
func copied(o object) (other object) {
	data, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(data, &other)
	}
	if err != nil {
		panic(err) // it came from JSON
	}
	return other
}
