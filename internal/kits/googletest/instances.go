package googletest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"nearfar/internal/kits/googletest/discovery"
)

func (c *Cloud) makeInstance(k call, path string) answer {
	zone := k.parameters["zone"]
	for _, check := range []func() answer{
		func() answer { return c.machine(k.body, zone) },
		func() answer { return labelled(k.body) },
		func() answer {
			return schedule(textAt(k.body, "scheduling", "provisioningModel"), k.body["scheduling"])
		},
		func() answer { return c.policies(k.body) },
		func() answer { return c.interfaces(k.body) },
		func() answer { return c.attach(k.body, path, zone) },
	} {
		if a := check(); a.failed() {
			return a
		}
	}
	scheduling, _ := k.body["scheduling"].(object)
	if scheduling == nil {
		scheduling = object{}
	}
	for key, value := range map[string]any{
		"onHostMaintenance": "MIGRATE", "automaticRestart": true, "preemptible": false, "provisioningModel": "STANDARD",
	} {
		if scheduling[key] == nil {
			scheduling[key] = value
		}
	}
	if affinities, ok := scheduling["nodeAffinities"].([]any); ok && !slices.ContainsFunc(affinities, func(one any) bool {
		return one != nil
	}) {
		delete(scheduling, "nodeAffinities") // [null] is as if there were none
	}
	metadata, _ := k.body["metadata"].(object)
	if metadata == nil {
		metadata = object{}
	}
	metadata["kind"], metadata["fingerprint"] = "compute#metadata", fingerprint(metadata["items"])
	tags, _ := k.body["tags"].(object)
	if tags == nil {
		tags = object{}
	}
	tags["fingerprint"] = fingerprint(tags["items"])
	maps.Copy(k.body, map[string]any{
		"scheduling": scheduling, "metadata": metadata, "tags": tags, "zone": api + "projects/" + Project + "/zones/" + zone,
		"status": "PROVISIONING", "cpuPlatform": "Intel Cascade Lake", "labelFingerprint": fingerprint(k.body["labels"]),
		"fingerprint": fingerprint(k.body["name"]), "startRestricted": false,
	})
	return answer{status: http.StatusOK}
}

// machine checks the type of machine. Source of the text: https://github.com/gruntwork-io/terratest/issues/1132.
func (c *Cloud) machine(body object, zone string) answer {
	link := textAt(body, "machineType")
	path := c.resolve(link)
	wanted := "projects/" + Project + "/zones/" + zone + "/machineTypes/" + nameOf(path)
	if path != wanted || c.resources[wanted] == nil {
		return invalid("resource.machineType", link,
			fmt.Sprintf("Machine type with name '%s' does not exist in zone '%s'.", nameOf(path), zone))
	}
	body["machineType"] = api + wanted
	return answer{status: http.StatusOK}
}

// labelled checks labels. Sources: https://github.com/oap-project/cloudtik/issues/14 (values),
// https://github.com/googleapis/google-cloud-node-core/issues/314 (keys), and
// https://cloud.google.com/compute/docs/labeling-resources#requirements.
func labelled(body object) answer {
	labels, _ := body["labels"].(object)
	for key, value := range labels {
		const rest = "can only contain lowercase letters, numeric characters, underscores and dashes. The %s can be at " +
			"most 63 characters long. International characters are allowed."
		if !discovery.Matches(`[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}`, key) {
			return invalid("resource.labels", "", fmt.Sprintf("Label key '%s' violates format constraints. The key must "+
				"start with a lowercase character, "+rest, key, "key"))
		}
		if !discovery.Matches(`[\p{Ll}\p{Lo}\p{N}_-]{0,63}`, fmt.Sprint(value)) {
			return invalid("resource.labels", "", fmt.Sprintf("Label value '%v' violates format constraints. The value "+
				rest, value, "value"))
		}
	}
	return answer{status: http.StatusOK}
}

// The limits of the time that a machine may run: https://cloud.google.com/compute/docs/instances/limit-vm-runtime.
const shortestRun, longestRun = 30 * time.Second, 120 * 24 * time.Hour

// schedule checks when a machine ends. model is its provisioning model.
func schedule(model string, scheduling any) answer {
	s, _ := scheduling.(object)
	const field = "resource.scheduling."
	end, action := textAt(s, "terminationTime"), textAt(s, "instanceTerminationAction")
	limited := end != "" || s["maxRunDuration"] != nil
	if action != "" && !limited && (model == "" || model == "STANDARD") {
		// Source: https://github.com/cloudpilot-ai/karpenter-provider-gcp/issues/155.
		return invalid(field+"instanceTerminationAction", action, "You cannot specify a termination action for a VM "+
			"instance that has the standard provisioning model (default). To use instance termination action, the VM "+
			"instance must use the Spot, Reservation-Bound or Flex Start provisioning model.")
	}
	if limited && s["preemptible"] == true && model != "SPOT" {
		return invalid(field+"preemptible", "true", "A time limit is not for preemptible VMs.") // limit-vm-runtime
	}
	var left time.Duration
	switch {
	case end != "":
		at, err := time.Parse(time.RFC3339, end)
		if err != nil {
			return invalid(field+"terminationTime", end, "Must be a time of RFC 3339.") // discovery document, terminationTime
		}
		left = time.Until(at)
	case limited:
		left = time.Duration(number(valueAt(s, "maxRunDuration", "seconds"))) * time.Second
	default:
		return answer{status: http.StatusOK}
	}
	if left < shortestRun || left > longestRun {
		return invalid(field+"terminationTime", end,
			fmt.Sprintf("The time limit must be from %v to %v.", shortestRun, longestRun))
	}
	return answer{status: http.StatusOK}
}

// policies checks the resource policies of a machine: one at most
// (https://github.com/terraform-google-modules/terraform-google-vm/issues/258), in the machine's region.
func (c *Cloud) policies(body object) answer {
	links, _ := body["resourcePolicies"].([]any)
	if len(links) > 1 {
		return invalid("resource.resourcePolicies", fmt.Sprint(len(links)), "At most one resource policy can be given.")
	}
	for i, link := range links {
		path, a := c.needs(fmt.Sprintf("resource.resourcePolicies[%d]", i), "resourcePolicies", fmt.Sprint(link))
		if a.failed() {
			return a
		}
		placement, ok := c.resources[path]["groupPlacementPolicy"].(object)
		kind := nameOf(textAt(body, "machineType"))
		// Source of the type and of the text: https://github.com/dstackai/dstack/issues/2591.
		if ok && placement["collocation"] == "COLLOCATED" && family(kind) == "n1" {
			return invalid("resource.resourcePolicies", fmt.Sprint(link), "Placement policy is not applicable to machine type "+
				kind+".")
		}
		if most := number(placement["vmCount"]); most > 0 && float64(len(c.members(path))) >= most {
			// Source: https://github.com/dstackai/dstack/issues/2586.
			return invalid("resource.resourcePolicies", fmt.Sprint(link), fmt.Sprintf(
				"No more than %v instances of machine type %s can be created with this policy.", most, kind))
		}
		links[i] = api + path
	}
	return answer{status: http.StatusOK}
}

// members are the machines that have a policy.
func (c *Cloud) members(policy string) (paths []string) {
	for _, path := range c.paths() {
		if links, _ := c.resources[path]["resourcePolicies"].([]any); kindOf(path) == "instances" &&
			slices.Contains(links, any(api+policy)) {
			paths = append(paths, path)
		}
	}
	return paths
}

// interfaces checks the network interfaces of a machine and gives them addresses.
func (c *Cloud) interfaces(body object) answer {
	all, _ := body["networkInterfaces"].([]any)
	if len(all) == 0 {
		return refused(http.StatusBadRequest, "required", "Required field 'resource.networkInterfaces' not specified")
	}
	for i, one := range all {
		nic, _ := one.(object)
		field := fmt.Sprintf("resource.networkInterfaces[%d]", i)
		network := textAt(nic, "network")
		subnetwork := textAt(nic, "subnetwork")
		if subnetwork == "" {
			path, a := c.needs(field+".network", "networks", network)
			if !a.failed() && c.resources[path]["autoCreateSubnetworks"] != true {
				// Source: https://github.com/hashicorp/terraform-provider-google/issues/175.
				a = invalid(field, "", "Subnetwork should be specified for custom subnetmode network")
			}
			return a
		}
		path, a := c.needs(field+".subnetwork", "subnetworks", subnetwork)
		if a.failed() {
			return a
		}
		c.last++
		nic["subnetwork"], nic["network"] = api+path, c.resources[path]["network"]
		gateway := textAt(c.resources[path], "gatewayAddress")
		nic["networkIP"] = fmt.Sprintf("%s.%d", gateway[:strings.LastIndexByte(gateway, '.')], 2+c.last%200)
		nic["name"], nic["kind"] = fmt.Sprintf("nic%d", i), "compute#networkInterface"
		nic["fingerprint"], nic["stackType"] = fingerprint(nic), "IPV4_ONLY"
		configs, _ := nic["accessConfigs"].([]any)
		for _, config := range configs {
			config, _ := config.(object)
			for key, value := range map[string]any{
				"kind": "compute#accessConfig", "name": "external-nat", "type": "ONE_TO_ONE_NAT", "networkTier": "PREMIUM",
			} {
				if config[key] == nil || config[key] == "" {
					config[key] = value
				}
			}
			config["natIP"] = fmt.Sprintf("203.0.113.%d", 1+c.last%250) // RFC 5737: for documentation
		}
	}
	return answer{status: http.StatusOK}
}

// attach makes or finds the disks of a machine.
func (c *Cloud) attach(body object, instance, zone string) answer {
	all, _ := body["disks"].([]any)
	boot := 0
	for i, one := range all {
		disk, _ := one.(object)
		field := fmt.Sprintf("resource.disks[%d]", i)
		if disk["boot"] == true {
			boot++
		}
		source := c.resolve(textAt(disk, "source"))
		if disk["source"] == nil {
			made, a := c.initialize(field, disk, nameOf(instance), zone)
			if a.failed() {
				return a
			}
			source = made
		} else if _, a := c.needs(field+".source", "disks", textAt(disk, "source")); a.failed() {
			return a
		}
		found := c.resources[source]
		found["users"] = []any{api + instance}
		disk["source"], disk["index"], disk["kind"] = api+source, i, "compute#attachedDisk"
		disk["diskSizeGb"], disk["interface"] = found["sizeGb"], "SCSI"
		if disk["deviceName"] == nil {
			disk["deviceName"] = fmt.Sprintf("persistent-disk-%d", i) // discovery document, deviceName
		}
		for key, value := range map[string]any{"type": "PERSISTENT", "mode": "READ_WRITE"} {
			if disk[key] == nil {
				disk[key] = value
			}
		}
		delete(disk, "initializeParams") // only in requests (discovery document)
	}
	if boot != 1 {
		return invalid("resource.disks", "", "One disk must be the boot disk.") // discovery document, boot
	}
	return answer{status: http.StatusOK}
}

// initialize makes a disk from the parameters in a machine.
func (c *Cloud) initialize(field string, disk object, instance, zone string) (string, answer) {
	params, _ := disk["initializeParams"].(object)
	field += ".initializeParams."
	image, a := c.image(field+"sourceImage", textAt(params, "sourceImage"))
	if a.failed() {
		return "", a
	}
	name := textAt(params, "diskName")
	if name == "" {
		name = instance
	}
	path := "projects/" + Project + "/zones/" + zone + "/disks/" + name
	if c.resources[path] != nil {
		return "", alreadyExists(path)
	}
	size := params["diskSizeGb"]
	if size == nil {
		size = c.resources[image]["diskSizeGb"]
	}
	made := object{"name": name, "type": params["diskType"], "sizeGb": fmt.Sprint(size), "labels": params["labels"]}
	if made["labels"] == nil {
		delete(made, "labels")
	}
	if a := c.disk(field, made, zone); a.failed() {
		return "", a
	}
	made["sourceImage"], made["status"] = api+image, "READY"
	c.add(path, made)
	return path, a
}

// image finds an image by a link to it, or by a link to its family.
func (c *Cloud) image(field, link string) (string, answer) {
	if before, family, ok := strings.Cut(c.resolve(link), "/global/images/family/"); ok {
		if path := c.family(strings.TrimPrefix(before, "projects/"), family); path != "" {
			return path, answer{status: http.StatusOK}
		}
	}
	return c.needs(field, "images", link)
}

func (c *Cloud) makeDisk(k call, _ string) answer {
	k.body["status"] = "CREATING"
	if image := textAt(k.body, "sourceImage"); image != "" {
		path, a := c.image("resource.sourceImage", image)
		if a.failed() {
			return a
		}
		k.body["sourceImage"] = api + path
	}
	return c.disk("resource.", k.body, k.parameters["zone"])
}

// disk checks a disk, and gives it what it lacks.
func (c *Cloud) disk(field string, disk object, zone string) answer {
	if a := labelled(disk); a.failed() {
		return a
	}
	zonePath := "projects/" + Project + "/zones/" + zone
	kind := textAt(disk, "type")
	if kind == "" {
		kind = zonePath + "/diskTypes/pd-standard" // discovery document, diskType
	}
	path := c.resolve(kind)
	if !strings.Contains(kind, "/") {
		path = zonePath + "/diskTypes/" + kind
	}
	if c.resources[path] == nil {
		return invalid(field+"diskType", kind, "The referenced diskType resource cannot be found.")
	}
	if number(disk["sizeGb"]) == 0 {
		disk["sizeGb"] = "500" // the size of a disk of which nothing is said
	}
	disk["type"], disk["zone"], disk["kind"] = api+path, api+zonePath, "compute#disk"
	disk["labelFingerprint"] = fingerprint(disk["labels"])
	disk["physicalBlockSizeBytes"] = "4096"
	return answer{status: http.StatusOK}
}

// place finds room for a machine. The topology has the form of
// https://github.com/GoogleCloudPlatform/cluster-toolkit/pull/3873 (physicalHost: /block/subblock/host), and the schema
// ResourceStatusPhysicalHostTopology. Machines of a compact policy share a block; others have one of their own.
func (c *Cloud) place(path string, r object) *failure {
	zone := nameOf(textAt(r, "zone"))
	if c.exhausted[zone+" "+nameOf(textAt(r, "machineType"))] {
		return exhausted(zone)
	}
	block := path
	if links, _ := r["resourcePolicies"].([]any); len(links) > 0 {
		block = fmt.Sprint(links[0])
	}
	hash := func(of string) string { return fmt.Sprintf("%x", []byte(fingerprint(of)))[:16] }
	r["resourceStatus"] = object{
		"scheduling":   object{},
		"physicalHost": "/" + hash(block) + "/" + hash(block+"s") + "/" + hash(path),
		"physicalHostTopology": object{
			"cluster": zone + "-cluster-1", "block": hash(block), "subblock": hash(block + "s"), "host": hash(path),
		},
	}
	return nil
}
