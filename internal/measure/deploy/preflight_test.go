package deploy

import (
	"flag"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
	"nearfar/internal/onhost/reach"
)

//nolint:gochecknoglobals // flag's own way
var update = flag.Bool("update", false, "write the golden files")

// The messages about ports that cannot be reached, for each outcome and each kind of firewall.
func TestPortProblems(t *testing.T) {
	tcp := func(port int, o reach.Outcome) reach.Result {
		return reach.Result{Socket: host.Socket{Protocol: "tcp", Port: port}, Outcome: o, Detail: "the system's words"}
	}
	udp := func(port int, o reach.Outcome) reach.Result {
		r := tcp(port, o)
		r.Protocol = "udp"
		return r
	}
	v4, v6 := netip.MustParseAddr("10.0.0.5"), netip.MustParseAddr("fd00::5")
	linux := func(id string) agent.Facts {
		return agent.Facts{
			System: host.System{OS: "linux"}, Machine: check.Machine{Release: map[string]string{"ID": id}},
		}
	}
	windows := agent.Facts{System: host.System{OS: "windows"}}
	timedOut := []reach.Result{tcp(7777, reach.TimedOut), tcp(7778, reach.TimedOut), udp(7777, reach.TimedOut),
		tcp(7780, reach.TimedOut)}
	var all []string
	for _, c := range []struct {
		b       blocked
		results []reach.Result
	}{
		{blocked{"vm-a", "vm-b", v4, netip.MustParseAddr("10.0.0.4"), linux("ubuntu"), false}, timedOut},
		{blocked{"vm-a", "vm-b", v4, netip.MustParseAddr("10.0.0.4"), linux("rhel"), false}, timedOut},
		{blocked{"vm-a", "vm-b", v6, netip.MustParseAddr("fd00::4"), linux("debian"), false}, timedOut},
		{blocked{"vm-a", "vm-b", v4, netip.Addr{}, linux(""), false}, timedOut[:1]},
		{blocked{"vm-a", "win", v4, netip.MustParseAddr("10.0.0.4"), windows, false}, timedOut},
		{blocked{"vm-a", "vm-b", v4, netip.MustParseAddr("10.0.0.4"), linux("ubuntu"), false}, []reach.Result{
			tcp(7777, reach.Reached), udp(7777, reach.Refused), tcp(7778, reach.Unreachable), tcp(7779, reach.Foreign),
			tcp(7780, reach.Failed),
		}},
	} {
		all = append(all, portProblems(c.b, c.results)...)
	}
	all = append(all, portProblems(blocked{}, []reach.Result{tcp(7777, reach.Reached)})...)
	got := strings.Join(all, "\n") + "\n"
	const file = "testdata/ports.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got != string(want) {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestDiskProblem(t *testing.T) {
	linux, windows := host.System{OS: "linux"}, host.System{OS: "windows"}
	for _, c := range []struct {
		facts agent.Facts
		want  string
	}{
		{agent.Facts{System: linux, Free: 100 << 20}, ""},
		{agent.Facts{System: linux, Free: 100<<20 - 1}, "vm-a: 100.0 MB are free"},
		{agent.Facts{System: linux, Free: 12<<20 + 3<<19}, "vm-a: 13.5 MB are free"},
		{agent.Facts{System: linux}, "vm-a: 0.0 MB are free"},
		{agent.Facts{System: windows}, ""}, // not known
	} {
		if got := diskProblem("vm-a", c.facts); !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%d bytes: %q", c.facts.Free, got)
		}
	}
}

func TestStateWarnings(t *testing.T) {
	at := func(offset time.Duration) *agent.Clock {
		return &agent.Clock{Offset: offset, Uncertainty: time.Millisecond}
	}
	busy := &machine.Load{CPUs: 4, Average: 2, Busy: 0.5}
	booted := check.Machine{BootID: "1"}
	machines := map[string]agent.Facts{"a": {Machine: booted}, "b": {Machine: booted}, "c": {}, "d": {}}
	got := stateWarnings(map[string]State{
		"a": {Load: busy, Clock: at(time.Second), ClockAfter: at(1500 * time.Millisecond)},
		"b": {Load: busy, Clock: at(time.Second)}, // the same machine as a
		"c": {
			Load: &machine.Load{CPUs: 4, Busy: 0.09}, Clock: at(-3200 * time.Millisecond), ClockAfter: at(-time.Minute),
		},
		"d": {Load: busy},
	}, machines)
	want := []result.Warning{
		{Code: "machine-busy", Message: "a, b: " + busyText(*busy)},
		{Code: "clocks-differ", Message: "the clock of c is 3.2 s (+-1.0 ms) behind this machine's: times of its " +
			"trials are by its own clock"},
		{Code: "clocks-differ", Message: "the clock of c or this machine's was set during the run: against this " +
			"machine's it moved back by 56.8 s (+-2.0 ms)"},
		{Code: "machine-busy", Message: "d: " + busyText(*busy)},
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
