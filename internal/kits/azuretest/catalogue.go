package azuretest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// catalogue answers questions about what the provider offers. It is false for others.
func (c *Cloud) catalogue(w http.ResponseWriter, r *http.Request, parts []string, body object) bool {
	if r.Method == http.MethodPost && c.judges(w, parts, body) {
		return true
	}
	if r.Method != http.MethodGet && !strings.EqualFold(parts[len(parts)-1], "register") {
		return false
	}
	low := strings.Split(strings.ToLower(strings.Join(parts, "/")), "/")
	subscription := object{
		"id": "/subscriptions/" + Subscription, "subscriptionId": Subscription, "tenantId": Tenant,
		"displayName": "Test", "state": "Enabled", "homeTenantId": Tenant, "managedByTenants": []any{},
	}
	inSubscription := len(low) > subscriptionParts && low[0] == "subscriptions"
	switch {
	case low[0] == "tenants":
		send(w, http.StatusOK, page(object{"id": "/tenants/" + Tenant, "tenantId": Tenant, "displayName": "Test"}))
	case low[0] == "subscriptions" && len(low) == 1:
		send(w, http.StatusOK, page(subscription))
	case low[0] == "subscriptions" && len(low) == subscriptionParts && low[1] == Subscription:
		send(w, http.StatusOK, subscription)
	case inSubscription && low[2] == "locations":
		send(w, http.StatusOK, page(object{
			"id": "/subscriptions/" + Subscription + "/locations/" + Location, "name": Location,
			"displayName": "West Europe", "metadata": object{"regionType": "Physical"},
		}))
	case inSubscription && low[2] == "providers" && len(low) == subscriptionParts+1:
		all := []any{}
		for _, p := range c.providers() {
			all = append(all, p)
		}
		send(w, http.StatusOK, page(all...))
	case inSubscription && low[2] == "providers" && (len(low) == 4 || low[len(low)-1] == "register"):
		at := slices.IndexFunc(c.providers(), func(p object) bool {
			return strings.EqualFold(p["namespace"].(string), low[3])
		})
		if at < 0 {
			return false
		}
		if low[len(low)-1] == "register" {
			c.registered[low[3]] = true
		}
		send(w, http.StatusOK, c.providers()[at])
	case slices.Contains(low, "publishers"):
		send(w, http.StatusOK, image(parts))
	case low[len(low)-1] == "skus" && slices.Contains(low, "microsoft.compute"):
		send(w, http.StatusOK, page(c.sizes()...))
	case low[len(low)-1] == "usages" && slices.Contains(low, "microsoft.compute"):
		send(w, http.StatusOK, page(c.usages()...))
	case low[len(low)-1] == "usages" && slices.Contains(low, "microsoft.network"):
		send(w, http.StatusOK, page(c.networkUsages()...))
	case low[len(low)-1] == "permissions" && slices.Contains(low, "microsoft.authorization"):
		all := []any{}
		for _, role := range c.roles {
			all = append(all, role)
		}
		send(w, http.StatusOK, page(all...))
	case low[len(low)-1] == "kubernetesversions":
		send(w, http.StatusOK, object{"values": []any{object{
			"version": version, "isDefault": true, "capabilities": object{"supportPlan": []string{"KubernetesOfficial"}},
			"patchVersions": object{patch: object{"upgrades": []string{}}},
		}}})
	case len(low) > 1 && low[len(low)-2] == "operationresults":
		c.ask(low[len(low)-1])
		status := http.StatusNoContent
		if c.working[low[len(low)-1]] != nil {
			status = http.StatusAccepted
		}
		send(w, status, nil)
	case len(low) > 1 && low[len(low)-2] == "operations":
		c.ask(low[len(low)-1])
		operation, ok := c.operations[low[len(low)-1]]
		if !ok {
			return false
		}
		send(w, http.StatusOK, operation)
	default:
		return false
	}
	return true
}

func page(all ...any) object { return object{"value": slices.Concat([]any{}, all)} }

// providers are the types of resources that az looks up the versions of.
func (c *Cloud) providers() (all []object) {
	for _, p := range []struct {
		namespace string
		types     []string
	}{
		{"Microsoft.Compute", []string{"virtualMachines", "proximityPlacementGroups", "availabilitySets", "disks"}},
		{"Microsoft.Network", []string{"virtualNetworks", "networkInterfaces", "publicIPAddresses",
			"networkSecurityGroups"}},
		{"Microsoft.Resources", []string{"resourceGroups", "deployments"}},
		{"Microsoft.DevTestLab", []string{"schedules"}},
		{"Microsoft.ContainerService", []string{"managedClusters", "managedClusters/agentPools",
			"locations/kubernetesVersions"}},
	} {
		types := []any{}
		for _, name := range p.types {
			types = append(types, object{
				"resourceType": name, "locations": []string{"West Europe"},
				"apiVersions": []string{"2024-07-01", "2023-09-01"},
			})
		}
		state := "NotRegistered"
		if c.registered[strings.ToLower(p.namespace)] {
			state = "Registered"
		}
		all = append(all, object{
			"id": "/subscriptions/" + Subscription + "/providers/" + p.namespace, "namespace": p.namespace,
			"registrationState": state, "resourceTypes": types,
		})
	}
	return all
}

// image describes any image of the marketplace, and its versions.
func image(parts []string) any {
	path := "/" + strings.Join(parts, "/")
	if strings.EqualFold(parts[len(parts)-1], "versions") {
		return []any{object{"name": "1.0.0", "location": Location, "id": path + "/1.0.0"}}
	}
	system := "Linux"
	if strings.Contains(strings.ToLower(path), "windows") {
		system = "Windows"
	}
	generation := "V2"
	if strings.Contains(strings.ToLower(path), "gen1") { // as in ubuntu-24_04-lts:server-gen1
		generation = "V1"
	}
	return object{"id": path, "name": parts[len(parts)-1], "location": Location, "properties": object{
		"osDiskImage": object{"operatingSystem": system}, "dataDiskImages": []any{}, "hyperVGeneration": generation,
		"architecture": "x64", "features": []any{},
	}}
}

// size is a size of machines.
type size struct {
	name, family string
	accelerated  bool
}

// cpus is how many vCPUs a size has: 4 or 8.
func (s size) cpus() int {
	if strings.Contains(s.name, "8") {
		return 8
	}
	return 4
}

// offered are the sizes that the fake offers.
func offered() []size {
	return []size{
		{"Standard_A4_v2", "standardAv2Family", false}, {"Standard_B4ms", "standardBSFamily", false},
		{"Standard_D4as_v4", "standardDASv4Family", true},
		{"Standard_D4as_v5", "standardDASv5Family", true}, {"Standard_D4s_v5", "standardDSv5Family", true},
		{"Standard_D8as_v5", "standardDASv5Family", true}, {"Standard_D8s_v5", "standardDSv5Family", true},
	}
}

// sizes describes the sizes. A size that the subscription may not use has a restriction for the region. Source of the
// form: https://learn.microsoft.com/rest/api/compute/resource-skus/list.
func (c *Cloud) sizes() (all []any) {
	for _, s := range offered() {
		restrictions := []any{}
		if slices.Contains(c.restricted, s.name) {
			restrictions = append(restrictions, object{
				"type": "Location", "values": []string{Location}, "reasonCode": "NotAvailableForSubscription",
				"restrictionInfo": object{"locations": []string{Location}},
			})
		}
		if zones := c.zones[s.name]; len(zones) > 0 {
			// As in https://github.com/Azure/azure-cli/issues/13271.
			restrictions = append(restrictions, object{
				"type": "Zone", "values": []string{Location}, "reasonCode": "NotAvailableForSubscription",
				"restrictionInfo": object{"locations": []string{Location}, "zones": zones},
			})
		}
		generations := "V1,V2"
		if s.name == "Standard_A4_v2" {
			generations = "V1"
		}
		accelerated := "False"
		if s.accelerated {
			accelerated = "True"
		}
		all = append(all, object{
			"resourceType": "virtualMachines", "name": s.name, "family": s.family, "locations": []string{Location},
			"restrictions": restrictions,
			"locationInfo": []any{object{
				"location": Location, "zones": []string{"1", "2", "3"}, "zoneDetails": []any{},
			}},
			"capabilities": []any{
				object{"name": "vCPUs", "value": strconv.Itoa(s.cpus())}, object{"name": "CpuArchitectureType", "value": "x64"},
				object{"name": "AcceleratedNetworkingEnabled", "value": accelerated},
				object{"name": "HyperVGenerations", "value": generations},
			},
		})
	}
	return all
}

// usages are the quotas of the region and of the families. Source of the form:
// https://learn.microsoft.com/rest/api/compute/usage/list.
func (c *Cloud) usages() (all []any) {
	names := []string{"availabilitySets", "cores", "virtualMachines"}
	for _, s := range offered() {
		if !slices.Contains(names, s.family) {
			names = append(names, s.family)
		}
	}
	for _, name := range names {
		all = append(all, object{
			"name": object{"value": name, "localizedValue": name}, "unit": "Count", "limit": 100,
			"currentValue": c.usage[name],
		})
	}
	return all
}

// networkUsages are the quotas of networks and addresses. Source of the form, of names and of the limits:
// https://learn.microsoft.com/rest/api/virtualnetwork/usages; the quota of standard addresses is one of the quota
// service's list.
func (c *Cloud) networkUsages() (all []any) {
	for _, q := range []struct {
		name, shown string
		limit       int
	}{
		{"VirtualNetworks", "Virtual Networks", 50}, {"StaticPublicIPAddresses", "Static Public IP Addresses", 20},
		{"NetworkSecurityGroups", "Network Security Groups", 100}, {"PublicIPAddresses", "Public IP Addresses", 60},
		{"NetworkInterfaces", "Network Interfaces", 300},
		{"StandardSkuPublicIpAddresses", "Public IP Addresses - Standard", 20},
	} {
		all = append(all, object{
			"name": object{"value": q.name, "localizedValue": q.shown}, "unit": "Count", "limit": q.limit,
			"currentValue": c.usage[q.name], "id": "/subscriptions/" + Subscription +
				"/providers/Microsoft.Network/locations/" + Location + "/usages/" + q.name,
		})
	}
	return all
}

// judges answers what policies say of a resource that nobody makes. Source of the form:
// https://learn.microsoft.com/rest/api/policyinsights/policy-restrictions/check-at-subscription-scope. It is false for
// other questions.
func (c *Cloud) judges(w http.ResponseWriter, parts []string, body object) bool {
	if !strings.EqualFold(parts[len(parts)-1], "checkPolicyRestrictions") {
		return false
	}
	kind, _ := at(body, "resourceDetails", "resourceContent", "type").(string)
	if kind == "" {
		refuse(w, http.StatusBadRequest, "InvalidResourceContent", "The resource content has no type.")
		return true
	}
	evaluations := []any{}
	if assignment := c.denied[kind]; assignment != "" {
		evaluations = append(evaluations, object{
			"evaluationResult": "NonCompliant", "policyInfo": object{
				"policyDefinitionId": "/providers/Microsoft.Authorization/policyDefinitions/d", "policyAssignmentId": assignment,
			},
			"evaluationDetails": object{"evaluatedExpressions": []any{object{
				"result": "True", "expressionKind": "field", "expression": "type", "path": "type", "expressionValue": kind,
				"targetValue": kind, "operator": "equals",
			}}},
		})
	}
	send(w, http.StatusOK, object{
		"fieldRestrictions": []any{}, "contentEvaluationResult": object{"policyEvaluations": evaluations},
	})
	return true
}
