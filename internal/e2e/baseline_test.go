//go:build linux

package e2e

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/rundir"
)

const baselineArms = `nearfar: v1
name: alike
baseline: a
arms:
  a: {lab: {path: [bridge]}}
  b: {lab: {path: [bridge]}}
workloads:
  - {name: rr, tool: native, duration: 200ms, warmup: 20ms}
schedule: {blocks: 10, seed: 1}
`

// TestBaselineOfALab: a baseline leaves a run whose answer has a noise floor, and later runs of the same folder quote
// it. It judges no figures.
func TestBaselineOfALab(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	file := write(t, dir, strings.Replace(baselineArms, "200ms", "160ms", 1))
	a := answerOf(t, nearfar(t, dir, nil, "baseline", "-f", "json", "--blocks", "7", file), dir)
	wantNoFailures(t, a)
	run, err := rundir.Open(a.Run)
	if err != nil {
		t.Fatal(err)
	}
	e := run.Manifest().Experiment
	if e.SelfComparison == nil || e.SelfComparison.Arm != "a" || !strings.HasSuffix(a.Run, "-alike-baseline") {
		t.Errorf("%s does not say that it is a baseline: %+v", a.Run, e.SelfComparison)
	}
	if len(e.Arms) != 2 || e.HostsOf("a-again") != "a" {
		t.Errorf("the arms have hosts of their own: %+v", e.Arms)
	}
	if n := len(trials(t, a)); n != 7*2*2 {
		t.Errorf("%d trials, want 28: two arms, long and short trials, 7 blocks", n)
	}
	n := a.NoiseFloor
	if n == nil {
		t.Fatal("the answer has no noise floor")
	}
	i := slices.IndexFunc(n.Figures, func(f answer.Floor) bool { return f.Workload == "rr" && f.Stat == "p50" })
	if i < 0 {
		t.Fatalf("no figure of rr rtt p50: %+v", n.Figures)
	}
	f := n.Figures[i]
	if f.Within == nil || f.WithinShort == nil || f.Between == nil || f.Fixed == nil || f.Resolve == nil ||
		n.Recommended == nil {
		t.Errorf("incomplete: %+v, recommended %+v", f, n.Recommended)
	}
	for i, d := range f.Detectable {
		if known := d.Difference != nil; known != (d.Blocks >= 6) {
			t.Errorf("%d blocks find %v", d.Blocks, d.Difference)
		} else if i > 1 && known && *d.Difference > *f.Detectable[i-1].Difference {
			t.Errorf("%d blocks find less than %d", d.Blocks, f.Detectable[i-1].Blocks)
		}
	}
	// What is damaged is skipped.
	damaged := filepath.Join(dir, "runs", "99991231T000000Z-x-baseline")
	if err := os.MkdirAll(damaged, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(damaged, "run.json"), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	plan := string(nearfar(t, dir, nil, "run", "--dry-run", file))
	if !strings.Contains(plan, "A baseline of these hosts on ") {
		t.Errorf("a dry run does not quote the baseline: %s", plan)
	}
	later := answerOf(t, nearfar(t, dir, nil, "run", "-f", "json", "--blocks", "6", file), dir)
	if later.Earlier == nil || later.Earlier.Arm != "a" || len(later.Earlier.Figures) == 0 ||
		later.Earlier.Figures[0].Blocks != 6 {
		t.Errorf("a later run does not quote the baseline: %+v", later.Earlier)
	}
}

// TestBaselinePredicts: a baseline predicts which difference later runs can find. NEARFAR_BASELINE=20 runs a baseline
// and 20 later runs of two equal arms, and compares the prediction with the median of what these runs say themselves.
// Each arm has a lab of its own, as arms have machines of their own, so a run can find a real difference between them.
// It takes several minutes, and means something on a machine whose noise does not change meanwhile.
func TestBaselinePredicts(t *testing.T) {
	runs, err := strconv.Atoi(os.Getenv("NEARFAR_BASELINE"))
	if err != nil || runs < 1 {
		t.Skip("set NEARFAR_BASELINE=20 for 20 later runs")
	}
	dir := workspace(t)
	file := write(t, dir, baselineArms)
	n := answerOf(t, nearfar(t, dir, nil, "baseline", "-f", "json", file), dir).NoiseFloor
	said := map[string][]float64{}
	alarms := 0
	for run := 1; run <= runs; run++ {
		a := answerOf(t, nearfar(t, dir, nil, "run", "-f", "json", "--seed", strconv.Itoa(run), file), dir)
		for _, c := range a.Comparisons {
			if c.Detectable != nil {
				said[c.Name()] = append(said[c.Name()], *c.Detectable)
			}
			if c.Verdict == figures.Higher || c.Verdict == figures.Lower {
				alarms++
				t.Logf("run %d: %s of b is %s by %.3f us", run, c.Name(), c.Verdict, 1e6**c.Difference)
			}
		}
	}
	for _, f := range n.Figures {
		i := slices.IndexFunc(f.Detectable, func(d answer.DetectableAt) bool { return d.Blocks == 10 })
		if f.Detectable[i].Difference == nil {
			t.Fatalf("10 blocks find nothing in %s", f.Name())
		}
		predicted, later := *f.Detectable[i].Difference, said[f.Name()]
		slices.Sort(later)
		t.Logf("%s: later runs, in s: %.3g", f.Name(), later)
		if len(later) == 0 {
			t.Fatalf("no later run says what it could find in %s", f.Name())
		}
		middle := later[len(later)/2]
		t.Logf("%s: predicted %.3f us, the median of later runs is %.3f us (%.2f); %d comparisons find a "+
			"difference", f.Name(),
			predicted*1e6, middle*1e6, predicted/middle, alarms)
		if f.Stat == "p50" && math.Abs(predicted/middle-1) > 0.3 {
			t.Errorf("%s: the prediction is off by more than 30 %%", f.Name())
		}
	}
}
