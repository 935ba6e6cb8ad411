package check

import (
	"encoding/json"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// notCompared are the keys of Facts that Compare leaves out, and why.
func notCompared() map[string]string {
	const (
		names    = "it names the host or a part of it"
		address  = "each host has its own"
		counter  = "it changes all the time"
		relation = "it says which device is which"
		hardware = "the hardware's own number"
	)
	return map[string]string{
		"hostname": names, "boot_id": names, "own_boot_id": "it says what boot_id means",
		"load.average": counter, "load.pressure": counter, "seconds": counter,
		"missing": "it says what is not known", "conntrack.count": counter,
		"firmware.asset_tag": names, "firmware.xen": names,
		"path.to": address, "path.device": names, "path.source": address,
		"device.name": names, "device.index": relation, "device.master": relation, "device.lower": relation,
		"device.address": address, "device.state": "a device that carries packets is up", "device.bus": hardware,
		"where.instance_id": names, "where.name": names, "where.resource_id": names, "where.account": names,
		"where.host": names, "where.update_domain": names,
		"provider.commands": "they name the host", "provider.group": names, "provider.state": counter,
		"provider.network_nodes": names, "provider.topology.cluster": names, "provider.topology.block": names,
		"provider.topology.subblock": names, "provider.topology.host": names, "provider.physical_host": names,
		"provider.configured":   names,
		"provider.problem":      "it says what is not known",
		"where.scale_set_group": names, "where.topology.cluster": names, "where.topology.block": names,
		"where.topology.subblock": names, "where.topology.host": names, "where.problem": "it says what is not known",
	}
}

// leaf is a key of Facts that holds a value, a list of values, or a map.
type leaf struct {
	path string
	// at gives the key in facts of fullFacts.
	at func(f *Facts) reflect.Value
}

// leaves lists all keys of Facts. Those of devices are of the device of the path.
func leaves(of reflect.Type, path string, at func(f *Facts) reflect.Value) (all []leaf) {
	switch {
	case of.Kind() == reflect.Pointer && of.Elem().Kind() == reflect.Struct:
		return leaves(of.Elem(), path, func(f *Facts) reflect.Value { return at(f).Elem() })
	case path == "devices":
		return leaves(of.Elem(), "device", func(f *Facts) reflect.Value { return at(f).Index(0) })
	case of.Kind() != reflect.Struct || of == reflect.TypeFor[netip.Addr]():
		return []leaf{{path, at}}
	}
	for i := range of.NumField() {
		field := of.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			continue
		}
		inner := strings.Trim(path+"."+name, ".")
		all = append(all, leaves(field.Type, inner, func(f *Facts) reflect.Value { return at(f).Field(i) })...)
	}
	return all
}

// fullFacts are facts in which each key has a value.
func fullFacts(t *testing.T) *Facts {
	t.Helper()
	f := &Facts{OS: "linux", Arch: "amd64", Path: &Path{}, Where: &Where{PlacementGroup: new(string)},
		Conntrack: &Conntrack{}, Devices: make([]Device, 2)}
	f.Where.Topology = &Topology{}
	f.Provider = &Provider{Group: new(string), Topology: &Topology{}, Accelerated: new(bool)}
	for _, l := range leaves(reflect.TypeFor[Facts](), "", func(f *Facts) reflect.Value {
		return reflect.ValueOf(f).Elem()
	}) {
		change(t, l.at(f))
	}
	f.OS, f.Arch, f.Kernel, f.Cgroup.Cpuset = "linux", "amd64", "6.8", "0-3"
	on := &f.Devices[0]
	on.Name, on.Index, on.Kind = "eth0", 2, "netvsc"
	f.Path.Device = on.Name
	f.Devices[1] = *on
	f.Devices[1].Name, f.Devices[1].Index, f.Devices[1].Master = "vf0", 3, on.Index
	return f
}

// change gives a key another value.
func change(t *testing.T, v reflect.Value) {
	t.Helper()
	switch at := v.Addr().Interface().(type) {
	case *netip.Addr:
		if !at.IsValid() {
			*at = netip.MustParseAddr("10.0.0.1")
		} else {
			*at = at.Next()
		}
		return
	case *map[string]string:
		*at = map[string]string{"ipv4/tcp_ecn": (*at)["ipv4/tcp_ecn"] + "1", "PRETTY_NAME": (*at)["PRETTY_NAME"] + "x"}
		return
	case *map[string]uint32:
		*at = map[string]uint32{"rx": (*at)["rx"] + 1}
		return
	case **string:
		changed := **at + "g"
		*at = &changed
		return
	case **bool:
		changed := !**at
		*at = &changed
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(v.String() + "x")
	case reflect.Int, reflect.Int64:
		v.SetInt(2*v.Int() + 1<<30)
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Slice:
		one := reflect.New(v.Type().Elem()).Elem()
		if one.Kind() == reflect.String {
			one.SetString(strings.Repeat("y", v.Len()+1))
		}
		v.Set(reflect.Append(v, one))
	default:
		t.Fatalf("no other value for %s", v.Type())
	}
}

// TestEachKeyIsClassified: each key of Facts is compared or left out on purpose. Keys that are left out never show as a
// difference.
func TestEachKeyIsClassified(t *testing.T) {
	left := notCompared()
	for _, l := range leaves(reflect.TypeFor[Facts](), "", func(f *Facts) reflect.Value {
		return reflect.ValueOf(f).Elem()
	}) {
		isCompared := slices.ContainsFunc(comparedFacts(), func(c compared) bool { return c.fact == l.path })
		reason, isLeft := left[l.path]
		delete(left, l.path)
		if isCompared == isLeft {
			t.Errorf("%s: compared: %v, left out: %v; add it to comparedFacts or to notCompared", l.path, isCompared,
				isLeft)
			continue
		}
		if l.path == "device.index" || l.path == "device.master" {
			continue // another value makes another device of it
		}
		a, b := fullFacts(t), fullFacts(t)
		change(t, l.at(b))
		switch l.path { // not every other value means something else
		case "cgroup.cpuset":
			b.Cgroup.Cpuset = "0-1"
		case "path.gateway":
			b.Path.Gateway = netip.Addr{}
		}
		var found []string
		for _, p := range Compare(a, b) {
			if p.Differs {
				found = append(found, p.Fact)
			}
		}
		if isLeft && len(found) > 0 {
			t.Errorf("%s: %q, although %s", l.path, found, reason)
		}
		if isCompared && !slices.ContainsFunc(found, func(fact string) bool {
			return fact == l.path || strings.HasPrefix(fact, l.path+".")
		}) {
			t.Errorf("%s: not found in %q", l.path, found)
		}
	}
	for path := range left {
		t.Errorf("%s is left out, and Facts has no such key", path)
	}
}

// differences are the pairs that differ, as "fact A -> B".
func differences(a, b *Facts) (lines []string) {
	for _, p := range Compare(a, b) {
		if p.Differs {
			line := p.Fact + " " + p.A + " -> " + p.B
			if p.Matters {
				line = "! " + line
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// copied is a deep copy.
func copied(t *testing.T, f *Facts) *Facts {
	t.Helper()
	data, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var c Facts
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// TestCompareRecorded compares recorded machines.
func TestCompareRecorded(t *testing.T) {
	read := func(name string) *Facts {
		s, _ := readRecorded(t, name)
		f := s.Read(Options{To: server()})
		f.OS, f.Arch = "linux", "amd64"
		return &f
	}
	vf := read("azure-mlx5")
	if lines := differences(vf, copied(t, vf)); len(lines) > 0 {
		t.Errorf("with itself: %q", lines)
	}
	got := differences(vf, read("azure-no-vf"))
	if len(got) == 0 || got[0] != "! enslaved.driver mlx5_core -> none" {
		t.Errorf("without the virtual function: %q", got)
	}
	got = differences(read("azure-mlx5"), read("gcp-gvnic"))
	for _, want := range []string{
		"! device.driver hv_netvsc -> gve", "! firmware.vendor Microsoft Corporation -> Google",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

// TestCompareValues: an unknown value is no difference, an absent value is one.
func TestCompareValues(t *testing.T) {
	base := func() *Facts {
		return &Facts{OS: "linux", Arch: "arm64", Machine: Machine{Kernel: "6.8", Memory: 16 << 30},
			Devices: []Device{{Link: Link{Name: "eth0", Index: 2, MTU: 1500}, NUMA: -1, Details: Details{
				Driver: "ena", Offloads: []string{"gro", "tso"}, Rings: map[string]uint32{"rx": 1024, "max-rx": 8192},
				Coalescing: map[string]uint32{"rx-usecs": 20}}}},
			Path: &Path{Route: Route{Device: "eth0"}, MTU: 1500}}
	}
	for name, test := range map[string]struct {
		change func(f *Facts)
		want   []string
	}{
		"nothing":       {func(*Facts) {}, nil},
		"unknown":       {func(f *Facts) { f.Kernel, f.Devices[0].Driver, f.Memory = "", "", 0 }, nil},
		"another name":  {func(f *Facts) { f.Devices[0].Name, f.Path.Device = "ens5", "ens5" }, nil},
		"memory, about": {func(f *Facts) { f.Memory -= 200 << 20 }, nil},
		"memory":        {func(f *Facts) { f.Memory /= 2 }, []string{"memory 16 GiB -> 8 GiB"}},
		"one MTU": {func(f *Facts) { f.Devices[0].MTU, f.Path.MTU = 9000, 9000 },
			[]string{"! device.mtu 1500 -> 9000"}},
		"path MTU": {func(f *Facts) { f.Path.MTU = 1400 }, []string{"! path.mtu 1500 -> 1400"}},
		"offload": {func(f *Facts) { f.Devices[0].Offloads = []string{"tso"} },
			[]string{"device.offloads.gro on -> off"}},
		"no offloads": {func(f *Facts) { f.Devices[0].Offloads = nil }, nil},
		"coalescing": {func(f *Facts) { f.Devices[0].Coalescing = map[string]uint32{"tx-usecs": 5} },
			[]string{"device.coalescing.rx-usecs 20 -> 0", "device.coalescing.tx-usecs 0 -> 5"}},
		"hardware max": {func(f *Facts) { f.Devices[0].Rings["max-rx"] = 1 }, nil},
		"CPU limit":    {func(f *Facts) { f.Cgroup.CPUs = 1.5 }, []string{"cgroup.cpus none -> 1.5 CPUs"}},
		"congestion": {func(f *Facts) { f.Settings = map[string]string{"ipv4/tcp_congestion_control": "bbr"} },
			nil},
		"a router": {func(f *Facts) { f.Path.Gateway = netip.MustParseAddr("10.0.0.1") },
			[]string{"path.gateway the other side -> a router"}},
		"another CPU": {func(f *Facts) { f.Cgroup.Cpuset = "4-5" }, nil},
	} {
		a, b := base(), base()
		a.Cgroup.Cpuset, b.Cgroup.Cpuset = "0,2", "0,2"
		test.change(b)
		if diff := cmp.Diff(test.want, differences(a, b)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if Compare(nil, base()) != nil || Compare(base(), nil) != nil {
		t.Error("facts that are not known are compared")
	}
}
