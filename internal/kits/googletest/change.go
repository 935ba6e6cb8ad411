package googletest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// add makes a resource with what the service gives every resource.
func (c *Cloud) add(path string, r object) {
	c.last++
	r["id"], r["selfLink"] = strconv.Itoa(c.last), api+path
	r["creationTimestamp"] = time.Now().Format("2006-01-02T15:04:05.000-07:00")
	c.resources[path] = r
}

// text writes a number as JSON has it for int64: as a string.
func text(n int) string { return strconv.Itoa(n) }

// number reads a number that is a JSON number or a string.
func number(value any) float64 {
	n, err := strconv.ParseFloat(fmt.Sprint(value), 64)
	if err != nil {
		return 0
	}
	return n
}

// fingerprint is a fingerprint of a value: it changes with it.
func fingerprint(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // it came from JSON
	}
	sum := sha256.Sum256(data)
	return base64.StdEncoding.EncodeToString(sum[:8])
}

// change begins what a request asks for.
func (c *Cloud) change(k call) (*operation, answer) {
	switch k.verb {
	case "insert":
		return c.insert(k)
	case "delete":
		return c.remove(k.path)
	}
	path := k.path[:strings.LastIndexByte(k.path, '/')]
	if k.verb == "patch" {
		path = k.path
	}
	r := c.resources[path]
	switch {
	case r == nil:
		return nil, notFound(path)
	case c.busy(path):
		return nil, notReady(path)
	}
	return c.update(k, path, r)
}

// update changes a resource.
func (c *Cloud) update(k call, path string, r object) (*operation, answer) {
	switch k.verb {
	case "setLabels":
		if textAt(k.body, "labelFingerprint") != textAt(r, "labelFingerprint") {
			return nil, stale("labels")
		}
		r["labels"], r["labelFingerprint"] = k.body["labels"], fingerprint(k.body["labels"])
	case "setMetadata":
		if textAt(k.body, "fingerprint") != textAt(r, "metadata", "fingerprint") {
			return nil, stale("metadata")
		}
		k.body["fingerprint"], k.body["kind"] = fingerprint(k.body["items"]), "compute#metadata"
		r["metadata"] = k.body
	case "patch":
		maps.Copy(r, k.body)
	}
	return c.begin(k.verb, path, func() *failure { return nil }), answer{status: http.StatusOK}
}

// insert makes a resource. It is there at once, and gone if the operation fails.
func (c *Cloud) insert(k call) (*operation, answer) {
	name := textAt(k.body, "name")
	if name == "" {
		return nil, refused(http.StatusBadRequest, "required", "Required field 'resource.name' not specified")
	}
	path := k.path + "/" + name
	if c.resources[path] != nil {
		return nil, alreadyExists(path)
	}
	c.dropOutputs(k)
	k.body["kind"] = "compute#" + singular(k.kind)
	makers := map[string]func(call, string) answer{
		"networks": c.makeNetwork, "subnetworks": c.makeSubnetwork, "firewalls": c.makeFirewall,
		"resourcePolicies": c.makePolicy, "instances": c.makeInstance, "disks": c.makeDisk,
	}[k.kind]
	if a := makers(k, path); a.failed() {
		return nil, a
	}
	c.add(path, k.body)
	return c.begin("insert", path, func() *failure { return c.made(path) }), answer{status: http.StatusOK}
}

// dropOutputs drops what only the service sets: it ignores that.
func (c *Cloud) dropOutputs(k call) {
	schema := c.document.Schemas[c.document.Methods[k.kind+".insert"].Request]
	for name, t := range schema.Properties {
		if t.Output {
			delete(k.body, name)
		}
	}
}

// made ends the work of an insert.
func (c *Cloud) made(path string) *failure {
	r := c.resources[path]
	if r == nil {
		return nil // somebody has removed it meanwhile
	}
	f := c.beyond(path)
	if f == nil && kindOf(path) == "instances" {
		f = c.place(path, r)
	}
	if f != nil {
		c.drop(path)
		return f
	}
	switch kindOf(path) {
	case "instances":
		r["status"] = "RUNNING"
	case "resourcePolicies", "disks":
		r["status"] = "READY"
	}
	return nil
}

// drop removes a resource and what goes with it.
func (c *Cloud) drop(path string) {
	r := c.resources[path]
	delete(c.resources, path)
	switch kindOf(path) {
	case "instances":
		disks, _ := r["disks"].([]any)
		for _, one := range disks {
			disk := c.resolve(textAt(one.(object), "source"))
			if one.(object)["autoDelete"] == true {
				delete(c.resources, disk)
			} else if d := c.resources[disk]; d != nil {
				delete(d, "users")
			}
		}
	case "subnetworks":
		if network := c.resources[c.resolve(textAt(r, "network"))]; network != nil {
			var left []any
			for _, link := range network["subnetworks"].([]any) {
				if link != api+path {
					left = append(left, link)
				}
			}
			if network["subnetworks"] = left; len(left) == 0 {
				delete(network, "subnetworks")
			}
		}
	}
}

// remove deletes a resource. What is in use is refused at once, but for networks: their operation fails.
func (c *Cloud) remove(path string) (*operation, answer) {
	r := c.resources[path]
	switch {
	case r == nil:
		return nil, notFound(path)
	case c.busy(path):
		return nil, notReady(path)
	case kindOf(path) == "networks":
		return c.begin("delete", path, func() *failure {
			if user := c.user(path); user != "" {
				return &failure{status: http.StatusBadRequest, code: "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE",
					message: inUseText(path, user)}
			}
			c.drop(path)
			return nil
		}), answer{status: http.StatusOK}
	}
	if user := c.user(path); user != "" {
		return nil, inUse(path, user)
	}
	if kindOf(path) == "instances" {
		r["status"] = "STOPPING"
	}
	return c.begin("delete", path, func() *failure { c.drop(path); return nil }), answer{status: http.StatusOK}
}

func (c *Cloud) makeNetwork(k call, _ string) answer {
	if _, given := k.body["autoCreateSubnetworks"]; !given && k.body["IPv4Range"] == nil {
		// Without it, a legacy network is asked for (autoCreateSubnetworks in the discovery document), and nobody gets new
		// ones (https://cloud.google.com/vpc/docs/legacy). The text is not the service's.
		return invalid("resource.autoCreateSubnetworks", "", "Legacy networks are not supported.")
	}
	if k.body["routingConfig"] == nil {
		k.body["routingConfig"] = object{"routingMode": "REGIONAL"}
	}
	if k.body["networkFirewallPolicyEnforcementOrder"] == nil {
		k.body["networkFirewallPolicyEnforcementOrder"] = "AFTER_CLASSIC_FIREWALL"
	}
	return answer{status: http.StatusOK}
}

func (c *Cloud) makeSubnetwork(k call, path string) answer {
	network, a := c.needs("resource.network", "networks", textAt(k.body, "network"))
	if a.failed() {
		return a
	}
	cidr := textAt(k.body, "ipCidrRange")
	_, wanted, err := net.ParseCIDR(cidr)
	if err != nil {
		return invalid("resource.ipCidrRange", cidr, "Invalid IPCidrRange: "+cidr+".")
	}
	for _, other := range c.paths() {
		r := c.resources[other]
		if kindOf(other) != "subnetworks" || c.resolve(textAt(r, "network")) != network {
			continue
		}
		_, taken, err := net.ParseCIDR(textAt(r, "ipCidrRange"))
		if err == nil && (taken.Contains(wanted.IP) || wanted.Contains(taken.IP)) {
			// Source: https://github.com/tranquilitybase-io/tb-gcp/issues/160.
			return invalid("resource.ipCidrRange", cidr, fmt.Sprintf(
				"Invalid IPCidrRange: %s conflicts with existing subnetwork '%s' in region '%s'.", cidr, nameOf(other),
				Region))
		}
	}
	gateway := wanted.IP.To4()
	gateway[3]++
	k.body["network"], k.body["gatewayAddress"] = api+network, gateway.String()
	k.body["region"], k.body["fingerprint"] = api+"projects/"+Project+"/regions/"+Region, fingerprint(cidr)
	for key, value := range map[string]any{"purpose": "PRIVATE", "stackType": "IPV4_ONLY",
		"privateIpGoogleAccess": false, "privateIpv6GoogleAccess": "DISABLE_GOOGLE_ACCESS"} {
		if k.body[key] == nil {
			k.body[key] = value
		}
	}
	links, _ := c.resources[network]["subnetworks"].([]any)
	c.resources[network]["subnetworks"] = append(links, api+path)
	return answer{status: http.StatusOK}
}

func (c *Cloud) makeFirewall(k call, _ string) answer {
	network, a := c.needs("resource.network", "networks", textAt(k.body, "network"))
	if a.failed() {
		return a
	}
	k.body["network"] = api + network
	allowed, _ := k.body["allowed"].([]any)
	denied, _ := k.body["denied"].([]any)
	if (len(allowed) == 0) == (len(denied) == 0) {
		// One of both (https://cloud.google.com/firewall/docs/firewalls#firewall_rule_components).
		return invalid("resource", "", "One of allowed and denied is needed.")
	}
	ranges, _ := k.body["sourceRanges"].([]any)
	for i, one := range ranges {
		if _, _, err := net.ParseCIDR(fmt.Sprint(one)); err != nil && net.ParseIP(fmt.Sprint(one)) == nil {
			return invalid(fmt.Sprintf("resource.sourceRanges[%d]", i), fmt.Sprint(one), "Must be a valid CIDR range.")
		}
	}
	for key, value := range map[string]any{
		"direction": "INGRESS", "priority": 1000, "disabled": false, "logConfig": object{"enable": false},
	} {
		if k.body[key] == nil {
			k.body[key] = value
		}
	}
	return answer{status: http.StatusOK}
}

func (c *Cloud) makePolicy(k call, _ string) answer {
	k.body["region"] = api + "projects/" + Project + "/regions/" + Region
	k.body["status"] = "CREATING"
	kinds := 0
	for _, kind := range []string{"groupPlacementPolicy", "snapshotSchedulePolicy", "instanceSchedulePolicy",
		"diskConsistencyGroupPolicy", "workloadPolicy"} {
		if k.body[kind] != nil {
			kinds++
		}
	}
	if kinds != 1 {
		// A policy is of one kind (discovery document, ResourcePolicy).
		return invalid("resource", "", "A resource policy has one kind.")
	}
	return answer{status: http.StatusOK}
}
