//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/show/page/pagetest"
)

// TestReportOfTheOverlayLab opens the report of labs/overlay from disk in a browser. It must make no request and write
// nothing to the console, and draw the figures of every workload and quantity as -f json prints them.
func TestReportOfTheOverlayLab(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	// ping takes little CPU time, and as netperf it keeps no histogram.
	lab := write(t, dir, ofLab(t, "overlay", "{name: netperf-1k, tool: netperf, mode: rr, protocol: tcp, "+
		"request: 1024B, response: 1024B, duration: 1s, optional: true}",
		"{name: ping, tool: ping, interval: 2ms, duration: 500ms}"))
	var a answer.Answer
	printed := nearfar(t, dir, nil, "run", "--blocks", "2", "--force", "-f", "json", lab)
	if err := json.Unmarshal(printed, &a); err != nil {
		t.Fatal(err)
	}
	nearfar(t, dir, nil, "report", "-f", "html", "-o", "report.html", a.Run)
	html, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	if len(html) > 1_500_000 {
		t.Errorf("the file has %d bytes", len(html))
	}
	b := pagetest.Start(t).Open(t)
	file := b.Show(t, html)
	if got := pagetest.Eval[string](t, b, `document.querySelector("#verdict").textContent`); got != a.Verdict {
		t.Errorf("the verdict is %q, want %q", got, a.Verdict)
	}
	got := pagetest.Eval[string](t, b, `document.querySelector(".lab p").textContent`)
	if got != a.Environment.String() {
		t.Errorf("the lab is %q, want %q", got, a.Environment)
	}
	compared := 0
	for range 2 { // workloads
		for range 2 { // quantities
			s := b.State(t)
			var ids []string
			for _, c := range s.Charts {
				ids = append(ids, c.ID)
				if c.ID != "arms" {
					continue
				}
				for _, series := range c.Series {
					i := slices.IndexFunc(a.Arms, func(f figures.Figure) bool {
						q := s.Quantity
						return f.Arm == series.Name && f.Workload == s.Workload &&
							f.Metric == q.Metric && f.Stat == q.Stat
					})
					if i < 0 || series.Points[0].X != a.Arms[i].Median {
						t.Errorf("%s %s: %+v is drawn", s.Workload, series.Name, series.Points)
						continue
					}
					compared++
				}
			}
			want := []string{"arms", "differences", "layers", "percentiles", "trials"}
			if s.Workload == "rr-1k" {
				want = []string{"arms", "differences", "layers", "percentiles", "distribution", "trials"}
			}
			if !slices.Equal(ids, want) {
				t.Errorf("%s: the charts are %v, want %v", s.Workload, ids, want)
			}
			b.Do(t, chromedp.KeyEvent("m"))
		}
		b.Do(t, chromedp.KeyEvent("w"))
	}
	if compared < len(a.Arms) {
		t.Errorf("%d figures were compared, the answer has %d", compared, len(a.Arms))
	}
	b.NoRequests(t, file)
}
