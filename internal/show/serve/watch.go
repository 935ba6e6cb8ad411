package serve

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// leastGap is the least time between two updates of the pages.
	leastGap = time.Second
	// share is the ratio of the pause after an update to the CPU time that the update used: updates use at most a
	// twentieth of one CPU.
	share = 20
)

// Progress says how far a run is. It is the data of the events.
type Progress struct {
	// Done and Total count trials.
	Done  int `json:"done"`
	Total int `json:"total"`
	// LeftSeconds is about how long the rest will take.
	LeftSeconds float64 `json:"left_seconds"`
	// State is the state of the run directory. An event with another state than "running" is the last one.
	State string `json:"state"`
}

// Watch serves the live page of one run that is being measured: "/", "/data.json" and the events at "/events".
//
// It uses no CPU time while no page is open. It sends an event only when a trial has ended, so that its own work and
// the browser's fall into the pause before the next trial, and at most once in leastGap. During the run, a thread of
// the lowest priority makes the document. On a busy machine that can take seconds, so the document of the ended run is
// made at ordinary priority: nothing is measured any more, and pages wait for it.
type Watch struct {
	page     document
	document func() ([]byte, error)
	hub      *hub
	quiet    *quiet
	// last makes the document of the ended run, once.
	last func() ([]byte, error)

	// version counts the calls of Publish and End.
	version atomic.Int64
	over    atomic.Bool
	// fetchedOnce says that the document has been fetched: a page is open, and not only a program that reads the
	// events.
	fetchedOnce atomic.Bool
	// rest is the time until which no event is sent, in nanoseconds since 1970.
	rest atomic.Int64

	mu sync.Mutex // held while the document is made: other requests wait for the same one
	// made is the version that the content shows. due is when it may be made again.
	made    int64
	due     time.Time
	content []byte

	gap time.Duration
	// fetched receives a value for each response with the last document that was sent.
	fetched chan struct{}
}

// NewWatch serves the run directory with the page that page.Live returns.
func NewWatch(live []byte, path string, source Source) *Watch {
	w := &Watch{
		page: newDocument(live), document: func() ([]byte, error) { return source.Document(path) },
		hub: newHub(), quiet: newQuiet(), made: -1, gap: leastGap, fetched: make(chan struct{}, maxListeners),
	}
	w.last = sync.OnceValues(func() (content []byte, err error) {
		failed := guarded(func() { content, err = w.document() })
		return content, errors.Join(failed, err)
	})
	return w
}

// Publish tells the pages that a trial has ended and is in the run directory. It does not wait for them.
func (w *Watch) Publish(p Progress) {
	w.version.Add(1)
	now := time.Now()
	if now.UnixNano() < w.rest.Load() {
		return // the pages get an event at the end of a later trial
	}
	w.leaveAlone(now.Add(w.gap))
	w.hub.publish(event{"trial", p})
}

// End tells the pages that the run has ended and that the run directory is up to date. It waits until the open pages
// have fetched the last document, or until ctx ends.
func (w *Watch) End(ctx context.Context, p Progress) {
	w.version.Add(1)
	w.over.Store(true)
	open := w.hub.count()
	if !w.fetchedOnce.Load() {
		open = 0
	}
	w.hub.publish(event{"state", p})
	for range open {
		select {
		case <-w.fetched:
		case <-ctx.Done():
		}
	}
	w.hub.close()
}

// leaveAlone postpones the next event, unless it is postponed for longer already.
func (w *Watch) leaveAlone(until time.Time) {
	for {
		old := w.rest.Load()
		if until.UnixNano() <= old || w.rest.CompareAndSwap(old, until.UnixNano()) {
			return
		}
	}
}

func (w *Watch) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		w.page.write(rw, r)
	case "/data.json":
		w.fetchedOnce.Store(true)
		over := w.over.Load()
		document, err := w.data()
		writeJSON(rw, r, document, err)
		if over && r.Method == http.MethodGet {
			select {
			case w.fetched <- struct{}{}:
			default:
			}
		}
	case "/events":
		w.events(rw, r)
	default:
		refuse(rw, http.StatusNotFound, "there is no such page")
	}
}

func (w *Watch) events(rw http.ResponseWriter, r *http.Request) {
	events, leave, ok := w.hub.listen()
	if !ok {
		refuse(rw, http.StatusServiceUnavailable, "the run has ended, or too many pages watch it already")
		return
	}
	defer leave()
	stream(rw, r, events)
}

// data returns the document. It makes a new one if something has changed and the last one is old enough.
func (w *Watch) data() ([]byte, error) {
	if w.over.Load() {
		return w.last()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	version := w.version.Load()
	if w.content != nil && (w.made == version || time.Now().Before(w.due)) {
		return w.content, nil
	}
	var content []byte
	var err error
	used, failed := w.quiet.do(func() { content, err = w.document() })
	if err = errors.Join(failed, err); err != nil {
		return nil, err
	}
	w.content, w.made, w.due = content, version, time.Now().Add(share*used)
	w.leaveAlone(w.due) // so that a page fetches a new document after the next event
	return content, nil
}
