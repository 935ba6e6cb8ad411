package cli

import (
	"io"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// TestCostGrowsAsTheTrials: four times as many trials, in four times as many arms, allocate about four times as much.
// Before, the trials were copied once for each figure, which is 13 times as much.
func TestCostGrowsAsTheTrials(t *testing.T) {
	allocated := func(arms int) float64 {
		m := madeRun{workloads: []string{"w", "x"}, blocks: 40, level: 1e-5}
		for i := range arms {
			m.arms = append(m.arms, "arm-"+strconv.Itoa(i))
		}
		path := filepath.Join(t.TempDir(), "run")
		if err := m.write(path); err != nil {
			t.Fatal(err)
		}
		answer := func() {
			ans, err := readReport(path, nil)
			if err != nil || ans.Trials != arms*2*40 {
				t.Fatalf("%d trials, %v", ans.Trials, err)
			}
			a := &app{stdout: io.Discard, last: &lastWords{}}
			if err := a.writeReport(ans, reportOptions{format: "json", file: filepath.Join(t.TempDir(), "o")}); err != nil {
				t.Fatal(err)
			}
		}
		answer()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		answer()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc - before.TotalAlloc)
	}
	few, many := allocated(8), allocated(32)
	t.Logf("%.1f MB and %.1f MB", few/(1<<20), many/(1<<20))
	if ratio := many / few; ratio > 6 {
		t.Errorf("four times as many trials allocate %.1f times as much", ratio)
	}
}
