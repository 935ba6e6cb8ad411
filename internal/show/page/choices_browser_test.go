//go:build linux

package page

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/gate"
	"nearfar/internal/show/page/pagetest"
)

// testChoices uses a report from disk as a reader does: it chooses, folds, saves and prints.
func testChoices(t *testing.T, b *pagetest.Tab) {
	s := small()
	s.blocks = 12
	d, a := collected(t, s.write(t))
	d.Arms[1].Set = []string{"congestion bbr"}
	file := b.Show(t, written(t, d))
	t.Run("findings", func(t *testing.T) { checkFindings(t, b, a) })
	t.Run("paths", func(t *testing.T) { checkPaths(t, b, s) })
	t.Run("commands", func(t *testing.T) { checkCommands(t, b, s) })
	t.Run("bands", func(t *testing.T) { checkBands(t, b) })
	t.Run("downloads", func(t *testing.T) { checkDownloads(t, b, a) })
	t.Run("narrow", func(t *testing.T) { checkNarrow(t, b) })
	t.Run("print", func(t *testing.T) { checkPrint(t, b) })
	t.Run("address", func(t *testing.T) { checkAddress(t, b, file) })
	b.NoMessages(t)
}

// checkFindings: the rows are the answer's sure findings in their order; the others are folded and counted.
func checkFindings(t *testing.T, b *pagetest.Tab, a answer.Answer) {
	var sure []answer.Finding
	for _, f := range a.Findings {
		if f.Differs() {
			sure = append(sure, f)
		}
	}
	rows := findingRows(t, b)
	if len(sure) < 5 || len(rows) != min(len(sure), 12) {
		t.Fatalf("%d rows, %d sure findings: %q", len(rows), len(sure), rows)
	}
	for i, r := range rows {
		f := sure[i]
		want := figures.WithInterval(figures.Comparison{
			Quantity: f.Quantity, Difference: f.Difference, Interval: f.Interval,
		})
		if r[0] != f.Name || r[1] != f.Workload+", "+f.Quantity.Name() || r[2]+" "+r[3] != want ||
			!strings.HasPrefix(r[6], f.Verdict) {
			t.Errorf("row %d is %q, want %s: %s", i+1, r, f.Text, want)
		}
	}
	got := pagetest.Eval[string](t, b, `document.querySelector("#findings summary").textContent`)
	failures := 0 // are in a section of their own
	for _, f := range a.Findings {
		if f.Kind == answer.OfFailures {
			failures++
		}
	}
	if want := fmt.Sprintf("All others: %d (", len(a.Findings)-failures-len(rows)); !strings.HasPrefix(got, want) {
		t.Errorf("the summary is %q, want %q", got, want)
	}
}

// findingRows gives the rows of the findings that are not folded.
func findingRows(t *testing.T, b *pagetest.Tab) [][]string {
	t.Helper()
	return pagetest.Eval[[][]string](t, b, `[...document.querySelectorAll("#findings > .scroll tbody tr")]
		.map(r => [...r.cells].map(c => c.textContent))`)
}

// checkPaths: each arm's path is drawn, elements that the baseline does not have are marked, and settings are shown.
func checkPaths(t *testing.T, b *pagetest.Tab, s sample) {
	labels := pagetest.Eval[[]string](t, b,
		`[...document.querySelectorAll("#paths svg.path")].map(p => p.getAttribute("aria-label"))`)
	if len(labels) != len(s.arms) {
		t.Fatalf("%d paths are drawn: %q", len(labels), labels)
	}
	want := "client; bridge; router, not in the baseline; router, not in the baseline; " +
		"firewall (100 rules), not in the baseline; server"
	if labels[2] != want {
		t.Errorf("the path of %s is %q, want %q", s.arms[2], labels[2], want)
	}
	got := texts(t, b, "#paths .setting")
	if !slices.Equal(got, []string{"congestion bbr"}) {
		t.Errorf("the settings are %q", got)
	}
}

// testHostsOfArms: arms whose hosts the file names show them. nearfar knows no path between them, and draws none.
func testHostsOfArms(t *testing.T, b *pagetest.Tab) {
	d, _ := collected(t, small().write(t))
	for i := range d.Arms {
		d.Arms[i].Elements, d.Arms[i].Path = []Element{}, fmt.Sprintf("vm-%d <a> to vm-b", i)
	}
	b.Show(t, written(t, d))
	got := texts(t, b, "#paths .hosts")
	if want := []string{"vm-0 <a> to vm-b", "vm-1 <a> to vm-b", "vm-2 <a> to vm-b", "vm-3 <a> to vm-b"}; !slices.Equal(
		got, want) {
		t.Errorf("the arms' hosts are %q", got)
	}
	if lead := texts(t, b, "#paths .lead"); len(lead) != 1 || strings.Contains(lead[0], "Filled") ||
		len(texts(t, b, "#paths svg.path")) != 0 {
		t.Errorf("there are no paths, and the page says %q", lead)
	}
	b.NoMessages(t)
}

// texts gives the text of each element that matches a selector.
func texts(t *testing.T, b *pagetest.Tab, selector string) []string {
	t.Helper()
	return pagetest.Eval[[]string](t, b,
		fmt.Sprintf(`[...document.querySelectorAll(%q)].map(e => e.textContent)`, selector))
}

// checkCommands: the command lines are folded, each is written once, and the differences are marked.
func checkCommands(t *testing.T, b *pagetest.Tab, s sample) {
	if pagetest.Eval[bool](t, b, `document.querySelector("#commands details").open`) {
		t.Error("the command lines are not folded")
	}
	lines, values := texts(t, b, "#commands pre"), texts(t, b, "#commands tbody td")
	marks := pagetest.Eval[int](t, b, `document.querySelectorAll("#commands pre mark").length`)
	want := []string{"server --listen ‹1›", "client --to ‹1› --workload rr-1k"}
	if !slices.Equal(lines, want) || marks != 2 || !slices.Equal(values, s.arms) {
		t.Errorf("%d marks in %q, with %q", marks, lines, values)
	}
}

// checkBands: a chart of several lines shows the band of a line only while it is pointed at. Each line has its name at
// its end.
func checkBands(t *testing.T, b *pagetest.Tab) {
	visible := `[...document.querySelectorAll("#percentiles .band")]
		.filter(e => Number(getComputedStyle(e).fillOpacity) > 0).length`
	if n := pagetest.Eval[int](t, b, visible); n != 0 {
		t.Errorf("%d bands are visible before a line is pointed at", n)
	}
	b.Do(t, chromedp.Focus(chromedp.CSS("#percentiles .plot")), chromedp.KeyEvent(kb.ArrowRight))
	if n := pagetest.Eval[int](t, b, visible); n != 1 {
		t.Errorf("%d bands are visible while one line is pointed at", n)
	}
	pagetest.Eval[int](t, b, `document.activeElement.blur() ?? 0`)
	if names := texts(t, b, "#percentiles g.label text"); len(names) != 4 {
		t.Errorf("the lines' names are %q", names)
	}
	colours := pagetest.Eval[[]string](t, b,
		`[...document.querySelectorAll("#trials g.series .marker")].map(m => getComputedStyle(m).stroke)`)
	if slices.Sort(colours); len(slices.Compact(colours)) != 4 {
		t.Errorf("the colours are %q", colours)
	}
}

// checkDownloads saves a chart as SVG and as CSV, from disk.
func checkDownloads(t *testing.T, b *pagetest.Tab, a answer.Answer) {
	folder := t.TempDir()
	if _, err := chromedp.Call(b.Ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder,
		BrowserContextID: chromedp.FromContext(b.Ctx).BrowserContextID,
	}); err != nil {
		t.Fatal(err)
	}
	saved := func(kind string) string {
		t.Helper()
		button := fmt.Sprintf(`#differences .download[data-kind="%s"]`, kind)
		pagetest.Eval[int](t, b, fmt.Sprintf(`document.querySelector(%q).click() ?? 0`, button))
		name := filepath.Join(folder, "sample-differences."+kind)
		for {
			if data, err := os.ReadFile(name); err == nil && len(data) > 0 {
				return string(data)
			}
			select {
			case <-b.Ctx.Done():
				t.Fatalf("%s was not saved", name)
			case <-time.After(10 * time.Millisecond):
			}
		}
	}
	table := saved("csv")
	lines := strings.Split(strings.TrimSpace(table), "\r\n")
	head := "series,difference in rtt p50 (s),arm,low of difference in rtt p50 (s),high of difference in rtt p50 (s)"
	if len(lines) != 4 || lines[0] != head {
		t.Fatalf("the table is %q", lines)
	}
	c := a.Comparisons[0]
	number := func(v float64) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Replace(string(text), "e-0", "e-", 1)
	}
	cells := []string{c.Arm, number(*c.Difference), c.Arm, number(c.Interval[0]), number(c.Interval[1])}
	if want := strings.Join(cells, ","); lines[1] != want {
		t.Errorf("the first line is %q, want %q", lines[1], want)
	}
	picture := saved("svg")
	for _, want := range []string{
		`xmlns="http://www.w3.org/2000/svg"`, "<title>Differences from l2", "routed", `stroke="rgb(0, 114, 178)"`,
		"font-family=",
	} {
		if !strings.Contains(picture, want) {
			t.Errorf("the picture lacks %s", want)
		}
	}
	if strings.Contains(picture, "var(") || strings.Contains(picture, "class=\"series") {
		t.Error("the picture depends on a style sheet, and the file has none")
	}
}

// overflow makes the window so many pixels wide, and gives by how many pixels the page is wider.
func overflow(t *testing.T, b *pagetest.Tab, width int64) float64 {
	t.Helper()
	metrics := emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: 844, DeviceScaleFactor: 1, Mobile: width < 600,
	}
	if _, err := chromedp.Call(b.Ctx, emulation.SetDeviceMetricsOverride, metrics); err != nil {
		t.Fatal(err)
	}
	b.Until(t, fmt.Sprintf(`document.documentElement.clientWidth <= %d`, width))
	return pagetest.Eval[float64](t, b, `document.scrollingElement.scrollWidth - innerWidth`)
}

// checkNarrow: on a phone the page is not wider than the window, no arm's button is cut off, and the first column of a
// long table stays in place while the table scrolls.
func checkNarrow(t *testing.T, b *pagetest.Tab) {
	if over := overflow(t, b, 390); over > 0 {
		t.Errorf("the page is %g pixels wider than the window", over)
	}
	if n := pagetest.Eval[int](t, b, `[...document.querySelectorAll(".chip")]
		.filter(c => c.scrollWidth > c.clientWidth + 1).length`); n != 0 {
		t.Errorf("%d buttons of arms are cut off", n)
	}
	b.Rows(t, "percentiles")
	moved := pagetest.Eval[float64](t, b, `(() => {
		const box = document.querySelector("#percentiles .scroll");
		const head = box.querySelector("tbody th");
		const before = head.getBoundingClientRect().left;
		box.scrollLeft = 200;
		return box.scrollLeft === 0 ? 999 : Math.abs(head.getBoundingClientRect().left - before);
	})()`)
	if moved > 1 {
		t.Errorf("the first column moved by %g pixels", moved)
	}
	overflow(t, b, 1280)
}

// checkPrint: a printed page must not end with a heading. Sections without content have no heading in print, and every
// heading asks the browser to stay with what follows.
func checkPrint(t *testing.T, b *pagetest.Tab) {
	media := func(name string) {
		t.Helper()
		params := emulation.SetEmulatedMediaParams{Media: name}
		if _, err := chromedp.Call(b.Ctx, emulation.SetEmulatedMedia, params); err != nil {
			t.Fatal(err)
		}
	}
	media("print")
	bare := pagetest.Eval[[]string](t, b, `[...document.querySelectorAll("main > section:not([hidden])")]
		.filter(s => getComputedStyle(s).display !== "none")
		.filter(s => [...s.children].slice(1).every(c => c.matches(".lead")
			|| getComputedStyle(c).display === "none" || c.getBoundingClientRect().height === 0))
		.map(s => s.id)`)
	if len(bare) != 0 {
		t.Errorf("these sections print a heading and nothing below it: %v", bare)
	}
	loose := pagetest.Eval[[]string](t, b, `[...document.querySelectorAll("section > header, h1, h2, h3, .lead")]
		.filter(h => getComputedStyle(h).breakAfter !== "avoid").map(h => h.textContent)`)
	if len(loose) != 0 {
		t.Errorf("these headings may end a page: %q", loose)
	}
	if n := pagetest.Eval[int](t, b, `[...document.querySelectorAll(".downloads, .controls .row")]
		.filter(e => getComputedStyle(e).display !== "none").length`); n != 0 {
		t.Errorf("%d rows of buttons are printed", n)
	}
	printed, err := chromedp.Call(b.Ctx, cdppage.PrintToPDF, cdppage.PrintToPDFParams{})
	if err != nil || len(printed.Data) == 0 {
		t.Errorf("the page is not printed: %v", err)
	}
	media("")
}

// checkAddress: the address holds the reader's choices, and a page opened with it shows the same.
func checkAddress(t *testing.T, b *pagetest.Tab, file string) {
	b.Do(t, chromedp.KeyEvent("w"), chromedp.KeyEvent("m"), chromedp.KeyEvent("2"))
	pagetest.Eval[bool](t, b, `(document.querySelector("#commands details").open = true)
		&& !(document.querySelector("#arms details.data").open = false)`)
	b.Until(t, `location.hash.includes("open=commands") && location.hash.includes("closed=arms")`)
	was := b.State(t)
	hash := pagetest.Eval[string](t, b, `location.hash`)
	// Open another document first: a browser does not load a page again if only this part of the address differs.
	b.Do(t, chromedp.Navigate("about:blank"), chromedp.Navigate(file+hash),
		chromedp.WaitReady(chromedp.CSS("html[data-shown]")))
	is := b.State(t)
	same := is.Workload == was.Workload && is.Quantity == was.Quantity && slices.Equal(is.Hidden, was.Hidden)
	if !same || is.Workload == "rr-1k" || len(is.Hidden) != 1 {
		t.Errorf("with %s the page shows %s %v without %v, want %s %v without %v",
			hash, is.Workload, is.Quantity, is.Hidden, was.Workload, was.Quantity, was.Hidden)
	}
	if !pagetest.Eval[bool](t, b, `document.querySelector("#commands details").open
		&& !document.querySelector("#arms details.data").open`) {
		t.Error("an open part is now closed, or a closed part is open")
	}
	// The page also follows an address that is edited by hand.
	pagetest.Eval[string](t, b, `(location.hash = "#workload=rr-1k&metric=rtt+p99")`)
	b.Until(t, `nearfar.state().workload === "rr-1k" && nearfar.state().quantity.stat === "p99"
		&& nearfar.state().hidden.length === 0`)
}

// The pages of a comparison and of a gate show the differences and the checks, at every width.
func testSides(t *testing.T, b *pagetest.Tab) {
	_, a := collected(t, small().write(t))
	a.Question, a.Baseline = "", "A"
	a.Sources = []answer.Source{
		{Side: "A", Source: "runs/a", Kind: "run", Trials: 80},
		{Side: "B", Source: "runs/b", Kind: "run", Trials: 80},
	}
	a.Comparisons[0].Verdict, a.Comparisons[1].Verdict = "too-few-blocks", figures.NoDifference
	a.Findings = answer.Rank(a)
	estimate := 0.5
	check := gate.Check{
		Rule: "rr-1k rtt.p50 > +5%", Arm: "routed", Workload: "rr-1k", Quantity: a.Comparisons[0].Quantity,
		Kind: gate.Relative, Above: true, Bound: 0.05,
		Estimate: &estimate, Interval: &figures.Bounds{0.4, 0.6}, Verdict: gate.Fail,
	}
	r := gate.Result{Nearfar: "v1", Verdict: gate.Fail, Summary: "1 of 1 checks failed.", Checks: []gate.Check{check}}
	document, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	for _, with := range []json.RawMessage{nil, document} {
		d, err := Sides(a, with)
		if err != nil {
			t.Fatal(err)
		}
		b.Show(t, written(t, d))
		if got := pagetest.Eval[string](t, b,
			`document.querySelector("h1").textContent`); got != "runs/b against runs/a" {
			t.Errorf("the heading is %q", got)
		}
		var ids []string
		for _, c := range b.State(t).Charts {
			ids = append(ids, c.ID)
		}
		if !slices.Contains(ids, "differences") || !slices.Contains(ids, "arms") {
			t.Errorf("the charts are %v", ids)
		}
		text := pagetest.Eval[string](t, b, `document.querySelector("#findings").textContent`)
		for _, want := range []string{"too few blocks", "no difference seen",
			"would have been seen four times in five"} {
			if !strings.Contains(text, want) {
				t.Errorf("the findings lack %q: %s", want, text)
			}
		}
		checks := pagetest.Eval[string](t, b, `document.querySelector("#checks").hidden ? ""
			: document.querySelector("#checks tbody").textContent`)
		if want := "fail" + check.Rule; (with != nil) != strings.HasPrefix(checks, want) {
			t.Errorf("the checks are %q", checks)
		}
		if over := overflow(t, b, 390); over > 0 {
			t.Errorf("the page is %g pixels wider than the window", over)
		}
		overflow(t, b, 1280)
		b.NoMessages(t)
	}
}
