package azuretest

import (
	"net/http"
	"slices"
	"strings"
)

// catalogue answers questions about what the provider offers. It is false for others.
func (c *Cloud) catalogue(w http.ResponseWriter, r *http.Request, parts []string) bool {
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
	case len(low) > 1 && low[len(low)-2] == "operations":
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
	return object{"id": path, "name": parts[len(parts)-1], "location": Location, "properties": object{
		"osDiskImage": object{"operatingSystem": system}, "dataDiskImages": []any{}, "hyperVGeneration": "V2",
		"architecture": "x64", "features": []any{},
	}}
}

// size is a size of machines.
type size struct {
	name, family string
	accelerated  bool
}

// offered are the sizes that the fake offers. All have 4 vCPUs.
func offered() []size {
	return []size{
		{"Standard_A4_v2", "standardAv2Family", false}, {"Standard_B4ms", "standardBSFamily", false},
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
		cpus := "4"
		if strings.Contains(s.name, "8") {
			cpus = "8"
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
				object{"name": "vCPUs", "value": cpus}, object{"name": "CpuArchitectureType", "value": "x64"},
				object{"name": "AcceleratedNetworkingEnabled", "value": accelerated},
			},
		})
	}
	return all
}

// usages are the quotas of the region and of the families. Source of the form:
// https://learn.microsoft.com/rest/api/compute/usage/list.
func (c *Cloud) usages() (all []any) {
	names := []string{"cores"}
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
