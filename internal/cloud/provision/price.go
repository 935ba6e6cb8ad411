package provision

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/cloud/cloudtool"
	"nearfar/internal/cloud/preflight"
	"nearfar/internal/declare/experiment"
)

// Cost is what the resources of a plan cost.
type Cost struct {
	// Items are the resources that providers are known to bill, in the order of the plan.
	Items []CostItem
	// Others is how many more resources there are; whether they cost anything is not known.
	Others int
	// Zones are the zones of the resources, sorted.
	Zones []string
	// BetweenZones is the price of data between them; nil if it is not known.
	BetweenZones *BetweenZones
}

// CostItem is what a resource costs.
type CostItem struct {
	Resource, Type, Size, Region string
	// Count is how many machines a group of them has, otherwise 1.
	Count int
	// GiB is the size of a disk.
	GiB float64
	// Machine says that it is a machine or a group of machines: what is attached to it and what it sends costs extra.
	Machine bool
	// Price is nil if it is not known.
	Price *Price
	// AtLeast says that it can cost more than Price, because its operating system is not in the plan.
	AtLeast bool
}

// Hourly is the price of the whole item for an hour, in US dollars.
func (i CostItem) Hourly() (dollars float64, known bool) {
	if i.Price == nil {
		return 0, false
	}
	dollars = float64(i.Count) * i.Price.Hourly
	if i.Price.PerGiB {
		dollars *= i.GiB
	}
	return dollars, true
}

// Hourly adds the prices that are known, in US dollars. atLeast says that something may cost more than that.
func (c Cost) Hourly() (dollars float64, atLeast bool) {
	atLeast = c.Others > 0
	for _, item := range c.Items {
		one, known := item.Hourly()
		dollars, atLeast = dollars+one, atLeast || !known || item.AtLeast
	}
	return dollars, atLeast
}

// Known says whether the price of anything is known.
func (c Cost) Known() bool {
	return slices.ContainsFunc(c.Items, func(i CostItem) bool { return i.Price != nil })
}

// Dates gives the oldest date of the prices that are from the table (YYYY-MM-DD), and their sources in the order of the
// items; an empty date if there are none.
func (c Cost) Dates() (oldest string, sources []string) {
	for _, item := range c.Items {
		if item.Price == nil || item.Price.Date == "" {
			continue
		}
		if oldest == "" || item.Price.Date < oldest {
			oldest = item.Price.Date
		}
		if !slices.Contains(sources, item.Price.Source) {
			sources = append(sources, item.Price.Source)
		}
	}
	return oldest, sources
}

// cost finds the prices of what is there when a plan was carried out. The experiment file's prices go before the table.
func cost(plan []byte, given []experiment.Price) (Cost, error) {
	var shown preflight.ShownPlan
	if err := json.Unmarshal(plan, &shown); err != nil {
		return Cost{}, fmt.Errorf("the plan: %w", err)
	}
	t, err := readTable()
	if err != nil {
		return Cost{}, err
	}
	types, plain := billedTypes(), regions(shown)
	special := specialTemplates(shown)
	var c Cost
	var providers []string // of the zones
	for _, change := range shown.Changes {
		after := change.Change.After
		if change.Mode == "data" || after == nil {
			continue
		}
		provider := preflight.ProviderOf(change.Type)
		if zone := cmp.Or(cloudtool.TextAt(after, "zone"), cloudtool.TextAt(after, "availability_zone")); zone != "" {
			c.Zones, providers = append(c.Zones, zone), append(providers, provider)
		}
		attributes, known := types[change.Type]
		if !known {
			c.Others++
			continue
		}
		item := CostItem{
			Resource: short(change.Address), Type: change.Type,
			Region: cmp.Or(regionOf(shown, change.Type, after), plain[provider]),
		}
		item.fill(attributes, after, given, t, special && provider == "aws")
		c.Items = append(c.Items, item)
		if change.Type == "azurerm_kubernetes_cluster" && cloudtool.At(after, ownNodes+".0") != nil {
			item.Resource, item.Type = short(change.Address+"."+ownNodes), change.Type+"_node_pool"
			item.fill(azureNodesOwn(), after, given, t, false)
			c.Items = append(c.Items, item)
		}
	}
	slices.Sort(c.Zones)
	c.Zones = slices.Compact(c.Zones)
	slices.Sort(providers)
	if providers = slices.Compact(providers); len(providers) == 1 {
		c.BetweenZones = t.between(providers[0])
	}
	return c, nil
}

// fill reads what the price depends on, and finds the price. special says that machines do not have the usual price.
func (i *CostItem) fill(b billed, after map[string]any, given []experiment.Price, t table, special bool) {
	i.Count, i.Machine, i.Price = 1, b.system != nil, nil
	if b.size != "" {
		i.Size = short(cloudtool.TextAt(after, b.size))
	}
	if b.count != "" {
		n, ok := cloudtool.At(after, b.count).(float64)
		if !ok || n < 0 || n > maxChanges {
			i.Count = 0 // a group whose number is not known costs an unknown sum
			return
		}
		i.Count = int(n)
	}
	for _, one := range given {
		if one.Of == i.Type || i.Size != "" && one.Of == i.Size {
			i.Price = &Price{Type: i.Type, Size: i.Size, Hourly: one.Hourly, Source: FromFile}
			return
		}
	}
	if b.unusual != nil && b.unusual(after) {
		return
	}
	if b.gib != "" {
		var known bool
		if i.GiB, known = cloudtool.At(after, b.gib).(float64); !known {
			return
		}
	}
	kind, system := i.Type, ""
	if b.system != nil {
		kind = preflight.ProviderOf(i.Type)
		if system = b.system(after); special {
			system = systemOther
		}
	}
	if system == systemUnknown {
		system, i.AtLeast = systemLinux, true
	}
	i.Price = t.find(kind, system, i.Size, i.Region)
}

// specialTemplates says whether a launch template of EC2 asks for spot capacity or a host of its own. The plan does not
// always say which machines use the template.
func specialTemplates(s preflight.ShownPlan) bool {
	for _, change := range s.Changes {
		after := change.Change.After
		if change.Type == "aws_launch_template" && after != nil && (has(after, "instance_market_options.0") ||
			isOneOf(cloudtool.TextAt(after, "placement.0.tenancy"), "dedicated", "host")) {
			return true
		}
	}
	return false
}

// regions gives for each provider the region of its resources, if all resources with a region have the same. A machine
// in a subnet often has no region in the plan.
func regions(s preflight.ShownPlan) map[string]string {
	all := map[string][]string{}
	for _, change := range s.Changes {
		if change.Mode == "data" || change.Change.After == nil {
			continue
		}
		provider := preflight.ProviderOf(change.Type)
		region := regionOf(s, change.Type, change.Change.After)
		if region != "" && !slices.Contains(all[provider], region) {
			all[provider] = append(all[provider], region)
		}
	}
	only := map[string]string{}
	for provider, regions := range all {
		if len(regions) == 1 {
			only[provider] = regions[0]
		}
	}
	return only
}

// regionOf is the region of a resource; empty if it is not known.
func regionOf(s preflight.ShownPlan, kind string, after map[string]any) string {
	provider := preflight.ProviderOf(kind)
	zone := cmp.Or(cloudtool.TextAt(after, "availability_zone"), cloudtool.TextAt(after, "zone"))
	if provider == "google" {
		zone = cmp.Or(zone, cloudtool.TextAt(after, "location")) // a zone or a region
	}
	switch {
	case cloudtool.TextAt(after, "region") != "":
		return cloudtool.TextAt(after, "region")
	case provider == "google" && strings.Count(zone, "-") == 2:
		return zone[:strings.LastIndex(zone, "-")] // us-central1-a
	case cloudtool.TextAt(after, "location") != "": // Azure
		return strings.ToLower(strings.ReplaceAll(cloudtool.TextAt(after, "location"), " ", ""))
	case provider == "aws" && zone != "":
		return strings.TrimRight(zone, "abcdefghijklmnopqrstuvwxyz") // us-east-1a
	}
	return s.Setting(provider, "region")
}
