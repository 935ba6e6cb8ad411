package runner

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// witness is a tool whose client gets a congestion control, and prints the one that it had.
type witness struct{ clocked }

func (witness) Plan(w experiment.Workload, pair host.Pair) (tool.Plan, error) {
	p, err := clocked{expected: w.Duration}.Plan(w, pair)
	p.Client.Argv = append(p.Client.Argv, w.Congestion)
	return p, err
}

func (witness) Parse(out tool.Output) (result.Measurement, error) {
	m, err := clocked{}.Parse(out)
	m.Facts = map[string]string{}
	for word := range strings.FieldsSeq(string(out.Stdout)) {
		if name, value, ok := strings.Cut(word, "="); ok {
			m.Facts[name] = value
		}
	}
	return m, err
}

func parsed(t *testing.T, text string) *experiment.Experiment {
	t.Helper()
	e, err := experimentfile.Parse("x.yaml", []byte(text), tool.Declared())
	if err != nil {
		t.Fatal(err)
	}
	for i := range e.Workloads { // whatever the file says, the tool is the test's
		e.Workloads[i].Tool = "clocked"
	}
	for i := range e.Arms {
		for j := range e.Arms[i].Workloads {
			e.Arms[i].Workloads[j].Tool = "clocked"
		}
	}
	return e
}

const congestions = `nearfar: v1
name: x
arms:
  cubic: {lab: {path: [bridge]}, set: {congestion: cubic}}
  bbr:   {lab: {path: [bridge]}, set: {congestion: bbr}}
  plain: {lab: {path: [bridge]}}
  vegas: {lab: {path: [bridge]}, set: {rr: {congestion: vegas, dscp: 46}}}
  far:   {lab: {path: [router]}, set: {congestion: bbr}}
workloads: [{name: rr, tool: native, duration: 1s}]
schedule: {blocks: 1, seed: 1}
`

// Each arm is measured with its settings. Trials record the settings and the values that were read back; a trial has
// failed if its kernel used another value.
func TestArmsAreMeasuredAsTheySet(t *testing.T) {
	s := &scene{}
	s.client = func(_ context.Context, argv []string, _ []byte, stdout, _ io.Writer) int {
		asked := argv[len(argv)-1]
		switch asked {
		case "":
			asked = "reno"
		case "vegas":
			asked = "cubic" // as a kernel without it, and a tool that does not look
		}
		fmt.Fprintln(stdout, "0.5 server.tcp_congestion="+asked+" tcp_congestion="+asked)
		return 0
	}
	e := parsed(t, congestions)
	k := &kept{raw: map[string]string{}}
	r := New(e, tools{witness{}}, s.hosts(e), DefaultLimits(), nil)
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context(), k, nil); err != nil {
		t.Fatal(err)
	}
	type seen struct {
		Command, Set, Proof, Error string
	}
	got := map[string]seen{}
	for _, trial := range k.trials {
		got[trial.Arm] = seen{trial.Commands[1], trial.Set["congestion"], trial.Treatment["congestion"], trial.Error}
	}
	want := map[string]seen{
		"cubic": {"clock rr cubic", "cubic", "tcp_congestion cubic, server.tcp_congestion cubic", ""},
		"bbr":   {"clock rr bbr", "bbr", "tcp_congestion bbr, server.tcp_congestion bbr", ""},
		"far":   {"clock rr bbr", "bbr", "tcp_congestion bbr, server.tcp_congestion bbr", ""},
		"plain": {"clock rr ''", "", "", ""},
		"vegas": {"clock rr vegas", "vegas", "", "not what was declared: congestion vegas was asked for, and the client had cubic (tcp_congestion)"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	plans, err := r.Plans()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range plans {
		if p.Commands[1] != want[p.Arm].Command {
			t.Errorf("%s is planned as %s, want %s", p.Arm, p.Commands[1], want[p.Arm].Command)
		}
	}
}

// What shared hosts lack is reported once. A program that no host has is reported as not installed.
func TestSharedHostsLackOnce(t *testing.T) {
	e := parsed(t, congestions)
	s := &scene{absent: "clock"}
	err := New(e, tools{witness{}}, s.hosts(e), DefaultLimits(), nil).Prepare(t.Context())
	if err == nil || !strings.Contains(err.Error(), "clock is not installed (needed by rr)") {
		t.Error(err)
	}
}

// An arm that sets the IP version needs an address of that version.
func TestAddressesOfWhatIsSet(t *testing.T) {
	e := parsed(t, `nearfar: v1
name: x
arms: {new: {lab: {path: [bridge]}}, old: {lab: {path: [router]}, set: {ip: 6}}}
workloads: [{name: rr, tool: native}]
`)
	err := New(e, tools{witness{}}, withoutIPv6(e), DefaultLimits(), nil).Prepare(t.Context())
	if err == nil || !strings.Contains(err.Error(), "old/server has no IPv6 address (needed by rr)") {
		t.Error(err)
	}
}

// A workload that takes longer because of an arm's settings is estimated separately.
func TestEstimateOfWhatIsSet(t *testing.T) {
	e := parsed(t, `nearfar: v1
name: x
arms: {fast: {lab: {path: [bridge]}}, slow: {lab: {path: [bridge]}, set: {wait: epoll}}, also: {lab: {path: [bridge]}}}
workloads: [{name: rr, tool: native, duration: 1s}]
schedule: {blocks: 1, seed: 1}
`)
	r := New(e, tools{witness{}}, (&scene{}).hosts(e), DefaultLimits(), nil)
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	clock := newEstimate(e.Slots(), r.pace, r.expected)
	if want := 3 * (time.Second + overhead); clock.left() != want {
		t.Errorf("%v are left, want %v", clock.left(), want)
	}
	clock.ended(experiment.Slot{Arm: "fast", Workload: "rr"}, 2*time.Second)
	if want := 3*time.Second + overhead; clock.left() != want {
		t.Errorf("%v are left, want %v", clock.left(), want)
	}
}

func TestTreatment(t *testing.T) {
	off := false
	for _, c := range []struct {
		name    string
		w       experiment.Workload
		facts   map[string]string
		proof   map[string]string
		refuted string
	}{
		{"nothing asked for", experiment.Workload{}, map[string]string{"tcp_congestion": "bbr"}, nil, ""},
		{"version of IP", experiment.Workload{IP: 6}, map[string]string{"ip": "6"}, map[string]string{"ip": "ip 6"},
			""},
		{"other version of IP", experiment.Workload{IP: 6}, map[string]string{"ip": "4"}, nil,
			"ip 6 was asked for, and the client had 4 (ip)"},
		{"waiting of one side", experiment.Workload{Mode: experiment.RR,
			Socket: experiment.Socket{Wait: experiment.WaitSpin}},
			map[string]string{"wait": "spin", "server.wait": "block"}, map[string]string{"wait": "wait spin"},
			"wait spin was asked for, and the server had block (server.wait)"},
		{"a load that blocks", experiment.Workload{Mode: experiment.Load,
			Socket: experiment.Socket{Wait: experiment.WaitBlock}},
			map[string]string{"wait": "epoll"}, nil, ""},
		{"small segments", experiment.Workload{Socket: experiment.Socket{NoDelay: &off}},
			map[string]string{"tcp_nodelay": "true"}, nil,
			"nodelay false was asked for, and the client had true (tcp_nodelay)"},
		{"mark", experiment.Workload{Socket: experiment.Socket{DSCP: 46}}, map[string]string{"dscp": "46"},
			map[string]string{"dscp": "dscp 46"}, ""},
		{"buffer", experiment.Workload{Socket: experiment.Socket{SendBuffer: 1 << 16, ReceiveBuffer: 1 << 16}},
			map[string]string{"so_sndbuf": "131072", "so_rcvbuf": "4096"},
			map[string]string{"send_buffer": "so_sndbuf 131072"},
			"receive_buffer 64KiB was asked for, and the client had 4096 (so_rcvbuf)"},
		{"no queue to poll", experiment.Workload{Mode: experiment.RR,
			Socket: experiment.Socket{Wait: experiment.WaitBusyPoll}},
			map[string]string{"wait": "busy-poll", "napi_id": "0"}, nil, ""},
		{"no copies", experiment.Workload{ZeroCopy: true}, map[string]string{"zerocopy_copied": "0",
			"zerocopy_sends": "9"},
			map[string]string{"zerocopy": "zerocopy_copied 0"}, ""},
		{"copies", experiment.Workload{ZeroCopy: true}, map[string]string{"zerocopy_copied": "9",
			"zerocopy_sends": "9"}, nil, ""},
	} {
		proof, refuted := treatment(c.w, c.facts)
		if c.proof == nil {
			c.proof = map[string]string{}
		}
		if diff := cmp.Diff(c.proof, proof); diff != "" || refuted != c.refuted {
			t.Errorf("%s: %s\nrefuted %q, want %q", c.name, diff, refuted, c.refuted)
		}
	}
}
