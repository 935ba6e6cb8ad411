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
		for _, p := range providers() {
			all = append(all, p)
		}
		send(w, http.StatusOK, page(all...))
	case inSubscription && low[2] == "providers" && (len(low) == 4 || low[len(low)-1] == "register"):
		at := slices.IndexFunc(providers(), func(p object) bool {
			return strings.EqualFold(p["namespace"].(string), low[3])
		})
		if at < 0 {
			return false
		}
		send(w, http.StatusOK, providers()[at])
	case slices.Contains(low, "publishers"):
		send(w, http.StatusOK, image(parts))
	case low[len(low)-1] == "skus" && slices.Contains(low, "microsoft.compute"):
		send(w, http.StatusOK, page(sizes()...))
	default:
		return false
	}
	return true
}

func page(all ...any) object { return object{"value": slices.Concat([]any{}, all)} }

// providers are the types of resources that az looks up the versions of.
func providers() (all []object) {
	for _, p := range []struct {
		namespace string
		types     []string
	}{
		{"Microsoft.Compute", []string{"virtualMachines", "proximityPlacementGroups", "availabilitySets", "disks"}},
		{"Microsoft.Network", []string{"virtualNetworks", "networkInterfaces", "publicIPAddresses",
			"networkSecurityGroups"}},
		{"Microsoft.Resources", []string{"resourceGroups", "deployments"}},
	} {
		types := []any{}
		for _, name := range p.types {
			types = append(types, object{
				"resourceType": name, "locations": []string{"West Europe"},
				"apiVersions": []string{"2024-07-01", "2023-09-01"},
			})
		}
		all = append(all, object{
			"id": "/subscriptions/" + Subscription + "/providers/" + p.namespace, "namespace": p.namespace,
			"registrationState": "Registered", "resourceTypes": types,
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

// sizes are the sizes of machines that the fake offers.
func sizes() (all []any) {
	for _, name := range []string{"Standard_D3_v2", "Standard_D4s_v5", "Standard_D8s_v5"} {
		all = append(all, object{
			"resourceType": "virtualMachines", "name": name, "locations": []string{Location}, "restrictions": []any{},
			"locationInfo": []any{object{
				"location": Location, "zones": []string{"1", "2", "3"}, "zoneDetails": []any{},
			}},
			"capabilities": []any{object{"name": "vCPUs", "value": "4"}, object{"name": "AcceleratedNetworkingEnabled",
				"value": "True"}},
		})
	}
	return all
}
