package googletest

import (
	"slices"
	"strings"
)

// machineType is a type of machine.
type machineType struct {
	name      string
	cpus, mib int
	// zones are the ends of the names of the zones that have it; empty for all.
	zones []string
}

// machineTypes are some types of machines. The fake's zone c lacks C3, so that a request for it can be refused.
func machineTypes() []machineType {
	return []machineType{
		{name: "c2-standard-4", cpus: 4, mib: 16384}, {name: "c2-standard-8", cpus: 8, mib: 32768},
		{name: "c3-standard-4", cpus: 4, mib: 16384, zones: []string{"a", "b"}},
		{name: "n2-standard-2", cpus: 2, mib: 8192}, {name: "n2-standard-4", cpus: 4, mib: 16384},
		{name: "e2-standard-2", cpus: 2, mib: 8192}, {name: "n1-standard-1", cpus: 1, mib: 3840},
	}
}

// family is the family of a type of machine: c2.
func family(machineType string) string {
	before, _, _ := strings.Cut(machineType, "-")
	return before
}

// diskTypes are some types of disks.
func diskTypes() []string { return []string{"pd-standard", "pd-balanced", "pd-ssd"} }

// image is a public image.
type image struct {
	project, family, name string
	sizeGb                int
}

// images are some public images. Their guests know Google's network interface (gVNIC): feature GVNIC.
func images() []image {
	return []image{
		{"ubuntu-os-cloud", "ubuntu-2404-lts-amd64", "ubuntu-2404-noble-amd64-v20261101", 10},
		{"debian-cloud", "debian-12", "debian-12-bookworm-v20261101", 10},
	}
}

// imageProjects are the projects of public images. Google has more, which have nothing here; the provider asks several
// for an image without a project.
func imageProjects() []string {
	return []string{"ubuntu-os-cloud", "debian-cloud", "rocky-linux-cloud", "windows-cloud"}
}

// zones are the names of all zones.
func zones() []string { return []string{Region + "-a", Region + "-b", Region + "-c"} }

// catalogue adds what every project has.
func (c *Cloud) catalogue() {
	const project = "projects/" + Project
	region := project + "/regions/" + Region
	c.add(project, object{
		"kind": "compute#project", "name": Project, "xpnProjectStatus": "UNSPECIFIED_XPN_PROJECT_STATUS",
	})
	links := []any{}
	for _, zone := range zones() {
		path := project + "/zones/" + zone
		links = append(links, api+path)
		c.add(path, object{"kind": "compute#zone", "name": zone, "status": "UP", "region": api + region})
		for _, m := range machineTypes() {
			if len(m.zones) == 0 || slices.Contains(m.zones, zone[len(zone)-1:]) {
				c.add(path+"/machineTypes/"+m.name, object{
					"kind": "compute#machineType", "name": m.name, "zone": zone, "guestCpus": m.cpus, "memoryMb": m.mib,
					"isSharedCpu": false,
				})
			}
		}
		for _, kind := range diskTypes() {
			c.add(path+"/diskTypes/"+kind, object{"kind": "compute#diskType", "name": kind, "zone": api + path})
		}
	}
	c.add(region, object{"kind": "compute#region", "name": Region, "status": "UP", "zones": links})
	for _, i := range images() {
		c.add("projects/"+i.project+"/global/images/"+i.name, object{
			"kind": "compute#image", "name": i.name, "family": i.family, "status": "READY", "diskSizeGb": text(i.sizeGb),
			"architecture": "X86_64", "guestOsFeatures": []any{object{"type": "GVNIC"}, object{"type": "UEFI_COMPATIBLE"}},
		})
	}
}

// family is the path of the newest image of a family; empty if there is none.
func (c *Cloud) family(project, family string) string {
	for _, path := range c.paths() {
		if strings.HasPrefix(path, "projects/"+project+"/global/images/") &&
			textAt(c.resources[path], "family") == family {
			return path
		}
	}
	return ""
}
