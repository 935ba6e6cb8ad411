package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares a text with a file in testdata, or writes the file with -update.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// written gives the report of an answer.
func written(t *testing.T, a answer.Answer, o Options) string {
	t.Helper()
	var out bytes.Buffer
	if err := Write(&out, a, o); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// checkHarmless fails if a report has a control character, or a tag in markdown.
func checkHarmless(t *testing.T, format, text string) {
	t.Helper()
	for _, r := range text {
		if r < ' ' && r != '\n' {
			t.Errorf("%s holds the control character %q", format, r)
		}
	}
	if format == "markdown" && strings.Contains(text, "<script>") {
		t.Error("markdown holds a tag")
	}
}

// sample has rows of every kind, and text that a terminal, a spreadsheet or a browser would act on.
func sample() answer.Answer {
	rtt := figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
	goodput := figures.Quantity{Metric: result.Goodput, Unit: result.BitsPerSecond}
	return withFindings(answer.Answer{
		Nearfar:  "v1",
		Question: "How much does VXLAN <add>?",
		Ran: answer.Ran{Run: "runs/20261121T192200Z-overlay", State: "complete", Baseline: "l2", Blocks: 10, Trials: 60,
			Failed: 1},
		Figures: figures.Figures{Arms: []figures.Figure{
			{Arm: "l2", Workload: "rr-1k", Quantity: rtt, Median: 8.31e-6, Interval: &figures.Bounds{8.25e-6, 8.4e-6},
				Trials: 10},
			{Arm: "vxlan", Workload: "rr-1k", Quantity: rtt, Median: 14.52e-6, Trials: 3},
			{Arm: "l2", Workload: "bulk", Quantity: goodput, Median: 38.2e9, Interval: &figures.Bounds{37e9, 39e9},
				Trials: 10},
		}, Comparisons: []figures.Comparison{
			{Arm: "vxlan", Baseline: "l2", Workload: "rr-1k", Quantity: rtt, Difference: new(6.21e-6),
				Interval:   &figures.Bounds{6.1e-6, 6.35e-6},
				Confidence: .95, Relative: new(.747), RelativeInterval: &figures.Bounds{.73, .76},
				PValue: new(.0039), Verdict: figures.Higher,
				Better: "baseline", Detectable: new(1.2e-7), Blocks: 10, BlocksNeeded: new(0)},
			{Arm: "same", Baseline: "l2", Workload: "rr-1k", Quantity: rtt, Difference: new(-2e-8),
				Interval:   &figures.Bounds{-9e-8, 5e-8},
				Confidence: .95, Relative: new(-.002), PValue: new(1.), Verdict: figures.NoDifference,
				Detectable: new(1.3e-7),
				Blocks:     10, BlocksNeeded: new(140),
				Dependence: &figures.Dependence{PValue: .012, Correlation: .41, Counted: 6}},
			{Arm: "vxlan", Baseline: "l2", Workload: "bulk", Quantity: goodput, Verdict: figures.NotComparable,
				Reason: "definition: rate against \x1b[31mnone", Confidence: .95},
		}, Layers: []figures.Layer{
			{Layer: "router", Workload: "rr-1k", Quantity: rtt, Cost: 1.5e-6, Mean: 1.62e-6,
				Interval: &figures.Bounds{1.4e-6, 1.6e-6},
				Arm:      "routed", PValue: new(.0039), Verdict: figures.Higher, Additive: new(false),
				Adds: []figures.Contribution{{Arm: "vxlan", Count: 1, Adds: 1.5e-6}}},
			{Layer: "vtep", Workload: "rr-1k", Quantity: rtt, Cost: 2.3e-6, Mean: 2.3e-6,
				Interval: &figures.Bounds{2.2e-6, 2.4e-6},
				PValue:   new(1e-5), Verdict: figures.Higher, Additive: new(false),
				Adds: []figures.Contribution{{Arm: "vxlan", Count: 2, Adds: 4.6e-6}}},
		}, Residual: []figures.Residual{{Workload: "rr-1k", Quantity: rtt, Arm: "vxlan", Whole: 6.21e-6, Parts: 6.1e-6,
			Value: .11e-6, Interval: &figures.Bounds{-.1e-6, .3e-6},
			Additive: new(false)}}, Additivity: []figures.Additivity{{
			Workload: "rr-1k", Quantity: rtt, PValue: .0117, Blocks: 10,
			Fit: "beyond", Margin: .05, Whole: new(6.21e-6), Within: new(2.9e-6), WithinRelative: new(.467),
			AtLeast: new(1.1e-6),
			Text:    "the layers do not add up: one of routed, vxlan lies 34 % (2.1 us) from the sum of its layers",
			Arms:    []figures.Deviation{{Arm: "routed", By: -2.1e-6}, {Arm: "vxlan", By: 2.1e-6}}}}},
		Warnings: []answer.Warning{
			{Code: "failed-trials", Arm: "vxlan", Workload: "bulk", Message: "1 of 10 trials failed; the first: " +
				"=cmd|' /C calc'!A0 <script>alert(1)</script> \x1b]0;owned\x07\r\nsecond line"},
		},
	})
}

// withFindings adds the ranked findings to an answer, and the verdict.
func withFindings(a answer.Answer) answer.Answer {
	a.Conclude(nil, func(a answer.Answer) answer.Statement { return answer.Tell(a, nil) })
	return a
}

func TestGolden(t *testing.T) {
	for _, format := range Formats() {
		t.Run(format, func(t *testing.T) { golden(t, format, written(t, sample(), Options{Format: format})) })
	}
}

func TestHostileTextIsHarmless(t *testing.T) {
	for _, format := range []string{"terminal", "markdown", "csv"} {
		checkHarmless(t, format, written(t, sample(), Options{Format: format}))
	}
	for cell, want := range map[string]string{
		"=1+1": "'=1+1", "@x": "'@x", "-1.5": "-1.5", "+2": "+2", "-cmd": "'-cmd", "l2": "l2", "": "",
		"\t=1+1": "' =1+1", "  @x": "'  @x", "\r-cmd": "\\u000d-cmd", "a=b": "a=b", " ": " ",
	} {
		if got := inert(cell); got != want {
			t.Errorf("inert(%q) = %q, want %q", cell, got, want)
		}
	}
}

func TestJSONIsComplete(t *testing.T) {
	var got answer.Answer
	if err := json.Unmarshal([]byte(written(t, sample(), Options{Format: "json"})), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(sample(), got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// All rows of the CSV have the same number of cells, whatever their kind.
func TestCSVHasOneWidth(t *testing.T) {
	a := sample()
	a.Objectives = []answer.Objective{{
		Rule: "rr-1k rtt.p50 < 10us", Arm: "l2", Workload: "rr-1k", Quantity: a.Arms[0].Quantity,
		Estimate: new(8.31e-6), Interval: &figures.Bounds{8.25e-6, 8.4e-6}, Verdict: answer.Met,
	}}
	rows, err := csv.NewReader(strings.NewReader(written(t, a, Options{Format: "csv"}))).ReadAll() // an error if not
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+3+3+2+2+1+1 { // the test of additivity names two arms
		t.Errorf("%d rows", len(rows))
	}
}

func TestUnknownFormatNamesTheKnown(t *testing.T) {
	err := Write(&bytes.Buffer{}, sample(), Options{Format: "pdf"})
	if err == nil || !strings.Contains(err.Error(), "terminal, markdown, csv, json") {
		t.Errorf("got %v", err)
	}
}
