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
	livePage   = `<!doctype html><title>live</title>` +
		`<meta http-equiv="Content-Security-Policy" content="` + livePolicy + `">`
)

// watching is the live page of a run. Its document is a number that the test sets.
type watching struct {
	*Watch
	server *Server
	// shown is the number in the document. made is how many times the document was made.
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

// trial ends a trial.
func (w *watching) trial(n int64) {
	w.shown.Store(n)
	w.Publish(Progress{Done: int(n), Total: 100, LeftSeconds: 1.5, State: "running"})
}

// data fetches the document.
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
	for _, address := range []string{
		"nothing", "run.json", "raw/00001.client.out", "../data.json", "%2e%2e/data.json", "data.json/",
	} {
		if response, _ := get(t, w.server.URL()+address, nil); response.StatusCode == 200 {
			t.Errorf("%s is answered", address)
		}
	}
}

// When a trial ends, an open page gets an event and then fetches a document with the trial.
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
		want := fmt.Sprintf(`{"done":%d,"total":100,"left_seconds":1.5,"state":"running"}`, n)
		if !ok || name != "trial" || data != want {
			t.Errorf("event %s %s, want %s", name, data, want)
		}
		if got, want := w.data(t), fmt.Sprintf(`{"run":"runs/x","trials":%d}`, n); got != want {
			t.Errorf("after trial %d: %s, want %s", n, got, want)
		}
	}
}

// The document is made only on request and only once for each state, and many trials cause one event.
func TestUpdatesAreCoalesced(t *testing.T) {
	w := newWatching(t, time.Hour)
	for n := range int64(1000) {
		w.trial(n)
	}
	if n := w.made.Load(); n != 0 {
		t.Errorf("the document was made %d times without a request", n)
	}
	for range 5 {
		w.data(t)
	}
	if n := w.made.Load(); n != 1 {
		t.Errorf("the document was made %d times for one state", n)
	}
	l := listenTo(t, w.server.URL()+"events")
	waitFor(t, "the page has connected", func() bool { return w.hub.count() == 1 })
	for n := range int64(1000) {
		w.trial(n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w.End(ctx, Progress{State: "complete"})
	if name, data, ok := l.next(); !ok || name != "state" {
		t.Errorf("less than an hour after the last event, %s %s was sent", name, data)
	}
}

// After a document was made, no other is made for 20 times as long as that took.
func TestSlowDocumentsAreMadeLessOften(t *testing.T) {
	w := newWatching(t, 0)
	w.document = func() ([]byte, error) {
		for before := threadTime(); threadTime()-before < 20*time.Millisecond; { // uses the CPU
		}
		return fmt.Appendf(nil, "%d", w.made.Add(1)), nil
	}
	before := time.Now()
	w.data(t)
	if rest := time.Unix(0, w.rest.Load()).Sub(before); rest < share*20*time.Millisecond {
		t.Errorf("the pause is only %v", rest)
	}
	w.due = time.Now().Add(time.Hour) // on a machine that stands still, the pause could end before the next request
	w.trial(1)
	if got := w.data(t); got != "1" {
		t.Errorf("made again before it was due: %s", got)
	}
}

// Publish does not wait for pages that never read.
func TestStuckPages(t *testing.T) {
	w := newWatching(t, 0)
	for range 3 {
		stuck(t, w.server)
	}
	waitFor(t, "all pages have connected", func() bool { return w.hub.count() == 3 })
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
		t.Fatal("Publish waits for pages that do not read")
	}
}

// Open pages get the event of the end and the last document. End waits for them.
func TestEnd(t *testing.T) {
	w := newWatching(t, time.Hour)
	l := listenTo(t, w.server.URL()+"events")
	waitFor(t, "the page has connected", func() bool { return w.hub.count() == 1 })
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
		t.Error("End did not wait until the page fetched the last document")
	default:
	}
	if got, want := w.data(t), `{"run":"runs/x","trials":100}`; got != want {
		t.Errorf("at the end %s, want %s", got, want)
	}
	select {
	case <-ended:
	case <-time.After(patience):
		t.Fatal("End waits although the page has the last document")
	}
	if _, _, more := l.next(); more {
		t.Error("the stream has not ended")
	}
	if response, _ := get(t, w.server.URL()+"events", nil); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("after the end a page may connect: %d", response.StatusCode)
	}
}

// End does not wait if no page is open, and not longer than its context for a page that never reads.
func TestEndDoesNotWait(t *testing.T) {
	// The test's context ends with the test: End would block if it waited.
	newWatching(t, 0).End(t.Context(), Progress{State: "complete"})
	program := newWatching(t, 0) // receives the events, and never fetches the document
	stuck(t, program.server)
	waitFor(t, "the program has connected", func() bool { return program.hub.count() == 1 })
	program.End(t.Context(), Progress{State: "complete"})

	w := newWatching(t, 0)
	w.data(t)
	stuck(t, w.server)
	waitFor(t, "the page has connected", func() bool { return w.hub.count() == 1 })
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	w.End(ctx, Progress{State: "complete"})
	if ctx.Err() == nil {
		t.Error("End returned before its context ended")
	}
}

// An error or a panic while the document is made becomes an error response.
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
