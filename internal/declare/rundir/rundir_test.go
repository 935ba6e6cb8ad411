package rundir

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
)

func manifest() Manifest {
	return Manifest{
		Nearfar: "v1", Seed: 7, State: Running, Versions: map[string]string{"nearfar": "test"},
		Experiment: declared(),
		Started:    time.Date(2026, 11, 21, 19, 22, 0, 0, time.UTC),
	}
}

// declared returns a valid experiment.
func declared() *experiment.Experiment {
	e, err := experimentfile.Parse("overlay.yaml", []byte(`nearfar: v1
name: overlay
arms: {l2: {lab: {path: [bridge]}}, l3: {lab: {path: [bridge, router, bridge]}}}
workloads: [{name: rr, tool: native}]
schedule: {blocks: 2, seed: 7}
`), tool.Declared())
	if err != nil {
		panic(err) // it is a constant
	}
	return e
}

func trial(n int) result.Trial {
	return result.Trial{
		Trial: n, Block: 1, Arm: "l2", Workload: "rr",
		Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT,
		Metrics: []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: 8.3e-6}},
		Raw:     []string{}, Treatment: map[string]string{},
	}
}

func create(t *testing.T) *Dir {
	t.Helper()
	d, err := Create(t.TempDir(), manifest())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	return d
}

func TestRoundTrip(t *testing.T) {
	d := create(t)
	if got, want := filepath.Base(d.Path), "20261121T192200Z-overlay"; got != want {
		t.Errorf("the directory is called %s, want %s", got, want)
	}
	raw, err := d.WriteRaw("00001-l2-rr.client.out", []byte("printed\n"))
	if err != nil {
		t.Fatal(err)
	}
	first := trial(1)
	first.Raw = []string{raw}
	for _, tr := range []result.Trial{first, trial(2)} {
		if err := d.Append(tr); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Update(func(m *Manifest) { m.State = Complete }); err != nil {
		t.Fatal(err)
	}
	read, err := Open(d.Path)
	if err != nil {
		t.Fatal(err)
	}
	want := manifest()
	want.State = Complete
	if diff := cmp.Diff(want, read.Manifest()); diff != "" {
		t.Errorf("run.json (-want +got):\n%s", diff)
	}
	got, err := read.Trials()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]result.Trial{first, trial(2)}, got); diff != "" {
		t.Errorf("trials.jsonl (-want +got):\n%s", diff)
	}
	printed, err := os.ReadFile(filepath.Join(d.Path, raw))
	if err != nil || string(printed) != "printed\n" {
		t.Errorf("raw output: %q, %v", printed, err)
	}
}

func TestTwoRunsInOneSecond(t *testing.T) {
	parent := t.TempDir()
	a, err := Create(parent, manifest())
	if err != nil {
		t.Fatal(err)
	}
	b, err := Create(parent, manifest())
	if err != nil {
		t.Fatal(err)
	}
	if a.Path == b.Path {
		t.Errorf("both runs are in %s", a.Path)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

// A run that was killed while it wrote a line loses only that trial.
func TestTornLine(t *testing.T) {
	d := create(t)
	if err := d.Append(trial(1)); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(d.Path, trialsName)
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for cut := 1; cut < len(whole); cut++ {
		if err := os.WriteFile(name, append(append([]byte(nil), whole...), whole[:cut]...), 0o644); err != nil {
			t.Fatal(err)
		}
		read, err := Open(d.Path)
		if err != nil {
			t.Fatal(err)
		}
		if trials, err := read.Trials(); err != nil || len(trials) != 1 {
			t.Fatalf("cut after %d bytes: %d trials, %v; want 1", cut, len(trials), err)
		}
		resumed, err := Resume(d.Path, tool.Declared())
		if err != nil {
			t.Fatal(err)
		}
		if err := resumed.Append(trial(2)); err != nil {
			t.Fatal(err)
		}
		trials, err := resumed.Trials()
		if err != nil || len(trials) != 2 || trials[1].Trial != 2 {
			t.Fatalf("cut after %d bytes, resumed: %d trials, %v; want 2", cut, len(trials), err)
		}
		if err := resumed.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBrokenLineIsNamed(t *testing.T) {
	d := create(t)
	if err := d.Append(trial(1)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.trials.WriteString("not json\n"); err != nil {
		t.Fatal(err)
	}
	_, err := d.Trials()
	if err == nil || !strings.Contains(err.Error(), "trials.jsonl:2:") {
		t.Errorf("got %v, want an error that names line 2", err)
	}
}

// TestEachStops: Each stops at the first error of its function and returns it.
func TestEachStops(t *testing.T) {
	d := create(t)
	for n := range 3 {
		if err := d.Append(trial(n + 1)); err != nil {
			t.Fatal(err)
		}
	}
	enough := errors.New("enough")
	var seen []int
	err := d.Each(func(tr result.Trial) error {
		seen = append(seen, tr.Trial)
		if tr.Trial == 2 {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || !cmp.Equal(seen, []int{1, 2}) {
		t.Errorf("saw trials %v, %v", seen, err)
	}
}

func TestOneWriterAtATime(t *testing.T) {
	d := create(t)
	_, err := Resume(d.Path, tool.Declared())
	if err == nil || !strings.Contains(err.Error(), "another nearfar is writing") {
		t.Errorf("a second writer got %v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	resumed, err := Resume(d.Path, tool.Declared())
	if err != nil {
		t.Fatalf("after the first had closed: %v", err)
	}
	if err := resumed.Close(); err != nil {
		t.Error(err)
	}
}

func TestNoRunDirectory(t *testing.T) {
	empty := t.TempDir()
	if _, err := Open(empty); err == nil || !strings.Contains(err.Error(), "is not a run directory") {
		t.Errorf("an empty directory gave %v", err)
	}
	manifest := []byte(`{"nearfar":"v9","experiment":{}}`)
	if err := os.WriteFile(filepath.Join(empty, manifestName), manifest, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(empty); err == nil || !strings.Contains(err.Error(), `version "v9"`) {
		t.Errorf("another version gave %v", err)
	}
}
