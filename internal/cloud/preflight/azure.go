package preflight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/cloud/cloudtool"
)

// az runs az for the subscription of the place.
func (a *asker) az(ctx context.Context, into any, args ...string) error {
	if a.place.Part != "" {
		args = append(args, "--subscription", a.place.Part)
	}
	return a.ask(ctx, into, "az", append(args, "--only-show-errors", "--output", "json")...)
}

// azure looks at a region of a subscription.
func (a *asker) azure(ctx context.Context) {
	var account struct {
		ID, State string
		User      struct{ Name string }
	}
	if err := a.az(ctx, &account, "account", "show"); err != nil {
		a.unknown(checkLogin, "the subscription, and all other questions to Azure", err)
		return
	}
	if account.State != "Enabled" {
		a.note(checkLogin, "subscription "+account.ID, Refused, "its state is "+account.State,
			"enable it, or choose another one in ARM_SUBSCRIPTION_ID")
		return
	}
	a.note(checkLogin, "subscription "+account.ID, OK, account.User.Name+" is logged in", "")
	sizes := map[string]azureSize{}
	cloudtool.Each(
		func() { a.azureNamespaces(ctx) },
		func() { a.azureRights(ctx, account.ID) },
		func() { a.azurePolicies(ctx, account.ID) },
		func() {
			if a.azureSizes(ctx, sizes) {
				a.azureCPUs(ctx, sizes)
				a.azureImages(ctx, sizes)
			}
		},
		func() { a.azureNetwork(ctx) },
		func() { a.azureVersions(ctx) },
	)
}

// azureSize is a size of VMs (https://learn.microsoft.com/rest/api/compute/resource-skus/list).
type azureSize struct {
	Name, Family string
	LocationInfo []struct{ Zones []string }
	Restrictions []struct {
		Type, ReasonCode string
		RestrictionInfo  struct{ Zones []string }
	}
	Capabilities []struct{ Name, Value string }
}

// capability is what a size can do; empty if Azure does not say it.
func (s azureSize) capability(name string) string {
	for _, c := range s.Capabilities {
		if c.Name == name {
			return c.Value
		}
	}
	return ""
}

// cpus is how many vCPUs count against the quota; 0 if Azure does not say it.
func (s azureSize) cpus() int {
	n, _ := strconv.Atoi(s.capability("vCPUs"))
	return n
}

// azureSizes looks at the sizes of the machines, and puts them by their names. It is false if Azure did not answer.
func (a *asker) azureSizes(ctx context.Context, sizes map[string]azureSize) bool {
	if len(a.place.Machines) == 0 {
		return true
	}
	var all []azureSize
	// Without --all, az leaves out what the subscription may not use, and with that the reason.
	err := a.az(ctx, &all, "vm", "list-skus", "--location", a.place.Region, "--resource-type", "virtualMachines", "--all")
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("az lists no sizes in %q", a.place.Region)
	}
	if err != nil {
		a.unknown(checkSize, "sizes of VMs, their quotas and images", err)
		return false
	}
	for _, s := range all {
		sizes[strings.ToLower(s.Name)] = s
	}
	looked := map[string]bool{}
	for _, m := range a.place.Machines {
		about := m.Size
		if m.Zone != "" {
			about += " in zone " + m.Zone
		}
		s, there := sizes[strings.ToLower(m.Size)]
		status, found, do := azureFits(s, there, m)
		if once := about + found; !looked[once] {
			looked[once] = true
			a.note(checkSize, about, status, found, do)
		}
		a.azurePlacement(m, s)
	}
	return true
}

// azureFits says whether a machine of a size can be made where it is wanted.
func azureFits(s azureSize, there bool, m Machine) (status Status, found, do string) {
	const other = "choose another size or region (az vm list-skus lists them), or ask Azure to open it for you"
	if !there {
		return Refused, "Azure has no such size in the region", other
	}
	for _, r := range s.Restrictions {
		switch {
		case r.Type == "Location":
			return Refused, "restricted for this subscription in the region: " + r.ReasonCode, other
		case r.Type == "Zone" && m.Zone != "" && slices.Contains(r.RestrictionInfo.Zones, m.Zone):
			return Refused, fmt.Sprintf("restricted for this subscription in zones %s: %s",
				strings.Join(r.RestrictionInfo.Zones, ", "), r.ReasonCode), "choose another zone, size or region"
		}
	}
	var zones []string
	for _, l := range s.LocationInfo {
		zones = append(zones, l.Zones...)
	}
	if m.Zone != "" && !slices.Contains(zones, m.Zone) {
		return Refused, fmt.Sprintf("offered in the zones [%s] alone", strings.Join(zones, " ")), "choose one of them"
	}
	on := s.capability("AcceleratedNetworkingEnabled")
	if m.Accelerated != nil && *m.Accelerated && strings.EqualFold(on, "False") {
		return Refused, "it has no accelerated networking, which " + m.Resource + " wants", "choose a size that has it"
	}
	return OK, fmt.Sprintf("%d vCPUs, accelerated networking %s, no restriction", s.cpus(), on), ""
}

// azurePlacement looks at rules of placement that need no question.
func (a *asker) azurePlacement(m Machine, s azureSize) {
	switch {
	case m.Set && m.Zone != "":
		a.note(checkPlacement, m.Resource, Refused, "it is in an availability set and in a zone", "keep one of them")
	case m.Placed && strings.EqualFold(s.capability("LowPriorityCapable"), "False") && m.Spot:
		a.note(checkPlacement, m.Resource, Refused, m.Size+" cannot be spot capacity", "choose another size")
	}
}

// usage is a quota, and how much of it is used. az prints numbers as numbers or as texts.
type usage struct {
	Name    struct{ Value, LocalizedValue string }
	Current json.Number `json:"currentValue"`
	Limit   json.Number `json:"limit"`
}

// usages are quotas by their names in small letters.
type usages map[string]usage

// azureUsages asks for quotas.
func (a *asker) azureUsages(ctx context.Context, program ...string) (usages, error) {
	var all []usage
	if err := a.az(ctx, &all, append(program, "--location", a.place.Region)...); err != nil {
		return nil, err
	}
	named := usages{}
	for _, u := range all {
		named[strings.ToLower(u.Name.Value)] = u
	}
	return named, nil
}

// compare compares a quota with what is wanted. One that Azure does not list was not looked at.
func (a *asker) compare(all usages, name string, wanted int) {
	u, there := all[strings.ToLower(name)]
	used, usedErr := u.Current.Float64()
	limit, limitErr := u.Limit.Float64()
	about := name
	if u.Name.LocalizedValue != "" && u.Name.LocalizedValue != name {
		about += " (" + u.Name.LocalizedValue + ")"
	}
	if !there || usedErr != nil || limitErr != nil {
		a.unknown(checkQuota, about, errors.New("az does not list this quota in the region"))
		return
	}
	a.quota(about, used, float64(wanted), limit,
		"delete what is not needed, choose another region or size, or ask for more in the portal under Quotas")
}

// azureCPUs compares the vCPUs with the quotas of the region and of the families of sizes.
func (a *asker) azureCPUs(ctx context.Context, sizes map[string]azureSize) {
	wanted, machines := map[string]int{}, 0
	for _, m := range a.place.Machines {
		s := sizes[strings.ToLower(m.Size)]
		machines += m.Count
		switch {
		case s.cpus() == 0:
			a.unknown(checkQuota, "vCPUs of "+m.Size, errors.New("how many vCPUs it has is not known"))
		case m.Spot:
			wanted["lowPriorityCores"] += m.Count * s.cpus()
		default:
			wanted["cores"] += m.Count * s.cpus()
			wanted[s.Family] += m.Count * s.cpus()
		}
	}
	if a.place.Counts[kindSet] > 0 {
		wanted["availabilitySets"] = a.place.Counts[kindSet]
	}
	if machines == 0 {
		return
	}
	wanted["virtualMachines"] = machines
	all, err := a.azureUsages(ctx, "vm", "list-usage")
	if err != nil {
		a.unknown(checkQuota, "vCPUs", err)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		a.compare(all, name, wanted[name])
	}
}

// azureNetwork compares addresses and networks with their quotas. Azure counts addresses in up to three quotas.
func (a *asker) azureNetwork(ctx context.Context) {
	counts := a.place.Counts
	wanted := map[string]int{
		"VirtualNetworks": counts[kindNetwork], "NetworkInterfaces": counts[kindInterface],
		"NetworkSecurityGroups": counts[kindRules], "PublicIPAddresses": counts[kindAddress],
	}
	maps.DeleteFunc(wanted, func(_ string, n int) bool { return n == 0 })
	if len(wanted) == 0 {
		return
	}
	all, err := a.azureUsages(ctx, "network", "list-usages")
	if err != nil {
		a.unknown(checkQuota, "addresses and networks", err)
		return
	}
	for _, name := range []string{"StandardSkuPublicIpAddresses", "IPv4StandardSkuPublicIpAddresses",
		"StaticPublicIPAddresses"} {
		if _, there := all[strings.ToLower(name)]; there && counts[kindAddress] > 0 {
			wanted[name] = counts[kindAddress]
		}
	}
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		a.compare(all, name, wanted[name])
	}
}

// azureTypes are the types of Azure by those of azurerm.
func azureTypes() map[string]string {
	return map[string]string{
		"azurerm_resource_group":                       "Microsoft.Resources/subscriptions/resourceGroups",
		"azurerm_linux_virtual_machine":                "Microsoft.Compute/virtualMachines",
		"azurerm_windows_virtual_machine":              "Microsoft.Compute/virtualMachines",
		"azurerm_managed_disk":                         "Microsoft.Compute/disks",
		"azurerm_virtual_machine_extension":            "Microsoft.Compute/virtualMachines/extensions",
		"azurerm_availability_set":                     "Microsoft.Compute/availabilitySets",
		"azurerm_proximity_placement_group":            "Microsoft.Compute/proximityPlacementGroups",
		"azurerm_virtual_network":                      "Microsoft.Network/virtualNetworks",
		"azurerm_subnet":                               "Microsoft.Network/virtualNetworks/subnets",
		"azurerm_network_interface":                    "Microsoft.Network/networkInterfaces",
		"azurerm_network_security_group":               "Microsoft.Network/networkSecurityGroups",
		"azurerm_public_ip":                            "Microsoft.Network/publicIPAddresses",
		"azurerm_dev_test_global_vm_shutdown_schedule": "Microsoft.DevTestLab/schedules",
		"azurerm_kubernetes_cluster":                   "Microsoft.ContainerService/managedClusters",
		"azurerm_kubernetes_cluster_node_pool":         "Microsoft.ContainerService/managedClusters/agentPools",
	}
}

// azureWanted are the types of Azure that are made, sorted. What has no entry is a part of others, such as the
// association of a subnet.
func (a *asker) azureWanted() (all []string) {
	for _, kind := range a.place.Types {
		if name := azureTypes()[kind]; name != "" && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// azureNamespaces asks which resource providers are registered.
func (a *asker) azureNamespaces(ctx context.Context) {
	var all []struct{ Namespace, RegistrationState string }
	if err := a.az(ctx, &all, "provider", "list"); err != nil {
		a.unknown(checkProvider, "registered resource providers", err)
		return
	}
	states := map[string]string{}
	for _, p := range all {
		states[strings.ToLower(p.Namespace)] = p.RegistrationState
	}
	looked := map[string]bool{"Microsoft.Resources": true} // it is always there
	for _, kind := range a.azureWanted() {
		name, _, _ := strings.Cut(kind, "/")
		if looked[name] {
			continue
		}
		looked[name] = true
		state := states[strings.ToLower(name)]
		byModule := slices.ContainsFunc(a.place.Namespaces, func(n string) bool { return strings.EqualFold(n, name) })
		switch {
		case state == "Registered":
			a.note(checkProvider, name, OK, "registered", "")
		case byModule:
			a.note(checkProvider, name, OK, "not registered; the module registers it when it plans or applies", "")
		default:
			a.note(checkProvider, name, Refused, fmt.Sprintf("its state is %q", state),
				"az provider register --namespace "+name)
		}
	}
}

// azureRights asks what the login may do in the subscription. Source of the rules:
// https://learn.microsoft.com/azure/role-based-access-control/role-definitions: a role allows an action that one of its
// actions matches, and none of its notActions.
func (a *asker) azureRights(ctx context.Context, subscription string) {
	var answer struct {
		Value []struct{ Actions, NotActions []string }
	}
	err := a.az(ctx, &answer, "rest", "--method", "get", "--url",
		"/subscriptions/"+subscription+"/providers/Microsoft.Authorization/permissions?api-version=2022-04-01")
	if err != nil {
		a.unknown(checkRights, "what this login may do", err)
		return
	}
	for _, kind := range a.azureWanted() {
		for _, verb := range []string{"/write", "/delete"} {
			may := slices.ContainsFunc(answer.Value, func(r struct{ Actions, NotActions []string }) bool {
				return matches(r.Actions, kind+verb) && !matches(r.NotActions, kind+verb)
			})
			if may {
				a.note(checkRights, kind+verb, OK, "a role of this login in the subscription allows it", "")
				continue
			}
			a.note(checkRights, kind+verb, Refused, "no role of this login in the subscription allows it",
				"ask for a role such as Contributor; a role in one resource group is not looked at here")
		}
	}
}

// matches says whether one of some patterns with * matches an action, without case.
func matches(patterns []string, action string) bool {
	action = strings.ToLower(action)
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		parts := strings.Split(strings.ToLower(pattern), "*")
		rest, found := strings.CutPrefix(action, parts[0])
		if !found || len(parts) == 1 {
			return found && rest == ""
		}
		last := parts[len(parts)-1]
		for _, part := range parts[1 : len(parts)-1] {
			at := strings.Index(rest, part)
			if at < 0 {
				return false
			}
			rest = rest[at+len(part):]
		}
		return strings.HasSuffix(rest, last)
	})
}

// azureImages looks at the images in the region.
func (a *asker) azureImages(ctx context.Context, sizes map[string]azureSize) {
	wanted := map[string]string{} // sizes by images
	for _, m := range a.place.Machines {
		if m.Image != "" {
			wanted[m.Image] = m.Size
		}
	}
	for _, urn := range slices.Sorted(maps.Keys(wanted)) {
		var image struct {
			Generation   string `json:"hyperVGeneration"`
			Architecture string
			Deprecation  struct {
				State string `json:"imageState"`
				On    string `json:"scheduledDeprecationTime"`
			} `json:"imageDeprecationStatus"`
		}
		if err := a.az(ctx, &image, "vm", "image", "show", "--location", a.place.Region, "--urn", urn); err != nil {
			if says(err, "was not found", "NotFound") {
				a.note(checkImage, urn, Refused, err.Error(), "choose another image (az vm image list-skus)")
				continue
			}
			a.unknown(checkImage, urn, err)
			continue
		}
		takes := sizes[strings.ToLower(wanted[urn])].capability("HyperVGenerations")
		switch {
		case strings.EqualFold(image.Deprecation.State, "Deprecated"):
			a.note(checkImage, urn, Refused, "it is deprecated since "+image.Deprecation.On, "choose another image")
		case takes != "" && image.Generation != "" && !slices.Contains(strings.Split(takes, ","), image.Generation):
			a.note(checkImage, urn, Refused, fmt.Sprintf("it is of generation %s, and %s takes %s", image.Generation,
				wanted[urn], takes), "choose the image of the other generation")
		default:
			a.note(checkImage, urn, OK, "there, of generation "+image.Generation, "")
		}
	}
}

// azureVersions looks at the versions of Kubernetes.
func (a *asker) azureVersions(ctx context.Context) {
	for _, version := range a.place.Clusters {
		if version == "" {
			a.note(checkVersion, "Kubernetes", OK, "the module names none: AKS takes its default", "")
			continue
		}
		var all struct {
			Values []struct {
				Version string
				Patches map[string]any `json:"patchVersions"`
			}
		}
		if err := a.az(ctx, &all, "aks", "get-versions", "--location", a.place.Region); err != nil {
			a.unknown(checkVersion, "Kubernetes "+version, err)
			continue
		}
		var names []string
		found := false
		for _, v := range all.Values {
			_, patch := v.Patches[version]
			found = found || patch || v.Version == version
			names = append(names, v.Version)
		}
		if !found {
			a.note(checkVersion, "Kubernetes "+version, Refused, "AKS offers "+strings.Join(names, ", "), "choose one of them")
			continue
		}
		a.note(checkVersion, "Kubernetes "+version, OK, "AKS offers it in the region", "")
	}
}

// says says whether an error of a program has one of some texts.
func says(err error, texts ...string) bool {
	failed, ok := errors.AsType[*cloudtool.FailedError](err)
	return ok && slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(failed.Error(), text) })
}
