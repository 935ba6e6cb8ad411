//go:build linux

package page

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/contrast"
	"nearfar/internal/conclude/gate"
	"nearfar/internal/declare/result"
	"nearfar/internal/show/page/pagetest"
)

// leading makes a run in a lab, with objectives, whose answer begins with layers: no single arm differs from the
// baseline by one bridge or one router only, and the layers add up.
func leading(t *testing.T) (Data, answer.Answer) {
	t.Helper()
	dir := sample{arms: []string{"l2", "one", "two", "three"}, blocks: 12, rounds: 300, plain: true}.write(t)
	m := dir.Manifest()
	for i, bridges := range []int{1, 2, 2, 3} {
		m.Experiment.Arms[i].Layers = map[string]int{"bridge": bridges, "router": 2*i + 2 - bridges}
	}
	m.Experiment.Objectives = []string{"rr-1k rtt.p50 < 1ms", "rr-1k rtt.p50 < 1us"}
	trials, err := dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	a := answer.Make(answer.Input{Experiment: m.Experiment, Trials: trials, State: m.State, Seed: m.Seed,
		Hosts: m.Hosts})
	a.Objectives, err = gate.Judge(&contrast.Side{Kind: contrast.Run, Experiment: m.Experiment, State: m.State,
		Trials: trials})
	if err != nil {
		t.Fatal(err)
	}
	d, err := Collect(dir, a)
	if err != nil {
		t.Fatal(err)
	}
	return d, a
}

// The head describes the lab, the objectives stand before the findings, and the findings have the answer's order. Here
// layers come first, and choosing a layer's row shows its workload in the section of the layers.
func testVerdict(t *testing.T, b *pagetest.Tab) {
	d, a := leading(t)
	if len(a.Findings) == 0 || a.Findings[0].Kind != answer.OfLayer || !a.Findings[0].Differs() {
		t.Fatalf("no layer leads: %+v", a.Findings)
	}
	// Like the terminal, the page shows the caution on a figure and the pooled percentile.
	d.Answer.Findings[0].Caution = "its wire was late\x1b"
	pooled := 2 * d.Answer.Arms[0].Median
	d.Answer.Arms[0].Pooled = &pooled
	b.Show(t, written(t, d))

	if got := texts(t, b, ".lab p"); !slices.Equal(got, []string{a.Environment.String()}) {
		t.Errorf("the lab is %q, want %q", got, a.Environment)
	}
	limits := texts(t, b, ".lab details:not([open]) li")
	if !slices.Equal(limits, a.Environment.Limits) {
		t.Errorf("the limits are %q, want %q, folded", limits, a.Environment.Limits)
	}

	sections := pagetest.Eval[[]string](t, b,
		`[...document.querySelectorAll("main > section:not([hidden])")].map(s => s.id)`)
	begin := []string{"checks", "failures", "layers", "findings"} // one trial of the sample failed
	if !slices.Equal(sections[:4], begin) {
		t.Errorf("the sections are %v", sections)
	}
	failures := pagetest.Eval[[]string](t, b, `[...document.querySelectorAll("#failures tbody tr")]
		.map(r => r.cells[0].textContent + ": " + r.cells[2].textContent + " of " + r.cells[3].textContent)`)
	if len(failures) != 4 || !slices.Contains(failures, "one: 1 of 12") {
		t.Errorf("the failures are %q", failures)
	}
	var objectives []string
	for _, o := range a.Objectives {
		objectives = append(objectives, o.Verdict+" "+o.Arm)
	}
	got := pagetest.Eval[[]string](t, b, `[...document.querySelectorAll("#checks tbody tr")]
		.map(r => r.cells[0].textContent + " " + r.cells[2].textContent)`)
	if !slices.Equal(got, objectives) || !slices.Contains(got, "met l2") || !slices.Contains(got, "missed l2") {
		t.Errorf("the objectives are %q, want %q", got, objectives)
	}

	rows := findingRows(t, b)
	for i, r := range rows {
		f := a.Findings[i]
		name := f.Name
		if f.Kind == answer.OfLayer {
			name = "layer " + name
		}
		if r[0] != name || r[1] != f.Workload+", "+f.Quantity.Name() {
			t.Errorf("row %d is %q, want %s", i+1, r, f.Text)
		}
	}
	if last := rows[0][len(rows[0])-1]; !strings.HasSuffix(last, "Caution: its wire was late\u241b") {
		t.Errorf("the first finding is %q", last)
	}
	arms := b.Rows(t, "arms")
	want := result.ScaleOf(a.Arms[0].Unit, a.Arms[0].Median).Number(pooled)
	if arms[0][4] != want || arms[1][4] != "-" {
		t.Errorf("pooled is %q and %q, want %q and none", arms[0][4], arms[1][4], want)
	}

	// Choose another quantity first, so that choosing the row has an effect.
	b.Do(t, chromedp.KeyEvent("m"))
	if b.State(t).Quantity.Stat == a.Findings[0].Stat {
		t.Fatal("the quantity of the first finding is still chosen")
	}
	b.Do(t, chromedp.Click(chromedp.CSS("#findings tbody button")))
	if s := b.State(t); s.Workload != a.Findings[0].Workload || s.Quantity.Stat != a.Findings[0].Stat {
		t.Errorf("the row shows %s %v", s.Workload, s.Quantity)
	}
	top := pagetest.Eval[float64](t, b, `document.querySelector("#layers").getBoundingClientRect().top / innerHeight`)
	if top < 0 || top > 1 {
		t.Errorf("the layers are not visible: they begin at %.1f times the window's height", top)
	}
	b.NoMessages(t)
}

// Answers of older versions have no findings. The page then shows the comparisons as rows.
func testAnswerWithoutFindings(t *testing.T, b *pagetest.Tab) {
	d, a := collected(t, sample{arms: []string{"l2", "routed", "vxlan"}, blocks: 12, rounds: 300, plain: true}.write(t))
	d.Answer.Findings = nil
	var want []string
	for _, c := range a.Comparisons {
		if c.Verdict == figures.Higher || c.Verdict == figures.Lower {
			want = append(want, c.Arm)
		}
	}
	b.Show(t, written(t, d))
	var got []string
	for _, r := range findingRows(t, b) {
		got = append(got, r[0])
	}
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the rows are of %v, want %v", got, want)
	}
	if n := pagetest.Eval[int](t, b, `document.querySelectorAll(".lab").length`); n != 0 {
		t.Error("the page describes a lab, and the answer has none")
	}
	b.NoMessages(t)
}

// The page shows how many blocks find a given difference, and which verdicts depend on one block, as the terminal does.
func testBlocks(t *testing.T, b *pagetest.Tab) {
	d, _ := collected(t, sample{arms: []string{"l2", "routed", "vxlan"}, blocks: 12, rounds: 300, plain: true}.write(t))
	for i := range d.Answer.Comparisons {
		c := &d.Answer.Comparisons[i]
		if c.Stat != result.P50 {
			continue
		}
		c.Resolve = &figures.Resolution{Difference: 5e-7}
		if c.Arm == "routed" {
			c.OneBlock = &figures.OneBlock{BlocksMore: 2}
			blocks, more := 34, 22
			c.Resolve.Blocks, c.Resolve.BlocksNeeded = &blocks, &more
		}
	}
	d.Answer.Warnings = append(d.Answer.Warnings,
		answer.Warning{Code: "one-block-decides", Workload: "rr-1k",
			Message: "rtt p50: the difference of routed rests on one block"})
	b.Show(t, written(t, d))
	rows := pagetest.Eval[[][]string](t, b,
		`[...document.querySelectorAll("#blocks tbody tr")].map(r => [...r.cells].map(c => c.textContent))`)
	want := [][]string{{"routed", "0.500", "34", "22"}, {"vxlan", "0.500", "-", "-"}}
	if !slices.EqualFunc(rows, want, slices.Equal[[]string]) {
		t.Errorf("the blocks are %q, want %q", rows, want)
	}
	differences := b.Rows(t, "differences")
	if verdict := differences[0][6]; !strings.HasSuffix(verdict, "; rests on one block") {
		t.Errorf("the verdict of routed is %q", verdict)
	}
	if verdict := differences[1][6]; strings.Contains(verdict, "one block") {
		t.Errorf("the verdict of vxlan is %q", verdict)
	}
	warnings := texts(t, b, "#differences .warnings li")
	if len(warnings) == 0 || !strings.HasPrefix(warnings[len(warnings)-1], "one-block-decides (rr-1k): ") {
		t.Errorf("the warnings beside the differences are %q", warnings)
	}
	// Another quantity was not asked about.
	b.Do(t, chromedp.KeyEvent("m"))
	if !pagetest.Eval[bool](t, b, `document.querySelector("#blocks").hidden`) {
		t.Error("the section of blocks is shown for another quantity")
	}
	b.NoMessages(t)
}
