package runner

import (
	"context"
	"net/netip"
	"strings"
	"testing"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// counting are fake hosts with the counters of a netvsc device. Its virtual function carried vf bytes.
type counting struct {
	*scene
	vf, limited uint64
}

func (c counting) Watch(context.Context, []int, []int) (begun func(), end func() host.Observation) {
	counters := func() *check.Counters {
		return &check.Counters{Devices: []check.DeviceCounters{{
			Name: "eth0", Statistics: check.Statistics{TxBytes: 1_000_100, RxBytes: 1_000_100, Known: true},
			Own: map[string]uint64{"vf_tx_bytes": c.vf, "vf_rx_bytes": c.vf, "vf_tx_packets": 0, "vf_rx_packets": 0,
				"bw_out_allowance_exceeded": c.limited},
		}}, Protocols: map[string]uint64{"Tcp.RetransSegs": 0}}
	}
	c.note("counters before")
	return func() {}, func() host.Observation {
		c.note("counters after")
		return host.Observation{
			Client: host.Seen{Counters: counters(), Node: "n1"}, Server: host.Seen{Counters: counters(), Node: "n2"},
		}
	}
}

// azure is the facts of a host with a virtual function.
func azure() *check.Facts {
	return &check.Facts{
		Machine: check.Machine{BootID: "boot", Kernel: "6.1"},
		Devices: []check.Device{
			{Link: check.Link{Name: "eth0", Index: 2}, Details: check.Details{Driver: "hv_netvsc"}},
			{Link: check.Link{Name: "vf0", Index: 3, Master: 2}, Details: check.Details{Driver: "mlx5_core"}},
		},
		Path: &check.Path{To: netip.MustParseAddr("192.0.2.1"), Route: check.Route{Device: "eth0"}},
	}
}

// judged runs one trial whose client prints text, and gives its record.
func judged(t *testing.T, c counting, text string) result.Trial {
	t.Helper()
	e, k := twoArms(1), &kept{raw: map[string]string{}}
	e.Arms = e.Arms[:1]
	e.Arms[0].Expect = []check.Expectation{
		{Name: check.ExpectAccelerated, Value: true}, {Name: check.ExpectSameNode, Value: true},
		{Name: check.ExpectFact, Path: "kernel", Value: "6.1"},
	}
	e.Workloads = e.Workloads[:1]
	e.Workloads[0].Mode = experiment.Stream
	c.scene = &scene{client: prints(text)}
	hosts := c.hosts(e)
	for arm, h := range hosts {
		h.Machines = c
		hosts[arm] = h
	}
	r := New(e, tools{flows{}}, hosts, DefaultLimits(), nil)
	read := 0
	r.Deployed(func(_ context.Context, deployment int) (map[string]result.Sides[check.Facts], error) {
		if read++; deployment != 0 || len(k.trials) > 0 {
			t.Errorf("the facts are read for deployment %d after %d trials", deployment, len(k.trials))
		}
		return map[string]result.Sides[check.Facts]{e.Arms[0].Name: {Client: azure(), Server: azure()}}, nil
	})
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context(), k, nil); err != nil {
		t.Fatal(err)
	}
	if read != 1 {
		t.Errorf("the facts were read %d times", read)
	}
	if log := c.log; len(log) < 4 || log[0] != "counters before" || log[len(log)-1] != "counters after" {
		t.Errorf("counters are read while the trial's processes run: %q", log)
	}
	return k.trials[0]
}

// flows is a tool that reports how much it delivered in a second, in bytes.
type flows struct{ clocked }

func (f flows) Parse(out tool.Output) (result.Measurement, error) {
	m, err := f.clocked.Parse(out)
	if err == nil {
		m.Duration = 1e9
		m.Metrics = []result.Metric{{Name: result.Goodput, Unit: result.BitsPerSecond, Value: 8 * m.Metrics[0].Value}}
	}
	return m, err
}

func TestExpectationsAreJudged(t *testing.T) {
	for name, test := range map[string]struct {
		vf   uint64
		want check.Outcome
	}{
		"carried":  {1_000_000, check.Proved},
		"half":     {500_000, check.Refuted},
		"switched": {940_000, check.Refuted},
	} {
		trial := judged(t, counting{vf: test.vf}, "1000000")
		if len(trial.Expect) != 3 || trial.Expect[0].Outcome != test.want ||
			trial.Expect[1].Outcome != check.Refuted || trial.Expect[2].Outcome != check.Proved {
			t.Errorf("%s: %+v", name, trial.Expect)
		}
		o := trial.Observed
		if o == nil || o.Client.Node != "n1" || o.Server.Node != "n2" || o.Client.Driver != "hv_netvsc" ||
			o.Client.BootID != "boot" || !strings.HasSuffix(o.Client.Host, "/client") {
			t.Errorf("%s: observed %+v", name, o)
		}
		if c := trial.Counters; c == nil || c.Client.Device("eth0").Own["vf_tx_bytes"] != test.vf ||
			len(c.Client.Protocols) > 0 {
			t.Errorf("%s: counters %+v", name, c)
		}
		if len(trial.Notes) > 0 {
			t.Errorf("%s: %q", name, trial.Notes)
		}
	}
}

// TestFailedTrialIsNotJudged: a failed trial keeps its observations.
func TestFailedTrialIsNotJudged(t *testing.T) {
	trial := judged(t, counting{vf: 1}, "nonsense")
	if trial.Error == "" || len(trial.Expect) > 0 || trial.Observed == nil || trial.Counters == nil {
		t.Errorf("%+v", trial)
	}
}

func TestLimitersAreNoted(t *testing.T) {
	trial := judged(t, counting{vf: 1_000_000, limited: 7}, "1000000")
	if text := strings.Join(trial.Notes, "\n"); len(trial.Notes) != 2 ||
		!strings.Contains(text, "on the client") || !strings.Contains(text, "bw_out_allowance_exceeded grew by 7") {
		t.Errorf("%q", text)
	}
}

// TestOtherIPVersion: facts of the path over IPv4 say nothing of a trial over IPv6.
func TestOtherIPVersion(t *testing.T) {
	f := azure()
	if same := overPath(f, netip.MustParseAddr("192.0.2.9")); same != f {
		t.Errorf("%+v", same)
	}
	other := overPath(f, netip.MustParseAddr("2001:db8::1"))
	if other.Path != nil || f.Path == nil || other.Kernel != f.Kernel || overPath(nil, netip.Addr{}) != nil {
		t.Errorf("%+v of %+v", other, f)
	}
}

func TestPathMTU(t *testing.T) {
	for want, facts := range map[int]map[string]string{
		0: {"path_mtu": "x", "server.path_mtu": "0"}, 1500: {"path_mtu": "9001", "server.path_mtu": "1500"},
		1400: {"path_mtu": "1400"}, 9001: {"server.path_mtu": "9001", "path_mtu": "-1"},
	} {
		if got := pathMTU(facts); got != want {
			t.Errorf("%v: %d, want %d", facts, got, want)
		}
	}
}

func TestAmounts(t *testing.T) {
	one := func(name string, value float64, scope string) result.Metric {
		return result.Metric{Name: name, Value: value, Scope: scope}
	}
	message := 100
	for name, test := range map[string]struct {
		w              experiment.Workload
		tool, protocol string
		metrics        []result.Metric
		facts          map[string]string
		client, server check.Amount
	}{
		"rr": {w: experiment.Workload{Mode: experiment.RR, Request: 10, Response: 20}, protocol: "tcp",
			metrics: []result.Metric{one(result.TransactionRate, 50, "")},
			client:  check.Amount{Bytes: 1000, Packets: 100}, server: check.Amount{Bytes: 2000, Packets: 100}},
		"rr without a rate": {w: experiment.Workload{Mode: experiment.RR, Request: 10, Response: 10},
			metrics: []result.Metric{one(result.Sent, 9, ""), one(result.Received, 8, "")},
			client:  check.Amount{Bytes: 80, Packets: 8}, server: check.Amount{Bytes: 80, Packets: 8}},
		"rr of another scope": {w: experiment.Workload{Mode: experiment.RR, Request: 10},
			metrics: []result.Metric{one(result.TransactionRate, 50, "background")}},
		"load over tcp": {w: experiment.Workload{Mode: experiment.Load, Request: 10, Response: 20}, protocol: "tcp",
			metrics: []result.Metric{one(result.TransactionRate, 50, "")},
			client:  check.Amount{Bytes: 1000}, server: check.Amount{Bytes: 2000}},
		"load over udp": {w: experiment.Workload{Mode: experiment.Load, Request: 10, Response: 20}, protocol: "udp",
			metrics: []result.Metric{one(result.TransactionRate, 50, "")},
			client:  check.Amount{Bytes: 1000, Packets: 100}, server: check.Amount{Bytes: 2000, Packets: 100}},
		"load answered after the window": {w: experiment.Workload{Mode: experiment.Load, Request: 10, Response: 20},
			protocol: "tcp", metrics: []result.Metric{one(result.TransactionRate, 0, "")},
			facts:  map[string]string{"answered": "7"},
			client: check.Amount{Bytes: 70}, server: check.Amount{Bytes: 140}},
		"load with a backlog of the warm-up": {w: experiment.Workload{Mode: experiment.Load, Request: 10, Response: 20},
			protocol: "tcp", metrics: []result.Metric{one(result.TransactionRate, 50, "")},
			facts:  map[string]string{"answered": "7"},
			client: check.Amount{Bytes: 1000}, server: check.Amount{Bytes: 2000}},
		"ping": {w: experiment.Workload{Mode: experiment.Ping, Request: 56}, protocol: "icmp",
			metrics: []result.Metric{one(result.Sent, 10, ""), one(result.Received, 9, "")},
			client:  check.Amount{Bytes: 504, Packets: 9}, server: check.Amount{Bytes: 504, Packets: 9}},
		"upload": {w: experiment.Workload{Mode: experiment.Stream},
			metrics: []result.Metric{one(result.Goodput, 800, "")}, client: check.Amount{Bytes: 200}},
		"download": {w: experiment.Workload{Mode: experiment.Stream, Direction: experiment.Download},
			metrics: []result.Metric{one(result.Goodput, 800, "")}, server: check.Amount{Bytes: 200}},
		"both": {w: experiment.Workload{Mode: experiment.Stream, Direction: experiment.Both},
			metrics: []result.Metric{one(result.Goodput, 1200, ""), one(result.Goodput, 800, experiment.Upload),
				one(result.Goodput, 400, experiment.Download)},
			client: check.Amount{Bytes: 200}, server: check.Amount{Bytes: 100}},
		"both, counted": {w: experiment.Workload{Mode: experiment.Stream, Direction: experiment.Both},
			metrics: []result.Metric{
				one(result.Goodput, 800, experiment.Upload), one(result.Goodput, 400, experiment.Download),
			},
			facts:  map[string]string{"server.bytes": "200", "client.bytes": "70"},
			client: check.Amount{Bytes: 200}, server: check.Amount{Bytes: 70}},
		"counted wrongly": {w: experiment.Workload{Mode: experiment.Stream},
			metrics: []result.Metric{one(result.Goodput, 800, "")},
			facts:   map[string]string{"server.bytes": "-1"}, client: check.Amount{Bytes: 200}},
		"fewer arrived": {w: experiment.Workload{Mode: experiment.Messages}, protocol: "udp",
			metrics: []result.Metric{one(result.Goodput, 8000, ""), one(result.Received, 3, "")},
			client:  check.Amount{Bytes: 300}},
		"what arrived is not known": {w: experiment.Workload{Mode: experiment.Messages}, tool: "sockperf",
			metrics: []result.Metric{one(result.Goodput, 8000, ""), one(result.Sent, 3, "")}},
		"no sense": {w: experiment.Workload{Mode: experiment.Stream},
			metrics: []result.Metric{one(result.Goodput, -1, "")}},
	} {
		trial := result.Trial{DurationSeconds: 2, Protocol: test.protocol, Metrics: test.metrics, MessageBytes: &message,
			Tool: result.ToolVersion{Name: test.tool}, Facts: test.facts}
		client, server := amounts(&trial, test.w)
		if client != test.client || server != test.server {
			t.Errorf("%s: %+v and %+v, want %+v and %+v", name, client, server, test.client, test.server)
		}
	}
}
