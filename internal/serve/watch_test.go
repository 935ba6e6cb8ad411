package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

const (
	livePolicy = "default-src 'none'; script-src 'sha256-x'; connect-src 'self'"
	livePage   = `<!doctype html><title>live</title><meta http-equiv="Content-Security-Policy" content="` + livePolicy + `">`
)

// watching is a page of a run whose document is a number that the test sets.
type watching struct {
	*Watch
	server *Server
	// shown is what the document says, made how often it was made.
	shown, made atomic.Int64
}

func newWatching(t *testing.T, gap time.Duration) *watching {
	t.Helper()
	w := &watching{}
	w.Watch = NewWatch([]byte(livePage), "runs/x", Source{Document: func(path string) ([]byte, error) {
		w.made.Add(1)
		return fmt.Appendf(nil, `{"run":%q,"trials":%d}`, path, w.shown.Load()), nil
	}})
	w.gap = gap
	w.server = started(t, w.Watch)
	return w
}

// trial is the end of a trial.
func (w *watching) trial(n int64) {
	w.shown.Store(n)
	w.Publish(Progress{Done: int(n), Total: 100, LeftSeconds: 1.5, State: "running"})
}

// data asks for the document.
func (w *watching) data(t *testing.T) string {
	t.Helper()
	response, body := get(t, w.server.URL()+"data.json", nil)
	if response.StatusCode != 200 || response.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d of type %q: %s", response.StatusCode, response.Header.Get("Content-Type"), body)
	}
	return body
}

func TestWatchPage(t *testing.T) {
	w := newWatching(t, 0)
	response, body := get(t, w.server.URL(), nil)
	if body != livePage || response.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("the page is %q of type %q", body, response.Header.Get("Content-Type"))
	}
	policy := response.Header.Get("Content-Security-Policy")
	if policy != livePolicy+"; frame-ancestors 'none'" {
		t.Errorf("the policy is %q", policy)
	}
	for _, address := range []string{"nothing", "run.json", "raw/00001.client.out", "../data.json", "%2e%2e/data.json", "data.json/"} {
		if response, _ := get(t, w.server.URL()+address, nil); response.StatusCode == 200 {
			t.Errorf("%s is answered", address)
		}
	}
}

// Trials that end reach a page that listens: an event, and the document as it is after it.
func TestFiguresAppearAsTrialsEnd(t *testing.T) {
	w := newWatching(t, 0)
	l := listenTo(t, w.server.URL()+"events")
	if got, want := w.data(t), `{"run":"runs/x","trials":0}`; got != want {
		t.Errorf("at first %s, want %s", got, want)
	}
	for n := int64(1); n <= 3; n++ {
		waitFor(t, "the last update is old enough", func() bool { return time.Now().UnixNano() >= w.rest.Load() })
		w.trial(n)
		name, data, ok := l.next()
		if want := fmt.Sprintf(`{"done":%d,"total":100,"left_seconds":1.5,"state":"running"}`, n); !ok || name != "trial" || data != want {
			t.Errorf("event %s %s, want %s", name, data, want)
		}
		if got, want := w.data(t), fmt.Sprintf(`{"run":"runs/x","trials":%d}`, n); got != want {
			t.Errorf("after trial %d: %s, want %s", n, got, want)
		}
	}
}

// While nobody asks, nothing is made; who asks twice for the same gets the same; and many trials are one update.
func TestUpdatesAreCoalesced(t *testing.T) {
	w := newWatching(t, time.Hour)
	for n := range int64(1000) {
		w.trial(n)
	}
	if n := w.made.Load(); n != 0 {
		t.Errorf("the document was made %d times for nobody", n)
	}
	for range 5 {
		w.data(t)
	}
	if n := w.made.Load(); n != 1 {
		t.Errorf("the document was made %d times for one state", n)
	}
	l := listenTo(t, w.server.URL()+"events")
	waitFor(t, "the page listens", func() bool { return w.hub.count() == 1 })
	for n := range int64(1000) {
		w.trial(n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.End(ctx, Progress{State: "complete"})
	if name, data, ok := l.next(); !ok || name != "state" {
		t.Errorf("within an hour after the last update comes %s %s", name, data)
	}
}

// The document rests for many times as long as it took to make.
func TestSlowDocumentsRest(t *testing.T) {
	w := newWatching(t, 0)
	w.document = func() ([]byte, error) {
		for started := time.Now(); time.Since(started) < 20*time.Millisecond; { // hard work
		}
		return fmt.Appendf(nil, "%d", w.made.Add(1)), nil
	}
	before := time.Now()
	w.data(t)
	if rest := time.Unix(0, w.rest.Load()).Sub(before); rest < share*20*time.Millisecond {
		t.Errorf("rests for %v only", rest)
	}
	w.due = time.Now().Add(time.Hour) // a machine that stood still would make it due
	w.trial(1)
	if got := w.data(t); got != "1" {
		t.Errorf("made again before it was due: %s", got)
	}
}

// A page that never reads, or that has gone, costs the measuring side nothing: publishing returns.
func TestStuckPages(t *testing.T) {
	w := newWatching(t, 0)
	for range 3 {
		stuck(t, w.server)
	}
	waitFor(t, "all listen", func() bool { return w.hub.count() == 3 })
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := range int64(100_000) {
			w.trial(n)
		}
	}()
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("publishing waits for pages that do not read")
	}
}

// The end reaches pages that are open, with the last document; nobody waits longer than allowed for one that is stuck.
func TestEnd(t *testing.T) {
	w := newWatching(t, time.Hour)
	l := listenTo(t, w.server.URL()+"events")
	waitFor(t, "the page listens", func() bool { return w.hub.count() == 1 })
	w.data(t)
	w.shown.Store(100)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.End(t.Context(), Progress{Done: 100, Total: 100, State: "interrupted"})
	}()
	name, data, ok := l.next()
	if !ok || name != "state" || !strings.Contains(data, `"state":"interrupted"`) {
		t.Errorf("the end is %s %s", name, data)
	}
	select {
	case <-ended:
		t.Error("did not wait for the page to fetch the end")
	default:
	}
	if got, want := w.data(t), `{"run":"runs/x","trials":100}`; got != want {
		t.Errorf("at the end %s, want %s", got, want)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("waits though the page has what it needs")
	}
	if _, _, more := l.next(); more {
		t.Error("the stream goes on")
	}
	if response, _ := get(t, w.server.URL()+"events", nil); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("after the end somebody may listen: %d", response.StatusCode)
	}
}

func TestEndWaitsForNobody(t *testing.T) {
	// What waits here waits until the test's own end.
	newWatching(t, 0).End(t.Context(), Progress{State: "complete"})
	program := newWatching(t, 0) // it follows the events, and never fetches what a page draws
	stuck(t, program.server)
	waitFor(t, "it listens", func() bool { return program.hub.count() == 1 })
	program.End(t.Context(), Progress{State: "complete"})

	w := newWatching(t, 0)
	w.data(t)
	stuck(t, w.server)
	waitFor(t, "it listens", func() bool { return w.hub.count() == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	w.End(ctx, Progress{State: "complete"})
	if ctx.Err() == nil {
		t.Error("the end did not give a page that is stuck its time")
	}
}

// What goes wrong with the document is the page's trouble.
func TestDocumentFails(t *testing.T) {
	w := newWatching(t, 0)
	for want, document := range map[string]func() ([]byte, error){
		"no such <b>run</b>":      func() ([]byte, error) { return nil, errors.New("no such <b>run</b>") },
		"the histogram is broken": func() ([]byte, error) { panic("the histogram is broken") },
	} {
		w.document = document
		response, body := get(t, w.server.URL()+"data.json", nil)
		if response.StatusCode != 500 || response.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
			t.Errorf("%d of type %q: %s", response.StatusCode, response.Header.Get("Content-Type"), body)
		}
		if !strings.Contains(body, want) {
			t.Errorf("says %q, want %q", body, want)
		}
	}
	w.document = func() ([]byte, error) { return []byte("{}"), nil }
	if got := w.data(t); got != "{}" {
		t.Errorf("afterwards %q", got)
	}
}
