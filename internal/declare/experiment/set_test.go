package experiment_test

import (
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
)

func setExample(t *testing.T) *experiment.Experiment {
	t.Helper()
	data, err := os.ReadFile("file/testdata/valid/set.yaml")
	if err != nil {
		t.Fatal(err)
	}
	e, err := experimentfile.Parse("set.yaml", data, testTools)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// The values that an arm sets change the workloads that take them, in that arm alone, also after the declaration was
// written to run.json and read again.
func TestArmsSetKeysOfWorkloads(t *testing.T) {
	e := setExample(t)
	text, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	kept := &experiment.Experiment{}
	if err := json.Unmarshal(text, kept); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ arm, workload, key, want string }{
		{"plain", "rr", "congestion", "default"},
		{"bbr", "rr", "congestion", "bbr"},
		{"bbr", "bulk", "congestion", "bbr"},
		{"bbr", "udp", "congestion", "default"},
		{"spin", "rr", "wait", "spin"},
		{"spin", "udp", "wait", "block"},
		{"plain", "rr", "placement", "split"}, // as in the arm that spins
		{"spin", "rr", "placement", "split"},
		{"spin", "udp", "placement", "shared"},
		{"both", "rr", "dscp", "46"},
		{"both", "bulk", "dscp", "10"},
		{"both", "rr", "nodelay", "false"},
		{"udp", "rr", "protocol", "udp"},
		{"udp", "rr", "response", "1024B"}, // follows the request
		{"udp", "sock", "protocol", "udp"},
		{"udp", "bulk", "protocol", "tcp"}, // which has no other
		{"v6", "rr", "ip", "6"},
		{"v6", "sock", "ip", "4"}, // which cannot
		{"busy", "rr", "background", "stream, connections 2, congestion cubic"},
		{"busy", "bulk", "placement", "client 0, server 1"},
		{"nobody", "rr", "wait", "block"},
	} {
		for _, from := range []*experiment.Experiment{e, kept} {
			w, ok := from.WorkloadIn(c.arm, c.workload)
			if got := w.Value(c.key); !ok || got != c.want {
				t.Errorf("%s of %s in %s: %q, want %q", c.key, c.workload, c.arm, got, c.want)
			}
		}
	}
	if _, ok := e.WorkloadIn("bbr", "nothing"); ok {
		t.Error("a workload was found that is not there")
	}
	for arm, want := range map[string]string{
		"plain": "", "bbr": "congestion bbr in rr, bulk", "spin": "wait spin in rr",
		"both": "dscp 10 in udp, bulk; dscp 46 in rr; nodelay false in rr",
		"udp":  "protocol udp in rr, udp, sock (bulk stays with tcp); request 1024B in rr, udp, sock",
		"busy": "background stream, connections 2, congestion cubic in rr; placement client 0, server 1",
	} {
		if got := e.SettingsText(arm); got != want {
			t.Errorf("%s sets %q, want %q", arm, got, want)
		}
	}
	if diff := cmp.Diff(map[string]string{"dscp": "46", "nodelay": "false"}, e.SetIn("both", "rr")); diff != "" {
		t.Error(diff)
	}
}

// Every key that can be set has a value, and none that cannot.
func TestEverySettableKeyHasAValue(t *testing.T) {
	on := true
	w := experiment.Workload{Protocol: experiment.TCP, IP: 6, Request: 1, Response: 1, Message: 1, Interval: 1,
		Connections: 1, Rate: 1e6,
		Arrivals: experiment.PoissonArrivals,
		Batch:    1, Direction: experiment.Upload, Socket: experiment.Socket{Wait: experiment.WaitSpin,
			NoDelay: &on}, Web: experiment.Web{Version: experiment.HTTP2, Connect: experiment.PerRequest},
		Script:    experiment.SelectOnly,
		Pages:     experiment.Pages{DatabaseConnections: experiment.Pooled, Front: experiment.FrontClient},
		Placement: experiment.Placement{Kind: experiment.PlacementFree}}
	for _, key := range experiment.SettableKeys() {
		if w.Value(key) == "" {
			t.Errorf("%s has no value", key)
		}
	}
	for _, key := range experiment.FixedKeys() {
		if v := w.Value(key); v != "" {
			t.Errorf("%s has the value %s", key, v)
		}
	}
}

func layersIn(e *experiment.Experiment, arm, workload string) map[string]int {
	return e.LayersIn(workload)[slices.IndexFunc(e.Arms, func(a experiment.Arm) bool { return a.Name == arm })]
}

// A value that an arm sets differently from the baseline is a layer of the arm, in the workloads that it changes.
func TestWhatIsSetIsALayer(t *testing.T) {
	e := setExample(t)
	for _, c := range []struct {
		arm, workload string
		want          map[string]int
	}{
		{"plain", "rr", map[string]int{"bridge": 1}},
		{"bbr", "rr", map[string]int{"bridge": 1, "congestion=bbr": 1}},
		{"bbr", "udp", map[string]int{"bridge": 1}},
		{"routed-bbr", "rr", map[string]int{"bridge": 2, "router": 1, "congestion=bbr": 1}},
		{"spin", "rr", map[string]int{"bridge": 1, "wait=spin": 1}},
		{"declared", "rr", map[string]int{}},
		{"udp", "rr", map[string]int{"bridge": 1, "protocol=udp,request=1024B": 1}}, // always together
	} {
		if diff := cmp.Diff(c.want, layersIn(e, c.arm, c.workload)); diff != "" {
			t.Errorf("%s in %s (-want +got):\n%s", c.arm, c.workload, diff)
		}
	}
	if diff := cmp.Diff([]string{"congestion"}, e.SetOtherwise("declared", "bbr", "rr")); diff != "" {
		t.Error(diff)
	}
	if got := e.SetOtherwise("bbr", "routed-bbr", "rr"); got != nil {
		t.Errorf("arms that set the same differ in %v", got)
	}
	// Relative to a baseline that sets another congestion control.
	e.Baseline = "bbr"
	if diff := cmp.Diff(map[string]int{"bridge": 1, "congestion=default": 1}, layersIn(e, "plain", "rr")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]int{"bridge": 1}, layersIn(e, "bbr", "rr")); diff != "" {
		t.Error(diff)
	}
}

// Arms of one lab that set different values use the same hosts; arms that set the same have their own.
func TestArmsShareHosts(t *testing.T) {
	e, err := experimentfile.Parse("x.yaml", []byte(`nearfar: v1
name: x
arms:
  a:  {lab: {path: [bridge]}}
  a2: {lab: {path: [bridge]}}
  s:  {lab: {path: [bridge]}, set: {wait: spin}}
  r:  {lab: {path: [router]}, set: {wait: spin}}
  s2: {lab: {path: [bridge]}, set: {wait: spin}}
  e:  {lab: {path: [bridge]}, set: {wait: epoll}}
workloads: [{name: rr, tool: native}]
`), testTools)
	if err != nil {
		t.Fatal(err)
	}
	for arm, want := range map[string]string{"a": "a", "a2": "a2", "s": "a", "r": "r", "s2": "a2", "e": "a",
		"nobody": "nobody"} {
		if got := e.HostsOf(arm); got != want {
			t.Errorf("%s uses the hosts of %s, want %s", arm, got, want)
		}
	}
}

// An arm whose MTU is too small for IPv6 is allowed if it sets IPv4, although the workload asks for IPv6.
func TestIPIsCheckedWhereItIsUsed(t *testing.T) {
	_, err := experimentfile.Parse("x.yaml", []byte(`nearfar: v1
name: x
arms:
  v6: {lab: {path: [bridge]}}
  v4: {lab: {path: [bridge], mtu: 1000}, set: {ip: 4}}
workloads: [{name: rr, tool: native, ip: 6}]
`), testTools)
	if err != nil {
		t.Error(err)
	}
}

func TestDeclaredLayersStandForThePath(t *testing.T) {
	const file = `nearfar: v1
name: x
arms:
  a: {lab: {path: [{wire: {delay: 1us}}]}, layers: {}}
  b: {lab: {path: [{wire: {delay: 50us}}, bridge]}, layers: {zone: 2, none: 0}}
  c: {lab: {path: [{wire: {delay: 90us}}]}}
workloads: [{name: rr, tool: native}]
`
	e, err := experimentfile.Parse("x.yaml", []byte(file), testTools)
	if err != nil {
		t.Fatal(err)
	}
	// The wires of arms that declare their layers do not take part in finding the base.
	want := []map[string]int{{}, {"zone": 2}, {"wire": 1}}
	for i, a := range e.Arms {
		if diff := cmp.Diff(want[i], a.Layers); diff != "" {
			t.Errorf("arm %s (-want +got):\n%s", a.Name, diff)
		}
	}
	if diff := cmp.Diff([]string{"wire", "zone"}, e.LayerNames()); diff != "" {
		t.Errorf("layer names (-want +got):\n%s", diff)
	}
	d := e.Design()
	if diff := cmp.Diff([][]float64{{0, 0}, {0, 2}, {1, 0}}, d.Counts); diff != "" {
		t.Errorf("design (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"a", "b", "c"}, d.Arms); diff != "" {
		t.Errorf("arms of the design (-want +got):\n%s", diff)
	}
}
