package environment

import (
	"bytes"
	"maps"
	"reflect"
	"slices"
	"strings"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
)

// declared are the facts in which the file declares two arms to differ: paths into check.Facts, each with all below it.
type declared []string

func (d declared) has(fact string) bool {
	return slices.ContainsFunc(d, func(path string) bool {
		return fact == path || strings.HasPrefix(fact, path+".")
	})
}

// network are the facts about the device and the path, which nearfar makes for labs and a cluster makes for pods.
func network() declared { return declared{"device", "enslaved", "path"} }

// zone are the facts about where in a region a machine is.
func zone() declared {
	return declared{"where.zone", "where.zone_id", "where.fault_domain", "where.region", "where.partition"}
}

// size are the facts that follow from the type of an instance.
func size() declared {
	return declared{"where.instance_type", "firmware.product", "model", "cpus", "memory", "processor"}
}

// machine are the facts of another machine of another pool.
func machine() declared {
	return slices.Concat(network(), zone(), size(), declared{"where", "provider", "firmware", "os", "arch", "release",
		"kernel", "clock_source", "conntrack", "settings"})
}

// declaredBetween lists the facts of a side in which the file says that an arm differs from the baseline.
func declaredBetween(base, arm experiment.Arm, side string) declared {
	all := declaredByExpectations(base, arm)
	switch {
	case (base.Lab == nil) != (arm.Lab == nil), base.Lab != nil && !reflect.DeepEqual(base.Lab, arm.Lab):
		all = append(all, network()...)
	case (base.Kubernetes == nil) != (arm.Kubernetes == nil):
		all = append(append(all, network()...), "cgroup")
	case base.Kubernetes != nil:
		if base.Kubernetes.Nodes != arm.Kubernetes.Nodes {
			all = append(all, zone()...)
		}
		all = append(all, declaredByPods(podOf(base, side), podOf(arm, side))...)
	}
	if (base.Client == base.Server) != (arm.Client == arm.Server) {
		all = append(all, network()...) // one host is both sides of an arm
	}
	for _, s := range slices.Concat(base.Set, arm.Set) {
		if s.Key == "congestion" {
			all = append(all, "settings.ipv4/tcp_congestion_control")
		}
	}
	return all
}

func podOf(a experiment.Arm, side string) *experiment.Pod {
	if side == sideClient {
		return a.Kubernetes.Client
	}
	return a.Kubernetes.Server
}

// declaredByPods lists the facts in which the declarations of two pods differ. A pod is nil if the side is none.
func declaredByPods(base, arm *experiment.Pod) (all declared) {
	if base == nil || arm == nil {
		if base != arm {
			return append(network(), "cgroup")
		}
		return nil
	}
	if base.HostNetwork != arm.HostNetwork || base.Interface != arm.Interface {
		all = append(all, network()...)
	}
	if base.RuntimeClass != arm.RuntimeClass {
		all = append(append(all, network()...), "kernel", "model", "processor", "clock_source", "cgroup")
	}
	if !bytes.Equal(base.Resources, arm.Resources) {
		all = append(all, "cgroup")
	}
	if base.Image != arm.Image || base.AgentImage != arm.AgentImage {
		all = append(all, "release") // a pod reads the release of its image
	}
	if base.Zone != arm.Zone {
		all = append(all, zone()...)
	}
	if base.OS != arm.OS || !bytes.Equal(base.Affinity, arm.Affinity) {
		all = append(all, machine()...)
	}
	for key := range maps.Keys(base.NodeSelector) {
		all = append(all, declaredByLabel(key, base.NodeSelector, arm.NodeSelector)...)
	}
	for key := range maps.Keys(arm.NodeSelector) {
		all = append(all, declaredByLabel(key, base.NodeSelector, arm.NodeSelector)...)
	}
	return all
}

// declaredByLabel lists the facts that follow from a label of nodes. Labels that are not known to mean a single thing
// select a pool of other machines.
func declaredByLabel(key string, base, arm map[string]string) declared {
	if base[key] == arm[key] {
		return nil
	}
	switch key {
	case "kubernetes.io/hostname": // another node of the same kind
		return nil
	case "topology.kubernetes.io/zone", "topology.kubernetes.io/region":
		return zone()
	case "node.kubernetes.io/instance-type":
		return size()
	}
	return machine()
}

// declaredByExpectations lists the facts about which both arms expect something, and not the same.
func declaredByExpectations(base, arm experiment.Arm) (all declared) {
	for _, e := range arm.Expect {
		at := slices.IndexFunc(base.Expect, func(b check.Expectation) bool {
			return b.Name == e.Name && b.Path == e.Path || opposites(b, e)
		})
		if at < 0 || base.Expect[at].Name == e.Name && reflect.DeepEqual(base.Expect[at].Value, e.Value) {
			continue
		}
		switch e.Name {
		case check.ExpectMTU, check.ExpectEncapsulation:
			all = append(all, "device.mtu", "enslaved.mtu", "path.mtu")
		case check.ExpectDriver:
			all = append(all, "device", "enslaved")
		case check.ExpectInstanceType:
			all = append(all, size()...)
		case check.ExpectAccelerated:
			all = append(all, "enslaved")
		case check.ExpectSameZone, check.ExpectDifferentZone:
			all = append(all, zone()...)
		case check.ExpectPlacementGroup, check.ExpectProximity, check.ExpectCompactPlacement:
			all = append(all, "where.placement_group", "where.partition", "where.fault_domain", "provider")
		case check.ExpectFact:
			all = append(all, comparedPath(e.Path))
		}
	}
	return all
}

// opposites says whether two expectations contradict each other: same-zone and different-zone with one value.
func opposites(a, b check.Expectation) bool {
	same, different := check.ExpectSameZone, check.ExpectDifferentZone
	return (a.Name == same && b.Name == different || a.Name == different && b.Name == same) &&
		reflect.DeepEqual(a.Value, b.Value)
}

// comparedPath is the path of a compared fact for the path of an expected one: "device.mtu" for
// "client.devices.eth0.mtu".
func comparedPath(path string) string {
	path = strings.TrimPrefix(strings.TrimPrefix(path, sideClient+"."), sideServer+".")
	if rest, ok := strings.CutPrefix(path, "devices."); ok {
		_, fact, _ := strings.Cut(rest, ".")
		return "device." + fact
	}
	return path
}
