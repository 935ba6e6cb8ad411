package azuretest

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// poolName is what the name of a pool may be: AgentPools_CreateOrUpdate in the OpenAPI document (aks.go).
var poolName = regexp.MustCompile(`^[a-z][a-z0-9]{0,11}$`)

// aksRefused is an answer in the form of AKS. Other services answer in another form. AKS gives a status, a code and the
// four members in https://github.com/hashicorp/terraform-provider-azurerm/issues/28878.
func aksRefused(status int, code, message string) (answer, bool) {
	return answer{status: status, body: object{"code": code, "details": nil, "message": message, "subcode": ""}}, true
}

// busy says whether work on a cluster or a pool is under way. A cluster waits for its pools, and a pool for its
// cluster. Status, code and texts: https://github.com/hashicorp/terraform-provider-azurerm/issues/28878 for clusters,
// https://github.com/cilium/cilium/issues/25944 for pools.
func (c *Cloud) busy(key string, pools bool) (answer, bool) {
	for name, w := range c.working {
		switch {
		case w.key == key, strings.HasPrefix(key, w.key+"/"):
			return aksRefused(http.StatusConflict, "OperationNotAllowed", "Operation is not allowed because there's an in "+
				"progress managed cluster operation (operation ID: "+name+") on the managed cluster. Please wait for it to "+
				"finish before starting a new operation.")
		case pools && strings.HasPrefix(w.key, key+"/"):
			return aksRefused(http.StatusConflict, "OperationNotAllowed", "Operation is not allowed: Another agentpool "+
				"operation ("+w.key[strings.LastIndex(w.key, "/")+1:]+" - Creating) is in progress, please wait for it to "+
				"finish before starting a new operation. See https://aka.ms/aks-pending-operation for more details")
		}
	}
	return answer{}, false
}

// clusterBreaks says whether a cluster breaks a rule. old is what it was; nil if it is new.
//
// Sources. The length of the group for nodes:
// https://github.com/Azure-Terraform/terraform-azurerm-kubernetes/issues/33; 63 characters with an overlay, where nodes
// have the name as a label: https://github.com/Azure/bicep-registry-modules/issues/5109 (the text is the fake's own).
// That the group must be new: https://github.com/hashicorp/terraform-provider-azurerm/issues/7562, and another one than
// the cluster's: https://github.com/Azure/azure-cli/issues/27215. Versions:
// https://github.com/pulumi/pulumi-azure-native/pull/3550 (the text) and
// https://github.com/Azure/Microsoft-Defender-for-Cloud/issues/922 (the code). A system pool: a comment in azurerm's
// internal/services/containers/kubernetes_nodepool.go. New pools in a request for the cluster:
// https://github.com/microsoft/tyger/issues/121. What cannot change: the OpenAPI document for dnsPrefix, and
// https://learn.microsoft.com/azure/aks/faq for nodeResourceGroup; the code is that of
// https://github.com/Azure/bicep-registry-modules/issues/7130.
func (c *Cloud) clusterBreaks(parts []string, body, old object) (answer, bool) {
	const bad = http.StatusBadRequest
	properties := inner(body, "properties")
	group, name := fmt.Sprint(properties["nodeResourceGroup"]), parts[len(parts)-1]
	if v, _ := properties["kubernetesVersion"].(string); v != "" && v != version && v != patch {
		return aksRefused(bad, "K8sVersionNotSupported", fmt.Sprintf("Managed cluster %s is on version %s which is not "+
			"supported in this region. Please use [az aks get-versions] command to get the supported version list in this "+
			"region. For more information, please check https://aka.ms/supported-version-list", name, v))
	}
	for _, key := range []string{"nodeResourceGroup", "dnsPrefix"} {
		if before := at(old, "properties", key); old != nil && before != properties[key] {
			return aksRefused(bad, "PropertyChangeNotAllowed", "Changing property \"properties."+key+"\" is not allowed.")
		}
	}
	if old == nil {
		const most = 80
		overlay := at(properties, "networkProfile", "networkPluginMode") == "overlay"
		switch {
		case len(group) > most:
			return aksRefused(bad, "InvalidParameter", fmt.Sprintf("The length of the node resource group name is too long. "+
				"The maximum length is 80 and the length of the value provided is %d. Please see "+
				"https://aka.ms/aks-naming-rules for more details.", len(group)))
		case overlay && len(group) > 63:
			return aksRefused(bad, "InvalidParameter", "The node resource group name "+group+" is no value of a label.")
		case strings.EqualFold(group, parts[3]):
			return aksRefused(bad, "NodeResourceGroupSameAsResourceGroup", fmt.Sprintf("Node resource group '%s' is the same "+
				"as ResourceGroup '%s', which is not allowed, please provide a different node resource group.", group, group))
		case c.resources[strings.ToLower(nodeGroup(properties))] != nil:
			return aksRefused(bad, "NodeResourceGroupAlreadyExists", fmt.Sprintf("Node resource group '%s' under "+
				"subscription '%s' already exists, please provide a new one.", group, Subscription))
		}
	}
	systems := 0
	for _, one := range list(properties["agentPoolProfiles"]) {
		profile, _ := one.(object)
		pool := fmt.Sprint(profile["name"])
		before := c.resources[strings.ToLower("/"+strings.Join(parts, "/")+"/agentPools/"+pool)]
		if old != nil && before == nil {
			return aksRefused(bad, "BadRequest", "A new agent pool was introduced. Adding agent pools to an existing cluster "+
				"is not allowed through managed cluster operations. For agent pool specific change, please use per agent pool "+
				"operations: https://aka.ms/agent-pool-rest-api")
		}
		if problem, ok := c.poolBreaks(body, pool, profile, before); ok {
			return problem, true
		}
		if profile["mode"] == "System" && profile["osType"] != "Windows" {
			systems++
		}
	}
	if systems == 0 {
		return aksRefused(bad, "MustDefineAtLeastOneSystemPool", "Must define at least one system pool.")
	}
	return answer{}, false
}

// poolBreaks says whether a pool of a cluster breaks a rule. old is what it was; nil if it is new.
//
// Sources. The name on Windows: https://github.com/jenkins-infra/azure/pull/284; what Windows needs:
// https://github.com/Azure/AKS/issues/2839 (both codes); versions:
// https://github.com/dspace-group/simphera-reference-architecture-azure/issues/29; sizes:
// https://github.com/hashicorp-education/learn-terraform-provision-aks-cluster/issues/15; how many nodes: the
// description of count in the OpenAPI document; quotas: https://github.com/1ChristianAlex/motordesk/issues/14 and for
// the region the same code with a text of the fake's own; sizes that change:
// https://github.com/Azure/bicep-registry-modules/issues/7130.
func (c *Cloud) poolBreaks(cluster object, name string, properties, old object) (answer, bool) {
	const bad = http.StatusBadRequest
	windows := properties["osType"] == "Windows"
	sku, _ := properties["osSKU"].(string)
	wanted, _ := properties["vmSize"].(string)
	switch {
	case !poolName.MatchString(name):
		return aksRefused(bad, "InvalidParameter", "The agent pool name "+name+" does not match "+poolName.String()+".")
	case windows && len(name) > 6:
		return aksRefused(bad, "WindowsAgentPoolNameTooLong", "Windows agent pool name can not be longer than 6 characters.")
	case windows && at(cluster, "properties", "networkProfile", "networkPlugin") != "azure":
		return aksRefused(bad, "AzureCNIOnlyForWindows",
			"Windows agent pools can only be added to AKS clusters using Azure-CNI.")
	case windows && at(cluster, "properties", "windowsProfile") == nil:
		return aksRefused(bad, "WindowsProfileMissing", "Windows profile definition is missing for the cluster.")
	case sku != "" && strings.HasPrefix(sku, "Windows") != windows:
		return aksRefused(bad, "InvalidParameter", "The OS SKU "+sku+" is not one of the pool's OS type.")
	}
	if v, _ := properties["orchestratorVersion"].(string); v != "" && v != version && v != patch {
		return aksRefused(bad, "AgentPoolK8sVersionNotSupported", "Version "+v+" is not supported in this region. Please "+
			"use [az aks get-versions] command to get the supported version list in this region. For more information, "+
			"please check https://aka.ms/supported-version-list")
	}
	for _, key := range []string{"vmSize", "osType"} {
		if before := at(old, "properties", key); old != nil && properties[key] != nil && before != properties[key] {
			return aksRefused(bad, "PropertyChangeNotAllowed", "Changing property \"agentPoolProfile."+key+"\" is not allowed.")
		}
	}
	found := slices.IndexFunc(offered(), func(s size) bool { return strings.EqualFold(s.name, wanted) })
	if found < 0 || slices.Contains(c.restricted, wanted) {
		var names []string
		for _, s := range offered() {
			if !slices.Contains(c.restricted, s.name) {
				names = append(names, strings.ToLower(s.name))
			}
		}
		return aksRefused(bad, "BadRequest", fmt.Sprintf("The VM size of %s is not allowed in your subscription in location "+
			"'%s'. The available VM sizes are '%s'. For more details, please visit https://aka.ms/aks/quotas-skus-regions",
			wanted, Location, strings.Join(names, ",")))
	}
	return c.poolExceeds(offered()[found], properties, old)
}

// poolExceeds says whether a pool has too many nodes, or more than what the quotas leave.
func (c *Cloud) poolExceeds(s size, properties, old object) (answer, bool) {
	const most, quota = 1000, 100
	nodes, least := number(properties["count"], 1), 0
	if properties["mode"] == "System" {
		least = 1
	}
	if nodes < least || nodes > most {
		return aksRefused(http.StatusBadRequest, "InvalidParameter",
			fmt.Sprintf("A pool has %d to %d nodes, not %d.", least, most, nodes))
	}
	more := nodes
	if old != nil {
		more -= number(at(old, "properties", "count"), 1)
	}
	used, all := 0, 0
	for key, r := range c.resources {
		if !strings.Contains(key, "/agentpools/") {
			continue
		}
		for _, other := range offered() {
			if at(r, "properties", "vmSize") == other.name {
				cpus := other.cpus() * number(at(r, "properties", "count"), 1)
				all += cpus
				if other.family == s.family {
					used += cpus
				}
			}
		}
	}
	wants := more * s.cpus()
	for name, left := range map[string]int{
		"for family " + s.family: quota - c.usage[s.family] - used, "of all families": quota - c.usage["cores"] - all,
	} {
		if wants > max(left, 0) {
			return aksRefused(http.StatusBadRequest, "ErrCode_InsufficientVCPUQuota", fmt.Sprintf("Insufficient vcpu quota "+
				"requested %d, remaining %d %s for region %s. Surge nodes would also consume vcpu quota.", wants, max(left, 0),
				name, Location))
		}
	}
	return answer{}, false
}

// number is a number of JSON; without one it is another.
func number(value any, otherwise int) int {
	switch value := value.(type) {
	case float64:
		return int(value)
	case int:
		return value
	}
	return otherwise
}
