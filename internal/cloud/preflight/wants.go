package preflight

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"nearfar/internal/cloud/cloudtool"
)

// The providers that can be asked.
const (
	AWS    = "aws"
	Azure  = "azure"
	Google = "google"
)

// The kinds of things that are counted against quotas, besides vCPUs.
const (
	kindAddress   = "public address"
	kindNetwork   = "network"
	kindSubnet    = "subnet"
	kindInterface = "network interface"
	kindRules     = "security group"
	kindFirewall  = "firewall rule"
	kindGateway   = "internet gateway"
	kindCluster   = "cluster"
	kindPolicy    = "placement policy"
	kindSet       = "availability set"
)

// Wants is what would be made.
type Wants struct {
	Places []Place
	// Unknown says what is not known of it.
	Unknown []string
}

// A Place is a region of a provider, and what would be made there.
type Place struct {
	// Provider is AWS, Azure or Google. Part is a subscription of Azure or a project of Google Cloud; if it is empty, the
	// provider's program uses its own default.
	Provider, Part, Region string
	Machines               []Machine
	// Counts are the things other than machines, by their kind.
	Counts map[string]int
	// Types are the types of all resources that are made, as the module names them, sorted.
	Types []string
	// Namespaces are the resource providers that the module itself registers (Azure).
	Namespaces []string
	// Clusters are the versions of Kubernetes of the clusters; empty for the provider's default.
	Clusters []string
	// Groups are the strategies of placement groups: cluster, proximity, compact.
	Groups []string
	// EnaExpress says that machines are to have ENA Express (AWS).
	EnaExpress bool
	// Zones are the zones of the subnets, where machines do not name theirs (AWS).
	Zones []string
}

// String names the place: azure westeurope.
func (p Place) String() string { return strings.TrimSpace(p.Provider + " " + p.Region) }

// A Machine is one machine, or a group of equal ones.
type Machine struct {
	// Resource names it in messages.
	Resource, Size, Zone string
	Count                int
	// Spot says that it is spare capacity, which has quotas of its own.
	Spot bool
	// Accelerated says whether accelerated networking is on (Azure); nil if that is not known, or decided by the size.
	Accelerated *bool
	// Placed says that it is in a placement group.
	Placed bool
	// Set says that it is in an availability set (Azure).
	Set bool
	// Node says that it is a node of a cluster.
	Node bool
	// Public says that it has a public address of its own (Google).
	Public bool
	// Image is publisher:offer:sku:version (Azure), ami-... (AWS), or a project and an image or a family (Google).
	// System names the system of nodes: Windows2022, AL2023_x86_64_STANDARD.
	Image, System string
}

// A ShownChange is a resource of a plan (OpenTofu documentation, "JSON Output Format").
type ShownChange struct {
	Address string `json:"address"`
	Mode    string `json:"mode"`
	Type    string `json:"type"`
	Index   any    `json:"index"`
	Change  struct {
		Actions      []string       `json:"actions"`
		Before       map[string]any `json:"before"`
		After        map[string]any `json:"after"`
		AfterUnknown map[string]any `json:"after_unknown"`
	} `json:"change"`
}

// A ShownPlan is the part of a plan as JSON that is read.
type ShownPlan struct {
	Changes   []ShownChange `json:"resource_changes"`
	Variables map[string]struct {
		Value any `json:"value"`
	} `json:"variables"`
	Configuration struct {
		Providers map[string]struct {
			Expressions map[string]json.RawMessage `json:"expressions"`
		} `json:"provider_config"`
	} `json:"configuration"`
}

// maxPlaces bounds how many regions are looked at.
const maxPlaces = 20

// OfPlan reads what a plan of OpenTofu makes, from its form as JSON. environment gives variables of the environment,
// which name the subscription, the region or the project if the module does not.
func OfPlan(shown []byte, environment func(name string) string) (Wants, error) {
	var p ShownPlan
	if err := json.Unmarshal(shown, &p); err != nil {
		return Wants{}, fmt.Errorf("the plan: %w", err)
	}
	w := Wants{}
	places := map[string]*Place{}
	others := map[string]bool{}
	for _, c := range p.Changes {
		if c.Mode == "data" || c.Change.After == nil || !slices.Contains(c.Change.Actions, "create") {
			continue
		}
		provider := map[string]string{"azurerm": Azure, "aws": AWS, "google": Google}[ProviderOf(c.Type)]
		if provider == "" {
			others[ProviderOf(c.Type)] = true
			continue
		}
		region := p.regionOf(provider, c, environment)
		at := provider + " " + region
		if places[at] == nil {
			if len(places) == maxPlaces {
				w.Unknown = append(w.Unknown, fmt.Sprintf("more than %d regions are used", maxPlaces))
				break
			}
			places[at] = &Place{
				Provider: provider, Region: region, Counts: map[string]int{}, Part: p.part(provider, environment),
				Namespaces: p.namespaces(),
			}
		}
		places[at].add(c, p.accelerated())
	}
	for _, name := range slices.Sorted(maps.Keys(places)) {
		slices.Sort(places[name].Types)
		places[name].Types = slices.Compact(places[name].Types)
		w.Places = append(w.Places, *places[name])
	}
	w.Places = withoutRegion(w.Places)
	for _, name := range slices.Sorted(maps.Keys(others)) {
		w.Unknown = append(w.Unknown, "nearfar knows no program that asks the provider "+name)
	}
	return w, nil
}

// withoutRegion adds what has no region to the other region of its provider, if there is one alone: roles and networks
// belong to an account or a project.
func withoutRegion(all []Place) []Place {
	var kept []Place
	for _, p := range all {
		others := slices.DeleteFunc(slices.Clone(all), func(o Place) bool {
			return o.Provider != p.Provider || o.Region == ""
		})
		if p.Region != "" || len(others) == 0 {
			kept = append(kept, p)
		}
	}
	for _, p := range all {
		for i := range kept {
			if k := &kept[i]; p.Region == "" && k.Region != "" && k.Provider == p.Provider {
				k.Machines = append(k.Machines, p.Machines...)
				k.Types = slices.Compact(slices.Sorted(slices.Values(append(k.Types, p.Types...))))
				k.Clusters, k.Groups = append(k.Clusters, p.Clusters...), append(k.Groups, p.Groups...)
				k.EnaExpress = k.EnaExpress || p.EnaExpress
				for kind, n := range p.Counts {
					k.Counts[kind] += n
				}
				break
			}
		}
	}
	return kept
}

// ProviderOf is the provider in the name of a type of resources: aws, azurerm or google.
func ProviderOf(kind string) string {
	name, _, _ := strings.Cut(kind, "_")
	return name
}

// regionOf is the region of a resource; empty if it has none, or the plan does not say it.
func (p ShownPlan) regionOf(provider string, c ShownChange, environment func(string) string) string {
	after := c.Change.After
	switch provider {
	case Azure:
		if region := strings.ToLower(strings.ReplaceAll(cloudtool.TextAt(after, "location"), " ", "")); region != "" {
			return region
		}
	case AWS:
		// The provider of version 6 says the region of each resource.
		return cmp.Or(cloudtool.TextAt(after, "region"), p.Setting("aws", "region"), environment("AWS_REGION"),
			environment("AWS_DEFAULT_REGION"))
	case Google:
		zone := cmp.Or(cloudtool.TextAt(after, "zone"), cloudtool.TextAt(after, "location"))
		if strings.Count(zone, "-") == 2 { // us-central1-a
			return zone[:strings.LastIndex(zone, "-")]
		}
		return cmp.Or(cloudtool.TextAt(after, "region"), zone, p.Setting("google", "region"),
			environment("GOOGLE_REGION"))
	}
	return ""
}

// part is the subscription or the project.
func (p ShownPlan) part(provider string, environment func(string) string) string {
	switch provider {
	case Azure:
		return cmp.Or(p.Setting("azurerm", "subscription_id"), environment("ARM_SUBSCRIPTION_ID"))
	case Google:
		return cmp.Or(p.Setting("google", "project"), environment("GOOGLE_PROJECT"), environment("GOOGLE_CLOUD_PROJECT"))
	}
	return ""
}

// expression is a setting of a provider in a module.
type expression struct {
	Value      any      `json:"constant_value"`
	References []string `json:"references"`
}

// expression reads a setting.
func (p ShownPlan) expression(provider, name string) (e expression) {
	if json.Unmarshal(p.Configuration.Providers[provider].Expressions[name], &e) != nil {
		return expression{}
	}
	return e
}

// Setting is the text of a setting of a provider: a constant, or the value of a variable.
func (p ShownPlan) Setting(provider, name string) string {
	e := p.expression(provider, name)
	if text, ok := e.Value.(string); ok {
		return text
	}
	for _, reference := range e.References {
		if variable, ok := strings.CutPrefix(reference, "var."); ok {
			text, _ := p.Variables[variable].Value.(string)
			return text
		}
	}
	return ""
}

// namespaces are the resource providers that azurerm registers.
func (p ShownPlan) namespaces() (all []string) {
	list, _ := p.expression("azurerm", "resource_providers_to_register").Value.([]any)
	for _, one := range list {
		if text, ok := one.(string); ok {
			all = append(all, text)
		}
	}
	return all
}

// accelerated says for each key of for_each whether the network interface with this key has accelerated networking. The
// empty key has what all interfaces have.
func (p ShownPlan) accelerated() map[string]*bool {
	all := map[string]*bool{}
	same := true
	var one *bool
	for _, c := range p.Changes {
		if c.Type != "azurerm_network_interface" || c.Change.After == nil {
			continue
		}
		on, ok := c.Change.After["accelerated_networking_enabled"].(bool)
		if !ok {
			continue
		}
		all[key(c)] = &on
		same = same && (one == nil || *one == on)
		one = &on
	}
	if same {
		all[""] = one
	} else {
		delete(all, "")
	}
	return all
}

// key is the key of a resource with for_each or count; empty if it has none.
func key(c ShownChange) string {
	if c.Index == nil {
		return ""
	}
	return fmt.Sprint(c.Index)
}

// counted are the types of resources that quotas count.
func counted() map[string]string {
	return map[string]string{
		"azurerm_public_ip": kindAddress, "azurerm_virtual_network": kindNetwork,
		"azurerm_network_interface": kindInterface, "azurerm_network_security_group": kindRules,
		"azurerm_availability_set": kindSet, "azurerm_kubernetes_cluster": kindCluster,
		"aws_eip": kindAddress, "aws_vpc": kindNetwork, "aws_internet_gateway": kindGateway,
		"aws_eks_cluster":        kindCluster,
		"google_compute_network": kindNetwork, "google_compute_subnetwork": kindSubnet,
		"google_compute_firewall": kindFirewall, "google_compute_resource_policy": kindPolicy,
		"google_container_cluster": kindCluster,
	}
}

// add adds a resource.
func (p *Place) add(c ShownChange, accelerated map[string]*bool) {
	after := c.Change.After
	p.Types = append(p.Types, c.Type)
	if kind := counted()[c.Type]; kind != "" {
		p.Counts[kind]++
	}
	has := func(name string) bool { return is(after[name]) || is(c.Change.AfterUnknown[name]) }
	m := Machine{Resource: c.Address, Count: 1, Zone: cloudtool.TextAt(after, "zone"), Image: azureImage(after)}
	switch c.Type {
	case "azurerm_linux_virtual_machine", "azurerm_windows_virtual_machine":
		m.Size, m.Spot = cloudtool.TextAt(after, "size"), strings.EqualFold(cloudtool.TextAt(after, "priority"), "Spot")
		m.Placed, m.Set = has("proximity_placement_group_id"), has("availability_set_id")
		m.Accelerated = cmp.Or(accelerated[key(c)], accelerated[""])
	case "azurerm_kubernetes_cluster":
		m.Resource += ".default_node_pool"
		m.Size, m.Node = cloudtool.TextAt(after, "default_node_pool.0.vm_size"), true
		m.Count = number(after, "default_node_pool.0.node_count")
		p.Clusters = append(p.Clusters, cloudtool.TextAt(after, "kubernetes_version"))
		p.Counts[kindAddress]++ // of the load balancer through which nodes reach the internet
	case "azurerm_kubernetes_cluster_node_pool":
		m.Size, m.Node, m.System = cloudtool.TextAt(after, "vm_size"), true, cloudtool.TextAt(after, "os_sku")
		m.Count = number(after, "node_count")
	case "azurerm_proximity_placement_group":
		p.Groups = append(p.Groups, "proximity")
	case "aws_instance":
		m.Size, m.Image = cloudtool.TextAt(after, "instance_type"), cloudtool.TextAt(after, "ami")
		m.Zone, m.Placed = cloudtool.TextAt(after, "availability_zone"), has("placement_group")
		m.Spot = is(cloudtool.At(after, "instance_market_options.0"))
	case "aws_eks_node_group":
		m.Size, m.Node = cloudtool.TextAt(after, "instance_types.0"), true
		m.System = cloudtool.TextAt(after, "ami_type")
		m.Count = number(after, "scaling_config.0.desired_size")
		m.Spot = cloudtool.TextAt(after, "capacity_type") == "SPOT"
	case "aws_eks_cluster":
		p.Clusters = append(p.Clusters, cloudtool.TextAt(after, "version"))
	case "aws_placement_group":
		p.Groups = append(p.Groups, cloudtool.TextAt(after, "strategy"))
	case "aws_launch_template":
		p.EnaExpress = p.EnaExpress ||
			cloudtool.At(after, "network_interfaces.0.ena_srd_specification.0.ena_srd_enabled") == true
	case "aws_subnet":
		if zone := cloudtool.TextAt(after, "availability_zone"); zone != "" && !slices.Contains(p.Zones, zone) {
			p.Zones = append(p.Zones, zone)
		}
	case "google_compute_instance":
		m.Size, m.Placed = cloudtool.TextAt(after, "machine_type"), has("resource_policies")
		m.Image = cloudtool.TextAt(after, "boot_disk.0.initialize_params.0.image")
		m.Spot = strings.EqualFold(cloudtool.TextAt(after, "scheduling.0.provisioning_model"), "SPOT")
		m.Public = cloudtool.At(after, "network_interface.0.access_config.0") != nil
	case "google_compute_resource_policy":
		if cloudtool.At(after, "group_placement_policy.0") != nil {
			p.Groups = append(p.Groups, "compact")
		}
	}
	if m.Size != "" {
		p.Machines = append(p.Machines, m)
	}
}

// azureImage is the image of a VM of Azure: publisher:offer:sku:version.
func azureImage(after map[string]any) string {
	const image = "source_image_reference.0."
	if cloudtool.TextAt(after, image+"publisher") == "" {
		return ""
	}
	return strings.Join([]string{
		cloudtool.TextAt(after, image+"publisher"), cloudtool.TextAt(after, image+"offer"),
		cloudtool.TextAt(after, image+"sku"),
		cloudtool.TextAt(after, image+"version"),
	}, ":")
}

// is says whether a value is there: not null, false, empty, or a list of such values.
func is(value any) bool {
	switch v := value.(type) {
	case nil:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return slices.ContainsFunc(v, is)
	}
	return true
}

// number is a whole number of a resource; 1 if there is none.
func number(after map[string]any, path string) int {
	n, ok := cloudtool.At(after, path).(float64)
	if !ok || n < 0 || n > 10_000 {
		return 1
	}
	return int(n)
}
