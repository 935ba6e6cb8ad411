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
	// maxListeners is how many pages may listen at once.
	maxListeners = 16
	// beat is how often a silent stream shows that it is alive, so that a client that has gone is noticed.
	beat = 20 * time.Second
	// comeBack is after how many milliseconds a page that lost the stream tries again.
	comeBack = 3000
)

// event is what a page is told: that something has changed, and how far the run is. The figures it fetches itself.
type event struct {
	name string
	data any
}

// hub tells pages that something has changed. It never waits for one of them: what a page has not taken is replaced by
// what is newer.
type hub struct {
	mu        sync.Mutex
	listeners map[chan event]struct{}
	closed    bool
}

func newHub() *hub { return &hub{listeners: map[chan event]struct{}{}} }

// listen yields the events from now on, until the hub is closed or leave is called. It refuses where there are too many.
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

// publish hands the event to every listener and returns at once, whether anyone reads or not.
func (h *hub) publish(e event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.listeners {
		select {
		case <-c: // older than this one
		default:
		}
		c <- e // there is room: only this function fills it, and one at a time
	}
}

// count is how many listen.
func (h *hub) count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.listeners)
}

// close ends every listener's stream after what it has not taken yet.
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

// stream sends events to one page as server-sent events, until the page goes, the events end or the server ends.
// [WHATWG HTML, section 9.2]
func stream(w http.ResponseWriter, r *http.Request, events <-chan event) {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the request has been read; from here on silence is normal
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(text []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(pieceTime))
		if _, err := w.Write(text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	if !send(fmt.Appendf(nil, "retry: %d\n\n", comeBack)) {
		return
	}
	alive := time.NewTicker(beat)
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

// text writes the event as it goes over the wire. JSON holds no line ends, so it is one line of data.
func (e event) text() []byte {
	data, err := json.Marshal(e.data)
	if err != nil {
		data = []byte("null")
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.name, data)
	return b.Bytes()
}
