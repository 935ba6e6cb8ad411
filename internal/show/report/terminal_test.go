package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// overlay is an answer of the usual size: eight arms with layers, among them one without a difference, one with too few
// blocks, and one that cannot be compared.
func overlay() answer.Answer {
	rtt := figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
	a := answer.Answer{
		Nearfar: "v1",
		Question: "How much round-trip time do routing, VXLAN, distributed routing and a distributed firewall add " +
			"between two VMs?",
		Ran: answer.Ran{Run: "runs/20261121T192200Z-overlay", State: "complete", Baseline: "l2", Blocks: 10, Trials: 80},
	}
	add := func(name string, median, low, high float64, c figures.Comparison) {
		a.Arms = append(a.Arms, figures.Figure{Arm: name, Workload: "rr-1k", Quantity: rtt, Median: median * 1e-6,
			Interval: &figures.Bounds{low * 1e-6, high * 1e-6}, Trials: 10})
		if name != "l2" {
			c.Arm, c.Baseline, c.Workload, c.Quantity, c.Confidence, c.Blocks = name, "l2", "rr-1k", rtt, .95, 10
			a.Comparisons = append(a.Comparisons, c)
		}
	}
	differs := func(difference, low, high, relative float64) figures.Comparison {
		return figures.Comparison{Difference: new(difference * 1e-6),
			Interval: &figures.Bounds{low * 1e-6, high * 1e-6},
			Relative: new(relative), PValue: new(.041), Verdict: figures.Higher, Better: "baseline",
			Detectable: new(.5e-6), BlocksNeeded: new(0)}
	}
	add("l2", 5.9, 5.81, 6.02, figures.Comparison{})
	none := differs(.1, -.07, .21, .017)
	none.Verdict, none.Better, none.PValue, none.BlocksNeeded = figures.NoDifference, "", new(1.), new(140)
	add("switched", 6, 5.85, 6.11, none)
	add("routed", 7.56, 7.4, 8.1, differs(1.66, 1.47, 2.13, .28))
	add("vxlan-flat", 9.15, 8.9, 9.3, differs(3.25, 2.82, 3.47, .537))
	add("vxlan", 10.8, 10.6, 11, differs(4.87, 4.61, 5.13, .823))
	faster := differs(-1.1, -1.3, -.9, -.19)
	faster.Verdict, faster.Better = figures.Lower, "arm"
	add("shortcut", 4.8, 4.7, 4.9, faster)
	add("few", 6, 5.9, 6.2, figures.Comparison{Difference: new(.2e-6), Relative: new(.03),
		Verdict: figures.FewBlocks,
		Reason:  "3 blocks are too few for a table of this size: it takes 4 more"})
	add("other", 6, 5.9, 6.2, figures.Comparison{Verdict: figures.NotComparable,
		Reason: "definition: smoothed-rtt against rtt"})
	for i, layer := range []string{"bridge", "router", "vtep"} {
		cost := []float64{.1, 1.5, 2.3}[i] * 1e-6
		verdict := []string{figures.NoDifference, figures.Higher, figures.Higher}[i]
		a.Layers = append(a.Layers, figures.Layer{Layer: layer, Workload: "rr-1k", Quantity: rtt, Cost: cost,
			Mean:     cost,
			Verdict:  verdict,
			Interval: &figures.Bounds{cost - .2e-6, cost + .2e-6},
			Adds:     []figures.Contribution{{Arm: "vxlan", Count: float64(i), Adds: float64(i) * cost}}})
	}
	a.Residual = []figures.Residual{{Workload: "rr-1k", Quantity: rtt, Arm: "vxlan", Whole: 4.87e-6, Parts: 4.7e-6,
		Value: .17e-6, Interval: &figures.Bounds{-.1e-6, .3e-6}}}
	a.Warnings = []answer.Warning{{Code: "drift", Workload: "rr-1k", Message: "the values rise over the run: " +
		"by 3.1 % from the first block to the last, which chance does in fewer than 1 of 100 runs"}}
	return withFindings(a)
}

func TestTerminalGolden(t *testing.T) {
	for _, o := range []Options{
		{Width: 40}, {Width: 60}, {Width: 80}, {Width: 120}, {Width: 60, Unicode: true}, {Width: 80, Unicode: true},
		{Width: 120, Unicode: true},
		{Width: 80, Unicode: true, Color: true},
	} {
		name := fmt.Sprintf("terminal-%d", o.Width)
		if o.Unicode {
			name += "-unicode"
		}
		if o.Color {
			name += "-color"
		}
		t.Run(name, func(t *testing.T) { golden(t, name, written(t, overlay(), o)) })
	}
}

func TestColorSaysNothingThatWordsDoNot(t *testing.T) {
	for _, unicode := range []bool{false, true} {
		colored := written(t, overlay(), Options{Unicode: unicode, Color: true})
		if got, want := ansi.Strip(colored), written(t, overlay(), Options{Unicode: unicode}); got != want {
			t.Errorf("the text of the report depends on colour:\n%s", cmp.Diff(want, got))
		}
		if !strings.Contains(colored, worse) || !strings.Contains(colored, better) {
			t.Error("nothing is coloured")
		}
	}
}

func TestASCIIWhereTheLocaleHasNoMore(t *testing.T) {
	for i, r := range written(t, overlay(), Options{Width: 60}) {
		if r > '~' {
			t.Fatalf("%q at %d", r, i)
		}
	}
}

// With names of any length, in terminals of any width, no line is wider than the terminal and no two arms have the same
// shortened name.
func TestLinesFitAndNamesStayDistinct(t *testing.T) {
	for width := tablesWidth; width <= 200; width += 7 {
		for _, length := range []int{1, 9, 17, 30, 64} {
			a := overlay()
			name := func(arm string) string { return strings.Repeat("x", max(0, length-len(arm))) + arm }
			for i := range a.Arms {
				a.Arms[i].Arm = name(a.Arms[i].Arm)
			}
			for i := range a.Comparisons {
				a.Comparisons[i].Arm = name(a.Comparisons[i].Arm)
			}
			a = withFindings(a)
			for _, unicode := range []bool{false, true} {
				text := written(t, a, Options{Width: width, Unicode: unicode})
				seen := map[string]bool{}
				inArms := false
				for line := range strings.Lines(text) {
					line = strings.TrimRight(line, "\n")
					if columns(line) > width {
						t.Fatalf("width %d, names of %d: %d columns: %s", width, length, columns(line), line)
					}
					switch fields := strings.Fields(line); {
					case strings.HasPrefix(line, "Arms:"):
						inArms = true
					case line == "":
						inArms = false
					case inArms && strings.HasPrefix(line, "  ") && len(fields) > 3 && fields[0] != "arm" &&
						fields[0] != "median," && fields[0] != "rr-1k,":
						if seen[fields[0]] {
							t.Fatalf("width %d: two arms are called %s", width, fields[0])
						}
						seen[fields[0]] = true
					}
				}
				if len(seen) != len(a.Arms) {
					t.Fatalf("width %d, names of %d: %d arms are shown of %d:\n%s", width, length, len(seen),
						len(a.Arms), text)
				}
			}
		}
	}
}

// In terminals that tables do not fit, no line is wider than the terminal, and every arm has its name and its figures:
// those of the two columns in which they stand in a wide terminal.
func TestNarrowTerminals(t *testing.T) {
	for width := leastWidth; width < tablesWidth; width++ {
		a := overlay()
		text := written(t, a, Options{Width: width})
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\n")
			if columns(line) > width && !strings.HasPrefix(line, "Run: ") {
				t.Fatalf("width %d: %d columns: %s", width, columns(line), line)
			}
		}
		all := strings.Join(strings.Fields(text), " ")
		for _, f := range a.Arms {
			if !strings.Contains(all, f.Arm+" ") {
				t.Errorf("width %d: no arm %s:\n%s", width, f.Arm, text)
			}
		}
		for _, c := range a.Comparisons {
			if c.Verdict != "" && !strings.Contains(all, "verdict") {
				t.Errorf("width %d: no verdicts:\n%s", width, text)
			}
		}
	}
}

func TestShortenKeepsNamesApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[ab]{1,20}`), 1, 20, rapid.ID).Draw(t, "names")
		most := rapid.IntRange(4, 24).Draw(t, "most")
		seen := map[string]string{}
		for i, short := range Shorten(names, most, "~") {
			if columns(short) > most {
				t.Fatalf("%q is longer than %d", short, most)
			}
			if other, ok := seen[short]; ok {
				t.Fatalf("%q and %q are both %q", other, names[i], short)
			}
			if len(names[i]) <= most && short != names[i] && !strings.Contains(short, "~") {
				t.Fatalf("%q became %q", names[i], short)
			}
			seen[short] = names[i]
		}
	})
}

func TestMarks(t *testing.T) {
	table := &table{zero: true, scale: func(v float64) string { return fmt.Sprint(v) }}
	interval := func(at, low, high float64) *mark { return &mark{at: at, interval: &figures.Bounds{low, high}} }
	table.marks = []*mark{interval(6, 4, 8), interval(0.5, -2, 2), interval(-2, -2, 0), {at: 3}, nil, interval(2, 2, 2),
		interval(4, 0, 8)}
	a := table.axis(11) // from -2 to 8, one column per unit
	for i, want := range []string{"  :   |-o-|", "|-+o|      ", "o-+        ", "  :  ?     ", "  :        ",
		"  : o      ", "  +---o---|"} {
		if got := a.draw(table.marks[i], screen{}); got != want {
			t.Errorf("mark %d is %q, want %q", i, got, want)
		}
	}
	for i, want := range []string{"  │   ├─●─┤", "├─┼●┤      ", "●─┼        ", "  │  ○     "} {
		if got := a.draw(table.marks[i], screen{unicode: true}); got != want {
			t.Errorf("mark %d is %q, want %q", i, got, want)
		}
	}
	if got, want := a.head(table.scale), "  0       8"; got != want { // no room for -2 beside zero
		t.Errorf("head %q, want %q", got, want)
	}
}

func TestAxisOfEqualAndHugeValues(t *testing.T) {
	for _, values := range [][]float64{{5}, {0}, {1e308, -1e308}, {5e-324, 0}} {
		for _, zero := range []bool{false, true} {
			table := &table{zero: zero, scale: func(v float64) string { return fmt.Sprint(v) }}
			for _, v := range values {
				table.marks = append(table.marks, &mark{at: v, interval: &figures.Bounds{v, v}})
			}
			a := table.axis(9)
			for _, m := range table.marks {
				if got := a.draw(m, screen{}); columns(got) != 9 || !strings.Contains(got, "o") {
					t.Errorf("%v: %q", values, got)
				}
			}
			if got := a.head(table.scale); columns(got) != 9 {
				t.Errorf("%v: head %q", values, got)
			}
		}
	}
}

func TestALongLineDoesNotFloodTheTerminal(t *testing.T) {
	a := overlay()
	a.Warnings[0].Message = "\x1b[2J<script>" + strings.Repeat("A", 10<<20)
	text := written(t, a, Options{Width: 80})
	if len(text) > 20_000 {
		t.Errorf("%d bytes", len(text))
	}
	if strings.Contains(text, "\x1b") {
		t.Error("an escape sequence got through")
	}
}
