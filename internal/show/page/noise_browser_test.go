//go:build linux

package page

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
	"nearfar/internal/show/page/pagetest"
)

// rows are the texts of the cells of the tables below a selector, row by row.
func rows(t *testing.T, b *pagetest.Tab, selector string) (all []string) {
	t.Helper()
	for _, cells := range pagetest.Eval[[][]string](t, b, `[...document.querySelectorAll("`+selector+
		` tbody tr")].map(r => [...r.cells].map(c => c.textContent))`) {
		all = append(all, strings.Join(cells, "|"))
	}
	return all
}

// heads are the texts of the head of the first table below a selector.
func heads(t *testing.T, b *pagetest.Tab, selector string) string {
	t.Helper()
	return strings.Join(texts(t, b, selector+" thead th"), "|")
}

// floor is the noise floor of a baseline: a latency of which all is known, and a goodput without short trials.
func floor() *answer.NoiseFloor {
	known := func(v float64) *float64 { return &v }
	counted := func(n int) *int { return &n }
	return &answer.NoiseFloor{
		Arm: "l2", Experiment: "sample", Comparisons: 2, Blocks: 12, Sound: true, Resolve: "5%",
		Recommended: &answer.Recommended{Reached: true, Blocks: 65,
			Text: "To find 5% four times in five, the cheapest plan is blocks: 65."},
		Figures: []answer.Floor{
			{Workload: "rr-1k", Quantity: figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds},
				Duration: 0.2, ShortDuration: known(0.05), Level: 15.42e-6, Pairs: 30, Between: known(1.7e-6),
				Within: known(1.2e-6), WithinShort: known(1.7e-6), Fixed: known(0.64),
				Detectable: []answer.DetectableAt{{Blocks: 5}, {Blocks: 12, Difference: known(3.6e-6),
					Relative: known(0.233), Interval: &figures.Bounds{2.5e-6, 5e-6}}},
				Resolve: &answer.FloorPlan{Difference: 7.71e-7, Blocks: counted(51), CheapestBlocks: counted(65),
					CheapestDuration: known(0.1)}},
			{Workload: "bulk", Quantity: figures.Quantity{Metric: result.Goodput, Unit: result.BitsPerSecond},
				Duration: 1, Level: 5.96e9, Pairs: 30,
				Detectable: []answer.DetectableAt{{Blocks: 5}, {Blocks: 12, Difference: known(2.59e9),
					Interval: &figures.Bounds{1e9, math.Inf(1)}}},
				Resolve: &answer.FloorPlan{Difference: 2.98e8}},
		},
	}
}

// The page of a baseline shows the noise floor in tables: the scatter, what numbers of blocks find, and the plans that
// find the wanted difference. A baseline that differs from itself says so in words.
func testNoiseFloor(t *testing.T, b *pagetest.Tab) {
	d, _ := collected(t, sample{arms: []string{"l2", "l2-again"}, blocks: 8, rounds: 300, plain: true}.write(t))
	d.Answer.NoiseFloor = floor()
	d.Answer.Warnings = append(d.Answer.Warnings, answer.Warning{Code: "short-trials-differ", Workload: "bulk",
		Message: "goodput is 7 % less in trials of 50ms"})
	b.Show(t, written(t, d))

	if got := texts(t, b, "#noise h2"); !slices.Equal(got, []string{"Noise of l2 on these hosts"}) {
		t.Errorf("the title is %q", got)
	}
	if sections := pagetest.Eval[[]string](t, b,
		`[...document.querySelectorAll("main > section:not([hidden])")].map(s => s.id)`); slices.Index(sections,
		"noise") > slices.Index(sections, "differences") {
		t.Errorf("the sections are %v, want the noise before the differences", sections)
	}
	for selector, want := range map[string][]string{
		"#scatter": {"Figure|Median|Trial|Blocks|Between|Within|Short|Fixed",
			"rr-1k, rtt p50|15.42 us|200ms|30|11 %1.70 us|7.8 %1.20 us|11 %1.70 us in 50ms|64 %",
			"bulk, goodput|5.96 Gbit/s|1s|30|-|-|-|-"},
		"#found": {"Figure|5 blocks|12 blocks", "rr-1k, rtt p50|none|23 %3.60 us",
			"bulk, goodput|none|2.59 Gbit/s[1.00, unbounded] Gbit/s"},
		"#plans": {"Figure|Difference|Blocks|Cheapest", "rr-1k, rtt p50|0.771 us|51|65 blocks of 100ms",
			"bulk, goodput|298.0 Mbit/s|-|no plan finds it"},
	} {
		if got := append([]string{heads(t, b, selector)}, rows(t, b, selector)...); !slices.Equal(got, want) {
			t.Errorf("%s is %q, want %q", selector, got, want)
		}
	}
	if got := texts(t, b, "#recommended"); len(got) != 1 || got[0] != d.Answer.NoiseFloor.Recommended.Text {
		t.Errorf("the recommendation is %q", got)
	}
	// The warning is of a workload that is not chosen: the tables have all workloads.
	if got := texts(t, b, "#noise .warnings li"); len(got) != 1 ||
		!strings.HasPrefix(got[0], "short-trials-differ (bulk): ") {
		t.Errorf("the warnings are %q", got)
	}
	// Each table can be reached by the keyboard, and has a caption and heads for its rows and columns.
	if n := pagetest.Eval[int](t, b,
		`document.querySelectorAll("#noise .scroll[tabindex='0'][role=region][aria-label] `+
			`table:has(caption):has(thead th[scope=col]):has(tbody th[scope=row])").length`); n != 3 {
		t.Errorf("%d tables are accessible, want 3", n)
	}
	b.Do(t, chromedp.EmulateViewport(390, 844))
	if wide := pagetest.Eval[int](t, b, `document.documentElement.scrollWidth`); wide > 390 {
		t.Errorf("the page is %d pixels wide on a screen of 390", wide)
	}
	b.NoMessages(t)

	n := d.Answer.NoiseFloor
	n.Sound, n.Differs = false, []answer.SelfDiffers{{Workload: "rr-1k", Quantity: n.Figures[0].Quantity,
		Difference: 1.2e-6, PValue: 0.0012}}
	n.Figures, n.Recommended = n.Figures[1:], nil
	b.Show(t, written(t, d))
	if got := texts(t, b, "#noise .unproved"); len(got) != 1 || !strings.HasPrefix(got[0], "l2 differs from itself.") {
		t.Errorf("an arm that differs from itself: %q", got)
	}
	if got := rows(t, b, "#noise > .scroll"); !slices.Equal(got, []string{"rr-1k, rtt p50|+1.20 us|0.0012"}) {
		t.Errorf("the differences from itself are %q", got)
	}
	if got := heads(t, b, "#scatter"); got != "Figure|Median|Trial|Blocks|Between|Within" {
		t.Errorf("without short trials the columns are %q", got)
	}
}

// The page of a run that quotes a baseline shows what it quotes, as text. Other pages have neither section.
func testEarlierBaseline(t *testing.T, b *pagetest.Tab) {
	const evil = "<img src=x>\x1b"
	d, _ := collected(t, sample{arms: []string{"l2", "routed"}, blocks: 8, rounds: 300, plain: true}.write(t))
	b.Show(t, written(t, d))
	if !pagetest.Eval[bool](t, b, `["noise", "earlier"].every(id => document.getElementById(id).hidden)`) {
		t.Error("there is a section without a baseline")
	}
	overall, difference, share := 3e-6, 3.6e-6, 0.23
	d.Answer.Earlier = &answer.Earlier{
		Run: "runs/x-baseline" + evil, Started: time.Date(2026, 11, 23, 7, 54, 22, 0, time.UTC), Arm: "l2",
		Figures: []answer.EarlierFigure{
			{Workload: "rr-1k", Quantity: figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds},
				Pairs: 30, Level: 15e-6, Overall: &overall,
				DetectableAt: answer.DetectableAt{Blocks: 8, Difference: &difference, Relative: &share}},
			{Workload: "rr-1k", Quantity: figures.Quantity{Metric: result.RTT, Stat: result.P99, Unit: result.Seconds},
				Pairs: 30, Level: 80e-6, DetectableAt: answer.DetectableAt{Blocks: 8}},
		},
	}
	d.Answer.Warnings = append(d.Answer.Warnings, answer.Warning{Code: "noise-unlike-baseline", Arm: "l2",
		Message: "in rtt p50 the trials scatter 3.0 times as much"})
	b.Show(t, written(t, d))
	want := []string{"Figure|Finds|With blocks|Median then|Scatter then|Blocks then",
		"rr-1k, rtt p50|23 %3.60 us|8|15.00 us|20 %3.00 us|30", "rr-1k, rtt p99|none|8|80.00 us|-|30"}
	if got := append([]string{heads(t, b, "#earlier")}, rows(t, b, "#earlier")...); !slices.Equal(got, want) {
		t.Errorf("the quoted figures are %q, want %q", got, want)
	}
	lead := strings.Join(texts(t, b, "#earlier .lead"), "")
	if !strings.Contains(lead, "Measured on 2026-11-23 with l2 against itself (runs/x-baseline<img src=x>\u241b)") {
		t.Errorf("the quote is %q", lead)
	}
	if got := texts(t, b, "#earlier .unproved"); len(got) != 1 {
		t.Errorf("a baseline that was not sound: %q", got)
	}
	if got := texts(t, b, "#earlier .warnings li"); len(got) != 1 ||
		!strings.HasPrefix(got[0], "noise-unlike-baseline (l2): ") {
		t.Errorf("the warnings are %q", got)
	}
	b.NoMessages(t)
}
