package serve

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/answer"
	"nearfar/internal/experiment"
	"nearfar/internal/result"
	"nearfar/internal/rundir"
)

// browsePage carries no policy: it then gets the strictest.
const browsePage = `<!doctype html><title>browse</title>`

// begin is when the first run of a test began.
var begin = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// declared is an experiment with two arms and one workload.
func declared(name string) *experiment.Experiment {
	arm := func(name string, kinds ...string) experiment.Arm {
		a := experiment.Arm{Name: name, Lab: &experiment.Lab{MTU: 1500}, Layers: map[string]int{}}
		for _, kind := range kinds {
			a.Lab.Path = append(a.Lab.Path, experiment.Element{Kind: kind})
			a.Layers[kind]++
		}
		return a
	}
	return &experiment.Experiment{
		Name: name, Question: "How much does a router add?", Baseline: "l2",
		Arms: []experiment.Arm{arm("l2", experiment.Bridge), arm("routed", experiment.Bridge, experiment.Router, experiment.Bridge)},
		Workloads: []experiment.Workload{{
			Name: "rr", Tool: "native", Mode: experiment.RR, Protocol: experiment.TCP, Request: 64, Response: 64, Duration: time.Second,
			Placement: experiment.Placement{Kind: experiment.PlacementShared},
		}},
		Schedule: experiment.Schedule{Blocks: 7, Seed: 1},
	}
}

// measured leaves a run directory whose trials take so many seconds in l2, and a microsecond more in routed.
func measured(t *testing.T, parent string, e *experiment.Experiment, started time.Time, seconds float64) *rundir.Dir {
	t.Helper()
	dir, err := rundir.Create(parent, rundir.Manifest{
		Nearfar: "v1", Experiment: e, Seed: 1, State: rundir.Running, Started: started,
		Versions: map[string]string{"nearfar": "v1.2.3", "native": "v1.2.3"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	for i, slot := range e.Slots() {
		value := seconds + float64(slot.Block)*1e-8
		if slot.Arm == "routed" {
			value += 1e-6
		}
		add(t, dir, i+1, slot, value)
	}
	end(t, dir, rundir.Complete)
	return dir
}

func add(t *testing.T, dir *rundir.Dir, number int, slot experiment.Slot, value float64) {
	t.Helper()
	err := dir.Append(result.Trial{
		Trial: number, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload, Tool: result.ToolVersion{Name: "native"},
		Mode: "rr", Protocol: "tcp", Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT, Raw: []string{},
		Metrics: []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: value}}, Treatment: map[string]string{},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func end(t *testing.T, dir *rundir.Dir, state string) {
	t.Helper()
	if err := dir.Update(func(m *rundir.Manifest) { m.State, m.Ended = state, m.Started.Add(time.Minute) }); err != nil {
		t.Fatal(err)
	}
}

// realSource makes answers as the command line does.
func realSource() Source {
	answerOf := func(path string) (answer.Answer, error) {
		dir, err := rundir.Open(path)
		if err != nil {
			return answer.Answer{}, err
		}
		trials, err := dir.Trials()
		if err != nil {
			return answer.Answer{}, err
		}
		m := dir.Manifest()
		return answer.Make(answer.Input{Experiment: m.Experiment, Trials: trials, Run: path, State: m.State, Seed: m.Seed}), nil
	}
	return Source{Answer: answerOf, Document: func(path string) ([]byte, error) {
		a, err := answerOf(path)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	}}
}

// browsing is a folder that is served.
type browsing struct {
	*Folder
	server *Server
}

func newBrowsing(t *testing.T, dir string) *browsing {
	t.Helper()
	f, err := NewFolder([]byte(browsePage), []byte(livePage), dir, realSource())
	if err != nil {
		t.Fatal(err)
	}
	f.every = time.Millisecond
	b := &browsing{Folder: f, server: started(t, f)}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// read asks for a JSON document.
func (b *browsing) read(t *testing.T, address string, into any) {
	t.Helper()
	response, body := get(t, b.server.URL()+address, nil)
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%s: %d of type %q: %s", address, response.StatusCode, response.Header.Get("Content-Type"), body)
	}
	if err := json.Unmarshal([]byte(body), into); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
}

// listed asks for the list when the last look at the folder is too old to be good.
func (b *browsing) listed(t *testing.T) []Run {
	t.Helper()
	b.mu.Lock()
	b.looked = time.Time{}
	b.mu.Unlock()
	var l Listing
	b.read(t, "runs.json", &l)
	return l.Runs
}

func TestList(t *testing.T) {
	dir := t.TempDir()
	measured(t, dir, declared("overlay"), begin, 8e-6)
	measured(t, filepath.Join(dir, "team", "lab 1"), declared("overlay"), begin.Add(2*time.Hour), 8e-6)
	measured(t, dir, declared("zones"), begin.Add(time.Hour), 8e-6)
	b := newBrowsing(t, dir)
	var l Listing
	b.read(t, "runs.json", &l)
	if l.Nearfar != "v1" || l.Folder != dir || l.Cut != "" || len(l.Runs) != 3 || b.Runs() != 3 {
		t.Fatalf("listed: %+v", l)
	}
	var paths []string
	for _, r := range l.Runs {
		paths = append(paths, r.Path)
	}
	want := []string{"team/lab 1/20261101T140000Z-overlay", "20261101T130000Z-zones", "20261101T120000Z-overlay"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("newest first (-want +got):\n%s", diff)
	}
	got := l.Runs[2]
	got.Changed = time.Time{}
	if diff := cmp.Diff(Run{
		ID: got.ID, Path: "20261101T120000Z-overlay", Name: "overlay", Question: "How much does a router add?", Baseline: "l2",
		Arms: []string{"l2", "routed"}, Workloads: []string{"rr"}, State: "complete", Started: begin, Ended: begin.Add(time.Minute),
		Trials: 14, Planned: 14,
	}, got); diff != "" {
		t.Errorf("a run (-want +got):\n%s", diff)
	}
	if response, body := get(t, b.server.URL(), nil); body != browsePage || response.Header.Get("Content-Security-Policy") != nothing {
		t.Errorf("the page is %q with %v", body, response.Header)
	}
}

// A run directory that cannot be read is listed with the reason, and the others are not worse for it.
func TestBrokenRuns(t *testing.T) {
	dir := t.TempDir()
	measured(t, dir, declared("good"), begin, 8e-6)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte(`{"nearfar":"v1"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		make func(run string) error
		want string
	}{
		"no-manifest": {func(run string) error { return os.Remove(filepath.Join(run, "run.json")) }, "run.json is not there"},
		"no-json":     {func(run string) error { return os.WriteFile(filepath.Join(run, "run.json"), []byte("<b>"), 0o644) }, "invalid character"},
		"version": {func(run string) error {
			return os.WriteFile(filepath.Join(run, "run.json"), []byte(`{"nearfar":"v9"}`), 0o644)
		}, "this program reads v1"},
		"too-long": {func(run string) error { return os.Truncate(filepath.Join(run, "run.json"), rundir.MaxManifest+1) }, "at most"},
		"a-folder": {func(run string) error {
			return replaced(run, "run.json", func(p string) error { return os.Mkdir(p, 0o755) })
		}, "no plain file"},
		"linked": {func(run string) error {
			return replaced(run, "run.json", func(p string) error { return os.Symlink(outside, p) })
		}, "no plain file"},
		"linked-lines": {func(run string) error {
			return replaced(run, "trials.jsonl", func(p string) error { return os.Symlink(outside, p) })
		}, "no plain file"},
		"linked-raw": {func(run string) error { return os.Symlink(outside, filepath.Join(run, "raw", "x.out")) }, "raw/x.out is a link"},
	} {
		run := filepath.Join(dir, name)
		if err := os.Rename(measured(t, dir, declared(name), begin, 8e-6).Path, run); err != nil {
			t.Fatal(err)
		}
		if err := c.make(run); err != nil {
			t.Fatal(err)
		}
		b := newBrowsing(t, dir)
		found := false
		for _, r := range b.listed(t) {
			if r.Path == "20261101T120000Z-good" && r.Error != "" {
				t.Errorf("%s: the good run has %q", name, r.Error)
			}
			if r.Path != name {
				continue
			}
			found = true
			if !strings.Contains(r.Error, c.want) {
				t.Errorf("%s: listed with %q, want %q", name, r.Error, c.want)
			}
			if response, body := get(t, b.server.URL()+"run/"+r.ID+"/data.json", nil); response.StatusCode != 500 || strings.Contains(body, "figures") {
				t.Errorf("%s: its data is answered with %d: %s", name, response.StatusCode, body)
			}
		}
		if !found {
			t.Errorf("%s is not listed", name)
		}
	}
}

// replaced puts something else in the place of a file.
func replaced(run, name string, with func(path string) error) error {
	path := filepath.Join(run, name)
	if err := os.Remove(path); err != nil {
		return err
	}
	return with(path)
}

// Links that lead to run directories are not followed, whether they lead out of the folder or not; what is hidden is not shown.
func TestLinksAreNotFollowed(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	inside := measured(t, dir, declared("inside"), begin, 8e-6)
	outside := measured(t, elsewhere, declared("outside"), begin, 8e-6)
	hidden := measured(t, filepath.Join(dir, ".new-1"), declared("hidden"), begin, 8e-6)
	for name, target := range map[string]string{"a": outside.Path, "b": inside.Path, "c": elsewhere, "d": "..", "e": hidden.Path} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	runs := newBrowsing(t, dir).listed(t)
	if len(runs) != 1 || runs[0].Name != "inside" {
		t.Errorf("listed: %+v", runs)
	}
}

// A run directory that turns into a link after it was listed is not read.
func TestRunTurnsIntoLink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	inside := measured(t, dir, declared("inside"), begin, 8e-6)
	outside := measured(t, elsewhere, declared("outside"), begin, 8e-6)
	b := newBrowsing(t, dir)
	id := b.listed(t)[0].ID
	b.mu.Lock()
	b.every = time.Hour // the list stays as it was
	b.mu.Unlock()
	if err := os.RemoveAll(inside.Path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside.Path, inside.Path); err != nil {
		t.Fatal(err)
	}
	response, body := get(t, b.server.URL()+"run/"+id+"/data.json", nil)
	if response.StatusCode != 500 || strings.Contains(body, "outside") {
		t.Errorf("answered with %d: %s", response.StatusCode, body)
	}
}

func TestRunPages(t *testing.T) {
	dir := t.TempDir()
	measured(t, dir, declared("overlay"), begin, 8e-6)
	b := newBrowsing(t, dir)
	at := "run/" + b.listed(t)[0].ID + "/"
	if response, body := get(t, b.server.URL()+at, nil); response.StatusCode != 200 || body != livePage {
		t.Errorf("the page: %d %s", response.StatusCode, body)
	}
	var a answer.Answer
	b.read(t, at+"data.json", &a)
	if a.Trials != 14 || a.State != "complete" || len(a.Arms) != 2 {
		t.Errorf("the data: %+v", a)
	}
	// Of a run that is over no events come: a page that is told so does not ask again.
	if response, _ := get(t, b.server.URL()+at+"events", nil); response.StatusCode != http.StatusNoContent {
		t.Errorf("events of a run that is over: %d", response.StatusCode)
	}
	for _, address := range []string{
		"run/", "run", at + "run.json", at + "raw/x", "run/../runs.json/", "run/0000000000000000/", "run/0000000000000000/data.json", "run/" + url.PathEscape("../../etc") + "/data.json",
		"run/20261101T120000Z-overlay/", "20261101T120000Z-overlay/run.json", strings.TrimSuffix(at, "/"), at + "/data.json", "x" + at,
	} {
		if response, body := get(t, b.server.URL()+address, nil); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s is answered with %d: %s", address, response.StatusCode, body)
		}
	}
}

// The folder itself may be the run directory.
func TestFolderIsTheRun(t *testing.T) {
	b := newBrowsing(t, measured(t, t.TempDir(), declared("overlay"), begin, 8e-6).Path)
	runs := b.listed(t)
	if len(runs) != 1 || runs[0].Path != "." || runs[0].Name != "overlay" {
		t.Fatalf("listed: %+v", runs)
	}
	var a answer.Answer
	b.read(t, "run/"+runs[0].ID+"/data.json", &a)
	if a.Trials != 14 {
		t.Errorf("the data: %+v", a)
	}
}

// New runs appear, running ones grow, and pages that listen are told.
func TestFolderFollows(t *testing.T) {
	dir := t.TempDir()
	b := newBrowsing(t, dir)
	if runs := b.listed(t); len(runs) != 0 {
		t.Fatalf("listed: %+v", runs)
	}
	l := listenTo(t, b.server.URL()+"events")
	e := declared("overlay")
	run, err := rundir.Create(dir, rundir.Manifest{Nearfar: "v1", Experiment: e, State: rundir.Running, Started: begin})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Close() }()
	waitFor(t, "the run is listed", func() bool { return len(b.listed(t)) == 1 })
	if name, _, ok := l.next(); !ok || name != "runs" {
		t.Errorf("event %s", name)
	}
	at := b.server.URL() + "run/" + b.listed(t)[0].ID + "/"
	of := listenTo(t, at+"events")
	for i, slot := range e.Slots() {
		add(t, run, i+1, slot, 8e-6)
	}
	if name, _, ok := of.next(); !ok || name != "trial" {
		t.Errorf("event %s", name)
	}
	if runs := b.listed(t); runs[0].Trials != 14 || runs[0].State != rundir.Running {
		t.Errorf("listed: %+v", runs)
	}
	end(t, run, rundir.Complete)
	waitFor(t, "the end is told", func() bool {
		_, _, ok := of.next()
		return ok && b.listed(t)[0].State == rundir.Complete
	})
}

func TestFolderIsMissing(t *testing.T) {
	if _, err := NewFolder(nil, nil, filepath.Join(t.TempDir(), "nowhere"), Source{}); err == nil {
		t.Error("a folder that is not there is served")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFolder(nil, nil, file, Source{}); err == nil {
		t.Error("a file is served")
	}
}

// What is deeper than the bound is said to be left out.
func TestDepthIsBounded(t *testing.T) {
	dir := t.TempDir()
	deep := dir
	for i := range maxDepth + 1 {
		deep = filepath.Join(deep, fmt.Sprint(i))
	}
	measured(t, deep, declared("deep"), begin, 8e-6)
	var l Listing
	newBrowsing(t, dir).read(t, "runs.json", &l)
	if len(l.Runs) != 0 || !strings.Contains(l.Cut, "levels down") {
		t.Errorf("listed: %+v", l)
	}
}

func TestTextsAreClipped(t *testing.T) {
	e := declared("long")
	e.Question = strings.Repeat("ä", 10*maxText)
	dir := t.TempDir()
	measured(t, dir, e, begin, 8e-6)
	if got, want := newBrowsing(t, dir).listed(t)[0].Question, strings.Repeat("ä", maxText)+"..."; got != want {
		t.Errorf("listed with a question of %d bytes", len(got))
	}
}
