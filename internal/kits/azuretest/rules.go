package azuretest

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// nameRules are what names of resources may be, by types in small letters. Source:
// https://learn.microsoft.com/azure/azure-resource-manager/management/resource-name-rules; for networks also
// https://github.com/Azure/PSRule.Rules.Azure/blob/main/docs/en/rules/Azure.VNET.Name.md (2 to 64 characters).
func nameRules() map[string]string {
	const upTo80 = `^[[:alnum:]]([[:alnum:]_.-]{0,78}[[:alnum:]_])?$`
	return map[string]string{
		"microsoft.resources/resourcegroups":         `^[\pL\pN_().-]{0,89}[\pL\pN_()-]$`,
		"microsoft.network/virtualnetworks":          `^[[:alnum:]][[:alnum:]_.-]{0,62}[[:alnum:]_]$`,
		"microsoft.network/virtualnetworks/subnets":  upTo80,
		"microsoft.network/networkinterfaces":        upTo80,
		"microsoft.network/networksecuritygroups":    upTo80,
		"microsoft.network/publicipaddresses":        upTo80,
		"microsoft.compute/availabilitysets":         upTo80,
		"microsoft.compute/disks":                    upTo80,
		"microsoft.compute/proximityplacementgroups": upTo80,
		"microsoft.compute/virtualmachines":          `^[[:alnum:]]([[:alnum:]_.-]{0,62}[[:alnum:]_])?$`,
		"microsoft.containerservice/managedclusters": `^[[:alnum:]]([[:alnum:]_-]{0,61}[[:alnum:]])?$`,
	}
}

// maxComputer is how many characters the name of a computer has at most: Windows limits it (NetBIOS names; the same
// page), and Linux, whose host names have 64.
const maxComputer, maxWindowsComputer = 64, 15

// misnamed says whether the name of a resource, or of the computer of a machine, breaks the rules.
func misnamed(parts []string, body object) (answer, bool) {
	name, kind := parts[len(parts)-1], strings.ToLower(typeOf(parts))
	if rule := nameRules()[kind]; rule != "" && !regexp.MustCompile(rule).MatchString(name) {
		return refused(http.StatusBadRequest, "InvalidResourceName",
			fmt.Sprintf("Resource name %s is invalid: %s takes %s", name, kind, rule)), true
	}
	computer, _ := at(body, "properties", "osProfile", "computerName").(string)
	most := maxComputer
	if at(body, "properties", "osProfile", "windowsConfiguration") != nil {
		most = maxWindowsComputer
	}
	if len(computer) > most {
		return refused(http.StatusBadRequest, "InvalidParameter",
			fmt.Sprintf("Computer name %s has more than %d characters.", computer, most)), true
	}
	return answer{}, false
}

// unregistered says whether the subscription has not registered the provider of a resource. A new subscription has few
// registered. Code, status and text as in https://github.com/nforgeio/neonKUBE/issues/1670; that the target of the
// detail is the name, from which az registers it by itself: https://github.com/Azure/OpenShift/issues/21 and
// https://github.com/Azure/azure-sdk-for-node/issues/2305.
func (c *Cloud) unregistered(parts []string) (answer, bool) {
	if len(parts) < resourceParts {
		return answer{}, false
	}
	namespace := parts[5]
	if c.registered[strings.ToLower(namespace)] {
		return answer{}, false
	}
	const code = "MissingSubscriptionRegistration"
	message := "The subscription is not registered to use namespace '" + namespace +
		"'. See https://aka.ms/rps-not-found for how to register subscriptions."
	return answer{status: http.StatusConflict, body: object{"error": object{
		"code": code, "message": message,
		"details": []any{object{"code": code, "target": namespace, "message": message}},
	}}}, true
}

// inUse refuses to delete what another resource refers to, with the code, status and text for its type. Sources, all
// with status 400: https://github.com/hashicorp/terraform-provider-azurerm/issues/8105 (interfaces) and issues/2566
// (addresses), https://github.com/pulumi/pulumi-azure-native/issues/3051 (security groups), and
// https://github.com/Azure-Samples/jmeter-aci-terraform/issues/69 (subnets). For others the status 409 and the code of
// a disk that is attached: https://github.com/hashicorp/terraform-provider-azurerm/issues/753.
func inUse(path, kind string, user any) answer {
	const subnet = "Subnet %s is in use by %v and cannot be deleted. In order to delete the subnet, delete all the " +
		"resources within the subnet. See aka.ms/deletesubnet."
	rules := map[string]struct{ code, text string }{
		"microsoft.network/networkinterfaces": {"NicInUse", "Network Interface %s is used by existing resource %v. In " +
			"order to delete the network interface, it must be dissociated from the resource. To learn more, see aka.ms/deletenic."},
		"microsoft.network/publicipaddresses": {"PublicIPAddressCannotBeDeleted", "Public IP address %s can not be deleted " +
			"since it is still allocated to resource %v. In order to delete the public IP, disassociate/detach the Public IP " +
			"address from the resource.  To learn how to do this, see aka.ms/deletepublicip."},
		"microsoft.network/networksecuritygroups": {"InUseNetworkSecurityGroupCannotBeDeleted", "Network security group %s " +
			"cannot be deleted because it is in use by the following resources: %v. In order to delete the Network security " +
			"group, remove the association with the resource(s)."},
		"microsoft.network/virtualnetworks":         {"InUseSubnetCannotBeDeleted", subnet},
		"microsoft.network/virtualnetworks/subnets": {"InUseSubnetCannotBeDeleted", subnet},
	}
	if rule, ok := rules[strings.ToLower(kind)]; ok {
		return refused(http.StatusBadRequest, rule.code, fmt.Sprintf(rule.text, path, user))
	}
	return refused(http.StatusConflict, "OperationNotAllowed", fmt.Sprintf("%s is attached to %v.", path, user))
}

// user finds a resource that refers to another one from outside of it; nil if there is none.
func (c *Cloud) user(path string) any {
	key := strings.ToLower(path)
	for _, other := range c.keys() {
		if other == key || strings.HasPrefix(other, key+"/") {
			continue
		}
		inUse := false
		references(c.resources[other], true, func(id string) {
			id = strings.ToLower(id)
			// What refers to a subnet uses its network too, apart from the subnets themselves.
			inUse = inUse || id == key || strings.HasPrefix(id, key+"/subnets/")
		})
		if inUse {
			return c.resources[other]["id"]
		}
	}
	return nil
}

// replaceSubnets deletes the subnets that a PUT of a virtual network leaves out. A PUT without the property leaves them
// all (https://techcommunity.microsoft.com/blog/azurenetworkingblog, "Azure Virtual Network now supports updates
// without subnet property"; not read again). That a PUT without a subnet in use is refused, and changes nothing:
// https://github.com/hashicorp/terraform/issues/16093.
func (c *Cloud) replaceSubnets(path string, body object) (answer, bool) {
	subnets, given := at(body, "properties", "subnets").([]any)
	if !given {
		return answer{}, false
	}
	kept := map[string]bool{}
	for _, one := range subnets {
		subnet, _ := one.(object)
		kept[strings.ToLower(fmt.Sprintf("%s/subnets/%v", path, subnet["name"]))] = true
	}
	var gone []string
	for _, key := range c.keys() {
		parts := split(key)
		if !strings.HasPrefix(key, strings.ToLower(path)+"/subnets/") || len(parts) != resourceParts+2 || kept[key] {
			continue
		}
		id, _ := c.resources[key]["id"].(string)
		if user := c.user(id); user != nil {
			return inUse(id, typeOf(parts), user), true
		}
		gone = append(gone, key)
	}
	for _, key := range gone {
		c.remove(key)
	}
	return answer{}, false
}
