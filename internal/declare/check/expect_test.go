package check

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// host is a recorded machine during a trial.
type host struct {
	t      *testing.T
	source Source
	rec    *recorded
	before Counters
	side   Side
}

// begin reads a machine, as it is before a trial.
func begin(t *testing.T, name string) *host {
	t.Helper()
	h := &host{t: t}
	h.source, h.rec = readRecorded(t, name)
	f := h.source.Read(Options{To: server(), Metadata: true})
	f.Where = h.where(f.Firmware.Cloud())
	h.side.Facts = &f
	h.before = h.source.ReadCounters(server())
	return h
}

// where is what the recorded metadata service says, without a network.
func (h *host) where(cloud string) *Where {
	w := &Where{Cloud: cloud}
	handler := replay(cloud, h.rec.Service)
	s := service{&http.Client{Transport: transport(func(q *http.Request) (*http.Response, error) {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, q)
		return answer.Result(), nil
	})}}
	ask := map[string]func() error{
		CloudAzure: func() error { return w.askAzure(h.t.Context(), s) },
		CloudAWS:   func() error { return w.askAWS(h.t.Context(), s) },
		CloudGCP:   func() error { return w.askGCP(h.t.Context(), s) },
	}[cloud]
	if err := ask(); err != nil {
		h.t.Fatal(err)
	}
	return w
}

type transport func(q *http.Request) (*http.Response, error)

func (f transport) RoundTrip(q *http.Request) (*http.Response, error) { return f(q) }

// count adds traffic to a device's statistics: packets with that many bytes each, in both directions.
func (h *host) count(device string, packets, size uint64) {
	for i := range h.rec.LinkList {
		if s := &h.rec.LinkList[i].Statistics; h.rec.LinkList[i].Name == device {
			s.TxPackets += packets
			s.RxPackets += packets
			s.TxBytes += packets * size
			s.RxBytes += packets * size
		}
	}
}

// function adds traffic that the virtual function carried, to the synthetic device's counters too.
func (h *host) function(packets, size uint64) {
	h.count("eth0", packets, size)
	own := h.rec.Own["eth0"]
	for _, d := range []string{"rx", "tx"} {
		own["vf_"+d+"_packets"] += packets
		own["vf_"+d+"_bytes"] += packets * size
	}
}

// srd adds traffic of ENA, of which SRD carried some packets.
func (h *host) srd(packets, bySRD, size uint64) {
	h.count("ens5", packets, size)
	own := h.rec.Own["ens5"]
	own["ena_srd_tx_pkts"] += bySRD
	own["ena_srd_rx_pkts"] += bySRD
	own["ena_srd_eligible_tx_pkts"] += packets
}

// end reads the counters after a trial that sent some messages, each of some bytes.
func (h *host) end(messages, size uint64) Side {
	after := h.source.ReadCounters(server())
	h.side.Counters = after.Since(&h.before)
	h.side.Sent = Amount{Bytes: messages * size, Packets: messages}
	return h.side
}

// rr is a trial of 10000 messages of 100 bytes between two machines like the recorded one; traffic makes its counters.
func rr(t *testing.T, name string, traffic func(h *host)) Trial {
	t.Helper()
	c, s := begin(t, name), begin(t, name)
	traffic(c)
	traffic(s)
	return Trial{Client: c.end(10000, 100), Server: s.end(10000, 100), Protocol: "tcp"}
}

func TestAccelerated(t *testing.T) {
	for _, test := range []struct {
		name, machine   string
		traffic         func(h *host)
		ifTrue, ifFalse Outcome
	}{
		{"used", "azure-mlx5", func(h *host) { h.function(10010, 166) }, Proved, Refuted},
		{"used", "azure-mana", func(h *host) { h.function(10010, 166) }, Proved, Refuted},
		{"used, beside some chatter", "azure-mlx5",
			func(h *host) { h.function(10010, 166); h.count("eth0", 300, 100) }, Proved, Refuted},
		{"used, beside much other traffic of the function", "azure-mlx5",
			func(h *host) { h.function(1000000, 1500) }, Proved, Refuted},
		{"missing", "azure-no-vf", func(h *host) { h.count("eth0", 10010, 166) }, Refuted, Proved},
		{"present and still", "azure-mlx5", func(h *host) { h.count("eth0", 10010, 166) }, Refuted, Proved},
		{"present and nearly still", "azure-mlx5",
			func(h *host) { h.count("eth0", 10010, 166); h.function(10, 100) }, Refuted, Proved},
		{"switched in the middle", "azure-mlx5",
			func(h *host) { h.function(5000, 166); h.count("eth0", 5000, 166) }, Refuted, Refuted},
		{"94 percent", "azure-mlx5",
			func(h *host) { h.function(9400, 166); h.count("eth0", 600, 166) }, Refuted, Refuted},
		{"the synthetic path carried as much", "azure-mlx5",
			func(h *host) { h.function(10000, 166); h.count("eth0", 10000, 166) }, Unknown, Unknown},
		{"no traffic at all", "azure-mlx5", func(*host) {}, Refuted, Unknown},
		{"the function came during the trial", "azure-mlx5", func(h *host) {
			h.function(10000, 166)
			h.before = Source{Files: h.source.Files, Network: only(h.rec, 2)}.ReadCounters(server())
		}, Refuted, Refuted},
		{"no counters of the function", "azure-mlx5", func(h *host) {
			h.function(10000, 166)
			delete(h.rec.Own["eth0"], "vf_tx_bytes")
		}, Unknown, Unknown},
		{"counters were reset", "azure-mlx5", func(h *host) {
			h.function(10000, 166)
			h.rec.LinkList[1].Statistics.RxPackets = 0
		}, Unknown, Unknown},
		{"the function's counters exceed the device's", "azure-mlx5", func(h *host) {
			h.rec.Own["eth0"]["vf_tx_bytes"] += 5000000
			h.rec.Own["eth0"]["vf_rx_bytes"] += 5000000
		}, Unknown, Unknown},
		{"another cloud", "aws-ena", func(h *host) { h.count("ens5", 10010, 166) }, Unknown, Unknown},
		{"no counters", "azure-mlx5", func(h *host) { h.before.BootID = "another" }, Unknown, Unknown},
		{"missing, and no counters of one", "azure-no-vf", func(h *host) {
			h.count("eth0", 10010, 166)
			h.rec.Own["eth0"] = nil
		}, Refuted, Unknown},
		{"missing, and the counters were reset", "azure-no-vf", func(h *host) {
			h.rec.LinkList[1].Statistics.RxPackets = 0
		}, Refuted, Unknown},
		{"came after the facts were read", "azure-no-vf", func(h *host) { h.function(10010, 166) }, Proved, Refuted},
		{"missing, and no counters", "azure-no-vf", func(h *host) { h.before.BootID = "another" }, Refuted, Unknown},
		{"in a pod", "azure-mlx5", func(h *host) {
			h.function(10010, 166)
			h.side.Facts.OnPath().Kind, h.side.Facts.OnPath().Driver = "veth", "veth"
		}, Unknown, Unknown},
		{"on one host", "azure-mlx5", func(h *host) {
			h.function(10010, 166)
			h.side.Facts.Path.Local = true
		}, Unknown, Unknown},
		{"no path", "azure-mlx5", func(h *host) { h.side.Facts.Path = nil }, Unknown, Unknown},
		{"no facts", "azure-mlx5", func(h *host) { h.side.Facts = nil }, Unknown, Unknown},
	} {
		t.Run(test.machine+" "+test.name, func(t *testing.T) {
			trial := rr(t, test.machine, test.traffic)
			expect(t, trial, Expectation{Name: ExpectAccelerated, Value: true}, test.ifTrue)
			expect(t, trial, Expectation{Name: ExpectAccelerated, Value: false}, test.ifFalse)
		})
	}
}

// only is the recorded kernel with the first devices alone.
func only(r *recorded, n int) *recorded {
	other := *r
	other.LinkList = r.LinkList[:n]
	return &other
}

// expect checks an outcome, and that the judgement gives its evidence.
func expect(t *testing.T, trial Trial, e Expectation, want Outcome) {
	t.Helper()
	got := Judge(e, trial)
	if got.Outcome != want || got.Evidence == "" {
		t.Errorf("%s %s: %v is %s, want %s: %s", e.Name, e.Path, e.Value, got.Outcome, want, got.Evidence)
	}
	if testing.Verbose() {
		t.Logf("%s %s: %v: %s: %s", e.Name, e.Path, e.Value, got.Outcome, got.Evidence)
	}
}

// TestAcceleratedOneSide: both sides count.
func TestAcceleratedOneSide(t *testing.T) {
	with := rr(t, "azure-mlx5", func(h *host) { h.function(10010, 166) })
	without := rr(t, "azure-no-vf", func(h *host) { h.count("eth0", 10010, 166) })
	trial := Trial{Client: with.Client, Server: without.Server, Protocol: "tcp"}
	for _, value := range []bool{true, false} {
		expect(t, trial, Expectation{Name: ExpectAccelerated, Value: value}, Refuted)
	}
	trial.Server.Facts = nil
	expect(t, trial, Expectation{Name: ExpectAccelerated, Value: true}, Unknown)
	trial.Client, trial.Server = trial.Server, without.Server
	expect(t, trial, Expectation{Name: ExpectAccelerated, Value: true}, Refuted)
	expect(t, trial, Expectation{Name: ExpectAccelerated, Value: false}, Unknown)
}

// TestAcceleratedStream: data in one direction only, acknowledgements alone in the other, and nothing known to be sent.
func TestAcceleratedStream(t *testing.T) {
	trial := rr(t, "azure-mlx5", func(h *host) { h.function(1000, 60000) })
	trial.Client.Sent, trial.Server.Sent = Amount{Bytes: 50_000_000}, Amount{}
	expect(t, trial, Expectation{Name: ExpectAccelerated, Value: true}, Proved)
	trial.Client.Sent = Amount{Bytes: 90_000_000}
	expect(t, trial, Expectation{Name: ExpectAccelerated, Value: true}, Refuted)
	trial.Client.Sent = Amount{}
	expect(t, trial, Expectation{Name: ExpectAccelerated, Value: true}, Unknown)
}

func TestENAExpress(t *testing.T) {
	for _, test := range []struct {
		name, machine, protocol string
		traffic                 func(h *host)
		ifTrue, ifFalse         Outcome
	}{
		{"used", "aws-ena-express", "tcp", func(h *host) { h.srd(10020, 10010, 166) }, Proved, Refuted},
		{"off for UDP", "aws-ena-express", "udp", func(h *host) { h.srd(10020, 10010, 166) }, Refuted, Proved},
		{"on for UDP", "aws-ena-express", "udp", func(h *host) {
			h.rec.Own["ens5"]["ena_srd_mode"] = 3
			h.before = h.source.ReadCounters(server())
			h.srd(10020, 10010, 166)
		}, Proved, Refuted},
		{"off", "aws-ena-express", "tcp", func(h *host) {
			h.rec.Own["ens5"]["ena_srd_mode"] = 0
			h.before = h.source.ReadCounters(server())
			h.srd(10020, 0, 166)
		}, Refuted, Proved},
		{"switched off in the middle", "aws-ena-express", "tcp", func(h *host) {
			h.srd(10020, 10010, 166)
			h.rec.Own["ens5"]["ena_srd_mode"] = 0
		}, Unknown, Unknown},
		{"on and not used", "aws-ena-express", "tcp", func(h *host) { h.srd(10020, 3, 166) }, Refuted, Proved},
		{"half of it", "aws-ena-express", "tcp", func(h *host) { h.srd(10020, 5000, 166) }, Refuted, Refuted},
		{"beside much other traffic", "aws-ena-express", "tcp", func(h *host) { h.srd(100000, 100000, 166) },
			Unknown, Unknown},
		{"a driver that does not count it", "aws-ena", "tcp", func(h *host) { h.count("ens5", 10020, 166) },
			Unknown, Unknown},
		{"another driver", "gcp-gvnic", "tcp", func(h *host) { h.count("ens4", 10020, 166) }, Refuted, Proved},
		{"no counters", "aws-ena-express", "tcp", func(h *host) { h.before.BootID = "another" }, Unknown, Unknown},
		{"a driver that is not known", "gcp-gvnic", "tcp", func(h *host) { h.side.Facts.OnPath().Driver = "" },
			Unknown, Unknown},
		{"a mode that is not known", "aws-ena-express", "tcp", func(h *host) {
			h.rec.Own["ens5"]["ena_srd_mode"] = 4
			h.before = h.source.ReadCounters(server())
			h.srd(10020, 0, 166)
		}, Unknown, Unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			trial := rr(t, test.machine, test.traffic)
			trial.Protocol = test.protocol
			expect(t, trial, Expectation{Name: ExpectENAExpress, Value: true}, test.ifTrue)
			expect(t, trial, Expectation{Name: ExpectENAExpress, Value: false}, test.ifFalse)
		})
	}
}

func TestDeviceExpectations(t *testing.T) {
	gve := func(h *host) { h.count("ens4", 10020, 166) }
	vf := func(h *host) { h.function(10020, 166) }
	synthetic := func(h *host) { h.count("eth0", 10020, 166) }
	tunnel := func(h *host) {
		h.count("ens4", 10020, 166)
		h.side.Facts.OnPath().Kind = "vxlan"
	}
	for _, test := range []struct {
		machine string
		traffic func(h *host)
		e       Expectation
		want    Outcome
	}{
		{"gcp-gvnic", gve, Expectation{Name: ExpectDriver, Value: "gve"}, Proved},
		{"gcp-gvnic", gve, Expectation{Name: ExpectDriver, Value: "virtio_net"}, Refuted},
		{"gcp-gvnic", func(*host) {}, Expectation{Name: ExpectDriver, Value: "gve"}, Refuted},
		{"gcp-gvnic", func(h *host) { h.before.BootID = "" }, Expectation{Name: ExpectDriver, Value: "gve"}, Unknown},
		{"gcp-gvnic", tunnel, Expectation{Name: ExpectDriver, Value: "virtio_net"}, Unknown},
		{"azure-mlx5", vf, Expectation{Name: ExpectDriver, Value: "mlx5_core"}, Proved},
		{"azure-mlx5", vf, Expectation{Name: ExpectDriver, Value: "hv_netvsc"}, Refuted},
		{"azure-mlx5", vf, Expectation{Name: ExpectDriver, Value: "mana"}, Refuted},
		{"azure-mlx5", synthetic, Expectation{Name: ExpectDriver, Value: "hv_netvsc"}, Proved},
		{"azure-mlx5", synthetic, Expectation{Name: ExpectDriver, Value: "mlx5_core"}, Refuted},
		{"azure-no-vf", synthetic, Expectation{Name: ExpectDriver, Value: "hv_netvsc"}, Proved},
		// The function came after the facts were read.
		{"azure-no-vf", vf, Expectation{Name: ExpectDriver, Value: "hv_netvsc"}, Refuted},
		{"azure-no-vf", func(h *host) { synthetic(h); h.rec.Own["eth0"] = nil },
			Expectation{Name: ExpectDriver, Value: "hv_netvsc"}, Unknown},
		{"gcp-gvnic", tunnel, Expectation{Name: ExpectEncapsulation, Value: "vxlan"}, Proved},
		{"gcp-gvnic", tunnel, Expectation{Name: ExpectEncapsulation, Value: "geneve"}, Unknown},
		{"gcp-gvnic", gve, Expectation{Name: ExpectEncapsulation, Value: "vxlan"}, Unknown},
		{"gcp-gvnic", gve, Expectation{Name: ExpectEncapsulation, Value: "none"}, Unknown},
		{"gcp-gvnic", func(h *host) { h.side.Facts.OnPath().Kind = "vxlan" },
			Expectation{Name: ExpectEncapsulation, Value: "vxlan"}, Unknown},
		{"gcp-gvnic", gve, Expectation{Name: ExpectMTU, Value: 1460}, Proved},
		{"gcp-gvnic", gve, Expectation{Name: ExpectMTU, Value: 8896}, Refuted},
		{"aws-ena", gve, Expectation{Name: ExpectMTU, Value: 9001}, Proved},
		{"aws-ena", func(h *host) { h.side.Facts.Path.MTU = 1500 }, Expectation{Name: ExpectMTU, Value: 9001}, Refuted},
		{"aws-ena", func(h *host) { h.side.Facts.Path.MTU = 0 }, Expectation{Name: ExpectMTU, Value: 9001}, Unknown},
		{"aws-ena", func(h *host) { h.side.Facts.Path = nil }, Expectation{Name: ExpectMTU, Value: 9001}, Unknown},
		{"aws-ena", gve, Expectation{Name: ExpectFact, Path: "model", Value: "AMD EPYC 9R14"}, Proved},
		{"aws-ena", gve, Expectation{Name: ExpectFact, Path: "model", Value: "AMD EPYC 7R13"}, Refuted},
		{"aws-ena", gve, Expectation{Name: ExpectFact, Path: "devices.ens5.mtu", Value: 9001}, Proved},
		{"aws-ena", gve, Expectation{Name: ExpectFact, Path: "devices.ens5.rings.rx", Value: 512}, Refuted},
		{"aws-ena", gve, Expectation{Name: ExpectFact, Path: "settings.ipv4/tcp_congestion_control", Value: "cubic"},
			Proved},
		{"aws-ena", gve, Expectation{Name: ExpectFact, Path: "client.processor.hypervisor", Value: true}, Proved},
		{"aws-ena", gve, Expectation{Name: ExpectFact, Path: "server.where.zone_id", Value: "euw1-az1"}, Proved},
		{"aws-ena", gve, Expectation{Name: ExpectFact, Path: "processor.governors", Value: "performance"}, Unknown},
		{"aws-ena", gve, Expectation{Name: ExpectFact, Path: "devices.eth7.mtu", Value: 9001}, Unknown},
		{"aws-ena", gve, Expectation{Name: ExpectFact, Path: "model.x", Value: "y"}, Unknown},
	} {
		expect(t, rr(t, test.machine, test.traffic), test.e, test.want)
	}
}

// TestMistakenExpectations: what cannot be understood is unknown, never proved.
func TestMistakenExpectations(t *testing.T) {
	trial := rr(t, "azure-mlx5", func(h *host) { h.function(10010, 166) })
	for _, e := range []Expectation{
		{}, {Name: "fast", Value: true}, {Name: ExpectAccelerated}, {Name: ExpectAccelerated, Value: "yes"},
		{Name: ExpectMTU, Value: "1500"}, {Name: ExpectMTU, Value: -1}, {Name: ExpectMTU, Value: 1.5},
		{Name: ExpectPlacementGroup, Value: false}, {Name: ExpectDriver, Value: ""}, {Name: ExpectFact, Value: 1},
		{Name: ExpectFact, Path: "model", Value: []any{1}},
	} {
		if e.Check() == nil {
			t.Errorf("%+v is accepted", e)
		}
		expect(t, trial, e, Unknown)
	}
	if !slices.Contains(Expectations(), ExpectCompactPlacement) || len(Expectations()) != 14 {
		t.Errorf("expectations: %v", Expectations())
	}
}

// TestNeverProvedWithoutEvidence takes parts of a trial that proves much away, one by one. An expectation that is still
// proved then must not need that part.
func TestNeverProvedWithoutEvidence(t *testing.T) {
	used := Expectation{Name: ExpectAccelerated, Value: true}
	for part, take := range map[string]func(s *Side){
		"facts":             func(s *Side) { s.Facts = nil },
		"counters":          func(s *Side) { s.Counters = nil },
		"counted devices":   func(s *Side) { s.Counters.Devices = nil },
		"own counters":      func(s *Side) { s.Counters.Devices[0].Own = nil },
		"statistics":        func(s *Side) { s.Counters.Devices[0].Known = false },
		"path":              func(s *Side) { s.Facts.Path = nil },
		"devices":           func(s *Side) { s.Facts.Devices = nil },
		"driver":            func(s *Side) { s.Facts.Devices[1].Driver = "" },
		"the trial's bytes": func(s *Side) { s.Sent.Bytes, s.Sent.Packets = 0, 0 },
	} {
		trial := rr(t, "azure-mlx5", func(h *host) { h.function(10010, 166) })
		take(&trial.Client)
		if part == "the trial's bytes" {
			take(&trial.Server)
		}
		if got := Judge(used, trial); got.Outcome == Proved {
			t.Errorf("without %s: %s: %s", part, got.Outcome, got.Evidence)
		}
	}
}

// TestRestarted: facts of a machine from before it was started anew say nothing of a trial.
func TestRestarted(t *testing.T) {
	for _, restarted := range []func(t *Trial) *Side{
		func(t *Trial) *Side { return &t.Client }, func(t *Trial) *Side { return &t.Server },
	} {
		trial := rr(t, "aws-ena", func(h *host) { h.count("ens5", 10010, 166) })
		expectations := []Expectation{{Name: ExpectMTU, Value: 9001}, {Name: ExpectDriver, Value: "ena"},
			{Name: ExpectSameZone, Value: true}, {Name: ExpectENAExpress, Value: false}}
		for _, e := range expectations[:3] {
			expect(t, trial, e, Proved)
		}
		restarted(&trial).Counters.BootID = "another"
		for _, e := range expectations {
			expect(t, trial, e, Unknown)
		}
	}
}

// TestPathMTU: the trial's own connections can know of a smaller MTU than the kernel knew before.
func TestPathMTU(t *testing.T) {
	trial := rr(t, "aws-ena", func(h *host) { h.count("ens5", 10010, 166) })
	for known, want := range map[int]Outcome{0: Proved, 9001: Proved, 9100: Proved, 1500: Refuted} {
		trial.PathMTU = known
		expect(t, trial, Expectation{Name: ExpectMTU, Value: 9001}, want)
	}
}

func TestJudgementJSON(t *testing.T) {
	j := Judge(Expectation{Name: ExpectMTU, Value: 1500}, Trial{})
	b, err := json.Marshal(j)
	if err != nil || !strings.HasPrefix(string(b), `{"name":"mtu","value":1500,"outcome":"unknown","evidence":`) {
		t.Errorf("%s, %v", b, err)
	}
}
