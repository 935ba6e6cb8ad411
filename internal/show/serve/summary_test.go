package serve

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
)

// The list has each run's verdict and warnings. An imported run has no planned trials.
func TestSummaries(t *testing.T) {
	dir := t.TempDir()
	measured(t, dir, declared("first"), begin, 8e-6)
	imported := declared("second")
	imported.Imported, imported.Schedule = true, experiment.Schedule{Blocks: 7, Seed: 1}
	measured(t, dir, imported, begin.Add(1), 8e-6)
	b := newBrowsing(t, dir)
	runs := b.runs(t)
	if !runs[0].Imported || runs[0].Planned != 0 || runs[1].Imported || runs[1].Planned != 14 {
		t.Errorf("the runs are %+v", runs)
	}
	var all map[string]Summary
	b.read(t, fmt.Sprintf("summaries.json?id=%s&id=missing", runs[1].ID), &all)
	summary := all[runs[1].ID]
	if len(all) != 1 || summary.Objectives != nil ||
		!strings.HasPrefix(summary.Verdict, summary.Headline) ||
		!strings.HasPrefix(summary.Headline, "With routed, the median round trip takes 1.0 us (") {
		t.Errorf("the summaries are %+v", all)
	}
	many := "summaries.json?id=a" + strings.Repeat("&id=a", maxSummaries)
	r, body := get(t, b.server.URL()+many, nil)
	if r.StatusCode != http.StatusInternalServerError || !strings.Contains(body, "too many") {
		t.Errorf("%d: %s", r.StatusCode, body)
	}
}

// Two runs have a page that compares them. Only runs of the list are read.
func TestComparisonPages(t *testing.T) {
	dir := t.TempDir()
	for i, seconds := range []float64{8e-6, 9e-6} {
		measured(t, dir, declared(fmt.Sprintf("run-%d", i)), begin.Add(1), seconds)
	}
	b := newBrowsing(t, dir)
	b.source.Compare = func(_ context.Context, base, other string) ([]byte, error) {
		return fmt.Appendf(nil, "%q", filepath.Base(other)+" against "+filepath.Base(base)), nil
	}
	runs := b.runs(t)
	pair := "compare/" + runs[1].ID + "/" + runs[0].ID + "/"
	r, body := get(t, b.server.URL()+pair, nil)
	policy := r.Header.Get("Content-Security-Policy")
	if r.StatusCode != http.StatusOK || body != livePage || !strings.HasPrefix(policy, livePolicy) {
		t.Errorf("%d with policy %q: %s", r.StatusCode, policy, body)
	}
	var got string
	b.read(t, pair+"data.json", &got)
	if want := filepath.Base(runs[0].Path) + " against " + filepath.Base(runs[1].Path); got != want {
		t.Errorf("the document is %q, want %q", got, want)
	}
	for address, want := range map[string]int{
		pair + "events":                                      http.StatusNoContent,
		pair + "other":                                       http.StatusNotFound,
		"compare/" + runs[0].ID + "/":                        http.StatusNotFound,
		"compare/" + runs[0].ID + "/0000/data.json":          http.StatusNotFound,
		"compare/" + runs[0].ID + "/..%2f..%2fetc/data.json": http.StatusNotFound,
	} {
		if r, body := get(t, b.server.URL()+address, nil); r.StatusCode != want {
			t.Errorf("%s: %d, want %d: %s", address, r.StatusCode, want, body)
		}
	}
}
