package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
)

// turns writes a recorded output for each mean into a new directory: run-1.txt, run-2.txt, and so on.
func turns(t *testing.T, means ...float64) string {
	t.Helper()
	dir := t.TempDir()
	for i, mean := range means {
		name := filepath.Join(dir, fmt.Sprintf("run-%d.txt", i+1))
		if err := os.WriteFile(name, []byte(pingOf(mean)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// TestImportPaired has an arm that is 5 us slower than the other in each of twelve turns, while both drift by a factor
// of two: paired by the order of the files, run-2 before run-10, the difference is sure; unpaired it is not.
func TestImportPaired(t *testing.T) {
	var near, far []float64
	for i := range 12 {
		near = append(near, 1+float64(i)/10)
		far = append(far, 1.005+float64(i)/10+float64(i%3)/1000)
	}
	arms := []string{"--arm", "near=" + turns(t, near...), "--arm", "far=" + turns(t, far...), "-f", "json"}
	ask := func(more ...string) answer.Answer {
		code, stdout, stderr, _ := importedRun(t, append(more, arms...)...)
		if code != exitDone {
			t.Fatalf("exit %d, %s", code, stderr)
		}
		var a answer.Answer
		if err := json.Unmarshal([]byte(stdout), &a); err != nil {
			t.Fatal(err)
		}
		return a
	}
	paired := ask("--paired")
	c := paired.Comparisons[0]
	if !paired.Paired || paired.Blocks != 12 || c.Blocks != 12 || c.Verdict != figures.Higher ||
		c.Interval == nil || c.Interval[1]-c.Interval[0] > 3e-6 {
		t.Errorf("paired: %d blocks, %+v", paired.Blocks, c)
	}
	if c := ask().Comparisons[0]; c.Verdict != figures.NoDifference || c.Blocks != 0 {
		t.Errorf("not paired: %+v", c)
	}
}

func TestImportPairedWithUnequalNumbers(t *testing.T) {
	code, _, stderr, run := importedRun(t,
		"--paired", "--arm", "near="+turns(t, 1, 2), "--arm", "far="+turns(t, 1, 2, 3))
	const want = "arm near has 2 trials of ping-icmp and arm far has 3"
	if code != exitUsage || run != "" || !strings.Contains(stderr, want) {
		t.Errorf("exit %d, %q, %s", code, run, stderr)
	}
	code, _, stderr = runImport("", "--paired", put(t, "x", pingOf(1)))
	if code != exitUsage || !strings.Contains(stderr, "--paired goes with --run") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// TestImportNative makes a run of two outputs of the engine; its histograms are kept.
func TestImportNative(t *testing.T) {
	printed, err := os.ReadFile(filepath.Join("..", "measure", "tool", "testdata", "native", "0.1.0", "rr-tcp.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	code, _, stderr, run := importedRun(t,
		"--arm", "near="+put(t, "near.json", string(printed)), "--arm", "far="+put(t, "far.json", pingOf(1)))
	if code != exitDone {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	histograms, err := filepath.Glob(filepath.Join(run, "raw", "*.hdr"))
	if err != nil || len(histograms) != 1 {
		t.Fatalf("%v, %v", histograms, err)
	}
	var out, errs bytes.Buffer
	args := []string{"report", run, "-f", "parquet-histograms", "-o", filepath.Join(run, "h.parquet")}
	if code := Main(args, nil, &out, &errs); code != exitDone {
		t.Errorf("exit %d: %s", code, errs.String())
	}
}
