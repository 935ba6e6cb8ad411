//go:build linux

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/result"
)

const (
	// attempts is how often a measurement is made whose figures other work on the machine may have disturbed.
	attempts = 3
	// stealTooHigh is the share of CPU time that the hypervisor took in every attempt, from which a failure says
	// nothing.
	stealTooHigh = 0.01
	// skipsInARow is how often in a row, on one kind of machine, a test may be skipped for steal time. The last one
	// fails.
	skipsInARow = 3
)

// wantTruth measures an experiment whose result is known. It fails the test if check finds something wrong in each of
// several attempts: a mistake in the program shows every time, other work on the machine comes and goes. further are
// flags of the first attempt: where a single trial decides on a quiet machine, --blocks 1 leaves the experiment's
// blocks to the later attempts.
//
// A virtual machine that does not get its CPUs cannot measure. If the hypervisor took 1 % of the CPU time or more in
// every attempt, the test is skipped. A file in the user's cache counts such skips; the third in a row on the same kind
// of machine fails.
func wantTruth(t *testing.T, experiment string, check func(a answer.Answer) (wrong []string), further ...string) {
	t.Helper()
	wantTruthOf(t, func(attempt int) answer.Answer {
		if attempt > 1 {
			return measure(t, experiment)
		}
		return measure(t, experiment, further...)
	}, check)
}

// wantTruthOf is wantTruth for runs that measure makes. Attempts count from 1.
func wantTruthOf(
	t *testing.T, measure func(attempt int) answer.Answer, check func(a answer.Answer) (wrong []string),
) {
	t.Helper()
	skips, err := openSkips()
	if err != nil {
		t.Fatal(err)
	}
	least := 1.0
	for attempt := 1; ; attempt++ {
		a := measure(attempt)
		wantNoFailures(t, a)
		wrong := check(a)
		if len(wrong) == 0 {
			if _, err := skips.note(t.Name(), false); err != nil {
				t.Error(err)
			}
			return
		}
		stolen := stolenShare(t, a)
		least = min(least, stolen)
		said := fmt.Sprintf("attempt %d of %d, with %.1f %% steal time: %q", attempt, attempts, 100*stolen, wrong)
		if attempt < attempts {
			t.Log(said)
			continue
		}
		if least < stealTooHigh {
			t.Fatal(said)
		}
		row, err := skips.note(t.Name(), true)
		if err != nil {
			t.Fatal(err)
		}
		if row >= skipsInARow {
			t.Fatalf("%s\nsteal time has prevented a verdict %d times in a row (%s)", said, row, skips.file)
		}
		t.Skip(said)
	}
}

// stolenShare returns the largest steal time of a workload, as a share of the CPU time, averaged over its trials; 0 if
// the kernel does not report steal time.
func stolenShare(t *testing.T, a answer.Answer) float64 {
	t.Helper()
	sum, n := map[string]float64{}, map[string]float64{}
	for _, tr := range trials(t, a) {
		share, err := strconv.ParseFloat(tr.Facts[result.FactStolen], 64)
		if err != nil {
			continue
		}
		sum[tr.Workload] += share
		n[tr.Workload]++
	}
	most := 0.0
	for workload := range sum {
		most = max(most, sum[workload]/n[workload])
	}
	return most
}

// A skipCount counts in a file how often in a row tests were skipped, for each test and kind of machine.
type skipCount struct {
	file, machine string
}

// openSkips returns the count in the user's cache.
func openSkips() (skipCount, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return skipCount{}, err
	}
	cpus, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return skipCount{}, err
	}
	return skipCount{filepath.Join(cache, "nearfar-test", "skipped.json"), machineKind(string(cpus))}, nil
}

// machineKind names the kind of this machine: the CPU model, from /proc/cpuinfo where it has one, and the number of
// CPUs.
func machineKind(cpuinfo string) string {
	model := runtime.GOARCH
	for line := range strings.Lines(cpuinfo) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%s, %d CPUs", model, runtime.NumCPU())
}

// note records whether a test was skipped, and returns how often in a row it now was.
func (s skipCount) note(test string, skipped bool) (row int, err error) {
	counts := map[string]int{}
	data, err := os.ReadFile(s.file)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return 0, err
	default:
		if err := json.Unmarshal(data, &counts); err != nil {
			return 0, fmt.Errorf("%s: %w (remove the file to start again)", s.file, err)
		}
	}
	key := test + " on " + s.machine
	if skipped {
		counts[key]++
	} else if counts[key] == 0 {
		return 0, nil
	} else {
		delete(counts, key)
	}
	if data, err = json.MarshalIndent(counts, "", "  "); err != nil {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o755); err != nil {
		return 0, err
	}
	// Renamed into place: a run that is killed leaves the old file or the new one.
	if err := os.WriteFile(s.file+".new", data, 0o644); err != nil {
		return 0, err
	}
	return counts[key], os.Rename(s.file+".new", s.file)
}

// TestSkipsAreCounted: skips count for each test and kind of machine, and a test that ran starts from 0 again.
func TestSkipsAreCounted(t *testing.T) {
	t.Parallel()
	s := skipCount{filepath.Join(t.TempDir(), "cache", "skipped.json"), "this kind"}
	other := skipCount{s.file, "another kind"}
	for i, step := range []struct {
		count   skipCount
		test    string
		skipped bool
		want    int
	}{
		{s, "A", false, 0}, {s, "A", true, 1}, {s, "B", true, 1}, {other, "A", true, 1}, {s, "A", true, 2},
		{s, "A", true, 3}, {s, "A", false, 0}, {s, "A", true, 1}, {s, "B", true, 2}, {other, "A", true, 2},
	} {
		if got, err := step.count.note(step.test, step.skipped); err != nil || got != step.want {
			t.Errorf("step %d, %s on %s: %d in a row (%v), want %d",
				i+1, step.test, step.count.machine, got, err, step.want)
		}
	}
	got := machineKind("processor : 0\nmodel name\t: Some CPU @ 2 GHz\n")
	if !strings.HasPrefix(got, "Some CPU @ 2 GHz, ") {
		t.Errorf("the kind of machine is %q", got)
	}
}
