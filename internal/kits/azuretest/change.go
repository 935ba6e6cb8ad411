package azuretest

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// typeOf is the type of a resource by its path.
func typeOf(parts []string) string {
	at := slices.IndexFunc(parts, func(p string) bool { return strings.EqualFold(p, "providers") })
	if at < 0 || at+1 >= len(parts) {
		return "Microsoft.Resources/resourceGroups"
	}
	kind := parts[at+1]
	for i := at + 2; i < len(parts); i += 2 {
		kind += "/" + parts[i]
	}
	return kind
}

// put makes or changes a resource.
func (c *Cloud) put(method, path string, parts []string, body object) answer {
	key := strings.ToLower(path)
	old, exists := c.resources[key]
	switch {
	case len(parts)%2 != 0 || len(parts) < groupParts:
		return refused(http.StatusBadRequest, "NotFaked", "the fake makes no "+path)
	case len(parts) > groupParts && c.resources["/"+strings.ToLower(strings.Join(parts[:groupParts], "/"))] == nil:
		return refused(http.StatusNotFound, "ResourceGroupNotFound",
			"Resource group '"+parts[3]+"' could not be found.")
	case len(parts) > resourceParts && c.resources[strings.ToLower(path[:parent(path)])] == nil:
		return refused(http.StatusNotFound, "ParentResourceNotFound", "The parent of '"+path+"' was not found.")
	case method == http.MethodPatch && !exists:
		return refused(http.StatusNotFound, "ResourceNotFound", "The Resource '"+path+"' was not found.")
	}
	if problem, ok := c.unregistered(parts); ok {
		return problem
	}
	if body == nil {
		body = object{}
	}
	if problem, ok := misnamed(parts, body); ok {
		return problem
	}
	if strings.EqualFold(typeOf(parts), "Microsoft.Resources/deployments") {
		return c.deploy(path, parts, body)
	}
	if id := c.missing(body, key); id != "" {
		return refused(http.StatusBadRequest, "InvalidResourceReference",
			"Resource "+id+" referenced by resource "+path+" was not found.")
	}
	if method == http.MethodPatch {
		body = merged(old, body)
	}
	if problem, ok := c.breaks(typeOf(parts), body); ok {
		return problem
	}
	if a, ok := c.putAKS(path, parts, body); ok {
		return a
	}
	if strings.EqualFold(typeOf(parts), "Microsoft.Network/virtualNetworks") {
		if problem, ok := c.replaceSubnets(path, body); ok {
			return problem
		}
	}
	body["id"], body["name"], body["type"] = path, parts[len(parts)-1], typeOf(parts)
	properties, ok := body["properties"].(object)
	if !ok {
		properties = object{}
		body["properties"] = properties
	}
	size, _ := at(body, "properties", "hardwareProfile", "vmSize").(string)
	if code := c.refusals[size]; code != "" {
		properties["provisioningState"] = "Failed"
		c.resources[key] = body
		return c.fails(c.shown(body), code, "Allocation failed for size "+size+".")
	}
	properties["provisioningState"] = "Succeeded"
	c.complete(path, body, properties)
	c.resources[key] = body
	status := http.StatusOK
	if !exists && !slices.Contains(made200(), strings.ToLower(typeOf(parts))) {
		status = http.StatusCreated
	}
	return answer{status: status, body: c.shown(body)}
}

// made200 are types, in small letters, whose creation is answered with 200, as a change is. azurerm refuses 201. Source:
// https://learn.microsoft.com/rest/api/compute/availability-sets/create-or-update.
func made200() []string { return []string{"microsoft.compute/availabilitysets"} }

// parent is where the path of a child's parent ends.
func parent(path string) int {
	at := strings.LastIndex(path, "/")
	return strings.LastIndex(path[:at], "/")
}

// merged is an object with the changes of another one.
func merged(old, change object) object {
	all := copied(old)
	for name, value := range change {
		inner, isObject := value.(object)
		before, wasObject := all[name].(object)
		if isObject && wasObject && name != "tags" {
			value = merged(before, inner)
		}
		all[name] = value
	}
	return all
}

// references calls found with each identifier of another resource in a value.
func references(value any, top bool, found func(id string)) {
	switch value := value.(type) {
	case []any:
		for _, one := range value {
			references(one, false, found)
		}
	case object:
		for name, one := range value {
			id, isText := one.(string)
			isID := strings.EqualFold(name, "id") && strings.HasPrefix(strings.ToLower(id), "/subscriptions/")
			if isText && isID && !top {
				found(id)
				continue
			}
			references(one, false, found)
		}
	}
}

// missing finds a resource that another one refers to and that does not exist.
func (c *Cloud) missing(body object, self string) (missing string) {
	references(body, true, func(id string) {
		key := strings.ToLower(id)
		if c.resources[key] == nil && !strings.HasPrefix(key, self+"/") && !strings.Contains(key, "/publishers/") {
			missing = id
		}
	})
	return missing
}

// breaks says whether a machine breaks a rule: its availability set is in another proximity group.
func (c *Cloud) breaks(kind string, body object) (answer, bool) {
	if !strings.EqualFold(kind, "Microsoft.Compute/virtualMachines") {
		return answer{}, false
	}
	set, _ := at(body, "properties", "availabilitySet", "id").(string)
	if set == "" {
		return answer{}, false
	}
	own, _ := at(body, "properties", "proximityPlacementGroup", "id").(string)
	group, _ := at(c.resources[strings.ToLower(set)], "properties", "proximityPlacementGroup", "id").(string)
	if own != "" && !strings.EqualFold(own, group) {
		return refused(http.StatusConflict, "OperationNotAllowed",
			"The machine and its availability set have different proximity placement groups."), true
	}
	return answer{}, false
}

// at gives the value to which a list of keys leads; nil if there is none.
func at(o object, keys ...string) any {
	var value any = o
	for _, key := range keys {
		inner, ok := value.(object)
		if !ok {
			return nil
		}
		value = inner[key]
	}
	return value
}

// complete adds what Azure adds to a resource: children, identifiers, addresses, and the disk of a machine.
func (c *Cloud) complete(path string, body, properties object) {
	switch strings.ToLower(body["type"].(string)) {
	case "microsoft.compute/virtualmachines":
		c.completeMachine(path, body, properties)
	case "microsoft.network/virtualnetworks":
		for _, one := range list(properties["subnets"]) {
			c.child(path+"/subnets/", one)
		}
		delete(properties, "subnets") // they are shown from their own entries
	case "microsoft.network/networkinterfaces":
		for i, one := range list(properties["ipConfigurations"]) {
			inner := c.part(path+"/ipConfigurations/", one)
			if inner["privateIPAddress"] == nil {
				c.last++
				inner["privateIPAddress"] = fmt.Sprintf("10.0.200.%d", 4+c.last%250)
			}
			if inner["primary"] == nil {
				inner["primary"] = i == 0
			}
		}
		c.last++
		properties["macAddress"] = fmt.Sprintf("00-0D-3A-00-%02X-%02X", c.last>>8&0xff, c.last&0xff)
	case "microsoft.network/publicipaddresses":
		c.last++
		properties["ipAddress"] = fmt.Sprintf("192.0.2.%d", 1+c.last%250)
	case "microsoft.network/networksecuritygroups":
		for _, one := range list(properties["securityRules"]) {
			c.part(path+"/securityRules/", one)
		}
	}
}

func list(value any) []any {
	all, _ := value.([]any)
	return all
}

// part completes a part of a resource that has an identifier of its own, and gives its properties.
func (c *Cloud) part(path string, one any) object {
	part, _ := one.(object)
	name, _ := part["name"].(string)
	part["id"] = path + name
	inner, ok := part["properties"].(object)
	if !ok {
		inner = object{}
		part["properties"] = inner
	}
	inner["provisioningState"] = "Succeeded"
	return inner
}

// child makes a child of a resource.
func (c *Cloud) child(path string, one any) {
	c.part(path, one)
	part, _ := one.(object)
	id := part["id"].(string)
	part["type"] = typeOf(split(id))
	c.resources[strings.ToLower(id)] = part
}

// completeMachine adds the disk of a machine, which gets the tags of the machine, and removes passwords.
func (c *Cloud) completeMachine(path string, body, properties object) {
	c.last++
	properties["vmId"] = fmt.Sprintf("00000000-0000-4000-9000-%012d", c.last)
	// azurerm sends an empty one, and would plan a change of a machine that has it.
	if capabilities, ok := properties["additionalCapabilities"].(object); ok && len(capabilities) == 0 {
		delete(properties, "additionalCapabilities")
	}
	if profile, ok := properties["osProfile"].(object); ok {
		c.passwords[strings.ToLower(path)] = fmt.Sprint(profile["adminPassword"])
		delete(profile, "adminPassword")
	}
	disk, ok := at(properties, "storageProfile", "osDisk").(object)
	if !ok {
		return
	}
	if disk["name"] == nil {
		disk["name"] = fmt.Sprintf("%s_OsDisk_1", body["name"])
	}
	id := fmt.Sprintf("%s/Microsoft.Compute/disks/%s", path[:strings.Index(path, "/Microsoft.Compute/")], disk["name"])
	managed, ok := disk["managedDisk"].(object)
	if !ok {
		managed = object{}
		disk["managedDisk"] = managed
	}
	managed["id"] = id
	c.resources[strings.ToLower(id)] = object{
		"id": id, "name": disk["name"], "type": "Microsoft.Compute/disks", "location": body["location"],
		"tags": body["tags"], "sku": object{"name": managed["storageAccountType"]},
		"properties": object{"provisioningState": "Succeeded", "diskState": "Attached"},
	}
}

// delete deletes a resource with its children, a group with all that is in it, and a machine with what it says.
func (c *Cloud) delete(path string, parts []string) answer {
	key := strings.ToLower(path)
	r, ok := c.resources[key]
	if !ok {
		return answer{status: http.StatusNoContent}
	}
	if user := c.user(path); user != nil {
		return inUse(path, typeOf(parts), user)
	}
	if a, ok := c.deleteAKS(path, parts); ok {
		return a
	}
	c.remove(key)
	if len(parts) == resourceParts && strings.EqualFold(typeOf(parts), "Microsoft.Compute/virtualMachines") {
		if disk := at(r, "properties", "storageProfile", "osDisk"); disk != nil && wants(disk.(object)) {
			c.remove(strings.ToLower(fmt.Sprint(at(disk.(object), "managedDisk", "id"))))
		}
		for _, one := range list(at(r, "properties", "networkProfile", "networkInterfaces")) {
			if nic, ok := one.(object); ok && nic["properties"] != nil && wants(nic["properties"].(object)) {
				c.remove(strings.ToLower(fmt.Sprint(nic["id"])))
			}
		}
	}
	return answer{status: http.StatusOK}
}

// wants says that a part of a machine is deleted with it.
func wants(part object) bool { return part["deleteOption"] == "Delete" }

// remove removes a resource and what is below it. A cluster goes with its resource group for nodes:
// https://learn.microsoft.com/azure/aks/faq.
func (c *Cloud) remove(key string) {
	var groups []string
	for other, r := range c.resources {
		if other == key || strings.HasPrefix(other, key+"/") {
			if strings.EqualFold(fmt.Sprint(r["type"]), clusterKind) {
				groups = append(groups, strings.ToLower(nodeGroup(inner(r, "properties"))))
			}
			delete(c.resources, other)
		}
	}
	for _, group := range groups {
		c.remove(group)
	}
}

// shown is a resource as it is answered: with what Azure computes from other resources.
func (c *Cloud) shown(r object) object {
	o := copied(r)
	properties, ok := o["properties"].(object)
	if !ok {
		return o
	}
	id := strings.ToLower(o["id"].(string))
	switch strings.ToLower(fmt.Sprint(o["type"])) {
	case "microsoft.compute/virtualmachines":
		properties["instanceView"] = object{"statuses": []any{
			object{"code": "PowerState/running", "level": "Info", "displayStatus": "VM running"},
		}}
	case "microsoft.network/networkinterfaces":
		for _, key := range c.keys() {
			for _, nic := range list(at(c.resources[key], "properties", "networkProfile", "networkInterfaces")) {
				if nic, ok := nic.(object); ok && strings.EqualFold(fmt.Sprint(nic["id"]), id) {
					properties["virtualMachine"] = object{"id": c.resources[key]["id"]}
				}
			}
		}
	case "microsoft.network/virtualnetworks":
		subnets := []any{}
		for _, key := range c.keys() {
			if strings.HasPrefix(key, id+"/subnets/") {
				subnets = append(subnets, copied(c.resources[key]))
			}
		}
		properties["subnets"] = subnets
	case clusterKind:
		properties["agentPoolProfiles"] = c.pools(id)
	case "microsoft.compute/proximityplacementgroups":
		for _, kind := range []string{"virtualMachines", "availabilitySets"} {
			members := []any{}
			for _, key := range c.keys() {
				group := at(c.resources[key], "properties", "proximityPlacementGroup", "id")
				if strings.Contains(key, strings.ToLower("/"+kind+"/")) && strings.EqualFold(fmt.Sprint(group), id) {
					members = append(members, object{"id": c.resources[key]["id"]})
				}
			}
			properties[kind] = members
		}
	}
	return o
}
