package googletest

import (
	"maps"
	"slices"
	"strings"
)

// defaultLimits are limits of quotas with names of the discovery document (Quota.metric). The numbers are those of a
// large enough account; tests set others.
func defaultLimits() map[string]float64 {
	return map[string]float64{
		"NETWORKS": 5, "SUBNETWORKS": 100, "FIREWALLS": 100,
		"CPUS": 72, "C2_CPUS": 24, "C3_CPUS": 24, "N2_CPUS": 24, "IN_USE_ADDRESSES": 8, "INSTANCES": 72, "SSD_TOTAL_GB": 500,
		"DISKS_TOTAL_GB": 2048, "RESOURCE_POLICIES": 10,
	}
}

// isGlobal says whether a quota is of the project, and not of a region. Source:
// https://cloud.google.com/compute/resource-usage, and the quotas of projects.get and regions.get.
func isGlobal(metric string) bool {
	return slices.Contains([]string{"NETWORKS", "SUBNETWORKS", "FIREWALLS"}, metric)
}

// use is how much of each quota a resource uses. A family of machines whose quota is in Quota.metric counts there, such
// as C2_CPUS, and others for CPUS; balanced disks count as SSD (the same page).
func (c *Cloud) use(path string, r object) map[string]float64 {
	switch kindOf(path) {
	case "networks":
		return map[string]float64{"NETWORKS": 1}
	case "subnetworks":
		return map[string]float64{"SUBNETWORKS": 1}
	case "firewalls":
		return map[string]float64{"FIREWALLS": 1}
	case "resourcePolicies":
		return map[string]float64{"RESOURCE_POLICIES": 1}
	case "disks":
		metric := "DISKS_TOTAL_GB"
		if kind := nameOf(textAt(r, "type")); kind == "pd-balanced" || kind == "pd-ssd" {
			metric = "SSD_TOTAL_GB"
		}
		return map[string]float64{metric: number(r["sizeGb"])}
	case "instances":
		name := nameOf(textAt(r, "machineType"))
		metric := "CPUS"
		own := strings.ToUpper(family(name)) + "_CPUS"
		if slices.Contains(c.document.Schemas["Quota"].Properties["metric"].Enum, own) {
			metric = own
		}
		cpus := 0.0
		for _, m := range machineTypes() {
			if m.name == name {
				cpus = float64(m.cpus)
			}
		}
		used := map[string]float64{"INSTANCES": 1, metric: cpus}
		interfaces, _ := r["networkInterfaces"].([]any)
		for _, one := range interfaces {
			configs, _ := one.(object)["accessConfigs"].([]any)
			used["IN_USE_ADDRESSES"] += float64(len(configs))
		}
		return used
	}
	return nil
}

// used is how much of each quota all resources use.
func (c *Cloud) used() map[string]float64 {
	all := map[string]float64{}
	for _, path := range c.paths() {
		if !isMade(path) {
			continue
		}
		for metric, n := range c.use(path, c.resources[path]) {
			all[metric] += n
		}
	}
	return all
}

// beyond is the first quota that is exceeded by what is there; nil if there is none.
func (c *Cloud) beyond(path string) *failure {
	used := c.used()
	for _, metric := range slices.Sorted(maps.Keys(c.use(path, c.resources[path]))) {
		if limit := c.limits[metric]; used[metric] > limit {
			return quotaFailure(metric, limit)
		}
	}
	return nil
}

// quotas are the quotas of the project or of the region, as the service shows them.
func (c *Cloud) quotas(scope string) (all []any) {
	used := c.used()
	for _, metric := range slices.Sorted(maps.Keys(c.limits)) {
		if isGlobal(metric) == (scope == "global") {
			all = append(all, object{"metric": metric, "limit": c.limits[metric], "usage": used[metric]})
		}
	}
	return all
}
