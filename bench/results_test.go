package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func sample() report {
	missing := row{Work: "UDP 64 B one-way: delivered per second", Against: "sockperf throughput --mps=max",
		Theirs: "theirs", Metric: result.MessageRate, Unit: result.PerSecond, Bound: atLeast(1.5),
		Missing: "there is no C compiler"}
	fast := made([]float64{9e-6, 9.1e-6, 9.2e-6, 9e-6, 9.1e-6, 9.2e-6}, []float64{1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5})
	slow := made([]float64{11e-6, 11.1e-6, 9.2e-6, 11e-6, 11.1e-6, 0}, []float64{1e-5, 1e-5, 1e-5, 1e-5, 1e-5, 1e-5})
	slow["ours"][6] = slow["ours"][1]
	held, alone := checkOf(atMost(1e-6)), checkOf(nil)
	held.What, alone.With = "the p50 that the machine holds up", "the clock alone"
	held.Limit = &alone
	information := rttRow(nil)
	information.Work = "TCP rr, two CPUs"
	return report{
		Machine: machine{Date: time.Date(2026, 11, 21, 22, 10, 0, 0, time.UTC), Kernel: "6.18.0",
			CPU: "A Processor", CPUs: 2, System: "linux/amd64",
			Versions: map[string]string{"sockperf": "3.7", "nearfar": "0.1"}, LoadBefore: "0.10", LoadAfter: "1.20",
			Placement: "shared: client on CPU 1, server on CPU 1"},
		Options: options{blocks: 6, seconds: 1, seed: 7}, Command: "go run ./bench --blocks 6",
		Outcomes: []outcome{
			judge(rttRow(atMost(1)), fast), judge(rttRow(atMost(1.02)), slow), judge(information, fast),
			judge(missing, fast),
		},
		Checks: []checked{
			evaluate(checkOf(near(1.03e-5, 0.05)), fast), evaluate(checkOf(atMost(1e-6)), fast),
			evaluate(checkOf(nil), fast), evaluate(held, fast),
		},
		Failed: []string{"block 3, rr-64: it broke"},
	}
}

func TestMarkdown(t *testing.T) {
	name := filepath.Join("testdata", "RESULTS.golden.md")
	got := string(sample().markdown())
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

func TestReplaceFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "RESULTS.md")
	for _, text := range []string{"first", "second"} {
		if err := replaceFile(name, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(name); err != nil || string(b) != text {
			t.Errorf("%q, %v", b, err)
		}
	}
	if err := replaceFile(filepath.Join(dir, "absent", "RESULTS.md"), nil); err == nil {
		t.Error("a file was written where there is no directory")
	}
	// A rename that fails leaves nothing behind.
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(filepath.Join(dir, "taken"), nil); err == nil {
		t.Error("a directory was replaced")
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 2 {
		t.Errorf("left behind: %v, %v", files, err)
	}
}

// If something could not be measured, that is an error, and the results file is unchanged.
func TestPresentKeepsTheFile(t *testing.T) {
	dir := t.TempDir()
	quiet := func(string, ...any) {}
	r := sample()
	r.Options.results = filepath.Join(dir, "RESULTS.md")
	var out strings.Builder
	if err := present(r, dir, &out, quiet); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"What falls short:\n- TCP rr against other: short (1.100",
		"- the p50, with other: short (10.00 us", "not measured: there is no C", "block 3, rr-64: it broke"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	before, err := os.ReadFile(r.Options.results)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []options{{blocks: fewestBlocks() - 1}, {blocks: fewestBlocks(), only: "rr"}} {
		p := r
		p.Command, part.results = "another", r.Options.results
		p.Options = part
		if err := present(p, dir, &out, quiet); err != nil {
			t.Error(err)
		}
	}
	without := r
	without.Checks = append(without.Checks[:len(r.Checks):len(r.Checks)], evaluate(checkOf(atMost(1)), trials{}))
	err = present(without, dir, &out, quiet)
	if err == nil || !strings.Contains(err.Error(), "not measured") || !strings.Contains(err.Error(), "the p50") {
		t.Errorf("a check without figures: %v", err)
	}
	r.Outcomes = append(r.Outcomes, judge(rttRow(atMost(1)), trials{}))
	if err := present(r, dir, &out, quiet); err == nil || !strings.Contains(err.Error(), "not measured") {
		t.Errorf("a row without figures: %v", err)
	}
	if after, err := os.ReadFile(r.Options.results); err != nil || string(after) != string(before) {
		t.Errorf("the file was changed: %v", err)
	}
}
