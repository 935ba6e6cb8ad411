//go:build linux

package page

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"nearfar/internal/answer"
	"nearfar/internal/contrast"
	"nearfar/internal/gate"
	"nearfar/internal/page/pagetest"
	"nearfar/internal/result"
)

// leading is a run whose layers lead its answer, in a lab, with objectives: no arm alone has a bridge or a router more,
// and what they add adds up.
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
	a := answer.Make(answer.Input{Experiment: m.Experiment, Trials: trials, State: m.State, Seed: m.Seed, Hosts: m.Hosts})
	a.Objectives, err = gate.Judge(&contrast.Side{Kind: contrast.Run, Experiment: m.Experiment, State: m.State, Trials: trials})
	if err != nil {
		t.Fatal(err)
	}
	d, err := Collect(dir, a)
	if err != nil {
		t.Fatal(err)
	}
	return d, a
}

// The head says the ground, the objectives stand before the findings, and the rows follow the answer: layers lead, and
// the row of one shows the figures of its workload in the section of the layers.
func TestVerdictInABrowser(t *testing.T) {
	d, a := leading(t)
	if len(a.Findings) == 0 || a.Findings[0].Kind != answer.OfLayer || !a.Findings[0].Differs() {
		t.Fatalf("no layer leads: %+v", a.Findings)
	}
	// What the terminal says of a spoiled figure, and of all observations together, the page says too.
	d.Answer.Findings[0].Caution = "its wire was late\x1b"
	pooled := 2 * d.Answer.Arms[0].Median
	d.Answer.Arms[0].Pooled = &pooled
	b := pagetest.Open(t)
	b.Show(t, written(t, d))

	text := pagetest.Eval[string](t, b, `document.querySelector(".ground p").textContent`)
	if text != a.Environment.String() {
		t.Errorf("the ground is %q, want %q", text, a.Environment)
	}
	limits := pagetest.Eval[[]string](t, b, `[...document.querySelectorAll(".ground details:not([open]) li")].map(l => l.textContent)`)
	if !slices.Equal(limits, a.Environment.Limits) {
		t.Errorf("the limits are %q, want %q, folded", limits, a.Environment.Limits)
	}

	sections := pagetest.Eval[[]string](t, b, `[...document.querySelectorAll("main > section:not([hidden])")].map(s => s.id)`)
	if !slices.Equal(sections[:2], []string{"checks", "findings"}) {
		t.Errorf("the sections are %v", sections)
	}
	var objectives []string
	for _, o := range a.Objectives {
		objectives = append(objectives, o.Verdict+" "+o.Arm)
	}
	got := pagetest.Eval[[]string](t, b, `[...document.querySelectorAll("#checks tbody tr")].map(r => r.cells[0].textContent + " " + r.cells[2].textContent)`)
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
	if want := result.ScaleOf(a.Arms[0].Unit, a.Arms[0].Median).Number(pooled); arms[0][4] != want || arms[1][4] != "-" {
		t.Errorf("pooled is %q and %q, want %q and none", arms[0][4], arms[1][4], want)
	}

	// Another quantity is chosen first.
	b.Do(t, chromedp.KeyEvent("m"))
	if b.State(t).Quantity.Stat == a.Findings[0].Stat {
		t.Fatal("the quantity is still that of the first finding")
	}
	b.Do(t, chromedp.Click(chromedp.CSS("#findings tbody button")))
	if s := b.State(t); s.Workload != a.Findings[0].Workload || s.Quantity.Stat != a.Findings[0].Stat {
		t.Errorf("the row shows %s %v", s.Workload, s.Quantity)
	}
	if top := pagetest.Eval[float64](t, b, `document.querySelector("#layers").getBoundingClientRect().top / innerHeight`); top < 0 || top > 1 {
		t.Errorf("the layers are %.1f windows from the window's top", top)
	}
	b.Silent(t)
}

// An answer without findings, as older versions print it, has its comparisons as rows.
func TestAnswerWithoutFindingsInABrowser(t *testing.T) {
	d, a := collected(t, sample{arms: []string{"l2", "routed", "vxlan"}, blocks: 12, rounds: 300, plain: true}.write(t))
	d.Answer.Findings = nil
	var want []string
	for _, c := range a.Comparisons {
		if c.Verdict == answer.Higher || c.Verdict == answer.Lower {
			want = append(want, c.Arm)
		}
	}
	b := pagetest.Open(t)
	b.Show(t, written(t, d))
	var got []string
	for _, r := range findingRows(t, b) {
		got = append(got, r[0])
	}
	if len(want) == 0 || !slices.Equal(got, want) {
		t.Errorf("the rows are of %v, want %v", got, want)
	}
	if n := pagetest.Eval[int](t, b, `document.querySelectorAll(".ground").length`); n != 0 {
		t.Error("a ground is shown that the answer does not have")
	}
	b.Silent(t)
}
