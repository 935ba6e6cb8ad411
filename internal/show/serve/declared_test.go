package serve

import (
	"slices"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
)

// Another setting of an arm starts a new series for the workloads that it changes, and only for these.
func TestSettingsMakeAnotherSeries(t *testing.T) {
	declare := func(congestion string) *experiment.Experiment {
		window := experiment.Durations{Min: time.Second, Max: time.Hour, Step: time.Second}
		size := experiment.Range{Min: 1, Max: 1024}
		declared := experiment.Tools{
			{Name: "native", Does: []experiment.Capability{{Mode: experiment.RR, Protocol: experiment.TCP, Request: size, Response: size,
				Duration: window, Keys: []string{"congestion"}}}},
			{Name: "ping", Does: []experiment.Capability{{Mode: experiment.Ping, Protocol: experiment.ICMP, Request: size,
				Duration: window, Interval: experiment.Durations{Min: 1, Max: time.Second, Step: 1}, MaxIntervals: 1000}}},
		}
		e, err := experimentfile.Parse("x.yaml", []byte(`nearfar: v1
name: x
arms: {bbr: {lab: {path: [bridge]}, set: {rr: {congestion: `+congestion+`}}}}
workloads: [{name: rr, tool: native}, {name: ping, tool: ping}]
`), declared)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	d := &declarations{}
	d.add(declare("bbr"), "rr", "bbr")
	series, differs := d.add(declare("reno"), "rr", "bbr")
	if series != 1 || !slices.Equal(differs, []string{`workload congestion: reno, in the newest run bbr`}) {
		t.Errorf("series %d, %q", series, differs)
	}
	if series, differs = d.add(declare("bbr"), "rr", "bbr"); series != 0 || len(differs) > 0 {
		t.Errorf("series %d, %q", series, differs)
	}
	d = &declarations{}
	d.add(declare("bbr"), "ping", "bbr")
	if series, differs = d.add(declare("reno"), "ping", "bbr"); series != 0 || len(differs) > 0 {
		t.Errorf("series %d, %q", series, differs)
	}
}
