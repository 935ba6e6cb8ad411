//go:build linux

package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/conclude/answer/figures"
)

// burnVariable, if set, makes the test binary run burn.
const burnVariable = "NEARFAR_E2E_BURN"

// burn keeps a CPU busy for a share of each 10 ms, given in per cent, until its standard input ends.
func burn(percent string) error {
	share, err := strconv.Atoi(percent)
	if err != nil {
		return err
	}
	const cycle = 10 * time.Millisecond
	busy := cycle * time.Duration(share) / 100
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	}()
	fmt.Println("burning")
	for {
		for started := time.Now(); time.Since(started) < busy; {
		}
		select {
		case <-ended:
			return nil
		case <-time.After(cycle - busy):
		}
	}
}

// startBurner starts a process that keeps a share of a CPU busy until the test ends.
func startBurner(t *testing.T, percent int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", burnVariable, percent))
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("the burner: %q, %v", line, err)
	}
}

// busyWarnings are the warnings of a busy machine: a busy one must raise at least one of them, a quiet one none.
func busyWarnings() []string { return []string{"cpu-contended", "machine-busy", "wire-below-rate"} }

// TestBusyMachineIsSaid repeats an A/A experiment, either beside two processes that keep a CPU busy for 40 % of the
// time each, or with nothing else running. No difference may be found; the warnings must be raised in the first case
// and not in the second. It takes minutes and needs a machine that does nothing else, so it runs only on request:
//
//	NEARFAR_BUSY=busy,quiet [NEARFAR_BUSY_RUNS=10] [NEARFAR_BUSY_DURATION=500ms] \
//	go test -run TestBusyMachineIsSaid -v -timeout 60m ./internal/e2e
func TestBusyMachineIsSaid(t *testing.T) {
	asked := os.Getenv("NEARFAR_BUSY")
	if asked == "" {
		t.Skip("set NEARFAR_BUSY=busy,quiet on a machine that does nothing else")
	}
	runs := 10
	if n, err := strconv.Atoi(os.Getenv("NEARFAR_BUSY_RUNS")); err == nil {
		runs = n
	}
	duration := "500ms"
	if d := os.Getenv("NEARFAR_BUSY_DURATION"); d != "" {
		duration = d
	}
	for kind := range strings.SplitSeq(asked, ",") {
		t.Run(kind, func(t *testing.T) {
			if kind == "busy" {
				for range 2 {
					startBurner(t, 40)
				}
			}
			alarms := 0
			for run := 1; run <= runs; run++ {
				a := measure(t, fmt.Sprintf(`
nearfar: v1
name: same
baseline: a
arms:
  a: {lab: {path: [bridge]}}
  b: {lab: {path: [bridge]}}
workloads:
  - {name: rr, tool: native, mode: rr, duration: %[1]s, warmup: 100ms}
  - {name: bulk, tool: native, mode: stream, duration: %[1]s, warmup: 100ms}
schedule: {seed: %[2]d}
`, duration, run))
				alarm := false
				for _, c := range a.Comparisons {
					alarm = alarm || c.Verdict == figures.Higher || c.Verdict == figures.Lower
				}
				if alarm {
					alarms++
				}
				var said []string
				for _, w := range a.Warnings {
					if slices.Contains(busyWarnings(), w.Code) {
						said = append(said, fmt.Sprintf("%s (%s): %s", w.Code, w.Workload, w.Message))
					}
				}
				t.Logf("run %d: %d blocks, difference found: %v\n  %s",
					run, a.Blocks, alarm, strings.Join(said, "\n  "))
				if kind == "busy" && len(said) == 0 {
					t.Errorf("run %d: no warning beside two processes that each keep a CPU 40 %% busy", run)
				}
				if kind == "quiet" && len(said) > 0 {
					t.Errorf("run %d: a quiet machine raises warnings", run)
				}
			}
			if alarms > 3 { // of ten runs: at 4.3 % false alarms, chance does that once in 1,500 times
				t.Errorf("%d of %d runs saw a difference between identical arms", alarms, runs)
			}
		})
	}
}
