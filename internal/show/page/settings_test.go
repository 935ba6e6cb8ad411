package page

import (
	"slices"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/rundir"
)

// The page lists what each arm sets.
func TestArmsSayWhatTheySet(t *testing.T) {
	declared := experiment.Tools{{Name: "native", Does: []experiment.Capability{{Mode: experiment.RR, Protocol: experiment.TCP,
		Request: experiment.Range{Min: 1, Max: 1024}, Response: experiment.Range{Min: 1, Max: 1024},
		Duration: experiment.Durations{Min: time.Second, Max: time.Hour, Step: time.Second}, Keys: []string{"congestion"}}}}}
	e, err := experimentfile.Parse("x.yaml", []byte(`nearfar: v1
name: x
arms: {plain: {lab: {path: [bridge]}}, bbr: {lab: {path: [bridge]}, set: {congestion: bbr}}}
workloads: [{name: rr, tool: native}]
`), declared)
	if err != nil {
		t.Fatal(err)
	}
	arms := newCollector(rundir.Manifest{Experiment: e}, answer.Answer{}, nil, nil).listArms()
	if len(arms) != 2 || len(arms[0].Set) != 0 || !slices.Equal(arms[1].Set, []string{"congestion bbr"}) ||
		arms[1].Path != "bridge" {
		t.Errorf("%+v", arms)
	}
}
