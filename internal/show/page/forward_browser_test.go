//go:build linux

package page

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/show/page/pagetest"
)

// testForwarded opens the pages that people send to each other: the headline has a figure, and the page fits a phone
// and paper.
func testForwarded(t *testing.T, b *pagetest.Tab) {
	layers, _ := leading(t)
	if layers.Lead == nil || *layers.Lead != 0 {
		t.Fatalf("the headline does not tell the first finding: %v", layers.Lead)
	}
	arms, _ := collected(t, sample{arms: []string{"l2", "routed", "vxlan"}, blocks: 12, rounds: 300}.write(t))
	alone, _ := collected(t, sample{arms: []string{"only"}, blocks: 3, rounds: 300, plain: true}.write(t))
	proved, _ := collected(t, proofSample().write(t))
	prove(&proved.Answer, nil)
	if figureOfLead(layers) == "" || figureOfLead(arms) == "" || figureOfLead(proved) != "" {
		t.Fatalf("the samples lead with %q, %q and %q", figureOfLead(layers), figureOfLead(arms), figureOfLead(proved))
	}
	// Few blocks: no difference is sure, so there is no figure to lead with.
	unsure, _ := collected(t, sample{arms: []string{"l2", "routed"}, blocks: 3, rounds: 300, plain: true}.write(t))
	for _, c := range []struct {
		name, figure string
		data         Data
	}{
		{"layers", figureOfLead(layers), layers},
		{"arms", figureOfLead(arms), arms},
		{"one arm", result.Amount(alone.Answer.Arms[0].Median, alone.Answer.Arms[0].Unit), alone},
		{"proof", figureOfLead(proved), proved},
		{"unsure", "", unsure},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.Show(t, written(t, c.data))
			if got := strings.Join(texts(t, b, "#figure strong"), " "); got != c.figure {
				t.Errorf("the figure of the headline is %q, want %q", got, c.figure)
			}
			if got := texts(t, b, "#verdict > .verdict"); !slices.Equal(got, []string{c.data.Answer.Headline}) {
				t.Errorf("the headline is %q, want %q", got, c.data.Answer.Headline)
			}
			checkPhone(t, b)
			checkPaper(t, b)
		})
	}
	b.NoMessages(t)
}

// figureOfLead writes the difference of the finding that the headline tells, if it is sure of it.
func figureOfLead(d Data) string {
	f := d.Answer.Findings[*d.Lead]
	if !f.Claimable() {
		return ""
	}
	scale := result.ScaleOf(f.Unit, *f.Difference)
	return scale.With(scale.Signed(*f.Difference))
}

// checkPhone: on a phone the page is not wider than the window, and every table of findings is a list of cards: nothing
// in them is cut off, and every value has its title.
func checkPhone(t *testing.T, b *pagetest.Tab) {
	t.Helper()
	if over := overflow(t, b, 390); over > 0 {
		t.Errorf("the page is %g pixels wider than the window", over)
	}
	cut := pagetest.Eval[[]string](t, b, `[...document.querySelectorAll("main .cards, main .cards tr, main .cards td")]
		.filter(e => e.getBoundingClientRect().right > innerWidth || e.scrollWidth > e.clientWidth + 1)
		.map(e => e.textContent.slice(0, 80))`)
	if len(cut) > 0 {
		t.Errorf("these are cut off: %q", cut)
	}
	bare := pagetest.Eval[[]string](t, b, `[...document.querySelectorAll("main .cards td:not(:empty)")]
		.filter(e => !e.hasAttribute("data-title")).map(e => e.textContent)`)
	if len(bare) > 0 {
		t.Errorf("these values have no title: %q", bare)
	}
	if n := pagetest.Eval[int](t, b, `document.querySelectorAll("main .cards").length`); n == 0 {
		t.Error("the page has no cards")
	}
	overflow(t, b, 1280)
}

// checkPaper: in print no row is split, and no table that fits on a page.
func checkPaper(t *testing.T, b *pagetest.Tab) {
	t.Helper()
	media := func(media string) {
		params := emulation.SetEmulatedMediaParams{Media: media}
		if _, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, params); err != nil {
			t.Fatal(err)
		}
	}
	media("print")
	defer media("")
	split := pagetest.Eval[[]string](t, b, `[...document.querySelectorAll("main tr, main .scroll")]
		.filter(e => getComputedStyle(e).breakInside !== "avoid" && e.querySelectorAll("tbody tr").length <= 30)
		.map(e => e.textContent.slice(0, 80))`)
	if len(split) > 0 {
		t.Errorf("these may be split between pages: %q", split)
	}
	hidden := pagetest.Eval[int](t, b, `[...document.querySelectorAll("main .scroll")]
		.filter(e => getComputedStyle(e).overflow !== "visible").length`)
	if hidden > 0 {
		t.Errorf("%d tables are cut off on paper", hidden)
	}
}

// testLayersFirst: if the answer begins with a layer, the page begins with the picture of the layers of its workload.
func testLayersFirst(t *testing.T, b *pagetest.Tab) {
	first := func(d Data) string {
		b.Show(t, written(t, d))
		return pagetest.Eval[string](t, b, `[...document.querySelectorAll("main > section:not([hidden])")]
			.map(s => s.id).filter(id => id === "layers" || id === "findings")[0] ?? ""`)
	}
	d, a := leading(t)
	if got := first(d); got != "layers" {
		t.Errorf("%s comes first, and the answer begins with a layer", got)
	}
	lead := a.Findings[*d.Lead]
	if s := b.State(t); s.Workload != lead.Workload || s.Quantity.Stat != lead.Stat {
		t.Errorf("the page begins with %s %v, the answer with %s %s", s.Workload, s.Quantity, lead.Workload, lead.Name)
	}
	if n := len(texts(t, b, "#layers g.series .interval")); n == 0 {
		t.Error("the picture has no intervals")
	}
	*d.Lead = slices.IndexFunc(a.Findings, func(f answer.Finding) bool { return f.Kind == answer.OfArm })
	if got := first(d); got != "findings" {
		t.Errorf("%s comes first, and the answer begins with an arm", got)
	}
	b.NoMessages(t)
}

// drawnToWidth says that the charts have the width of their place.
const drawnToWidth = `[...document.querySelectorAll("main > section:not([hidden]) .plot")].every(p =>
	p.querySelector("svg").viewBox.baseVal.width === Math.max(280, Math.round(p.clientWidth)))`

// testTips: the tip of every point is inside of the window, on a wide and on a narrow one.
func testTips(t *testing.T, b *pagetest.Tab) {
	d, _ := collected(t, small().write(t))
	b.Show(t, written(t, d))
	for _, width := range []int64{1280, 390} {
		overflow(t, b, width)
		b.Until(t, drawnToWidth)
		for _, chart := range []string{"arms", "differences", "percentiles", "trials"} {
			b.Do(t, chromedp.Focus(chromedp.CSS("#"+chart+" .plot")))
			for range 12 {
				b.Do(t, chromedp.KeyEvent(kb.ArrowRight))
				out := pagetest.Eval[[]float64](t, b, fmt.Sprintf(`(() => {
					const r = document.querySelector("#%s .tip:not([hidden])").getBoundingClientRect();
					const w = document.documentElement.clientWidth;
					return [r.left, r.top, w - r.right, innerHeight - r.bottom].filter(v => v < 0);
				})()`, chart))
				if len(out) > 0 {
					t.Fatalf("in a window of %d pixels a tip of %s is outside by %v", width, chart, out)
				}
			}
		}
	}
	overflow(t, b, 1280)
}

// testPlaces: where client and server were is folded if all arms were on machines that are alike.
func testPlaces(t *testing.T, b *pagetest.Tab) {
	d, _ := collected(t, proofSample().write(t))
	prove(&d.Answer, nil)
	shown := func() bool {
		b.Show(t, written(t, d))
		return pagetest.Eval[bool](t, b, `document.querySelector("#places table") !== null`)
	}
	if !shown() {
		t.Error("the machines differ, and the table of places is folded")
	}
	for i := range d.Answer.Places {
		p := &d.Answer.Places[i]
		p.Client = []check.Place{d.Answer.Places[0].Client[0]}
		p.Server = []check.Place{d.Answer.Places[0].Server[0]}
		p.Server[0].Host = fmt.Sprintf("vm-%d", i) // a name is no difference
	}
	if shown() {
		t.Error("the machines are alike, and the table of places is not folded")
	}
	b.Do(t, chromedp.Click(chromedp.CSS("#places summary")))
	b.Until(t, `document.querySelectorAll("#places tbody tr").length === 6`)
}

// testProgress: the live page says how many trials have ended, and how long the rest will take.
func testProgress(t *testing.T, b *pagetest.Tab) {
	d, _ := collected(t, sample{arms: []string{"l2", "routed"}, blocks: 3, rounds: 300, plain: true}.write(t))
	d.Answer.State, d.Planned = rundir.Running, 96
	page, err := Live()
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan event)
	at := serveLive(t, page, events, func() Data { return d })
	says := func(text string, value float64) {
		t.Helper()
		b.Until(t, fmt.Sprintf(`document.querySelector(".live").textContent === %q
			&& !document.querySelector("progress").hidden && document.querySelector("progress").position === %g`,
			text, value))
	}
	b.Do(t, chromedp.Navigate(at), chromedp.WaitReady(chromedp.CSS("html[data-shown]")))
	says(fmt.Sprintf("live: %d of 96 trials so far", d.Answer.Trials), float64(d.Answer.Trials)/96)
	select {
	case events <- event{"trial", `{"done":24,"total":96,"left_seconds":200,"state":"running"}`}:
	case <-b.Ctx.Done():
		t.Fatal("the page does not listen to the events")
	}
	says("live: 24 of 96 trials so far, about 3 min left", 0.25)
}
