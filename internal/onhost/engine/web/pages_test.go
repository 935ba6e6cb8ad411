package web

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
)

// startPages answers on loopback until the test ends, and gives the URL. Its answers are counted once it has ended.
func startPages(t *testing.T, o PagesOptions) (at string, end func() int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	listening, ended := make(chan netip.AddrPort, 1), make(chan int64, 1)
	o.Listen = netip.MustParseAddrPort("127.0.0.1:0")
	o.Listening = func(at netip.AddrPort) { listening <- at }
	go func() {
		answered, err := ServePages(ctx, o)
		if err != nil {
			t.Error(err)
		}
		ended <- answered
	}()
	end = func() int64 {
		cancel()
		return <-ended
	}
	t.Cleanup(cancel)
	return "http://" + (<-listening).String() + "/", end
}

// TestPages: any client of HTTP is answered with as many bytes as were asked for, also one that closes its connections,
// and one whose requests have a body.
func TestPages(t *testing.T) {
	at, end := startPages(t, PagesOptions{Response: 10_000})
	for _, close := range []bool{false, true} {
		for _, body := range []string{"", strings.Repeat("x", 100_000)} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"any?x=1", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Close = close
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(answer.Body)
			if err != nil || len(got) != 10_000 || answer.StatusCode != http.StatusOK || answer.Close != close {
				t.Errorf("%d bytes, status %d, closes %v, %v", len(got), answer.StatusCode, answer.Close, err)
			}
			_ = answer.Body.Close()
		}
	}
	http.DefaultClient.CloseIdleConnections()
	if answered := end(); answered != 4 {
		t.Errorf("%d answers are counted, want 4", answered)
	}
}

// TestPagesRefuse: other addresses than those that are served get no answer, and sizes have limits.
func TestPagesRefuse(t *testing.T) {
	at, end := startPages(t, PagesOptions{Response: 1, Within: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := http.DefaultClient.Do(request); err == nil {
		_ = answer.Body.Close()
		t.Errorf("status %d for an address that is not served", answer.StatusCode)
	}
	if answered := end(); answered != 0 {
		t.Errorf("%d answers", answered)
	}
	if _, err := ServePages(t.Context(), PagesOptions{Response: -1}); err == nil {
		t.Error("answers of -1 bytes")
	}
}
