//go:build linux

package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"nearfar/internal/declare/rundir"
	"nearfar/internal/show/page/pagetest"
)

// recordStatus makes the page record each text that it shows as the state of the run.
const recordStatus = `(() => {
	globalThis.said = [];
	const live = document.querySelector(".live");
	new MutationObserver(() => globalThis.said.push(live.textContent))
		.observe(live, { childList: true, characterData: true, subtree: true });
	return true;
})()`

// When a run ends, its server ends too, and the stream of events closes before the page has the last figures. The page
// must not report that the server does not answer, and must then report that the run is complete. If the server ends
// during the run, the page must report that.
func testFinishedRun(t *testing.T, b *pagetest.Tab) {
	d, _ := collected(t, sample{arms: []string{"l2", "routed"}, blocks: 3, rounds: 300, plain: true}.write(t))
	page, err := Live()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, last, want string
	}{
		{"ends", "event: state\ndata: {\"state\":\"complete\"}\n\n", "the run is complete"},
		{"is killed", "", "live: the run's server does not answer; the page keeps what it has"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var over atomic.Bool
			end, closed := make(chan struct{}), make(chan struct{})
			mux := http.NewServeMux()
			mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				_, _ = w.Write(page)
			})
			mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNoContent)
			})
			mux.HandleFunc("GET /data.json", func(w http.ResponseWriter, r *http.Request) {
				now := d
				now.Answer.State = rundir.Running
				if over.Load() {
					<-closed // the figures arrive after the stream has ended
					if c.last == "" {
						panic(http.ErrAbortHandler)
					}
					now.Answer.State = rundir.Complete
				}
				_ = json.NewEncoder(w).Encode(now)
			})
			mux.HandleFunc("GET /events", func(w http.ResponseWriter, r *http.Request) {
				if over.Load() {
					panic(http.ErrAbortHandler) // the server has ended
				}
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = fmt.Fprint(w, "retry: 10\n\n")
				_ = http.NewResponseController(w).Flush()
				select {
				case <-end:
				case <-r.Context().Done():
					return
				}
				over.Store(true)
				_, _ = fmt.Fprint(w, c.last)
				_ = http.NewResponseController(w).Flush()
				close(closed)
			})
			server := httptest.NewServer(mux)
			defer server.Close()
			defer server.CloseClientConnections()
			b.Do(t, chromedp.Navigate(server.URL+"/"), chromedp.WaitReady(chromedp.CSS("html[data-shown]")))
			pagetest.Eval[bool](t, b, recordStatus)
			close(end)
			b.Until(t, fmt.Sprintf(`document.querySelector(".live").textContent === %q`, c.want))
			said := pagetest.Eval[[]string](t, b, `said`)
			gone := func(s string) bool { return strings.Contains(s, "not answer") }
			if c.last != "" && slices.ContainsFunc(said, gone) {
				t.Errorf("before the end the page showed %q", said)
			}
		})
	}
}

// An event is one that a live page is told of.
type event struct{ name, data string }

// serveLive serves a live page with its data and its events until the test ends, and gives its address.
func serveLive(t *testing.T, page []byte, events <-chan event, data func() Data) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /token/{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", Policy(page))
		_, _ = w.Write(page)
	})
	mux.HandleFunc("GET /token/data.json", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(data())
	})
	mux.HandleFunc("GET /token/events", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case e := <-events:
				_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.name, e.data)
			case <-r.Context().Done():
				return
			}
		}
	})
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL + "/token/"
}

// The live page fetches its data again after each event, and keeps the reader's choices.
func testLivePage(t *testing.T, b *pagetest.Tab) {
	s := small()
	d, _ := collected(t, s.write(t))
	d.Answer.State = rundir.Running
	page, err := Live()
	if err != nil {
		t.Fatal(err)
	}
	events := make(chan event)
	var mu sync.Mutex
	at := serveLive(t, page, events, func() Data {
		mu.Lock()
		defer mu.Unlock()
		return d
	})

	b.Do(t, chromedp.Navigate(at), chromedp.WaitReady(chromedp.CSS("html[data-shown]")),
		chromedp.KeyEvent("m"), chromedp.KeyEvent("2"))
	mu.Lock()
	d.Answer.Verdict = "another verdict"
	d.Answer.Arms = slices.Clone(d.Answer.Arms)
	for i := range d.Answer.Arms {
		d.Answer.Arms[i].Median *= 2
	}
	mu.Unlock()
	send := func(name string) {
		select {
		case events <- event{name, "{}"}:
		case <-b.Ctx.Done():
			t.Fatal("the page does not listen to the events")
		}
	}
	send("trial")
	b.Until(t, `document.querySelector("#verdict").textContent === "another verdict"`)
	got := b.State(t)
	if got.Quantity.Stat != "p99" || !slices.Equal(got.Hidden, []string{s.arms[1]}) {
		t.Errorf("the choice was lost: %+v, %v", got.Quantity, got.Hidden)
	}
	mu.Lock()
	d.Answer.State = rundir.Complete
	mu.Unlock()
	send("state")
	b.Until(t, `document.querySelector(".live").textContent === "the run is complete"`)
	b.NoMessages(t)
}
