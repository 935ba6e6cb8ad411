package azuretest

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write what the real azurerm sends into testdata")

const aksGroup = "/subscriptions/" + Subscription + "/resourceGroups/g"

// A fakeAKS is a cloud with the group g, in which clusters are made.
type fakeAKS struct {
	*Cloud
	t *testing.T
}

func newFakeAKS(t *testing.T) fakeAKS {
	t.Helper()
	c := fakeAKS{New(t), t}
	c.registered["microsoft.containerservice"] = true
	if code := c.send(aksGroup, object{}); code != "" {
		t.Fatal(code)
	}
	return c
}

// send sends a PUT, waits for the end of its work, and gives the code of its error or of its failure.
func (c fakeAKS) send(id string, body object) (code string) {
	c.t.Helper()
	body = copied(body)
	if body["location"] == nil && len(split(id)) <= resourceParts {
		body["location"] = Location
	}
	a := c.put(http.MethodPut, id, split(id), body)
	if code, ok := a.asObject()["code"].(string); ok {
		return code
	}
	if code, ok := at(a.asObject(), "error", "code").(string); ok {
		return code
	}
	if a.operation == "" {
		return ""
	}
	name := a.operation[strings.LastIndex(a.operation, "/")+1:]
	for range asks {
		c.ask(name)
	}
	if c.operations[name]["status"] == "Succeeded" {
		return ""
	}
	return fmt.Sprint(at(c.operations[name], "error", "code"))
}

// end deletes a resource, and waits for the end of the work.
func (c fakeAKS) end(id string) {
	c.t.Helper()
	if a := c.delete(id, split(id)); a.status != http.StatusAccepted || a.location == "" {
		c.t.Errorf("the deletion of %s is answered with %d, at %q", id, a.status, a.location)
	}
	for range asks {
		c.askFor(strings.ToLower(id))
	}
}

// changed is a copy of a cluster or pool, with another value at the end of a list of keys; nil removes the key.
func changed(body object, value any, keys ...string) object {
	body = copied(body)
	last := body
	for _, key := range keys[:len(keys)-1] {
		if all, ok := last[key].([]any); ok {
			last = all[0].(object)
			continue
		}
		last = last[key].(object)
	}
	key := keys[len(keys)-1]
	if last[key] = value; value == nil {
		delete(last, key)
	}
	return body
}

// AKS refuses what the service refuses, with the service's codes.
func TestAKSRules(t *testing.T) {
	t.Parallel()
	cluster := object{"properties": object{
		"dnsPrefix": "nearfar", "nodeResourceGroup": "g-nodes", "networkProfile": object{"networkPlugin": "azure"},
		"agentPoolProfiles": []any{object{
			"name": "system", "mode": "System", "osType": "Linux", "count": 1, "vmSize": "Standard_D4as_v5",
		}},
	}}
	pool := object{"properties": object{"osType": "Linux", "count": 2, "vmSize": "Standard_A4_v2"}}
	windows := changed(pool, "Windows", "properties", "osType")
	const id = aksGroup + "/providers/Microsoft.ContainerService/managedClusters/it"
	const profile = "agentPoolProfiles"
	long := strings.Repeat("n", 64)
	overlay := changed(changed(cluster, "overlay", "properties", "networkProfile", "networkPluginMode"), long,
		"properties", "nodeResourceGroup")

	c := newFakeAKS(t)
	delete(c.registered, "microsoft.containerservice")
	if code := c.send(id, cluster); code != "MissingSubscriptionRegistration" {
		t.Errorf("without the provider: %q", code)
	}
	for name, one := range map[string]struct {
		body object
		code string
	}{
		"group of 81":     {changed(cluster, strings.Repeat("n", 81), "properties", "nodeResourceGroup"), "InvalidParameter"},
		"its own group":   {changed(cluster, "G", "properties", "nodeResourceGroup"), "NodeResourceGroupSameAsResourceGroup"},
		"label of 64":     {overlay, "InvalidParameter"},
		"unknown version": {changed(cluster, "1.29", "properties", "kubernetesVersion"), "K8sVersionNotSupported"},
		"unknown size":    {changed(cluster, "Standard_D4_v3", "properties", profile, "vmSize"), "BadRequest"},
		"no system pool":  {changed(cluster, "User", "properties", profile, "mode"), "MustDefineAtLeastOneSystemPool"},
		"no nodes":        {changed(cluster, 0, "properties", profile, "count"), "InvalidParameter"},
		"quota":           {changed(cluster, 26, "properties", profile, "count"), "ErrCode_InsufficientVCPUQuota"},
		"name of a pool":  {changed(cluster, "sys-tem", "properties", profile, "name"), "InvalidParameter"},
	} {
		c := newFakeAKS(t)
		if code := c.send(id, one.body); code != one.code {
			t.Errorf("%s: code %q, want %q", name, code, one.code)
		}
		if left := c.Resources(); len(left) != 1 {
			t.Errorf("%s: left are %q", name, left)
		}
	}

	c = newFakeAKS(t)
	c.Refuse("Standard_D4as_v5", "AllocationFailed")
	if code := c.send(id, cluster); code != "AllocationFailed" || c.state(id) != "Failed" {
		t.Errorf("without room: code %q, the cluster is %v", code, c.state(id))
	}
	c.Refuse("Standard_D4as_v5", "")
	c.end(id)
	if left := c.Resources(); len(left) != 1 {
		t.Errorf("after the deletion of a failed cluster, left are %q", left)
	}

	code := c.send(id, cluster)
	if code != "" || c.state(id) != "Succeeded" || c.state(id+"/agentPools/system") != "Succeeded" {
		t.Fatalf("code %q, the cluster is %v", code, c.state(id))
	}
	pools := id + "/agentPools/"
	for name, one := range map[string]struct {
		id   string
		body object
		code string
	}{
		"the same group": {id + "2", cluster, "NodeResourceGroupAlreadyExists"},
		"another group":  {id, changed(cluster, "other", "properties", "nodeResourceGroup"), "PropertyChangeNotAllowed"},
		"another pool":   {id, changed(cluster, "more", "properties", profile, "name"), "BadRequest"},
		"no cluster":     {id + "3/agentPools/a", pool, "ParentResourceNotFound"},
		"13 characters":  {pools + "abcdefghijklm", pool, "InvalidParameter"},
		"7 on Windows":   {pools + "windows", windows, "WindowsAgentPoolNameTooLong"},
		"another version": {
			pools + "a", changed(pool, "1.36", "properties", "orchestratorVersion"), "AgentPoolK8sVersionNotSupported",
		},
		"another size":     {pools + "system", pool, "PropertyChangeNotAllowed"},
		"Windows on Linux": {pools + "a", changed(pool, "Windows2022", "properties", "osSKU"), "InvalidParameter"},
		"25 nodes":         {pools + "a", changed(pool, 25, "properties", "count"), "ErrCode_InsufficientVCPUQuota"},
	} {
		if code := c.send(one.id, one.body); code != one.code {
			t.Errorf("%s: code %q, want %q", name, code, one.code)
		}
	}
	a := c.put(http.MethodPut, pools+"a", split(pools+"a"), copied(pool))
	if a.status != http.StatusCreated || c.state(pools+"a") != "Creating" {
		t.Errorf("a new pool is answered with %d and is %v", a.status, c.state(pools+"a"))
	}
	if code := c.send(id, cluster); code != "OperationNotAllowed" {
		t.Errorf("a change of the cluster while a pool is made: code %q", code)
	}
	for range asks {
		c.askFor(strings.ToLower(pools + "a"))
	}
	if code := c.send(pools+"win", windows); code != "" {
		t.Errorf("a Windows pool: code %q", code)
	}
	if got := len(list(at(c.shown(c.resources[strings.ToLower(id)]), "properties", profile))); got != 3 {
		t.Errorf("the cluster shows %d pools", got)
	}
	c.end(pools + "win")
	if got := c.count("virtualMachineScaleSets"); got != 2 {
		t.Errorf("%d scale sets after the deletion of a pool, want 2", got)
	}
	c.delete(aksGroup, split(aksGroup))
	if left := c.Resources(); len(left) > 0 {
		t.Errorf("after the deletion of the group, left are %q", left)
	}
	kubenet := newFakeAKS(t)
	if code := kubenet.send(id, changed(cluster, "kubenet", "properties", "networkProfile", "networkPlugin")); code != "" {
		t.Error(code)
	}
	if code := kubenet.send(pools+"win", windows); code != "AzureCNIOnlyForWindows" {
		t.Errorf("Windows with kubenet: code %q", code)
	}
}

// state is the provisioning state of a resource.
func (c *Cloud) state(id string) any { return c.Resource(id, "properties", "provisioningState") }

// sentFile has what the real azurerm sent for the lab, by paths.
func sentFile(system string) string { return filepath.Join("testdata", "aks-"+system+".json") }

// What the real azurerm sends for the lab is accepted, and nothing of it is changed: what azurerm reads otherwise than
// it sent it, it would plan to change, and for settings of upgrades to replace.
func TestAKSLabAsSent(t *testing.T) {
	t.Parallel()
	for _, system := range []string{"linux", "windows"} {
		var sent map[string]object
		data, err := os.ReadFile(sentFile(system))
		if err == nil {
			err = json.Unmarshal(data, &sent)
		}
		if err != nil {
			t.Fatal(err)
		}
		c := newFakeAKS(t)
		var clusters, pools int
		for _, kind := range []string{clusterKind, poolKind} { // a pool needs its cluster
			for id, body := range sent {
				if !strings.EqualFold(typeOf(split(id)), kind) {
					continue
				}
				if code := c.send(id, body); code != "" {
					t.Fatalf("%s: %s", id, code)
				}
				if kind == clusterKind {
					clusters++
					continue
				}
				pools++
				keeps(t, id, c.Resource(id, "properties"), body["properties"])
			}
		}
		if clusters != 1 || pools != 2 {
			t.Errorf("%s has %d clusters and %d pools", sentFile(system), clusters, pools)
		}
		for id, body := range sent {
			for _, one := range list(at(body, "properties", "agentPoolProfiles")) {
				profile := copied(one.(object))
				name := fmt.Sprint(profile["name"])
				delete(profile, "name")
				keeps(t, name, c.Resource(id+"/agentPools/"+name, "properties"), profile)
			}
		}
	}
}

// keeps checks that a pool has all that was sent, apart from empty texts, and that its settings of upgrades are all
// among what was sent.
func keeps(t *testing.T, name string, has, sent any) {
	t.Helper()
	for key, value := range sent.(object) {
		if got := has.(object)[key]; key != "upgradeSettings" && value != nil && value != "" &&
			!reflect.DeepEqual(got, value) {
			t.Errorf("%s has %s %v, and %v was sent", name, key, got, value)
		}
	}
	upgrades, _ := at(sent.(object), "upgradeSettings").(object)
	for key, value := range at(has.(object), "upgradeSettings").(object) {
		// azurerm does not read that no node may be unavailable.
		if key != "maxUnavailable" && !reflect.DeepEqual(upgrades[key], value) {
			t.Errorf("%s has the setting %s %v, and %v was sent", name, key, value, upgrades[key])
		}
	}
}
