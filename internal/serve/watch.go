package serve

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// leastGap is the least time between two updates of the pages.
	leastGap = time.Second
	// share is how much longer the pages rest after an update than it took to make: the work takes a twentieth of one CPU at most.
	share = 20
)

// Progress is how far a run is: the data of the events.
type Progress struct {
	// Done and Total count trials.
	Done  int `json:"done"`
	Total int `json:"total"`
	// LeftSeconds is about how long the rest will take.
	LeftSeconds float64 `json:"left_seconds"`
	// State is that of the run directory; anything but "running" is the last event there is.
	State string `json:"state"`
}

// Watch is the live page of one run that goes on: "/", "/data.json" and the events at "/events".
//
// Nothing is done for it while nobody watches. The page is told of a change only when a trial has ended, so that its work and
// the browser's fall into the pause before the next trial's window, and not more than once in leastGap. What it draws is made
// by a thread of the lowest priority.
type Watch struct {
	page     document
	document func() ([]byte, error)
	hub      *hub
	quiet    *quiet

	// version counts what has been published.
	version atomic.Int64
	over    atomic.Bool
	// asked says that somebody has fetched the document: a page that listens, and not only a program.
	asked atomic.Bool
	// rest is until when the pages are left alone, in nanoseconds since 1970.
	rest atomic.Int64

	mu sync.Mutex // held while the document is made: whoever also wants it waits for the same one
	// made is the version that the content shows; due is when it may be made again.
	made    int64
	due     time.Time
	content []byte

	gap time.Duration
	// fetched is signalled when an answer with the last document has gone out.
	fetched chan struct{}
}

// NewWatch shows the run directory with a page that page.Live gives.
func NewWatch(live []byte, path string, source Source) *Watch {
	return &Watch{
		page: newDocument(live), document: func() ([]byte, error) { return source.Document(path) },
		hub: newHub(), quiet: newQuiet(), made: -1, gap: leastGap, fetched: make(chan struct{}, maxListeners),
	}
}

// Publish says that a trial has ended and is in the run directory. It returns at once, whatever the pages do.
func (w *Watch) Publish(p Progress) {
	w.version.Add(1)
	now := time.Now()
	if now.UnixNano() < w.rest.Load() {
		return // the end of a later trial tells the pages
	}
	w.leaveAlone(now.Add(w.gap))
	w.hub.publish(event{"trial", p})
}

// End says that the run has ended and that its directory says so. Pages that are open get what they need to show the end: it
// waits for them until ctx ends, and not at all where there are none.
func (w *Watch) End(ctx context.Context, p Progress) {
	w.version.Add(1)
	w.over.Store(true)
	open := w.hub.count()
	if !w.asked.Load() {
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

// leaveAlone puts off the next update until then, unless it is put off for longer already.
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
		w.asked.Store(true)
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

// data gives the document, made anew where something has changed and the last one is old enough.
func (w *Watch) data() ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	version := w.version.Load()
	if w.content != nil && (w.made == version || !w.over.Load() && time.Now().Before(w.due)) {
		return w.content, nil
	}
	var content []byte
	var err error
	started := time.Now()
	if failed := w.quiet.do(func() { content, err = w.document() }); failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	now := time.Now()
	w.content, w.made, w.due = content, version, now.Add(share*now.Sub(started))
	w.leaveAlone(w.due) // so a page that is told finds it due
	return content, nil
}
