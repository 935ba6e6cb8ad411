//go:build linux

package page

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nearfar/internal/show/page/pagetest"
)

// tip gives the text beside the current point of the chart of trials; empty if there is none.
const tip = `document.querySelector("#trials .tip:not([hidden])")?.textContent ?? ""`

// checkKeys presses the keys that the help lists.
func checkKeys(t *testing.T, b *pagetest.Tab, s sample) {
	// Back to the first workload and quantity.
	for b.State(t).Workload != "rr-1k" {
		b.Do(t, chromedp.KeyEvent("W"))
	}
	for b.State(t).Quantity.Stat != "p50" {
		b.Do(t, chromedp.KeyEvent("m"))
	}
	b.Do(t, chromedp.KeyEvent("2"))
	hidden := b.State(t)
	if !slices.Equal(hidden.Hidden, []string{s.arms[1]}) {
		t.Errorf("after 2 %v are hidden", hidden.Hidden)
	}
	for _, c := range hidden.Charts {
		for _, line := range c.Series {
			if line.Name == s.arms[1] {
				t.Errorf("%s still shows %s", c.ID, line.Name)
			}
		}
	}
	if rows := b.Rows(t, "arms"); len(rows) != 3 {
		t.Errorf("the table of arms has %d rows with one arm hidden", len(rows))
	}
	b.Do(t, chromedp.KeyEvent("0"))
	if got := b.State(t).Hidden; len(got) != 0 {
		t.Errorf("after 0 %v are hidden", got)
	}
	// The chip does the same as the key.
	b.Do(t, chromedp.Click(chromedp.CSS(`.chip[data-arm="vxlan"]`)))
	if got := b.State(t).Hidden; !slices.Equal(got, []string{"vxlan"}) {
		t.Errorf("after a press %v are hidden", got)
	}
	b.Do(t, chromedp.KeyEvent("3"))

	// On a chart: the arrows show points, + zooms, Escape zooms out.
	b.Do(t, chromedp.Focus(chromedp.CSS("#trials .plot")),
		chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	if text := pagetest.Eval[string](t, b, tip); !strings.Contains(text, "l2") || !strings.Contains(text, "block") {
		t.Errorf("the arrows show %q", text)
	}
	b.Do(t, chromedp.KeyEvent("+"))
	if !zoomed(t, b) {
		t.Error("+ does not zoom")
	}
	b.Do(t, chromedp.KeyEvent(kb.Escape))
	if zoomed(t, b) {
		t.Error("Escape does not zoom out")
	}
	b.Do(t, chromedp.KeyEvent("?"))
	if !pagetest.Eval[bool](t, b, `document.querySelector("dialog.help").open`) {
		t.Error("? shows no help")
	}
	b.Do(t, chromedp.KeyEvent(kb.Escape))
}

// zoomed says whether the chart of trials shows only a part.
func zoomed(t *testing.T, b *pagetest.Tab) bool {
	t.Helper()
	for _, c := range b.State(t).Charts {
		if c.ID == "trials" {
			return c.Zoomed
		}
	}
	t.Fatal("there is no chart of trials")
	return false
}

// checkPointer points at a trial, zooms in by dragging, and zooms out again.
func checkPointer(t *testing.T, b *pagetest.Tab) {
	type place struct{ Left, Top, Width, Height float64 }
	at := pagetest.Eval[place](t, b, `(() => {
		const p = document.querySelector("#trials .plot");
		p.scrollIntoView({ block: "center", behavior: "instant" });
		const r = p.getBoundingClientRect();
		return { left: r.left, top: r.top, width: r.width, height: r.height };
	})()`)
	var dot [2]float64
	for _, c := range b.State(t).Charts {
		if c.ID == "trials" {
			dot = c.Series[2].Points[4].At
		}
	}
	x, y := at.Left+dot[0], at.Top+dot[1]
	b.Do(t, chromedp.MouseEvent("mouseMoved", x+2, y-2))
	if text := pagetest.Eval[string](t, b, tip); !strings.Contains(text, "vxlan") || !strings.Contains(text, "block5") {
		t.Errorf("over a dot of vxlan in block 5 the page shows %q", text)
	}
	from, to, height := at.Left+0.3*at.Width, at.Left+0.7*at.Width, at.Top+0.5*at.Height
	b.Do(t,
		chromedp.MouseEvent("mouseMoved", from, height),
		chromedp.MouseEvent("mousePressed", from, height, chromedp.ButtonLeft, chromedp.ClickCount(1)),
		chromedp.MouseEvent("mouseMoved", (from+to)/2, height, chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseMoved", to, height, chromedp.ButtonLeft),
		chromedp.MouseEvent("mouseReleased", to, height, chromedp.ButtonLeft, chromedp.ClickCount(1)))
	if !zoomed(t, b) {
		t.Error("a drag does not zoom")
	}
	if t.Failed() {
		return // without zoom there is no button
	}
	b.Do(t, chromedp.Click(chromedp.CSS("#trials .zoom-out")))
	if zoomed(t, b) {
		t.Error("the button does not zoom out")
	}
}

// checkRecords chooses a dot with the keyboard and reads the trial's record and outputs.
func checkRecords(t *testing.T, b *pagetest.Tab) {
	b.Do(t, chromedp.MouseEvent("mouseMoved", 1, 1), // over the chart, the pointer would choose a dot
		chromedp.Focus(chromedp.CSS("#trials .plot")), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady(chromedp.CSS("#records details.record[open] pre.output")))
	text := pagetest.Eval[string](t, b, `document.querySelector("#records details.record[open]").textContent`)
	for _, want := range []string{`{"type":"start"`, "tcp_mss", "client --to l2", "characters: see the .hdr file"} {
		if !strings.Contains(text, want) {
			t.Errorf("the record lacks %s", want)
		}
	}
}

// checkThemes switches between light and dark, by the system's preference and by the button.
func checkThemes(t *testing.T, b *pagetest.Tab) {
	background := func(scheme string) string {
		b.Scheme(t, scheme)
		return pagetest.Eval[string](t, b, `getComputedStyle(document.body).backgroundColor`)
	}
	light, dark := background("light"), background("dark")
	if light == dark {
		t.Errorf("light and dark have the same background, %s", light)
	}
	b.Do(t, chromedp.KeyEvent("t")) // light, whatever the system prefers
	if got := background("dark"); got != light {
		t.Errorf("the button's light theme has %s, want %s", got, light)
	}
	b.Do(t, chromedp.KeyEvent("t"))
	if got := background("light"); got != dark {
		t.Errorf("the button's dark theme has %s, want %s", got, dark)
	}
	b.Do(t, chromedp.KeyEvent("t"))
}
