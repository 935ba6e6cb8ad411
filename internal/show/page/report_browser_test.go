//go:build linux

package page

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
	"nearfar/internal/show/page/pagetest"
)

// A report opened from disk makes no requests and writes nothing to the console. All charts and tables have the
// answer's figures.
func testReport(t *testing.T, b *pagetest.Tab) {
	s := small()
	d, a := collected(t, s.write(t))
	file := b.Show(t, written(t, d))

	if got := pagetest.Eval[string](t, b, `document.querySelector("h1").textContent`); got != a.Question {
		t.Errorf("the heading is %q, want the question", got)
	}
	if got := pagetest.Eval[string](t, b, `document.querySelector("#verdict").textContent`); got != a.Verdict {
		t.Errorf("the verdict is %q, want %q", got, a.Verdict)
	}
	t.Run("charts", func(t *testing.T) { checkCharts(t, b, d, a) })
	t.Run("tables", func(t *testing.T) { checkTables(t, b, a) })
	t.Run("every workload", func(t *testing.T) { checkWorkloads(t, b, a) })
	t.Run("keys", func(t *testing.T) { checkKeys(t, b, s) })
	t.Run("pointer", func(t *testing.T) { checkPointer(t, b) })
	t.Run("records", func(t *testing.T) { checkRecords(t, b) })
	t.Run("themes", func(t *testing.T) { checkThemes(t, b) })
	b.NoRequests(t, file)
}

// isEnd says whether an end of an interval is drawn where it is. An end without a bound, because trials failed, is null
// in JSON.
func isEnd(drawn *float64, bound float64) bool {
	if drawn == nil {
		return math.IsInf(bound, 0)
	}
	return *drawn == bound
}

// checkCharts compares the charts with the answer, for the first workload and quantity.
func checkCharts(t *testing.T, b *pagetest.Tab, d Data, a answer.Answer) {
	drawn := b.State(t)
	seen := map[string]bool{}
	for _, c := range drawn.Charts {
		seen[c.ID] = true
		points := 0
		for _, s := range c.Series {
			points += len(s.Points)
			for _, p := range s.Points {
				if math.IsNaN(p.At[0]) || math.IsNaN(p.At[1]) {
					t.Errorf("%s: a point of %s has no place", c.ID, s.Name)
				}
			}
		}
		if points == 0 {
			t.Errorf("%s is empty", c.ID)
		}
		switch c.ID {
		case "arms":
			for _, s := range c.Series {
				f := figureOf(t, a, s.Name, drawn.Workload, drawn.Quantity.Metric, drawn.Quantity.Stat)
				if p := s.Points[0]; p.X != f.Median || !isEnd(p.Low, f.Interval[0]) || !isEnd(p.High, f.Interval[1]) {
					t.Errorf("%s is drawn at %v, the answer is %+v", s.Name, p, f)
				}
			}
		case "differences":
			for _, s := range c.Series {
				i := slices.IndexFunc(a.Comparisons, func(k figures.Comparison) bool {
					return k.Arm == s.Name && k.Workload == drawn.Workload &&
						k.Metric == drawn.Quantity.Metric && k.Stat == drawn.Quantity.Stat
				})
				p, k := s.Points[0], a.Comparisons[i]
				if p.X != *k.Difference || !isEnd(p.Low, k.Interval[0]) || !isEnd(p.High, k.Interval[1]) {
					t.Errorf("%s is drawn at %v, the answer is %+v", s.Name, p, k)
				}
			}
		case "layers":
			// Each bar begins where the one before ends; the last ends at the whole.
			at := 0.
			for _, s := range c.Series[:len(c.Series)-1] {
				if p := s.Points[0]; math.Abs(*p.From-at) > 1e-12 {
					t.Errorf("%s begins at %g, the one before ended at %g", s.Name, *p.From, at)
				} else {
					at = p.X
				}
			}
			whole := c.Series[len(c.Series)-1].Points[0].X
			if r := a.Residual[0]; math.Abs(at-whole) > 1e-12 || whole != r.Whole {
				t.Errorf("the parts end at %g, the whole is %g, the answer's %g", at, whole, r.Whole)
			}
		case "trials":
			good := 0
			for _, s := range c.Series {
				good += len(s.Points)
			}
			if want := 4*8 - 1; good != want {
				t.Errorf("%d dots, want %d", good, want)
			}
		case "load":
			for _, s := range c.Series {
				for i, p := range s.Points {
					rate := d.Loads[0].Rates[i]
					f := figureOf(t, a, s.Name, d.Workloads[rate.Workload].Name, result.ResponseTime, "p50")
					if p.Y != f.Median || p.X != rate.Offered {
						t.Errorf("%s at %g is drawn at %g, the answer is %+v", s.Name, p.X, p.Y, f)
					}
				}
			}
		}
	}
	for _, id := range []string{
		"arms", "differences", "layers", "percentiles", "distribution", "trials", "within", "goodput", "load",
	} {
		if !seen[id] {
			t.Errorf("the chart %s is not drawn", id)
		}
	}
	// The drawn series are also in the picture: each is a group with a path.
	if n := pagetest.Eval[int](t, b, `[...document.querySelectorAll(".plot g.series")]
		.filter(g => (g.querySelector("path")?.getAttribute("d") ?? "").length < 4).length`); n != 0 {
		t.Errorf("%d series have no path", n)
	}
	checkPlaces(t, b, drawn)
}

// checkPlaces compares the picture of the arms with the values: the markers' places are proportional to them.
func checkPlaces(t *testing.T, b *pagetest.Tab, drawn pagetest.State) {
	t.Helper()
	middles := pagetest.Eval[[]float64](t, b, `[...document.querySelectorAll("#arms g.series path.marker")]
		.map(p => { const b = p.getBBox(); return b.x + b.width / 2; })`)
	arms := drawn.Charts[0]
	if arms.ID != "arms" || len(middles) != len(arms.Series) || len(middles) < 3 {
		t.Fatalf("%d markers of %d series in %s", len(middles), len(arms.Series), arms.ID)
	}
	value := func(i int) float64 { return arms.Series[i].Points[0].X }
	last := len(middles) - 1
	perUnit := (middles[last] - middles[0]) / (value(last) - value(0))
	if perUnit <= 0 {
		t.Errorf("larger values are not further right: %v", middles)
	}
	for i, x := range middles {
		if want := middles[0] + perUnit*(value(i)-value(0)); math.Abs(x-want) > 1.5 {
			t.Errorf("%s is drawn at %.1f, its value belongs at %.1f", arms.Series[i].Name, x, want)
		}
	}
}

func figureOf(t *testing.T, a answer.Answer, arm, workload, metric, stat string) figures.Figure {
	t.Helper()
	for _, f := range a.Arms {
		if f.Arm == arm && f.Workload == workload && f.Metric == metric && f.Stat == stat {
			return f
		}
	}
	t.Fatalf("no figure of %s %s %s %s", arm, workload, metric, stat)
	return figures.Figure{}
}

// checkTables compares the tables of arms and differences with the answer, digit by digit. For the other tables it
// checks the number of rows.
func checkTables(t *testing.T, b *pagetest.Tab, a answer.Answer) {
	q := figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
	var medians, differences []float64
	for _, f := range a.Arms {
		if f.Workload == "rr-1k" && f.Quantity == q {
			medians = append(medians, f.Median)
		}
	}
	for _, c := range a.Comparisons {
		if c.Workload == "rr-1k" && c.Quantity == q {
			differences = append(differences, *c.Difference)
		}
	}
	scale := result.ScaleOf(q.Unit, medians...)
	rows := b.Rows(t, "arms")
	n := 0
	for _, f := range a.Arms {
		if f.Workload != "rr-1k" || f.Quantity != q {
			continue
		}
		want := []string{scale.Number(f.Median), f.Interval.Text(scale.Number), fmt.Sprint(f.Trials)}
		if f.Failed > 0 {
			want[2] += fmt.Sprintf(" (%d failed)", f.Failed)
		}
		if row := rows[n]; !strings.HasPrefix(row[0], f.Arm) || !slices.Equal(row[1:], want) {
			t.Errorf("row %q, want %q", row, want)
		}
		n++
	}
	if n != len(rows) || n != 4 {
		t.Errorf("%d rows, %d figures", len(rows), n)
	}
	scale = result.ScaleOf(q.Unit, differences...)
	rows = b.Rows(t, "differences")
	n = 0
	for _, c := range a.Comparisons {
		if c.Workload != "rr-1k" || c.Quantity != q {
			continue
		}
		want := []string{scale.Signed(*c.Difference), c.Interval.Text(scale.Signed)}
		if row := rows[n]; row[0] != c.Arm || !slices.Equal(row[1:3], want) || row[8] != fmt.Sprint(c.Blocks) {
			t.Errorf("row %q, want %q", row, want)
		}
		n++
	}
	if n != len(rows) || n != 3 {
		t.Errorf("%d rows, %d comparisons", len(rows), n)
	}
	for section, want := range map[string]int{
		"percentiles": 4, "distribution": 4, "trials": 32, "within": 3, "goodput": 4, "load": 12, "layers": 4,
	} {
		if rows := b.Rows(t, section); len(rows) != want {
			t.Errorf("the table of %s has %d rows, want %d: %q", section, len(rows), want, rows)
		}
	}
}

// checkWorkloads chooses every workload and quantity in turn.
func checkWorkloads(t *testing.T, b *pagetest.Tab, a answer.Answer) {
	seen := map[string]bool{}
	for range 5 {
		for range 3 {
			s := b.State(t)
			seen[strings.TrimSpace(s.Workload+" "+s.Quantity.Metric+" "+s.Quantity.Stat)] = true
			for _, c := range s.Charts {
				if c.ID != "arms" {
					continue
				}
				for _, line := range c.Series {
					f := figureOf(t, a, line.Name, s.Workload, s.Quantity.Metric, s.Quantity.Stat)
					if x := line.Points[0].X; x != f.Median {
						t.Errorf("%s %s: drawn at %g, the answer is %g", s.Workload, line.Name, x, f.Median)
					}
				}
			}
			b.Do(t, chromedp.KeyEvent("m"))
		}
		b.Do(t, chromedp.KeyEvent("w"))
	}
	for _, f := range a.Arms {
		if name := f.Workload + " " + f.Name(); !seen[name] {
			t.Errorf("%s was never shown: %v", name, seen)
		}
	}
}
