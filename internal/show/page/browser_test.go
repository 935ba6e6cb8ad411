//go:build linux

package page

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/show/page/pagetest"
)

// TestInABrowser opens pages in one browser. Each subtest has a tab of its own, and they run in parallel.
func TestInABrowser(t *testing.T) {
	browser := pagetest.Start(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *pagetest.Tab)
	}{
		{"large run", testLargeRun},
		{"report", testReport},
		{"choices", testChoices},
		{"hostile text", testHostileText},
		{"sparse runs", testSparseRuns},
		{"hosts of arms", testHostsOfArms},
		{"two sides", testSides},
		{"verdict", testVerdict},
		{"answer without findings", testAnswerWithoutFindings},
		{"blocks", testBlocks},
		{"proof", testProof},
		{"hostile hosts", testHostileHosts},
		{"noise floor", testNoiseFloor},
		{"earlier baseline", testEarlierBaseline},
		{"inside the path", testInside},
		{"captures", testCaptures},
		{"forwarded pages", testForwarded},
		{"layers first", testLayersFirst},
		{"tips", testTips},
		{"places", testPlaces},
		{"progress", testProgress},
		{"what a difference means", testMeaning},
		{"live page", testLivePage},
		{"finished run", testFinishedRun},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(t, browser.Open(t))
		})
	}
}

// There are pages for a run with one arm, for a run with one trial and for a run without trials.
func testSparseRuns(t *testing.T, b *pagetest.Tab) {
	for name, c := range map[string]struct {
		arms   []string
		trials int
		charts []string
	}{
		"one arm": {[]string{"only"}, -1, []string{"arms", "percentiles", "distribution", "trials", "within"}},
		"one trial": {[]string{"l2", "routed"}, 1,
			[]string{"arms", "differences", "percentiles", "distribution", "trials", "within"}},
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
			if err := os.WriteFile(name, firstLines(lines, c.trials), 0o644); err != nil {
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
	b.NoMessages(t)
}

// Markup and escape sequences in names and outputs are shown as text.
func testHostileText(t *testing.T, b *pagetest.Tab) {
	evil := `</script><img src=x onerror="document.title='owned'"><script>document.title='owned'</script>` +
		"\x1b[31m\u202e"
	s := small()
	dir := s.write(t)
	raw, err := dir.WriteRaw("evil.out", append([]byte(evil), make([]byte, 10<<20)...))
	if err != nil {
		t.Fatal(err)
	}
	if err := dir.Append(result.Trial{
		Trial: 9999, Block: 1, Arm: "l2", Workload: "rr-1k", Tool: result.ToolVersion{Name: evil},
		Error: evil, Notes: []string{evil},
		Facts: map[string]string{evil: evil}, Commands: []string{evil}, Raw: []string{raw},
	}); err != nil {
		t.Fatal(err)
	}
	if err := dir.Update(func(m *rundir.Manifest) {
		m.Experiment.Question, m.Experiment.Arms[2].Name = evil, evil
	}); err != nil {
		t.Fatal(err)
	}
	d, _ := collected(t, dir)
	file := b.Show(t, written(t, d))
	const openAll = `document.querySelectorAll("details").forEach(e => e.open = true) ?? 0`
	pagetest.Eval[int](t, b, openAll)
	b.Do(t, chromedp.WaitReady(chromedp.CSS("#records details.record")))
	pagetest.Eval[int](t, b, openAll)
	b.Do(t, chromedp.WaitReady(chromedp.CSS("pre .cut")))
	if n := pagetest.Eval[int](t, b, `document.querySelectorAll(
		"img, iframe, body script:not([type='application/json']):not([type=module])").length`); n != 0 {
		t.Errorf("%d elements were made from data", n)
	}
	if title := pagetest.Eval[string](t, b, `document.title`); title != "sample - nearfar" {
		t.Errorf("the title is %q", title)
	}
	text := pagetest.Eval[string](t, b, `document.querySelector("#page").textContent`)
	if strings.ContainsAny(text, "\x1b\u202e\x00") || !strings.Contains(text, "\u241b[31m\u27e8U+202E\u27e9") {
		t.Error("control characters are not shown as symbols")
	}
	b.NoRequests(t, file)
}

// A run of 20 arms and 30 blocks: the size of the file, and the time to draw it. The bounds on times are generous,
// because the machine may be busy; the test prints the times.
func testLargeRun(t *testing.T, b *pagetest.Tab) {
	s := sample{blocks: 30, rounds: 300, plain: true}
	for i := range 20 {
		s.arms = append(s.arms, fmt.Sprintf("arm-%02d", i+1))
	}
	d, _ := collected(t, s.write(t))
	page := written(t, d)
	if len(page) > 3_000_000 {
		t.Errorf("the page has %d bytes, at most 3,000,000 are allowed", len(page))
	}
	file := b.Show(t, page)
	shown := b.State(t).ShownAt
	for what, expression := range map[string]string{
		"colours": `new Set([...document.querySelectorAll("#trials g.series .marker")]
			.map(m => getComputedStyle(m).stroke)).size`,
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
			document.body.getBoundingClientRect(); // makes the browser lay out the page
			times.push(performance.now() - from);
		}
		return times.sort((a, b) => a - b)[2];
	})()`)
	t.Logf("20 arms, 30 blocks, %d trials: %d bytes, all drawn after %.0f ms, an arm hidden in %.0f ms",
		600, len(page), shown, filter)
	if shown > 60_000 || filter > 5000 {
		t.Errorf("all drawn after %.0f ms, an arm hidden in %.0f ms", shown, filter)
	}
	if got := len(b.State(t).Hidden); got != 5 {
		t.Errorf("%d arms are hidden, want 5", got)
	}
	b.NoRequests(t, file)
}
