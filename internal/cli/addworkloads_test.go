package cli

import (
	"strings"
	"testing"

	"nearfar/internal/declare/rundir"
)

// TestResumeDoesNotAdd: a complete run with a left-out workload is continued only if that is asked for.
func TestResumeDoesNotAdd(t *testing.T) {
	left := rundir.Manifest{State: rundir.Complete, Skipped: map[string]string{"bulk": "iperf3 is not installed"}}
	err := refuseToAdd(left, runOptions{resume: "runs/x"})
	if err == nil {
		t.Fatal("the run is continued")
	}
	for _, part := range []string{"workload bulk (iperf3 is not installed)", "--add-workloads", "nearfar report runs/x"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%v lacks %q", err, part)
		}
	}
	interrupted := left
	interrupted.State = rundir.Interrupted
	for name, err := range map[string]error{
		"asked for":         refuseToAdd(left, runOptions{addWorkloads: true}),
		"failed trials":     refuseToAdd(left, runOptions{retryFailed: true}),
		"interrupted":       refuseToAdd(interrupted, runOptions{}),
		"nothing left out":  refuseToAdd(rundir.Manifest{State: rundir.Complete}, runOptions{}),
		"shows, no measure": refuseToAdd(left, runOptions{dryRun: true}),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
