package azuretest

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

// Managed clusters of AKS. What the service adds to a request is as in the examples of its OpenAPI document, and in
// what others have printed of their clusters:
// specification/containerservice/resource-manager/Microsoft.ContainerService/aks/stable/2025-10-01 in
// https://github.com/Azure/azure-rest-api-specs, and https://github.com/Azure/ARO-HCP/pull/6447. aksrules.go has what
// is refused.

// Types of resources, in small letters.
const (
	clusterKind = "microsoft.containerservice/managedclusters"
	poolKind    = clusterKind + "/agentpools"
)

// The only version of Kubernetes of the fake, and its only patch.
const version, patch = "1.35", "1.35.7"

// aksNumber is in the names of what AKS makes. The service draws it for each cluster.
const aksNumber = "12345678"

// putAKS makes or changes a cluster, or a pool of one. It is false for other resources.
func (c *Cloud) putAKS(path string, parts []string, body object) (answer, bool) {
	kind := strings.ToLower(typeOf(parts))
	if kind != clusterKind && kind != poolKind {
		return answer{}, false
	}
	c.sent[path] = copied(body)
	if kind == clusterKind {
		return c.putCluster(path, parts, body), true
	}
	return c.putPool(path, parts, body), true
}

// putCluster makes or changes a cluster. A new one makes its pools and its resource group for nodes.
func (c *Cloud) putCluster(path string, parts []string, body object) answer {
	key := strings.ToLower(path)
	old, exists := c.resources[key]
	properties := inner(body, "properties")
	if properties["nodeResourceGroup"] == nil || properties["nodeResourceGroup"] == "" {
		properties["nodeResourceGroup"] = fmt.Sprintf("MC_%s_%s_%v", parts[3], parts[len(parts)-1], body["location"])
		if exists {
			properties["nodeResourceGroup"] = at(old, "properties", "nodeResourceGroup")
		}
	}
	if problem, ok := c.busy(key, true); ok {
		return problem
	}
	if problem, ok := c.clusterBreaks(parts, body, old); ok {
		return problem
	}
	profiles := list(properties["agentPoolProfiles"])
	delete(properties, "agentPoolProfiles") // they are shown from their own entries
	body["id"], body["name"], body["type"] = path, parts[len(parts)-1], typeOf(parts)
	c.completeCluster(body, properties)
	c.resources[key] = body
	if exists {
		c.tagNodes(body, properties)
	} else {
		c.makeNodeGroup(body, properties)
	}
	var failure object
	var ends []func() object
	for _, one := range profiles {
		profile := copied(one.(object))
		name := fmt.Sprint(profile["name"])
		delete(profile, "name")
		id := path + "/agentPools/" + name
		ends = append(ends, c.setPool(body, id, object{"properties": profile}))
	}
	return c.works(body, exists, func() object {
		for _, end := range ends {
			if why := end(); why != nil {
				failure = why
			}
		}
		return failure
	})
}

// putPool makes or changes a pool.
func (c *Cloud) putPool(path string, parts []string, body object) answer {
	key := strings.ToLower(path)
	cluster := c.resources[strings.ToLower(path[:parent(path)])]
	old, exists := c.resources[key]
	if problem, ok := c.busy(key, false); ok {
		return problem
	}
	if problem, ok := c.poolBreaks(cluster, parts[len(parts)-1], inner(body, "properties"), old); ok {
		return problem
	}
	end := c.setPool(cluster, path, body)
	return c.works(body, exists, end)
}

// setPool keeps a pool, and gives what ends its creation: its scale set, or why there is none.
func (c *Cloud) setPool(cluster object, path string, body object) (end func() (failure object)) {
	properties := inner(body, "properties")
	parts := split(path)
	name := parts[len(parts)-1]
	body["id"], body["name"], body["type"] = path, name, typeOf(parts)
	completePool(cluster, properties)
	properties["provisioningState"] = "Creating"
	c.resources[strings.ToLower(path)] = body
	size := fmt.Sprint(properties["vmSize"])
	state := "Succeeded"
	var failure object
	if code := c.refusals[size]; code != "" {
		state, failure = "Failed", object{"code": code, "message": "Allocation failed for size " + size + "."}
	}
	return func() object {
		properties["provisioningState"] = state
		c.makeScaleSet(cluster, name, properties, state)
		return failure
	}
}

// works answers a request for a cluster or a pool, whose work ends later.
func (c *Cloud) works(body object, exists bool, end func() (failure object)) answer {
	properties := inner(body, "properties")
	properties["provisioningState"] = "Creating"
	status := http.StatusCreated
	if exists {
		properties["provisioningState"], status = "Updating", http.StatusOK
	}
	name := c.begins(body["id"].(string), func() object {
		failure := end()
		properties["provisioningState"] = "Succeeded"
		if failure != nil {
			properties["provisioningState"] = "Failed"
		}
		return failure
	})
	return answer{status: status, body: c.shown(body), operation: c.operationURL("Microsoft.ContainerService", name)}
}

// deleteAKS deletes a cluster with its resource group for nodes, or a pool with its scale set. It answers with 202
// (AgentPoolsDelete.json of the OpenAPI document's examples), and is false for other resources.
func (c *Cloud) deleteAKS(path string, parts []string) (answer, bool) {
	kind := strings.ToLower(typeOf(parts))
	if len(parts)%2 != 0 || kind != clusterKind && kind != poolKind {
		return answer{}, false
	}
	key := strings.ToLower(path)
	inner(c.resources[key], "properties")["provisioningState"] = "Deleting"
	name := c.begins(path, func() object {
		if kind == poolKind {
			cluster := c.resources[strings.ToLower(path[:parent(path)])]
			c.remove(strings.ToLower(scaleSet(cluster, parts[len(parts)-1])))
		}
		c.remove(key)
		return nil
	})
	operation := c.operationURL("Microsoft.ContainerService", name)
	return answer{
		status: http.StatusAccepted, location: strings.Replace(operation, "/operations/", "/operationresults/", 1),
	}, true
}

// completeCluster adds what AKS adds to a cluster.
func (c *Cloud) completeCluster(body, properties object) {
	if identity, ok := body["identity"].(object); ok && identity["type"] == "SystemAssigned" {
		identity["principalId"], identity["tenantId"] = "00000000-0000-4000-8000-0000000000d1", Tenant
		delete(identity, "userAssignedIdentities")
	}
	group := nodeGroup(properties)
	networks := inner(properties, "networkProfile")
	plugin := "azure"
	if networks["networkPlugin"] != nil {
		plugin = fmt.Sprint(networks["networkPlugin"])
	}
	defaults(networks, object{
		"networkPlugin": plugin, "networkPolicy": "none", "networkDataplane": "azure", "loadBalancerSku": "standard",
		"outboundType": "loadBalancer", "serviceCidr": "10.0.0.0/16", "serviceCidrs": []any{"10.0.0.0/16"},
		"dnsServiceIP": "10.0.0.10", "ipFamilies": []any{"IPv4"}, "loadBalancerProfile": object{
			"managedOutboundIPs": object{"count": 1}, "backendPoolType": "nodeIPConfiguration",
			"effectiveOutboundIPs": []any{object{"id": group + "/providers/Microsoft.Network/publicIPAddresses/" + outboundIP}},
		},
	})
	// A cluster with this plugin can have Windows pools, and has an administrator for them.
	if plugin == "azure" {
		inner(properties, "windowsProfile")
	}
	if windows, ok := properties["windowsProfile"].(object); ok {
		defaults(windows, object{"adminUsername": "azureuser", "enableCSIProxy": true})
		delete(windows, "adminPassword")
	}
	prefix := fmt.Sprint(properties["dnsPrefix"])
	kubernetes := version
	if v, _ := properties["kubernetesVersion"].(string); v != "" {
		kubernetes = v
	}
	properties["kubernetesVersion"] = kubernetes
	defaults(properties, object{
		"currentKubernetesVersion": patch, "enableRBAC": true, "maxAgentPools": 100, "disableLocalAccounts": false,
		"fqdn":            prefix + "-abcd1234.hcp." + Location + ".azmk8s.io",
		"azurePortalFQDN": prefix + "-abcd1234.portal.hcp." + Location + ".azmk8s.io",
		"powerState":      object{"code": "Running"}, "supportPlan": "KubernetesOfficial",
		"resourceUID": "0000000000000000000000aa", "bootstrapProfile": object{"artifactSource": "Direct"},
		"identityProfile": object{"kubeletidentity": object{
			"resourceId": identityOf(body, properties), "clientId": "00000000-0000-4000-8000-0000000000d2",
			"objectId": "00000000-0000-4000-8000-0000000000d3",
		}},
		"storageProfile": object{
			"diskCSIDriver": object{"enabled": true}, "fileCSIDriver": object{"enabled": true},
			"snapshotController": object{"enabled": true},
		},
	})
}

// completePool adds what AKS adds to a pool. The settings of upgrades are those that all new pools have, although no
// request has them.
func completePool(cluster, properties object) {
	system, image := "Linux", "AKSUbuntu-2404gen2containerd-202609.15.0"
	if properties["osType"] == "Windows" {
		system, image = "Windows", "AKSWindows-2022-containerd-20348.4171.260910"
	}
	sku := "Ubuntu"
	if system == "Windows" {
		sku = "Windows2022"
	}
	most := 110
	networks, _ := at(cluster, "properties", "networkProfile").(object)
	switch {
	case networks["networkPluginMode"] == "overlay":
		most = 250
	case networks["networkPlugin"] == "azure":
		most = 30
	}
	if v, _ := properties["orchestratorVersion"].(string); v == "" {
		properties["orchestratorVersion"] = at(cluster, "properties", "kubernetesVersion")
	}
	upgrades := inner(properties, "upgradeSettings")
	defaults(upgrades, object{"maxSurge": "10%", "maxUnavailable": "0", "undrainableNodeBehavior": "Schedule"})
	defaults(properties, object{
		"osType": system, "osSKU": sku, "osDiskSizeGB": 128, "osDiskType": "Managed", "kubeletDiskType": "OS",
		"maxPods": most, "type": "VirtualMachineScaleSets", "mode": "User", "enableAutoScaling": false,
		"enableNodePublicIP": false, "enableFIPS": false, "scaleDownMode": "Delete", "count": 1,
		"powerState": object{"code": "Running"}, "nodeImageVersion": image,
		"securityProfile": object{"sshAccess": "LocalUser", "enableVTPM": false, "enableSecureBoot": false},
	})
	properties["currentOrchestratorVersion"] = patch
}

// inner is an object in another one, which gets it if it has none.
func inner(o object, key string) object {
	value, ok := o[key].(object)
	if !ok {
		value = object{}
		if o != nil {
			o[key] = value
		}
	}
	return value
}

// defaults adds values that an object does not have, or has as an empty text or list.
func defaults(o, values object) {
	for name, value := range values {
		all, isList := o[name].([]any)
		if o[name] == nil || o[name] == "" || isList && len(all) == 0 {
			o[name] = value
		}
	}
}

// outboundIP is the name of the address by which nodes reach others. The service draws it.
const outboundIP = "00000000-0000-4000-8000-0000000000e1"

// nodeGroup is the identifier of the resource group that a cluster makes for its nodes.
func nodeGroup(properties object) string {
	return fmt.Sprintf("/subscriptions/%s/resourceGroups/%v", Subscription, properties["nodeResourceGroup"])
}

func identityOf(cluster, properties object) string {
	return fmt.Sprintf("%s/providers/Microsoft.ManagedIdentity/userAssignedIdentities/%v-agentpool",
		nodeGroup(properties), cluster["name"])
}

// scaleSet is the identifier of the scale set of a pool.
func scaleSet(cluster object, pool string) string {
	properties, _ := cluster["properties"].(object)
	return fmt.Sprintf("%s/providers/Microsoft.Compute/virtualMachineScaleSets/aks-%s-%s-vmss", nodeGroup(properties),
		pool, aksNumber)
}

// makeNodeGroup makes the resource group for the nodes of a cluster, and what all pools use. They have the tags of the
// cluster: https://learn.microsoft.com/azure/aks/use-tags. What is in the group:
// https://learn.microsoft.com/azure/aks/faq, "Why are two resource groups created with AKS?".
func (c *Cloud) makeNodeGroup(cluster, properties object) {
	group := nodeGroup(properties)
	const network = "/providers/Microsoft.Network/"
	for _, id := range []string{
		group, identityOf(cluster, properties), group + network + "virtualNetworks/aks-vnet-" + aksNumber,
		group + network + "networkSecurityGroups/aks-agentpool-" + aksNumber + "-nsg",
		group + network + "loadBalancers/kubernetes", group + network + "publicIPAddresses/" + outboundIP,
	} {
		c.made(id, cluster, object{"provisioningState": "Succeeded"})
	}
	c.resources[strings.ToLower(group)]["managedBy"] = cluster["id"]
}

// tagNodes gives the tags of a cluster to what is in its resource group for nodes, and to the group.
func (c *Cloud) tagNodes(cluster, properties object) {
	group := strings.ToLower(nodeGroup(properties))
	for key, r := range c.resources {
		if key == group || strings.HasPrefix(key, group+"/") {
			r["tags"] = cluster["tags"]
		}
	}
}

// makeScaleSet makes the scale set of a pool, which has the tags of the cluster.
func (c *Cloud) makeScaleSet(cluster object, pool string, properties object, state string) {
	accelerated := false
	for _, s := range offered() {
		accelerated = accelerated || s.accelerated && s.name == properties["vmSize"]
	}
	id := scaleSet(cluster, pool)
	c.made(id, cluster, object{"provisioningState": state, "virtualMachineProfile": object{
		"networkProfile": object{"networkInterfaceConfigurations": []any{object{
			"name": pool, "properties": object{"primary": true, "enableAcceleratedNetworking": accelerated},
		}}},
	}})
	c.resources[strings.ToLower(id)]["sku"] = object{"name": properties["vmSize"], "capacity": properties["count"]}
}

// made keeps a resource that AKS makes for a cluster.
func (c *Cloud) made(id string, cluster, properties object) {
	parts := split(id)
	c.resources[strings.ToLower(id)] = object{
		"id": id, "name": parts[len(parts)-1], "type": typeOf(parts), "location": cluster["location"],
		"tags": cluster["tags"], "properties": properties,
	}
}

// pools are the pools of a cluster, as its own entry shows them.
func (c *Cloud) pools(cluster string) (all []any) {
	prefix := strings.ToLower(cluster) + "/agentpools/"
	for _, key := range c.keys() {
		if strings.HasPrefix(key, prefix) {
			profile := copied(c.resources[key])["properties"].(object)
			profile["name"] = c.resources[key]["name"]
			all = append(all, profile)
		}
	}
	return all
}

// credentials answers a request for the kubeconfig of a cluster: ManagedClustersListClusterUserCredentials.json of the
// OpenAPI document's examples. The code without a control plane: https://github.com/Azure/azure-cli/issues/27440. It is
// false for other requests.
func (c *Cloud) credentials(w http.ResponseWriter, path string, parts []string) bool {
	names := map[string]string{"listclusterusercredential": "clusterUser", "listclusteradmincredential": "clusterAdmin"}
	name, ok := names[strings.ToLower(parts[len(parts)-1])]
	if !ok {
		return false
	}
	cluster, ok := c.resources[strings.ToLower(path[:strings.LastIndex(path, "/")])]
	if !ok {
		refuse(w, http.StatusNotFound, "ResourceNotFound", "The Resource '"+path+"' was not found.")
		return true
	}
	if c.keyless {
		a, _ := aksRefused(http.StatusNotFound, "ControlPlaneNotFound", "Could not find control plane with ID 1.")
		send(w, a.status, a.body)
		return true
	}
	config := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: it
clusters: [{name: it, cluster: {server: "https://%v:443", certificate-authority-data: bm90aGluZw==}}]
users: [{name: it, user: {client-certificate-data: bm90aGluZw==, client-key-data: bm90aGluZw==, token: made-up}}]
contexts: [{name: it, context: {cluster: it, user: it}}]
`, at(cluster, "properties", "fqdn"))
	send(w, http.StatusOK, object{"kubeconfigs": []any{object{
		"name": name, "value": base64.StdEncoding.EncodeToString([]byte(config)),
	}}})
	return true
}
