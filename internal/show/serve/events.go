package serve

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

const (
	// maxListeners is how many pages may receive events at the same time.
	maxListeners = 16
	// keepAlive is how often a stream without events sends a comment, so that a closed connection is noticed.
	keepAlive = 20 * time.Second
	// retryAfter is after how many milliseconds a page that lost the stream connects again.
	retryAfter = 3000
)

// event tells a page that something has changed, and the run's progress. The page then fetches the figures.
type event struct {
	name string
	data any
}

// hub sends events to pages. It never waits for a page: a newer event replaces one that the page has not received yet.
type hub struct {
	mu        sync.Mutex
	listeners map[chan event]struct{}
	closed    bool
}

func newHub() *hub { return &hub{listeners: map[chan event]struct{}{}} }

// listen returns a channel of the events from now on, until the hub is closed or leave is called. ok is false if the
// hub is closed or has maxListeners already.
func (h *hub) listen() (events <-chan event, leave func(), ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || len(h.listeners) >= maxListeners {
		return nil, nil, false
	}
	c := make(chan event, 1)
	h.listeners[c] = struct{}{}
	return c, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.listeners, c)
	}, true
}

// publish passes the event to every listener. It does not block.
func (h *hub) publish(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.listeners {
		select {
		case <-c: // an older event
		default:
		}
		c <- e // does not block: only this function sends, and it holds the mutex
	}
}

// count returns the number of listeners.
func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners)
}

// close ends every listener's stream. Events that are waiting are still delivered.
func (h *hub) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return
	}
	h.closed = true
	for c := range h.listeners {
		close(c)
		delete(h.listeners, c)
	}
}

// stream sends events to one page as server-sent events (WHATWG HTML, section 9.2), until the page is closed, the
// events end or the server ends.
func stream(w http.ResponseWriter, r *http.Request, events <-chan event) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request has been read; the client sends nothing more
	w.Header().Set("Content-Type", "text/event-stream")
	limit := func() { _ = control.SetWriteDeadline(time.Now().Add(pieceTime)) }
	// The server writes the end of the response after this function returns. That write needs a limit of its own: the
	// limit of the last event may be over.
	defer limit()
	send := func(text []byte) bool {
		limit()
		if _, err := w.Write(text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	if !send(fmt.Appendf(nil, "retry: %d\n\n", retryAfter)) {
		return
	}
	alive := time.NewTicker(keepAlive)
	defer alive.Stop()
	for {
		var text []byte
		select {
		case <-r.Context().Done():
			return
		case <-alive.C:
			text = []byte(":\n\n")
		case e, more := <-events:
			if !more {
				return
			}
			text = e.text()
		}
		if !send(text) {
			return
		}
	}
}

// text encodes the event. JSON from Marshal has no line ends, so that it fits into one data line.
func (e event) text() []byte {
	data, err := json.Marshal(e.data)
	if err != nil {
		data = []byte("null")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.name, data)
	return b.Bytes()
}
