package lab

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
)

// readLab reads an experiment file with one arm, whose lab is given as YAML.
func readLab(lab string, ip int) error {
	size := experiment.Range{Min: 1, Max: 1024}
	tools := experiment.Tools{{Name: "native", Does: []experiment.Capability{{
		Mode: experiment.RR, Protocol: experiment.TCP, Request: size, Response: size,
		Duration: experiment.Durations{Min: time.Second, Max: time.Hour, Step: time.Second},
	}}}}
	_, err := experimentfile.Parse("limits.yaml", fmt.Appendf(nil,
		"nearfar: v1\nname: x\narms: {a: {lab: %s}}\nworkloads: [{name: w, tool: native, ip: %d}]\n", lab, ip), tools)
	return err
}

// The reader of experiment files and the plan of a lab agree on every limit: values just inside are accepted by both,
// and values just outside are refused by both. The reader says the place.
func TestReaderAndPlanAgreeOnEveryLimit(t *testing.T) {
	cases := 0
	check := func(good bool, yaml string, lab experiment.Lab) {
		t.Helper()
		cases++
		_, planned := newPlan("a", 1, lab, true)
		read := readLab(yaml, experiment.IPv4)
		if (read == nil) != good || (planned == nil) != good {
			t.Errorf("%s: want accepted %v; the reader says %v, the plan %v", yaml, good, read, planned)
		}
		if read != nil && !strings.HasPrefix(read.Error(), "limits.yaml:3:") {
			t.Errorf("%s: no place in %v", yaml, read)
		}
	}
	plain, tunnel := "[bridge]", "[vtep, vtep]"
	for _, c := range []struct {
		path string
		mtu  int
		good bool
	}{
		{plain, 575, false}, {plain, 576, true}, {plain, 600, true}, {plain, 9216, true}, {plain, 9217, false}, {plain, -1, false},
		{tunnel, 576, false}, {tunnel, 625, false}, {tunnel, 626, true}, {tunnel, 9216, true}, {tunnel, 9217, false},
	} {
		check(c.good, fmt.Sprintf("{path: %s, mtu: %d}", c.path, c.mtu),
			experiment.Lab{Path: elements(strings.NewReplacer("[", "", "]", "", ",", "").Replace(c.path)), MTU: c.mtu})
	}
	for rules, good := range map[int]bool{-1: false, 0: false, 1: true, 100_000: true, 100_001: false} {
		check(good, fmt.Sprintf("{path: [{firewall: {rules: %d}}]}", rules),
			experiment.Lab{Path: []experiment.Element{{Kind: experiment.Firewall, Rules: rules}}})
	}
	wire := func(good bool, yaml string, e experiment.Element) {
		t.Helper()
		e.Kind = experiment.Wire
		check(good, "{path: [{wire: {"+yaml+"}}]}", experiment.Lab{Path: []experiment.Element{e}})
	}
	for delay, good := range map[time.Duration]bool{0: true, 1: false, time.Microsecond - 1: false, time.Microsecond: true,
		10 * time.Second: true, 10*time.Second + time.Microsecond: false} {
		wire(good, "delay: "+experiment.FormatDuration(delay), experiment.Element{Delay: delay})
	}
	for rate, good := range map[float64]bool{7999: false, 8000: true, 1e12: true, 1.001e12: false} {
		wire(good, "rate: "+experiment.FormatRate(rate), experiment.Element{Rate: rate})
	}
	for loss, good := range map[float64]bool{0: true, 1e-10: false, 1e-9: true, 0.99: true, 1: false, 1.5: false} {
		wire(good, fmt.Sprintf("loss: %.10f", loss), experiment.Element{Loss: loss})
	}
	repeated := func(good bool, n int, kind, more string) {
		t.Helper()
		kinds := strings.TrimSpace(strings.Repeat(kind+" ", n) + more)
		check(good, "{path: ["+strings.Join(strings.Fields(kinds), ", ")+"]}", experiment.Lab{Path: elements(kinds)})
	}
	repeated(false, 0, "bridge", "")
	repeated(true, 64, "bridge", "")
	repeated(false, 65, "bridge", "")
	repeated(true, 63, "router", "")
	repeated(false, 64, "router", "")
	repeated(true, 61, "router", "dlr vtep vtep")
	repeated(true, 60, "router", "vtep router router vtep")
	check(false, "{path: [hub]}", experiment.Lab{Path: elements("hub")})
	if cases < 35 {
		t.Errorf("only %d cases", cases)
	}
}

// The reader accepts IPv6 exactly where the plan has it.
func TestReaderAndPlanAgreeOnIPv6(t *testing.T) {
	for _, c := range []struct {
		path string
		mtu  int
		has  bool
	}{{"bridge", 1279, false}, {"bridge", 1280, true}, {"vtep vtep", 1329, false}, {"vtep vtep", 1330, true}} {
		p, err := newPlan("a", 1, experiment.Lab{Path: elements(c.path), MTU: c.mtu}, true)
		if err != nil {
			t.Fatal(err)
		}
		yaml := fmt.Sprintf("{path: [%s], mtu: %d}", strings.Join(strings.Fields(c.path), ", "), c.mtu)
		if err := readLab(yaml, experiment.IPv6); (err == nil) != c.has || p.IPv6 != c.has {
			t.Errorf("%s: want IPv6 %v; the reader says %v, the plan %v", yaml, c.has, err, p.IPv6)
		}
	}
}
