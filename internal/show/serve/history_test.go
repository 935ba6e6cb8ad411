package serve

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/rundir"
)

// historyOf returns the address of a history.
func historyOf(experiment, arm string) string {
	return "history.json?" + url.Values{
		"experiment": {experiment}, "workload": {"rr"}, "metric": {"rtt"}, "stat": {"p50"}, "arm": {arm},
	}.Encode()
}

func TestHistory(t *testing.T) {
	dir := t.TempDir()
	seconds := []float64{8e-6, 9e-6, 12e-6}
	for i, s := range seconds {
		measured(t, dir, declared("overlay"), begin.Add(time.Duration(i)*time.Hour), s)
	}
	measured(t, dir, declared("zones"), begin, 1)
	b := newBrowsing(t, dir)
	var h History
	b.read(t, "history.json?experiment=overlay", &h)
	rtt := figures.Quantity{Metric: "rtt", Stat: "p50", Unit: "s"}
	choices := []Choice{{Workload: "rr", Quantity: rtt, Arms: []string{"l2", "routed"}}}
	if diff := cmp.Diff(choices, h.Choices); diff != "" || len(h.Points) != 0 {
		t.Errorf("no figure chosen yet (-want +got):\n%s%+v", diff, h.Points)
	}
	b.read(t, historyOf("overlay", "routed"), &h)
	if len(h.Points) != len(seconds) || len(h.Broken) != 0 || h.OlderLeftOut != 0 {
		t.Fatalf("history: %+v", h)
	}
	for i, p := range h.Points {
		// The figures are equal to the answer's.
		a, err := realSource().Answer(filepath.Join(dir, p.Path))
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(a.Arms, func(f figures.Figure) bool { return f.Arm == "routed" })
		started := begin.Add(time.Duration(i) * time.Hour)
		want := Point{
			ID: p.ID, Path: started.Format("20060102T150405Z") + "-overlay", Started: started, State: "complete",
			Unit: "s", Median: a.Arms[at].Median, Interval: a.Arms[at].Interval, Trials: 7,
			Differs: []string{}, Versions: "nearfar v1.2.3",
		}
		if diff := cmp.Diff(want, p); diff != "" {
			t.Errorf("point %d (-want +got):\n%s", i, diff)
		}
		if p.Interval == nil || !(p.Interval[0] < p.Median && p.Median < p.Interval[1]) {
			t.Errorf("point %d: %v in %v", i, p.Median, p.Interval)
		}
	}
	// A run that is added later appears.
	measured(t, dir, declared("overlay"), begin.Add(100*time.Hour), 20e-6)
	b.runs(t)
	b.read(t, historyOf("overlay", "routed"), &h)
	if len(h.Points) != 4 {
		t.Errorf("%d points after a run more", len(h.Points))
	}
	for _, other := range []string{
		historyOf("overlay", "nowhere"), historyOf("nothing", "l2"), "history.json", "history.json?experiment=%00",
	} {
		h = History{}
		if b.read(t, other, &h); len(h.Points) != 0 || h.Points == nil || h.Choices == nil || h.Broken == nil {
			t.Errorf("%s: %+v", other, h)
		}
	}
}

// Runs whose declarations differ under the same names are in different series, and list the differences.
func TestHistorySeparatesDeclarations(t *testing.T) {
	dir := t.TempDir()
	at := func(hours int) time.Time { return begin.Add(time.Duration(hours) * time.Hour) }
	smaller := declared("overlay")
	smaller.Workloads[0].Request = 1
	measured(t, dir, smaller, at(0), 7e-6)
	longer := declared("overlay") // the same figure, measured for longer
	longer.Workloads[0].Duration, longer.Schedule.Blocks, longer.Question = 9*time.Second, 8, "How much?"
	measured(t, dir, longer, at(1), 8e-6)
	measured(t, dir, declared("overlay"), at(2), 8e-6)
	var h History
	newBrowsing(t, dir).read(t, historyOf("overlay", "routed"), &h)
	if len(h.Points) != 3 {
		t.Fatalf("history: %+v", h)
	}
	for i, want := range []int{1, 0, 0} {
		if h.Points[i].Series != want {
			t.Errorf("point %d is of series %d, want %d", i, h.Points[i].Series, want)
		}
	}
	if diff := cmp.Diff([]string{"workload request: 1, in the newest run 64"}, h.Points[0].Differs); diff != "" {
		t.Errorf("what differs (-want +got):\n%s", diff)
	}
	if len(h.Points[1].Differs)+len(h.Points[2].Differs) != 0 {
		t.Errorf("differ: %+v", h.Points)
	}
}

// A run whose figures cannot be made is named, and the others have points.
func TestHistoryOfBrokenRuns(t *testing.T) {
	dir := t.TempDir()
	measured(t, dir, declared("overlay"), begin, 8e-6)
	broken := measured(t, dir, declared("overlay"), begin.Add(time.Hour), 8e-6)
	lines := filepath.Join(broken.Path, trialsName)
	if err := os.WriteFile(lines, []byte("{]\n{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	empty, err := rundir.Create(dir, rundir.Manifest{
		Nearfar: "v1", Experiment: declared("overlay"), State: rundir.Running, Started: begin.Add(2 * time.Hour),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = empty.Close() }()
	var h History
	newBrowsing(t, dir).read(t, historyOf("overlay", "l2"), &h)
	if len(h.Points) != 1 || len(h.Broken) != 1 ||
		h.Broken[0].Path != filepath.Base(broken.Path) || h.Broken[0].Error == "" {
		t.Errorf("history: %+v", h)
	}
}
