package cli

import (
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/execution"
	"nearfar/internal/measure/tool"
)

const hostsFile = `nearfar: v1
name: x
baseline: near
hosts:
  vm-a: {ssh: vm-a}
  vm-b: {ssh: vm-b}
  vm-c: {ssh: vm-c}
arms:
  near: {client: vm-a, server: vm-b}
  far:  {client: vm-a, server: vm-c}
workloads:
  - {name: rr, tool: native, duration: 2s}
schedule: {blocks: 10, seed: 4}
`

func experimentIn(t *testing.T, text string) *experiment.Experiment {
	t.Helper()
	e, err := experimentfile.Parse("x.yaml", []byte(text), tool.Declared())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// writeBaseline leaves a baseline of an arm in the folder and returns its path.
func writeBaseline(
	t *testing.T, folder, text, arm string, started time.Time, change func(*rundir.Manifest),
) string {
	t.Helper()
	e, err := experimentIn(t, text).CompareWithSelf(arm, "5%", 8, tool.Declared())
	if err != nil {
		t.Fatal(err)
	}
	m := rundir.Manifest{Nearfar: "v1", Experiment: e, Seed: 4, State: rundir.Complete, Started: started,
		Machine: execution.MachineName()}
	change(&m)
	dir, err := rundir.Create(folder, m)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, slot := range e.Slots() {
		w, _ := e.Workload(slot.Workload)
		if err := dir.Append(result.Trial{
			Trial: slot.Trial, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload,
			Tool: result.ToolVersion{Name: "native"}, Mode: "rr", Protocol: "tcp",
			DurationSeconds: w.Duration.Seconds(), Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT,
			Metrics: []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds,
				Value: 20e-6 * (1 + 0.02*r.NormFloat64())}},
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := dir.Close(); err != nil {
		t.Fatal(err)
	}
	return dir.Path
}

// TestEarlierBaseline: the newest complete baseline of the hosts is found, and damaged directories are named.
func TestEarlierBaseline(t *testing.T) {
	folder := t.TempDir()
	plan := experimentIn(t, hostsFile)
	var told strings.Builder
	find := func(plan *experiment.Experiment) *answer.Earlier {
		told.Reset()
		return (&app{stderr: &told}).earlierBaseline(folder, plan)
	}
	wants := func(what string, got *answer.Earlier, run, arm string) {
		t.Helper()
		switch {
		case run == "" && got != nil:
			t.Errorf("%s: %+v", what, got)
		case run != "" && (got == nil || got.Run != run || got.Arm != arm):
			t.Errorf("%s: %+v, want %s of %s", what, got, run, arm)
		}
	}
	same := func(*rundir.Manifest) {}
	day := func(n int) time.Time { return time.Date(2026, 11, n, 12, 0, 0, 0, time.UTC) }

	wants("an empty folder", find(plan), "", "")
	far := writeBaseline(t, folder, hostsFile, "far", day(1), same)
	wants("hosts of another arm", find(plan), far, "far")
	near := writeBaseline(t, folder, hostsFile, "near", day(2), same)
	wants("hosts of the baseline", find(plan), near, "near")
	writeBaseline(t, folder, hostsFile, "far", day(3), same)
	wants("a newer one of another arm", find(plan), near, "near")
	writeBaseline(t, folder, hostsFile, "near", day(4), func(m *rundir.Manifest) { m.State = rundir.Interrupted })
	wants("a newer one that was interrupted", find(plan), near, "near")
	writeBaseline(t, folder, strings.ReplaceAll(hostsFile, "ssh: vm-b", "ssh: vm-z"), "near", day(5), same)
	wants("a newer one of other hosts", find(plan), near, "near")
	newest := writeBaseline(t, folder, hostsFile, "near", day(6), same)
	wants("a newer one", find(plan), newest, "near")
	if told.Len() > 0 {
		t.Errorf("told %q", told.String())
	}
	wants("another workload", find(experimentIn(t, strings.Replace(hostsFile, "2s", "2s, request: 1KiB", 1))), "", "")

	damaged := writeBaseline(t, folder, hostsFile, "near", day(7), same)
	if err := os.WriteFile(filepath.Join(damaged, "trials.jsonl"), []byte("{\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	wants("a damaged one", find(plan), newest, "near")
	if strings.Count(told.String(), "\n") != 1 || !strings.Contains(told.String(), damaged) {
		t.Errorf("told %q, want a line about %s", told.String(), damaged)
	}
}

// TestEarlierBaselineOfLabs: a lab on another machine is not the same, and a machine that only controls does not count.
func TestEarlierBaselineOfLabs(t *testing.T) {
	lab := `nearfar: v1
name: x
baseline: a
arms:
  a: {lab: {path: [bridge]}}
  b: {lab: {path: [router]}}
workloads: [{name: rr, tool: native, duration: 2s}]
schedule: {blocks: 10}
`
	elsewhere := func(m *rundir.Manifest) { m.Machine = "elsewhere" }
	a := &app{stderr: io.Discard}
	folder := t.TempDir()
	writeBaseline(t, folder, lab, "a", time.Now(), elsewhere)
	if got := a.earlierBaseline(folder, experimentIn(t, lab)); got != nil {
		t.Errorf("a lab of another machine: %+v", got)
	}
	writeBaseline(t, folder, hostsFile, "near", time.Now(), elsewhere)
	if got := a.earlierBaseline(folder, experimentIn(t, hostsFile)); got == nil {
		t.Error("hosts that another machine measured are not found")
	}
}

// TestReportOfABaseline: every format has the noise floor.
func TestReportOfABaseline(t *testing.T) {
	path := writeBaseline(t, t.TempDir(), hostsFile, "near", time.Date(2026, 11, 21, 19, 22, 0, 0, time.UTC),
		func(*rundir.Manifest) {})
	for format, want := range map[string][]string{
		"terminal": {"near does not differ from itself", "Noise of near on these hosts", "rr rtt p50", "40 blocks",
			"To find 5% four times in five"},
		"markdown": {"## Noise of near on these hosts", "| rr rtt p50 |", "cheapest"},
		"csv":      {"noise-between,rr,near", "noise-within,rr,near", "noise-detectable,rr,near"},
		"json": {`"noise_floor": {`, `"sd_within_blocks":`, `"detectable": [`, `"recommended": {`, `"sound": true`,
			`"fixed_share":`},
	} {
		out, _ := command(t, exitDone, "report", "-f", format, path)
		for _, w := range want {
			if !strings.Contains(out, w) {
				t.Errorf("%s has no %q:\n%s", format, w, out)
			}
		}
	}
	if out, _ := command(t, exitDone, "report", "--resolve", "20%", path); !strings.Contains(out, "To find 20%") {
		t.Errorf("--resolve does not replace the wanted difference:\n%s", out)
	}
}

// TestBaselineUsage: wrong usage is refused before anything is made.
func TestBaselineUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("x.yaml", []byte(hostsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--arm", "nobody", "x.yaml"}, "--arm nobody: the arms are near, far"},
		{[]string{"--resolve", "much", "x.yaml"}, "is not a difference"},
		{[]string{"--blocks", "0", "x.yaml"}, "--blocks 0"},
		{[]string{"--blocks", "3", "x.yaml"}, "no difference could be shown"},
		{[]string{"none.yaml"}, "none.yaml"},
	} {
		_, stderr := command(t, exitUsage, append([]string{"baseline"}, c.args...)...)
		if !strings.Contains(stderr, c.want) {
			t.Errorf("%q: %s", c.args, stderr)
		}
	}
	out, _ := command(t, exitDone, "baseline", "--dry-run", "x.yaml")
	for _, want := range []string{"x-baseline: 2 arms, 2 workloads, 30 blocks", "near-again", "rr-short"} {
		if !strings.Contains(out, want) {
			t.Errorf("the plan has no %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "vm-c") {
		t.Errorf("the plan names a host that the arm does not use:\n%s", out)
	}
}
