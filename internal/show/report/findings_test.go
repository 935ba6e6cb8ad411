package report

import (
	"fmt"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// manyFindings is an answer with two arms and several workloads, in which every comparison shows a difference.
func manyFindings(workloads int, name string) answer.Answer {
	rtt := figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
	a := answer.Answer{Ran: answer.Ran{Baseline: "near"}}
	for i := range workloads {
		relative, workload := float64(workloads-i)/10, fmt.Sprintf("%s-rr-%d", name, i)
		a.Comparisons = append(a.Comparisons, figures.Comparison{
			Arm: name, Baseline: "near", Workload: workload, Quantity: rtt, Difference: new(relative * 1e-5),
			Interval: &figures.Bounds{relative * .9e-5, relative * 1.1e-5}, Confidence: .95, Relative: new(relative),
			RelativeInterval: &figures.Bounds{relative * .9, relative * 1.1}, Verdict: figures.Higher,
			Better: "baseline",
			PValue: new(1e-6), Blocks: 10,
		})
	}
	return withFindings(a)
}

func TestWhatDiffersMost(t *testing.T) {
	text := written(t, manyFindings(10, "far"), Options{Width: 80})
	for _, want := range []string{
		"  With far, the median round trip of far-rr-0 takes 10.0 us (9.0 to 11.0 us)\n    longer than with near, 2.0 times as long.",
		"6 more differences below.\n\nWhat differs most\n  in the order of the verdict, differences from near\n",
		"  far      far-rr-0 rtt p50  +10.00 us [+9.00, +11.00]    +100 %  worse\n",
		"  2 more differences below.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if n := strings.Count(strings.Split(text, "Differences from")[0], "  worse"); n != 8 {
		t.Errorf("%d rows, want 8:\n%s", n, text)
	}
	spoiled := manyFindings(3, "far")
	spoiled.Findings[0].Caution = "far includes the wire's lateness, 2.00 us"
	said := "\n  far in far-rr-0 rtt p50: far includes the wire's lateness, 2.00 us\n"
	if text := written(t, spoiled, Options{Width: 80}); !strings.Contains(text, said) {
		t.Errorf("no caution below the table:\n%s", text)
	}
	// There is no table if the verdict names all findings, or if one table of differences has all of them.
	for _, a := range []answer.Answer{manyFindings(2, "far"), twoSides()} {
		if text := written(t, a, Options{Width: 80}); strings.Contains(text, "What differs most") {
			t.Errorf("a table of two findings:\n%s", text)
		}
	}
	one := manyFindings(5, "far")
	for i := range one.Comparisons {
		one.Comparisons[i].Arm, one.Comparisons[i].Workload = fmt.Sprint("arm", i), "rr"
	}
	if text := written(t, withFindings(one), Options{}); strings.Contains(text, "What differs most") {
		t.Errorf("one table twice:\n%s", text)
	}
}

func TestFindingsFitTheTerminal(t *testing.T) {
	for _, width := range []int{60, 80, 120} {
		for _, length := range []int{3, 20, 60} {
			text := written(t, manyFindings(9, strings.Repeat("x", length)), Options{Width: width})
			table, _, _ := strings.Cut(text, "Differences from")
			for line := range strings.Lines(table) {
				if columns(strings.TrimRight(line, "\n")) > width {
					t.Errorf("%d columns, names of %d: %q", width, length, line)
				}
			}
			if n := strings.Count(table, "  worse"); n != 8 {
				t.Errorf("%d columns, names of %d: %d rows\n%s", width, length, n, table)
			}
		}
	}
}

func TestFindingsOfTwoSidesNameBothArms(t *testing.T) {
	a := manyFindings(4, "far")
	a.Baseline, a.Sources = "A", []answer.Source{{Side: "A"}, {Side: "B"}}
	text := written(t, a, Options{Format: "markdown"})
	for _, want := range []string{
		"in the order of the verdict, B less A:",
		"| far against near | far-rr-0 rtt p50 | +4.00 us | \\[+3.60, +4.40\\] | +40.0 % | worse |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
