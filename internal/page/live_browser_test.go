//go:build linux

package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/chromedp/chromedp"

	"nearfar/internal/page/pagetest"
	"nearfar/internal/rundir"
)

// watchTexts has the page remember everything that it ever says of the run that it follows.
const watchTexts = `(() => {
	globalThis.said = [];
	const live = document.querySelector(".live");
	new MutationObserver(() => globalThis.said.push(live.textContent)).observe(live, { childList: true, characterData: true, subtree: true });
	return true;
})()`

// A run that ends takes its server with it: the stream closes before the last figures are there. The page never says that nobody
// answers, and in the end that the run is complete. A run whose server goes away in the middle is another matter.
func TestFinishedRunInABrowser(t *testing.T) {
	d, _ := collected(t, sample{arms: []string{"l2", "routed"}, blocks: 3, rounds: 300, plain: true}.write(t))
	page, err := Live()
	if err != nil {
		t.Fatal(err)
	}
	b := pagetest.Open(t)
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
			mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
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
					panic(http.ErrAbortHandler) // nobody is there any more
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
			pagetest.Eval[bool](t, b, watchTexts)
			close(end)
			if _, err := chromedp.Run(b.Ctx, chromedp.Poll[bool](fmt.Sprintf(`document.querySelector(".live").textContent === %q`, c.want))); err != nil {
				t.Fatal(err)
			}
			said := pagetest.Eval[[]string](t, b, `said`)
			if c.last != "" && slices.ContainsFunc(said, func(s string) bool { return strings.Contains(s, "not answer") }) {
				t.Errorf("on the way the page said %q", said)
			}
		})
	}
}
