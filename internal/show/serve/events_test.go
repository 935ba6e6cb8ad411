package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// listening reads a stream of events until the test ends.
type listening struct {
	t     *testing.T
	lines chan string
}

func listenTo(t *testing.T, address string) *listening {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Get("Content-Type"); response.StatusCode != 200 || got != "text/event-stream" {
		t.Fatalf("%s: %d of type %q", address, response.StatusCode, got)
	}
	l := &listening{t: t, lines: make(chan string, 1000)}
	go func() {
		defer close(l.lines)
		defer func() { _ = response.Body.Close() }()
		for s := bufio.NewScanner(response.Body); s.Scan(); {
			l.lines <- s.Text()
		}
	}()
	return l
}

// next returns the next event's name and data. ok is false if the stream has ended.
func (l *listening) next() (name, data string, ok bool) {
	l.t.Helper()
	timeout := time.After(patience)
	for {
		select {
		case line, more := <-l.lines:
			if !more {
				return "", "", false
			}
			if rest, is := strings.CutPrefix(line, "event: "); is {
				name = rest
			}
			if rest, is := strings.CutPrefix(line, "data: "); is {
				return name, rest, true
			}
		case <-timeout:
			l.t.Fatal("no event has arrived")
		}
	}
}

// publish returns although no listener reads, and a late reader gets only the newest event.
func TestHubNeverWaits(t *testing.T) {
	h := newHub()
	events, leave, ok := h.listen()
	if !ok {
		t.Fatal("the first listener is refused")
	}
	for i := range 1000 {
		h.publish(event{"trial", i})
	}
	if e := <-events; e.data != 999 {
		t.Errorf("a late reader gets %v", e.data)
	}
	select {
	case e := <-events:
		t.Errorf("and then %v", e)
	default:
	}
	leave()
	if h.count() != 0 {
		t.Error("a listener that has left is still counted")
	}
	h.publish(event{"trial", 0})
}

func TestHubIsBounded(t *testing.T) {
	h := newHub()
	for range maxListeners {
		if _, _, ok := h.listen(); !ok {
			t.Fatal("refused below the limit")
		}
	}
	if _, _, ok := h.listen(); ok {
		t.Errorf("more than %d listeners", maxListeners)
	}
	h.close()
	h.close()
	if _, _, ok := h.listen(); ok {
		t.Error("a closed hub accepts a listener")
	}
}

// An event that was published before the hub was closed still arrives. Then the stream ends.
func TestHubClosesAfterTheLast(t *testing.T) {
	h := newHub()
	events, leave, _ := h.listen()
	defer leave()
	h.publish(event{"state", "complete"})
	h.close()
	if e, more := <-events; !more || e.data != "complete" {
		t.Errorf("got %v, %v", e, more)
	}
	if e, more := <-events; more {
		t.Errorf("after the end: %v", e)
	}
}

// An event has one line of data, whatever its content.
func TestEventText(t *testing.T) {
	got := string(event{"trial", map[string]string{"x": "a\nevent: b\r\n\ndata: c\u2028"}}.text())
	if want := "event: trial\ndata: {\"x\":\"a\\nevent: b\\r\\n\\ndata: c\\u2028\"}\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// pipes is a listener in memory. Its deadlines follow the clock of synctest.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, open := <-p; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p pipes) Close() error {
	close(p)
	return nil
}

// A stream whose last event is long past ends as HTTP demands: its reader sees the end and no error.
func TestQuietStreamEndsWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, listener := make(chan event), make(pipes)
		s := &http.Server{
			ReadHeaderTimeout: requestTime,
			Handler:           http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { stream(w, r, events) }),
		}
		go func() { _ = s.Serve(listener) }()
		defer func() { _ = s.Close() }()
		c, served := net.Pipe()
		defer func() { _ = c.Close() }()
		listener <- served
		if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(2*pieceTime, func() { close(events) })
		response, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if want := fmt.Sprintf("retry: %d\n\n", retryAfter); string(text) != want || err != nil {
			t.Errorf("read %q, %v; want %q", text, err, want)
		}
	})
}

// stuck opens a stream of events and never reads it.
func stuck(t *testing.T, s *Server) {
	t.Helper()
	address, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.(*net.TCPConn).SetReadBuffer(1); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(c, "GET %sevents HTTP/1.1\r\nHost: %s\r\n\r\n", address.Path, address.Host); err != nil {
		t.Fatal(err)
	}
}

// waitFor waits until is returns true.
func waitFor(t *testing.T, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !is() {
		if time.Now().After(deadline) {
			t.Fatal("waited in vain until " + what)
		}
		time.Sleep(time.Millisecond)
	}
}
