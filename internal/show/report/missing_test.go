package report

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
)

// unbounded is an answer with an interval without an upper bound, because 9 of an arm's 20 trials lack the figure, and
// with an interval that was extended to 0.
func unbounded() answer.Answer {
	a := overlay()
	f := &a.Arms[2]
	f.Interval, f.Unbounded, f.Trials, f.Missing = &figures.Bounds{7.4e-6, math.Inf(1)}, figures.UnboundedAbove, 20, 9
	c := &a.Comparisons[1]
	c.Interval, c.RelativeInterval, c.Unbounded = &figures.Bounds{-1.2e-6, math.Inf(1)},
		&figures.Bounds{-.07, math.Inf(1)}, figures.UnboundedAbove
	c.Missing, c.Verdict, c.Better = &[2]int{9, 0}, figures.NoDifference, ""
	a.Comparisons[0].Interval, a.Comparisons[0].Widened = &figures.Bounds{0, .21e-6}, true
	a.Comparisons[0].Difference = new(.1e-6)
	return a
}

func TestIntervalsWithoutABound(t *testing.T) {
	for _, width := range []int{60, 80, 120} {
		text := strings.Join(strings.Fields(written(t, unbounded(), Options{Width: width})), " ")
		for _, want := range []string{"[7.40, unbounded]", "20 (9 missing)", "[-1.20, unbounded]", "[+0.00, +0.210]*",
			"* extended to 0:"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns: no %q in\n%s", width, want, text)
			}
		}
		if strings.Contains(text, "Inf") {
			t.Errorf("%d columns: %s", width, text)
		}
	}
	if text := written(t, overlay(), Options{Width: 80}); strings.Contains(text, "extended to 0") {
		t.Errorf("nothing was extended:\n%s", text)
	}

	text := written(t, unbounded(), Options{Format: "json"})
	var read answer.Answer
	if err := json.Unmarshal([]byte(text), &read); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(unbounded(), read, cmp.Comparer(func(a, b float64) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	var raw struct{ Comparisons []map[string]any }
	if err := json.Unmarshal([]byte(text), &raw); err != nil {
		t.Fatal(err)
	}
	c := raw.Comparisons[1]
	if diff := cmp.Diff([]any{[]any{-1.2e-6, nil}, "above", []any{9., 0.}, false},
		[]any{c["interval"], c["unbounded"], c["missing"], c["widened"]}); diff != "" {
		t.Error(diff)
	}

	rows, err := csv.NewReader(strings.NewReader(written(t, unbounded(), Options{Format: "csv"}))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	cells := map[string]string{}
	for i, name := range rows[0] {
		cells[name] = rows[10][i]
	}
	if cells["arm"] != "routed" || cells["low"] != "-1.2e-06" || cells["high"] != "" || cells["unbounded"] != "above" ||
		cells["missing"] != "9" {
		t.Errorf("%v", cells)
	}
}

// The column for pooled percentiles is there only if a figure has one.
func TestPooledBesideTheMedian(t *testing.T) {
	a := overlay()
	if text := written(t, a, Options{Format: "markdown"}); strings.Contains(text, "pooled") {
		t.Errorf("nothing is pooled:\n%s", text)
	}
	a.Arms[0].Pooled = new(6.5e-6)
	text := written(t, a, Options{Format: "markdown"})
	for _, want := range []string{"| arm | median | 95 % interval | trials | pooled |",
		"| l2 | 5.90 | \\[5.81, 6.02\\] | 10 | 6.50 |", "| switched | 6.00 | \\[5.85, 6.11\\] | 10 | - |",
		`"Pooled" is the same percentile`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
