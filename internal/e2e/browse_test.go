//go:build linux

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	cdplog "github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// browser is a tab of a headless browser.
type browser struct {
	t   *testing.T
	ctx context.Context
	mu  sync.Mutex
	// said has the messages of the console, asked the addresses that the page requested.
	said, asked []string
}

// browserPatience limits everything that waits for the browser, which is slow to start on a busy machine.
const browserPatience = 5 * time.Minute

// openBrowser starts a browser. The test fails if none is installed.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Fatal("chromium is needed: run scripts/install-tools.sh test")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true),
		chromedp.Flag("disable-component-update", true), chromedp.WSURLReadTimeout(browserPatience))
	ctx, cancel := context.WithTimeout(t.Context(), browserPatience)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &browser{t: t, ctx: ctx}
	if err := chromedp.Listen(ctx, b.hear); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := chromedp.Call(ctx, cdplog.Enable, cdp.Empty{}); err != nil {
		t.Fatal(err)
	}
	return b
}

// hear notes messages of the console and requests.
func (b *browser) hear(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		b.said = append(b.said, fmt.Sprintf("console %s", e.Type))
	case *runtime.EventExceptionThrown:
		b.said = append(b.said, "exception "+e.ExceptionDetails.Text)
	case *cdplog.EventEntryAdded:
		b.said = append(b.said, e.Entry.Text+" "+e.Entry.URL)
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	}
}

// quiet fails the test if the console has a message, or if the page requested an address that does not begin with the
// prefix.
func (b *browser) quiet(prefix string) {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.said {
		b.t.Errorf("the console has: %s", s)
	}
	for _, a := range b.asked {
		if !strings.HasPrefix(a, prefix) && !strings.HasPrefix(a, "data:") {
			b.t.Errorf("the page requested %s", a)
		}
	}
	if len(b.asked) == 0 {
		b.t.Error("no request was seen")
	}
}

// do carries out steps in the tab.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

// eval stores the value of a JavaScript expression in into, by way of JSON.
func (b *browser) eval(expression string, into any) {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[string]("JSON.stringify("+expression+")"))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		b.t.Fatalf("%s: %v in %s", expression, err, text)
	}
}

// until waits until an expression is true.
func (b *browser) until(expression string) {
	b.t.Helper()
	for {
		var is bool
		b.eval("!!("+expression+")", &is)
		if is {
			return
		}
		select {
		case <-b.ctx.Done():
			b.t.Fatalf("never true: %s", expression)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// recorded makes a run directory in which round trips of the arm l2 take micros microseconds.
func recorded(t *testing.T, dir, name string, started time.Time, micros float64, request int) *rundir.Dir {
	t.Helper()
	arms := []experiment.Arm{
		{Name: "l2", Layers: map[string]int{"bridge": 1}},
		{Name: "<img src=x onerror=alert(1)>", Layers: map[string]int{"bridge": 2}},
	}
	e := &experiment.Experiment{
		Name: name, Question: "<script>alert(1)</script> \x1b[31m\u202e?", Baseline: "l2", Arms: arms,
		Workloads: []experiment.Workload{
			{Name: "rr", Tool: "native", Mode: "rr", Protocol: "tcp", Request: request, Duration: time.Second},
		},
		Schedule: experiment.Schedule{Blocks: 7, Seed: 1},
	}
	run, err := rundir.Create(dir, rundir.Manifest{
		Nearfar: "v1", Experiment: e, Seed: 1, State: rundir.Running, Started: started,
		Versions: map[string]string{"nearfar": "v1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = run.Close() })
	for i, slot := range e.Slots() {
		p50 := result.Metric{Name: "rtt", Stat: "p50", Unit: "s", Value: (micros + 0.01*float64(slot.Block)) * 1e-6}
		err := run.Append(result.Trial{
			Trial: i + 1, Block: slot.Block, Arm: slot.Arm, Workload: "rr", Tool: result.ToolVersion{Name: "native"},
			Mode: "rr", Protocol: "tcp", Definition: "rtt", ReportedAs: "rtt",
			Raw: []string{}, Treatment: map[string]string{}, Metrics: []result.Metric{p50},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err = run.Update(func(m *rundir.Manifest) { m.State, m.Ended = rundir.Complete, started.Add(time.Minute) })
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// medianOf returns the figure of l2 in the answer that `nearfar report` prints.
func medianOf(t *testing.T, run string) figures.Figure {
	t.Helper()
	var a answer.Answer
	if err := json.Unmarshal(nearfar(t, filepath.Dir(run), nil, "report", "-f", "json", run), &a); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(a.Arms, func(f figures.Figure) bool { return f.Arm == "l2" })
	if i < 0 {
		t.Fatalf("no figure of l2 in %s", run)
	}
	return a.Arms[i]
}

// TestBrowse uses the pages of a folder of runs: the list and its search, the history with the figures of the answers,
// a new run that appears, a comparison, a report. Hostile names have no effect.
func TestBrowse(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	runs := filepath.Join(dir, "runs")
	begin := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	paths := []string{recorded(t, runs, "overlay", begin, 7, 1).Path} // of another request size
	for i, micros := range []float64{8, 8.5, 12} {
		paths = append(paths, recorded(t, runs, "overlay", begin.Add(time.Duration(i+1)*time.Hour), micros, 64).Path)
	}
	recorded(t, runs, "zones", begin, 50, 64)
	if err := os.Mkdir(filepath.Join(runs, "broken"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(runs, "broken", "run.json"), []byte("<b>no</b>"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := serve(t, dir, "serve")
	b := openBrowser(t)
	rows := `document.querySelectorAll("#runs tbody tr").length`
	b.do(chromedp.Navigate(s.url))
	b.until(rows + " === 6")
	var text string
	b.eval(`document.body.innerText`, &text)
	for _, want := range []string{"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "\u241b[31m", "U+202E",
		"runs/broken/run.json: invalid character"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not show %q", want)
		}
	}
	var foreign int
	if b.eval(`document.querySelectorAll("img, #page script, #page b").length`, &foreign); foreign != 0 {
		t.Error("names became elements")
	}

	// Search, by keyboard. The protocol would type the character even if the page cancels the key, so a script presses
	// it.
	var done bool
	const slash = `new KeyboardEvent("keydown", { key: "/", bubbles: true, cancelable: true })`
	b.eval("document.body.dispatchEvent("+slash+")", &done)
	if done {
		t.Error("the page does not handle the key /")
	}
	b.do(chromedp.KeyEvent("zones complete"))
	b.until(rows + " === 1")
	b.eval(`document.querySelector("#runs tbody a").textContent`, &text)
	if text != "zones" {
		t.Errorf("found %q", text)
	}
	b.do(chromedp.KeyEvent(strings.Repeat(kb.Backspace, len("zones complete"))))
	b.until(rows + " === 6")

	// History: the newest experiment is chosen; its figures are those that the command line prints.
	b.until(`nearfar.drawn().series.length === 2`)
	wantHistory(t, b, paths, []int{0})
	// A new run appears in the list and the history, without a reload.
	paths = append(paths, recorded(t, runs, "overlay", begin.Add(9*time.Hour), 12.5, 64).Path)
	b.until(rows + " === 7")
	b.until(`nearfar.drawn().series[0].points.length === 4`)
	wantHistory(t, b, paths, []int{0})
	// Another experiment.
	b.eval(`(() => {
		const e = document.getElementById("experiment");
		e.value = "zones";
		return e.dispatchEvent(new Event("change"));
	})()`, &done)
	b.until(`nearfar.drawn().series.length === 1 && nearfar.drawn().series[0].points.length === 1`)

	checkList(t, b)

	// Two runs side by side.
	compareInBrowser(t, b, s.url)

	// A report.
	// The first: the broken run has no link. The list may be drawn anew at any time, so the page itself clicks.
	b.eval(`(() => { document.querySelector("#runs tbody a").click(); return true })()`, &done)
	b.do(chromedp.WaitReady(chromedp.CSS("html[data-shown]")))
	b.eval(`location.href`, &text)
	if !strings.HasPrefix(text, s.url+"run/") {
		t.Errorf("the report is at %s", text)
	}
	b.quiet(s.url)
}

// checkList: verdicts are shown whole on a wide window and on a phone, where the page is not wider than the window.
func checkList(t *testing.T, b *browser) {
	t.Helper()
	b.until(`document.querySelectorAll("#runs .verdict").length >= 6`)
	for _, width := range []int64{1400, 390} {
		b.do(chromedp.EmulateViewport(width, 844))
		b.until(fmt.Sprintf(`innerWidth === %d`, width))
		var cut []string
		b.eval(`[...document.querySelectorAll("#runs .verdict")]
			.filter(v => v.scrollHeight > v.clientHeight + 1 && getComputedStyle(v).overflow !== "visible")
			.map(v => v.textContent)`, &cut)
		if len(cut) > 0 {
			t.Errorf("at %d pixels these verdicts are cut: %q", width, cut)
		}
		var wider float64
		if b.eval(`document.scrollingElement.scrollWidth - innerWidth`, &wider); wider > 0 {
			t.Errorf("at %d pixels the list is %g pixels wider than the window", width, wider)
		}
	}
	b.do(chromedp.EmulateViewport(1280, 900))
}

// wantHistory compares chart and table with what `nearfar report` prints. The runs are oldest first; others has the
// indexes of the runs whose experiment differs from the newest.
func wantHistory(t *testing.T, b *browser, runs []string, others []int) {
	t.Helper()
	var drawn struct {
		Series []struct {
			Points []struct{ X, Y, Low, High float64 }
		}
	}
	b.eval(`nearfar.drawn()`, &drawn)
	var cells []string
	b.eval(`[...document.querySelectorAll("#history tbody tr td:nth-child(3)")].map(c => c.textContent)`, &cells)
	slices.Reverse(cells) // the table has the newest first
	if len(cells) != len(runs) {
		t.Fatalf("the table has %d rows, want %d", len(cells), len(runs))
	}
	next := []int{0, 0}
	for i, run := range runs {
		series := 0
		if slices.Contains(others, i) {
			series = 1
		}
		if next[series] >= len(drawn.Series[series].Points) {
			t.Fatalf("series %d has %d points only", series, len(drawn.Series[series].Points))
		}
		p := drawn.Series[series].Points[next[series]]
		next[series]++
		want := medianOf(t, run)
		same := p.X == float64(i+1) && p.Y == want.Median
		if !same || want.Interval == nil || p.Low != want.Interval[0] || p.High != want.Interval[1] {
			t.Errorf("run %d is drawn as %+v, want %+v %v", i, p, want.Median, want.Interval)
		}
		if got, printed := cells[i], (result.Scale{Factor: 1e-6, Unit: "us"}).Number(want.Median); got != printed {
			t.Errorf("run %d is %s in the table, want %g", i, got, want.Median)
		}
	}
}

// TestWatchInBrowser: on the live page of a run figures appear, and stay when the run has ended. The browser, which is
// slow to start on a busy machine, starts before the run.
func TestWatchInBrowser(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	b := openBrowser(t)
	s := serve(t, dir, "run", "--watch", "-f", "json", "--blocks", "12", write(t, dir, watched))
	b.do(chromedp.Navigate(s.url))
	b.do(chromedp.WaitReady(chromedp.CSS("html[data-shown]")))
	live := `document.querySelector(".live").textContent`
	b.until(live + `.includes("trials so far")`)
	var text string
	for b.until(`document.body.innerText.includes("l2")`); ; {
		b.eval(live, &text)
		if strings.Contains(text, "complete") {
			break
		}
		b.until(live + " !== " + fmt.Sprintf("%q", text))
	}
	if code := s.ended(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	a := answerOf(t, s.stdout.Bytes(), dir)
	b.eval(`document.body.innerText`, &text)
	for _, part := range []string{a.Headline, a.Basis, a.Also} {
		if !strings.Contains(text, part) {
			t.Errorf("the page does not show %q of the verdict: %s", part, text)
		}
	}
	b.quiet(s.url)
}
