//go:build linux

package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"nearfar/internal/answer"
	"nearfar/internal/page/pagetest"
	"nearfar/internal/result"
	"nearfar/internal/rundir"
)

// TestReportInABrowser opens a report from disk: nothing is fetched, nothing complains, and every chart and every table has
// the answer's figures.
func TestReportInABrowser(t *testing.T) {
	s := small()
	d, a := collected(t, s.write(t))
	b := pagetest.Open(t)
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
	b.Quiet(t, file)
}

// checkCharts holds what is drawn against the answer, for the first workload and quantity.
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
				if p := s.Points[0]; p.X != f.Median || *p.Low != f.Interval[0] || *p.High != f.Interval[1] {
					t.Errorf("%s is drawn at %v, the answer is %+v", s.Name, p, f)
				}
			}
		case "differences":
			for _, s := range c.Series {
				i := slices.IndexFunc(a.Comparisons, func(k answer.Comparison) bool {
					return k.Arm == s.Name && k.Workload == drawn.Workload && k.Metric == drawn.Quantity.Metric && k.Stat == drawn.Quantity.Stat
				})
				if p, k := s.Points[0], a.Comparisons[i]; p.X != *k.Difference || *p.Low != k.Interval[0] || *p.High != k.Interval[1] {
					t.Errorf("%s is drawn at %v, the answer is %+v", s.Name, p, k)
				}
			}
		case "layers":
			// The bars follow each other, and end where the whole does.
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
					name := d.Workloads[d.Loads[0].Rates[i].Workload].Name
					if f := figureOf(t, a, s.Name, name, result.ResponseTime, "p50"); p.Y != f.Median || p.X != d.Loads[0].Rates[i].Offered {
						t.Errorf("%s at %g is drawn at %g, the answer is %+v", s.Name, p.X, p.Y, f)
					}
				}
			}
		}
	}
	for _, id := range []string{"arms", "differences", "layers", "percentiles", "distribution", "trials", "within", "goodput", "load"} {
		if !seen[id] {
			t.Errorf("the chart %s is not drawn", id)
		}
	}
	// What is drawn is there in the picture: each series is a group with a path.
	if n := pagetest.Eval[int](t, b, `[...document.querySelectorAll(".plot g.series")].filter(g => (g.querySelector("path")?.getAttribute("d") ?? "").length < 4).length`); n != 0 {
		t.Errorf("%d series have no path", n)
	}
	checkPlaces(t, b, drawn)
}

// checkPlaces holds the picture of the arms against the values: markers lie in proportion to them.
func checkPlaces(t *testing.T, b *pagetest.Tab, drawn pagetest.State) {
	t.Helper()
	middles := pagetest.Eval[[]float64](t, b, `[...document.querySelectorAll("#arms g.series path.marker")].map(p => { const b = p.getBBox(); return b.x + b.width / 2; })`)
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

func figureOf(t *testing.T, a answer.Answer, arm, workload, metric, stat string) answer.Figure {
	t.Helper()
	for _, f := range a.Arms {
		if f.Arm == arm && f.Workload == workload && f.Metric == metric && f.Stat == stat {
			return f
		}
	}
	t.Fatalf("no figure of %s %s %s %s", arm, workload, metric, stat)
	return answer.Figure{}
}

// checkTables holds the tables of arms and differences against the answer, digit by digit, and those of the others against
// how many rows they should have.
func checkTables(t *testing.T, b *pagetest.Tab, a answer.Answer) {
	q := answer.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
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
		want := []string{scale.Number(f.Median), fmt.Sprintf("[%s, %s]", scale.Number(f.Interval[0]), scale.Number(f.Interval[1])), fmt.Sprint(f.Trials)}
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
		want := []string{scale.Signed(*c.Difference), fmt.Sprintf("[%s, %s]", scale.Signed(c.Interval[0]), scale.Signed(c.Interval[1]))}
		if row := rows[n]; row[0] != c.Arm || !slices.Equal(row[1:3], want) || row[8] != fmt.Sprint(c.Blocks) {
			t.Errorf("row %q, want %q", row, want)
		}
		n++
	}
	if n != len(rows) || n != 3 {
		t.Errorf("%d rows, %d comparisons", len(rows), n)
	}
	for section, want := range map[string]int{"percentiles": 4, "distribution": 4, "trials": 32, "within": 3, "goodput": 4, "load": 12, "layers": 4} {
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
					if f := figureOf(t, a, line.Name, s.Workload, s.Quantity.Metric, s.Quantity.Stat); line.Points[0].X != f.Median {
						t.Errorf("%s %s: drawn at %g, the answer is %g", s.Workload, line.Name, line.Points[0].X, f.Median)
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

// checkKeys goes through the keys that the help lists.
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
	b.Do(t, chromedp.Focus(chromedp.CSS("#trials .plot")), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
	if text := pagetest.Eval[string](t, b, `document.querySelector("#trials .tip:not([hidden])")?.textContent ?? ""`); !strings.Contains(text, "l2") || !strings.Contains(text, "block") {
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

// zoomed says whether the chart of trials shows a part only.
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

// checkPointer hovers over a trial, zooms by a drag, and out again.
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
	if text := pagetest.Eval[string](t, b, `document.querySelector("#trials .tip:not([hidden])")?.textContent ?? ""`); !strings.Contains(text, "vxlan") || !strings.Contains(text, "block5") {
		t.Errorf("over a dot of vxlan in block 5 the page says %q", text)
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
		return // there is no button to press
	}
	b.Do(t, chromedp.Click(chromedp.CSS("#trials .zoom-out")))
	if zoomed(t, b) {
		t.Error("the button does not zoom out")
	}
}

// checkRecords chooses a dot with the keyboard and reads the trial's record, with what was printed.
func checkRecords(t *testing.T, b *pagetest.Tab) {
	b.Do(t, chromedp.MouseEvent("mouseMoved", 1, 1), // over the chart it would choose a dot, too
		chromedp.Focus(chromedp.CSS("#trials .plot")), chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitReady(chromedp.CSS("#records details.record[open] pre.output")))
	text := pagetest.Eval[string](t, b, `document.querySelector("#records details.record[open]").textContent`)
	for _, want := range []string{`{"type":"start"`, "tcp_mss", "client --to l2", "characters: see the .hdr file"} {
		if !strings.Contains(text, want) {
			t.Errorf("the record lacks %s", want)
		}
	}
}

// checkThemes asks for light and dark, by the system's wish and by the button.
func checkThemes(t *testing.T, b *pagetest.Tab) {
	background := func(scheme string) string {
		b.Scheme(t, scheme)
		return pagetest.Eval[string](t, b, `getComputedStyle(document.body).backgroundColor`)
	}
	light, dark := background("light"), background("dark")
	if light == dark {
		t.Errorf("light and dark have the same background, %s", light)
	}
	b.Do(t, chromedp.KeyEvent("t")) // light, whatever the system says
	if got := background("dark"); got != light {
		t.Errorf("the button's light theme has %s, want %s", got, light)
	}
	b.Do(t, chromedp.KeyEvent("t"))
	if got := background("light"); got != dark {
		t.Errorf("the button's dark theme has %s, want %s", got, dark)
	}
	b.Do(t, chromedp.KeyEvent("t"))
}

// A run with one arm, one that has just begun and one without anything have pages too.
func TestSparseRunsInABrowser(t *testing.T) {
	b := pagetest.Open(t)
	for name, c := range map[string]struct {
		arms   []string
		trials int
		charts []string
	}{
		"one arm":      {[]string{"only"}, -1, []string{"arms", "percentiles", "distribution", "trials", "within"}},
		"one trial":    {[]string{"l2", "routed"}, 1, []string{"arms", "differences", "percentiles", "distribution", "trials", "within"}},
		"no trial yet": {[]string{"l2", "routed"}, 0, nil},
	} {
		s := sample{arms: c.arms, blocks: 3, rounds: 300, plain: true}
		dir := s.write(t)
		if c.trials >= 0 {
			name := filepath.Join(dir.Path, "trials.jsonl")
			lines, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, bytes.Join(bytes.SplitAfterN(lines, []byte("\n"), c.trials+1)[:c.trials], nil), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		d, _ := collected(t, dir)
		b.Show(t, written(t, d))
		var charts []string
		for _, chart := range b.State(t).Charts {
			charts = append(charts, chart.ID)
		}
		if !slices.Equal(charts, c.charts) {
			t.Errorf("%s: the charts are %v, want %v", name, charts, c.charts)
		}
	}
	b.Silent(t)
}

// Markup and escape sequences in names and outputs are shown as text.
func TestHostileTextInABrowser(t *testing.T) {
	evil := `</script><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>` + "\x1b[31m\u202e"
	s := small()
	dir := s.write(t)
	raw, err := dir.WriteRaw("evil.out", append([]byte(evil), make([]byte, 10<<20)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Append(result.Trial{
		Trial: 9999, Block: 1, Arm: "l2", Workload: "rr-1k", Tool: result.ToolVersion{Name: evil}, Error: evil, Notes: []string{evil},
		Facts: map[string]string{evil: evil}, Commands: []string{evil}, Raw: []string{raw},
	}); err != nil {
		t.Fatal(err)
	}
	if err := dir.Update(func(m *rundir.Manifest) { m.Experiment.Question, m.Experiment.Arms[2].Name = evil, evil }); err != nil {
		t.Fatal(err)
	}
	d, _ := collected(t, dir)
	b := pagetest.Open(t)
	file := b.Show(t, written(t, d))
	pagetest.Eval[int](t, b, `document.querySelectorAll("details").forEach(e => e.open = true) ?? 0`)
	b.Do(t, chromedp.WaitReady(chromedp.CSS("#records details.record")))
	pagetest.Eval[int](t, b, `document.querySelectorAll("details").forEach(e => e.open = true) ?? 0`)
	b.Do(t, chromedp.WaitReady(chromedp.CSS("pre .cut")))
	if n := pagetest.Eval[int](t, b, `document.querySelectorAll("img, iframe, body script:not([type='application/json']):not([type=module])").length`); n != 0 {
		t.Errorf("%d elements were made of data", n)
	}
	if title := pagetest.Eval[string](t, b, `document.title`); title != "sample - nearfar" {
		t.Errorf("the title is %q", title)
	}
	text := pagetest.Eval[string](t, b, `document.querySelector("#page").textContent`)
	if strings.ContainsAny(text, "\x1b\u202e\x00") || !strings.Contains(text, "\u241b[31m\u27e8U+202E\u27e9") {
		t.Error("control characters are not shown as symbols")
	}
	b.Quiet(t, file)
}

// The live page fetches its data, and again after each event, without losing what was chosen.
func TestLivePageInABrowser(t *testing.T) {
	s := small()
	d, _ := collected(t, s.write(t))
	d.Answer.State = rundir.Running
	page, err := Live()
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan string)
	var mu sync.Mutex
	mux := http.NewServeMux()
	mux.HandleFunc("GET /token/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", Policy(page))
		_, _ = w.Write(page)
	})
	mux.HandleFunc("GET /token/data.json", func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(w).Encode(d)
	})
	mux.HandleFunc("GET /token/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case name := <-events:
				_, _ = fmt.Fprintf(w, "event: %s\ndata: {}\n\n", name)
			case <-r.Context().Done():
				return
			}
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	defer server.CloseClientConnections()

	b := pagetest.Open(t)
	b.Do(t, chromedp.Navigate(server.URL+"/token/"), chromedp.WaitReady(chromedp.CSS("html[data-shown]")), chromedp.KeyEvent("m"), chromedp.KeyEvent("2"))
	mu.Lock()
	d.Answer.Verdict = "another verdict"
	d.Answer.Arms = slices.Clone(d.Answer.Arms)
	for i := range d.Answer.Arms {
		d.Answer.Arms[i].Median *= 2
	}
	mu.Unlock()
	send := func(name string) {
		select {
		case events <- name:
		case <-b.Ctx.Done():
			t.Fatal("nobody listens to the events")
		}
	}
	send("trial")
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](`document.querySelector("#verdict").textContent === "another verdict"`)); err != nil {
		t.Fatal(err)
	}
	got := b.State(t)
	if got.Quantity.Stat != "p99" || !slices.Equal(got.Hidden, []string{s.arms[1]}) {
		t.Errorf("the choice was lost: %+v, %v", got.Quantity, got.Hidden)
	}
	mu.Lock()
	d.Answer.State = rundir.Complete
	mu.Unlock()
	send("state")
	if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](`document.querySelector(".live").textContent === "the run is complete"`)); err != nil {
		t.Fatal(err)
	}
	b.Silent(t)
}

// A run of 20 arms and 30 blocks: what the file holds, and how fast it is. The times have generous bounds, for busy machines;
// the test prints them.
func TestLargeRun(t *testing.T) {
	s := sample{blocks: 30, rounds: 300, plain: true}
	for i := range 20 {
		s.arms = append(s.arms, fmt.Sprintf("arm-%02d", i+1))
	}
	d, _ := collected(t, s.write(t))
	page := written(t, d)
	if len(page) > 3_000_000 {
		t.Errorf("the page has %d bytes, at most 3,000,000 are allowed", len(page))
	}
	b := pagetest.Open(t)
	file := b.Show(t, page)
	shown := b.State(t).ShownAt
	for what, expression := range map[string]string{
		"colours":           `new Set([...document.querySelectorAll("#trials g.series .marker")].map(m => getComputedStyle(m).stroke)).size`,
		"names beside them": `document.querySelectorAll("#trials g.label").length`,
	} {
		if n := pagetest.Eval[int](t, b, expression); n != len(s.arms) {
			t.Errorf("20 lines have %d %s", n, what)
		}
	}
	filter := pagetest.Eval[float64](t, b, `(() => {
		const times = [];
		for (let i = 0; i < 5; i++) {
			const chip = document.querySelectorAll(".chip")[i + 3];
			const from = performance.now();
			chip.click();
			document.body.getBoundingClientRect(); // lays the page out
			times.push(performance.now() - from);
		}
		return times.sort((a, b) => a - b)[2];
	})()`)
	t.Logf("20 arms, 30 blocks, %d trials: %d bytes, all drawn after %.0f ms, an arm hidden in %.0f ms", 600, len(page), shown, filter)
	if shown > 60_000 || filter > 5000 {
		t.Errorf("all drawn after %.0f ms, an arm hidden in %.0f ms", shown, filter)
	}
	if got := len(b.State(t).Hidden); got != 5 {
		t.Errorf("%d arms are hidden, want 5", got)
	}
	b.Quiet(t, file)
}
