package forecast

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
)

func plan(blocks int) *experiment.Experiment {
	return &experiment.Experiment{Name: "x", Baseline: "a", Arms: []experiment.Arm{{Name: "a"}, {Name: "b"}},
		Workloads: []experiment.Workload{{Name: "rr"}}, Schedule: experiment.Schedule{Blocks: blocks}}
}

// TestNewest: at most maxOpened folders are listed, the newest first; files and other names are none.
func TestNewest(t *testing.T) {
	folder := t.TempDir()
	for i := range maxOpened + 5 {
		if err := os.Mkdir(filepath.Join(folder, "20261121T1922"+string(rune('A'+i))+"-x"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "20261121T1922Z-y"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "20261121T1922Z-x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := newest(folder, "-x", -1)
	if len(got) != maxOpened || !strings.HasSuffix(got[0], "1922Y-x") || !slices.IsSortedFunc(got, func(a, b string) int {
		return strings.Compare(b, a)
	}) {
		t.Errorf("%q", got)
	}
	if got := newest(filepath.Join(folder, "none"), "x", -1); len(got) > 0 {
		t.Errorf("a folder that is not there: %q", got)
	}
	if got := newest(folder, "-", 3); len(got) > 3 {
		t.Errorf("more than were looked at: %q", got)
	}
	if f := Newest(folder, plan(10), nil); !f.Empty() {
		t.Errorf("folders that are no runs: %+v", f)
	}
}

// TestWithoutAnEarlierRun: a plan says how many blocks it needs, and that nothing is known of the scatter.
func TestWithoutAnEarlierRun(t *testing.T) {
	aim, err := figures.ParseAim("5%")
	if err != nil {
		t.Fatal(err)
	}
	var none Forecast
	text := strings.Join(none.Plan(plan(10), aim), "\n")
	if !strings.Contains(text, "the schedule has 10, in each") ||
		!strings.Contains(text, "the blocks that find 5% are not") {
		t.Errorf("%s", text)
	}
	text = strings.Join(none.Plan(plan(3), nil), "\n")
	if !strings.Contains(text, "No difference can be shown") || strings.Contains(text, "earlier run") {
		t.Errorf("%s", text)
	}
	if lines := none.Lines(plan(10)); len(lines) > 0 {
		t.Errorf("%q", lines)
	}
	if lines := none.Lines(plan(3)); len(lines) != 1 || !strings.Contains(lines[0], "no difference will be shown") {
		t.Errorf("%q", lines)
	}
	one := plan(10)
	one.Arms = one.Arms[:1]
	if lines := none.Plan(one, aim); len(lines) > 0 {
		t.Errorf("one arm compares nothing: %q", lines)
	}
}
