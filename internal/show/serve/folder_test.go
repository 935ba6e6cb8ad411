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

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// browsePage has no content security policy, so that it gets the strictest.
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
		Arms: []experiment.Arm{
			arm("l2", experiment.Bridge), arm("routed", experiment.Bridge, experiment.Router, experiment.Bridge),
		},
		Workloads: []experiment.Workload{{
			Name: "rr", Tool: "native", Mode: experiment.RR, Protocol: experiment.TCP, Request: 64, Response: 64,
			Duration: time.Second, Placement: experiment.Placement{Kind: experiment.PlacementShared},
		}},
		Schedule: experiment.Schedule{Blocks: 7, Seed: 1},
	}
}

// measured makes a run directory. The round-trip time is about the given number of seconds in l2, and a microsecond
// more in routed.
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
		Trial: number, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload,
		Tool: result.ToolVersion{Name: "native"}, Mode: "rr", Protocol: "tcp",
		Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT,
		Metrics: []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: value}},
		Raw:     []string{}, Treatment: map[string]string{},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func end(t *testing.T, dir *rundir.Dir, state string) {
	t.Helper()
	err := dir.Update(func(m *rundir.Manifest) { m.State, m.Ended = state, m.Started.Add(time.Minute) })
	if err != nil {
		t.Fatal(err)
	}
}

// realSource makes answers in the same way as the command line.
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
		in := answer.Input{Experiment: m.Experiment, Trials: trials, Run: path, State: m.State, Seed: m.Seed}
		return answer.Make(in), nil
	}
	return Source{Answer: answerOf, Document: func(path string) ([]byte, error) {
		a, err := answerOf(path)
		if err != nil {
			return nil, err
		}
		return json.Marshal(a)
	}}
}

// browsing is a Folder and its server.
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

// read fetches a JSON document.
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

// runs fetches the list of runs. The folder is read again for it.
func (b *browsing) runs(t *testing.T) []Run {
	t.Helper()
	b.mu.Lock()
	b.listed = time.Time{}
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
		ID: got.ID, Path: "20261101T120000Z-overlay", Name: "overlay", Question: "How much does a router add?",
		Baseline: "l2", Arms: []string{"l2", "routed"}, Workloads: []string{"rr"},
		State: "complete", Started: begin, Ended: begin.Add(time.Minute), Trials: 14, Planned: 14,
	}, got); diff != "" {
		t.Errorf("a run (-want +got):\n%s", diff)
	}
	response, body := get(t, b.server.URL(), nil)
	if body != browsePage || response.Header.Get("Content-Security-Policy") != denyAll {
		t.Errorf("the page is %q with %v", body, response.Header)
	}
}

// A run directory that cannot be read is listed with the reason, and does not affect the others.
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
		"no-manifest": {func(run string) error {
			return os.Remove(filepath.Join(run, "run.json"))
		}, "there is no run.json"},
		"no-json": {func(run string) error {
			return os.WriteFile(filepath.Join(run, "run.json"), []byte("<b>"), 0o644)
		}, "invalid character"},
		"version": {func(run string) error {
			return os.WriteFile(filepath.Join(run, "run.json"), []byte(`{"nearfar":"v9"}`), 0o644)
		}, "this program reads v1"},
		"too-long": {func(run string) error {
			return os.Truncate(filepath.Join(run, "run.json"), rundir.MaxManifest+1)
		}, "at most"},
		"a-folder": {func(run string) error {
			return replaced(run, "run.json", func(p string) error { return os.Mkdir(p, 0o755) })
		}, "run.json is not a regular file"},
		"linked": {func(run string) error {
			return replaced(run, "run.json", func(p string) error { return os.Symlink(outside, p) })
		}, "run.json is not a regular file"},
		"linked-lines": {func(run string) error {
			return replaced(run, "trials.jsonl", func(p string) error { return os.Symlink(outside, p) })
		}, "trials.jsonl is not a regular file"},
		"linked-raw": {func(run string) error {
			return os.Symlink(outside, filepath.Join(run, "raw", "x.out"))
		}, "raw/x.out is not a regular file"},
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
		for _, r := range b.runs(t) {
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
			response, body := get(t, b.server.URL()+"run/"+r.ID+"/data.json", nil)
			if response.StatusCode != 500 || strings.Contains(body, "figures") {
				t.Errorf("%s: its data is answered with %d: %s", name, response.StatusCode, body)
			}
		}
		if !found {
			t.Errorf("%s is not listed", name)
		}
	}
}

// replaced removes a file and calls with to put something else in its place.
func replaced(run, name string, with func(path string) error) error {
	path := filepath.Join(run, name)
	if err := os.Remove(path); err != nil {
		return err
	}
	return with(path)
}

// Links to run directories are not followed, no matter whether they lead out of the folder. Hidden folders are not
// listed.
func TestLinksAreNotFollowed(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	inside := measured(t, dir, declared("inside"), begin, 8e-6)
	outside := measured(t, elsewhere, declared("outside"), begin, 8e-6)
	hidden := measured(t, filepath.Join(dir, ".new-1"), declared("hidden"), begin, 8e-6)
	for name, target := range map[string]string{
		"a": outside.Path, "b": inside.Path, "c": elsewhere, "d": "..", "e": hidden.Path,
	} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	runs := newBrowsing(t, dir).runs(t)
	if len(runs) != 1 || runs[0].Name != "inside" {
		t.Errorf("listed: %+v", runs)
	}
}

// A run directory that is replaced with a link after it was listed is not read.
func TestRunReplacedWithLink(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	inside := measured(t, dir, declared("inside"), begin, 8e-6)
	outside := measured(t, elsewhere, declared("outside"), begin, 8e-6)
	b := newBrowsing(t, dir)
	id := b.runs(t)[0].ID
	b.mu.Lock()
	b.every = time.Hour // the list is not updated
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
	at := "run/" + b.runs(t)[0].ID + "/"
	if response, body := get(t, b.server.URL()+at, nil); response.StatusCode != 200 || body != livePage {
		t.Errorf("the page: %d %s", response.StatusCode, body)
	}
	var a answer.Answer
	b.read(t, at+"data.json", &a)
	if a.Trials != 14 || a.State != "complete" || len(a.Arms) != 2 {
		t.Errorf("the data: %+v", a)
	}
	// A finished run has no events. After this status the page does not connect again.
	if response, _ := get(t, b.server.URL()+at+"events", nil); response.StatusCode != http.StatusNoContent {
		t.Errorf("events of a finished run: %d", response.StatusCode)
	}
	for _, address := range []string{
		"run/", "run", at + "run.json", at + "raw/x", "run/../runs.json/",
		"run/0000000000000000/", "run/0000000000000000/data.json", "run/" + url.PathEscape("../../etc") + "/data.json",
		"run/20261101T120000Z-overlay/", "20261101T120000Z-overlay/run.json",
		strings.TrimSuffix(at, "/"), at + "/data.json", "x" + at,
	} {
		if response, body := get(t, b.server.URL()+address, nil); response.StatusCode != http.StatusNotFound {
			t.Errorf("%s is answered with %d: %s", address, response.StatusCode, body)
		}
	}
}

// The folder itself may be the run directory.
func TestFolderIsTheRun(t *testing.T) {
	b := newBrowsing(t, measured(t, t.TempDir(), declared("overlay"), begin, 8e-6).Path)
	runs := b.runs(t)
	if len(runs) != 1 || runs[0].Path != "." || runs[0].Name != "overlay" {
		t.Fatalf("listed: %+v", runs)
	}
	var a answer.Answer
	b.read(t, "run/"+runs[0].ID+"/data.json", &a)
	if a.Trials != 14 {
		t.Errorf("the data: %+v", a)
	}
}

// New runs appear in the list, the number of trials of a running run grows, and pages get events.
func TestFolderFollows(t *testing.T) {
	dir := t.TempDir()
	b := newBrowsing(t, dir)
	if runs := b.runs(t); len(runs) != 0 {
		t.Fatalf("listed: %+v", runs)
	}
	l := listenTo(t, b.server.URL()+"events")
	e := declared("overlay")
	run, err := rundir.Create(dir, rundir.Manifest{Nearfar: "v1", Experiment: e, State: rundir.Running, Started: begin})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = run.Close() }()
	waitFor(t, "the run is listed", func() bool { return len(b.runs(t)) == 1 })
	if name, _, ok := l.next(); !ok || name != "runs" {
		t.Errorf("event %s", name)
	}
	at := b.server.URL() + "run/" + b.runs(t)[0].ID + "/"
	trials := listenTo(t, at+"events")
	for i, slot := range e.Slots() {
		add(t, run, i+1, slot, 8e-6)
	}
	if name, _, ok := trials.next(); !ok || name != "trial" {
		t.Errorf("event %s", name)
	}
	if runs := b.runs(t); runs[0].Trials != 14 || runs[0].State != rundir.Running {
		t.Errorf("listed: %+v", runs)
	}
	end(t, run, rundir.Complete)
	waitFor(t, "the list shows the end", func() bool {
		_, _, ok := trials.next()
		return ok && b.runs(t)[0].State == rundir.Complete
	})
}

func TestFolderIsMissing(t *testing.T) {
	if _, err := NewFolder(nil, nil, filepath.Join(t.TempDir(), "nowhere"), Source{}); err == nil {
		t.Error("a missing folder is served")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := NewFolder(nil, nil, file, Source{}); err == nil {
		t.Error("a file is served")
	}
}

// The list says that folders below the greatest depth were left out.
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
	if got, want := newBrowsing(t, dir).runs(t)[0].Question, strings.Repeat("ä", maxText)+"..."; got != want {
		t.Errorf("listed with a question of %d bytes", len(got))
	}
}
