package provision

import (
	"slices"
	"strings"

	"nearfar/internal/cloud/cloudtool"
)

// billed says where a type of resource has what its price depends on.
type billed struct {
	// size and count are paths of the size and of the number of machines of a group.
	size, count string
	// gib is the path of the size of a disk in GiB.
	gib string
	// system finds the operating system of a machine; nil for what is no machine.
	system func(after map[string]any) string
	// unusual says that the price of its size does not hold; nil if it always does.
	unusual func(after map[string]any) bool
}

// ownNodes is the path of the node pool that a cluster of AKS has itself.
const ownNodes = "default_node_pool"

// billedTypes are types of resources that providers bill by the hour.
func billedTypes() map[string]billed {
	const vm, set = "size", "sku"
	return map[string]billed{
		"azurerm_linux_virtual_machine":             {size: vm, system: azureLinux},
		"azurerm_windows_virtual_machine":           {size: vm, system: azureWindows},
		"azurerm_virtual_machine":                   {size: "vm_size"},
		"azurerm_linux_virtual_machine_scale_set":   {size: set, count: "instances", system: azureLinux},
		"azurerm_windows_virtual_machine_scale_set": {size: set, count: "instances", system: azureWindows},
		"azurerm_kubernetes_cluster":                {},
		"azurerm_kubernetes_cluster_node_pool":      {size: "vm_size", count: "node_count", system: azureNodes},
		"azurerm_managed_disk":                      {size: "storage_account_type"},
		"azurerm_public_ip":                         {size: "sku", unusual: azureAddress},
		"azurerm_nat_gateway":                       {},
		"azurerm_lb":                                {size: "sku"},
		"aws_instance":                              {size: "instance_type", system: awsInstance},
		"aws_ebs_volume":                            {size: "type"},
		"aws_eip":                                   {},
		"aws_nat_gateway":                           {},
		"aws_lb":                                    {size: "load_balancer_type"},
		"aws_eks_cluster":                           {},
		"aws_eks_node_group": {
			size: "instance_types.0", count: "scaling_config.0.desired_size", system: awsNodes,
		},
		"google_compute_instance":        {size: "machine_type", system: googleInstance},
		"google_compute_disk":            {size: "type", gib: "size"},
		"google_compute_address":         {},
		"google_compute_router_nat":      {},
		"google_compute_forwarding_rule": {},
		"google_container_cluster":       {},
		"google_container_node_pool": {
			size: "node_config.0.machine_type", count: "node_count", system: googleNodes,
		},
	}
}

// azureNodesOwn are the nodes of the pool that a cluster of AKS has itself, which always have Linux.
func azureNodesOwn() billed {
	return billed{
		size: ownNodes + ".0.vm_size", count: ownNodes + ".0.node_count",
		system: func(map[string]any) string { return systemLinux },
	}
}

// has says whether there is a block or a value other than null, false and "".
func has(after map[string]any, path string) bool {
	v := cloudtool.At(after, path)
	return v != nil && v != false && v != ""
}

// isOneOf compares without case.
func isOneOf(text string, all ...string) bool {
	return slices.ContainsFunc(all, func(one string) bool { return strings.EqualFold(one, text) })
}

// azureAddress says that an address is not one of IPv4 in one region.
func azureAddress(after map[string]any) bool {
	return isOneOf(cloudtool.TextAt(after, "ip_version"), "IPv6") ||
		isOneOf(cloudtool.TextAt(after, "sku_tier"), "Global")
}

// azureSpecial says that the price of a VM is not the usual one of its size: spot capacity, or an image with a plan of
// its seller.
func azureSpecial(after map[string]any) bool {
	return isOneOf(cloudtool.TextAt(after, "priority"), "Spot") || has(after, "plan.0")
}

func azureLinux(after map[string]any) string {
	// Azure bills the subscriptions of these by the hour.
	if azureSpecial(after) || isOneOf(cloudtool.TextAt(after, "source_image_reference.0.publisher"), "RedHat", "SUSE") {
		return systemOther
	}
	return systemLinux
}

func azureWindows(after map[string]any) string {
	// With a licence of the user, Azure bills no licence. Images of others have programs with licences of their own,
	// such as SQL Server.
	licence := cloudtool.TextAt(after, "license_type")
	publisher := cloudtool.TextAt(after, "source_image_reference.0.publisher")
	if azureSpecial(after) || !isOneOf(licence, "", "None") || !isOneOf(publisher, "", "MicrosoftWindowsServer") {
		return systemOther
	}
	return systemWindows
}

func azureNodes(after map[string]any) string {
	switch {
	case azureSpecial(after):
		return systemOther
	case isOneOf(cloudtool.TextAt(after, "os_type"), "Windows"):
		return systemWindows
	}
	return systemLinux
}

// awsInstance does not know the operating system: the plan has only the id of an image.
func awsInstance(after map[string]any) string {
	if has(after, "instance_market_options.0") || isOneOf(cloudtool.TextAt(after, "tenancy"), "dedicated", "host") {
		return systemOther
	}
	return systemUnknown
}

func awsNodes(after map[string]any) string {
	image := strings.ToUpper(cloudtool.TextAt(after, "ami_type"))
	switch {
	case isOneOf(cloudtool.TextAt(after, "capacity_type"), "SPOT", "CAPACITY_BLOCK"):
		return systemOther
	case strings.HasPrefix(image, "WINDOWS"):
		return systemWindows
	case strings.HasPrefix(image, "AL2"), strings.HasPrefix(image, "BOTTLEROCKET"):
		return systemLinux
	}
	return systemUnknown // an image of the user
}

func googleInstance(after map[string]any) string {
	if has(after, "scheduling.0.preemptible") || has(after, "guest_accelerator.0") ||
		isOneOf(cloudtool.TextAt(after, "scheduling.0.provisioning_model"), "SPOT") {
		return systemOther
	}
	image := strings.ToLower(cloudtool.TextAt(after, "boot_disk.0.initialize_params.0.image"))
	switch {
	case strings.Contains(image, "windows"):
		return systemWindows
	case strings.Contains(image, "ubuntu-os-pro"):
		return systemOther
	case slices.ContainsFunc([]string{"ubuntu", "debian", "cos-", "rocky-linux", "fedora"},
		func(name string) bool { return strings.Contains(image, name) }):
		return systemLinux
	}
	return systemUnknown
}

func googleNodes(after map[string]any) string {
	const config = "node_config.0."
	switch {
	case has(after, config+"spot"), has(after, config+"preemptible"), has(after, config+"guest_accelerator.0"):
		return systemOther
	case strings.HasPrefix(strings.ToUpper(cloudtool.TextAt(after, config+"image_type")), "WINDOWS"):
		return systemWindows
	}
	// The number of nodes is the number in each zone, and a pool can be in several.
	return systemUnknown
}
