package web

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"io"
	"log"
	"math"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

// misbehave answers each request by hand, and returns the address. answer may close the connection.
func misbehave(t *testing.T, answer func(c *net.TCPConn, request *http.Request)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				in := bufio.NewReader(c)
				for {
					r, err := http.ReadRequest(in)
					if err != nil {
						return
					}
					answer(c.(*net.TCPConn), r)
				}
			}()
		}
	}()
	return l.Addr().String()
}

// TestHostileServers: whatever a server does, the measurement ends in time and says what happened.
func TestHostileServers(t *testing.T) {
	say := func(text string) func(*net.TCPConn, *http.Request) {
		return func(c *net.TCPConn, _ *http.Request) { _, _ = io.WriteString(c, text) }
	}
	for name, c := range map[string]struct {
		answer func(*net.TCPConn, *http.Request)
		want   string
	}{
		"hangs": {func(*net.TCPConn, *http.Request) {}, "timeout (waiting for the answer: no end within the time-out)"},
		"hangs in the body": {say("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345"),
			"timeout (reading the body: no end within the time-out)"},
		"ends early": {func(c *net.TCPConn, _ *http.Request) {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
			_ = c.Close()
		}, "protocol (the body ended after 5 of 10 bytes"},
		"sends more": {say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n12345"),
			"protocol (the server sent more than its answer)"},
		"no HTTP": {say("hello\r\n\r\n"), "protocol (reading the answer: malformed HTTP"},
		"two lengths": {say("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\n123"),
			"protocol (reading the answer"},
		"headers without end": {func(c *net.TCPConn, _ *http.Request) {
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n")
			for n := 0; err == nil && n < 1<<20; n++ {
				_, err = io.WriteString(c, "X: y\r\n")
			}
		}, "protocol (more than 64 KiB of headers)"},
		"a line without end": {func(c *net.TCPConn, _ *http.Request) {
			_, err := io.WriteString(c, "HTTP/1.1 200 OK\r\nX: ")
			for n := 0; err == nil && n < 1<<20; n++ {
				_, err = c.Write(bytes.Repeat([]byte("y"), 1000))
			}
		}, "protocol (more than 64 KiB of headers)"},
		"informs without end": {func(c *net.TCPConn, _ *http.Request) {
			_, _ = io.WriteString(c, strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 100))
		}, "protocol (the server sent 5 answers of the kind 1xx)"},
		"resets": {func(c *net.TCPConn, _ *http.Request) { _ = c.SetLinger(0); _ = c.Close() },
			"closed (waiting for the answer"},
		"closes": {func(c *net.TCPConn, _ *http.Request) { _ = c.Close() },
			"closed (waiting for the answer: the server closed"},
		"fails": {say("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), "status (status 503)"},
		"redirects": {say("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
			"status (status 302)"},
		"upgrades": {say("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"), "status 101"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options(t, "http://"+misbehave(t, c.answer))
			o.Timeout = 300 * time.Millisecond
			began := time.Now()
			r, err := Measure(t.Context(), o, &collector{})
			if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "of ") {
				t.Errorf("%v, %v", err, r.Metrics)
			}
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %v", took)
			}
			t.Log(err)
		})
	}
}

// TestKnownHeaders: a header with the text of the last one is not read again, and means the same; whatever follows.
func TestKnownHeaders(t *testing.T) {
	t.Parallel()
	const five = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"
	answers := []string{
		five + "12345", five + "12345", "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n" + strings.Repeat("x", 50),
		five + "12345", "HTTP/1.1 100 Continue\r\n\r\n" + five + "12345", five + "12345",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n0\r\n\r\n", five + "12345",
		"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n", "HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
		five + "12345", five + "123456", // it ends the connection
		five + "12345", five + "12", // so does this
		five + "12345",
	}
	n := 0
	at := misbehave(t, func(c *net.TCPConn, _ *http.Request) {
		text := answers[min(n, len(answers)-1)]
		n++
		_, _ = io.WriteString(c, text)
		if strings.HasSuffix(text, "\r\n12") {
			_ = c.Close()
		}
	})
	o := options(t, "http://"+at)
	o.Timeout = time.Second
	r, err := newRun(o)
	if err != nil {
		t.Fatal(err)
	}
	c := r.exchanger()
	defer c.close()
	for i := range answers {
		want := map[int]string{8: "status 500", 9: "status 500", 11: "the server sent more than its answer",
			13: "the body ended after 2 of 5 bytes: unexpected EOF"}[i]
		var p phases
		said := ""
		if err := c.exchange(t.Context(), time.Now().Add(time.Second), &p); err != nil {
			said = strings.Replace(err.Error(), ": EOF", ": unexpected EOF", 1)
		}
		if said != want {
			t.Errorf("answer %d: %q, want %q", i, said, want)
		}
	}
	if opened := r.dialer.opened.Load(); opened != 3 {
		t.Errorf("%d connections", opened)
	}
}

// TestHangsBeforeTheWindow: a request of the warm-up that gets no answer leaves nothing for the window.
func TestHangsBeforeTheWindow(t *testing.T) {
	t.Parallel()
	o := options(t, "http://"+misbehave(t, func(*net.TCPConn, *http.Request) {}))
	o.Warmup, o.Timeout = 100*time.Millisecond, time.Second
	_, err := Measure(t.Context(), o, &collector{})
	if err == nil || !strings.HasPrefix(err.Error(), "no request was sent within the window") ||
		!strings.HasSuffix(err.Error(), "before the window: timeout (waiting for the answer: no end within the time-out)") {
		t.Errorf("%v", err)
	}
}

// TestNobodyListens: a refused connection is an error of its own kind, and no loop without a pause.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for _, version := range []int{wire.HTTP1, wire.HTTP2} {
		o := options(t, "http://"+at)
		o.HTTP.Version = version
		_, err = Measure(t.Context(), o, &collector{})
		if err == nil || !strings.Contains(err.Error(), "connect (connecting: ") || len(err.Error()) > 300 {
			t.Errorf("%v", err)
		}
		t.Log(err)
	}
}

// TestSomeFail: the others are measured, those that failed are counted by kind and rank as the slowest.
func TestSomeFail(t *testing.T) {
	t.Parallel()
	n := 0
	at := misbehave(t, func(c *net.TCPConn, _ *http.Request) {
		text := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
		if n++; n%4 == 0 {
			text = "HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno"
		}
		_, _ = io.WriteString(c, text)
	})
	o := options(t, "http://"+at)
	o.Concurrency = 1
	r, err := Measure(t.Context(), o, &collector{})
	if err != nil {
		t.Fatal(err)
	}
	all, share := value(t, r, result.Errors, "", ""), value(t, r, result.ErrorShare, "", "")
	// A window of consecutive requests has every fourth, wherever it begins.
	requests := math.Round(all / share)
	if value(t, r, result.Errors, "", "status") != all || math.Abs(all-requests/4) >= 1 {
		t.Errorf("%v errors of %v requests", all, requests)
	}
	_, p50 := find(r, result.ResponseTime, result.P50, "")
	_, p90 := find(r, result.ResponseTime, result.P90, "")
	_, mean := find(r, result.ResponseTime, result.Mean, "")
	if !p50 && all > 10 || p90 || mean {
		t.Errorf("p50 %v, p90 %v, mean %v", p50, p90, mean)
	}
	if len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "status (status 500)") {
		t.Errorf("%q", r.Notes)
	}
	if r.Facts["connections_opened"] != "1" {
		t.Errorf("a status ends a connection: %v", r.Facts)
	}
}

// TestUnanswered: with an offered rate, requests without an answer after the drain are no errors, and are counted.
func TestUnanswered(t *testing.T) {
	t.Parallel()
	n := 0
	at := misbehave(t, func(c *net.TCPConn, _ *http.Request) {
		if n++; n <= 30 {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	})
	o := options(t, "http://"+at)
	o.Concurrency, o.Timeout, o.Duration = 1, time.Minute, 500*time.Millisecond
	o.Schedule.Arrivals, o.Schedule.Steps = "constant", nil
	o.Schedule.Steps = append(o.Schedule.Steps, struct {
		Rate   float64
		Length time.Duration
	}{100, o.Duration})
	began := time.Now()
	r, err := Measure(t.Context(), o, &collector{})
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > drainTime+5*time.Second {
		t.Errorf("it took %v", took)
	}
	if un, bad := value(t, r, result.Unanswered, "", ""), value(t, r, result.Errors, "", ""); un != 20 || bad != 0 {
		t.Errorf("%v unanswered, %v errors: %v", un, bad, r.Facts)
	}
}

// TestSecretsAreInNoMessage: a server that says a header back, in an answer that is not HTTP.
func TestSecretsAreInNoMessage(t *testing.T) {
	t.Parallel()
	const canary = "canary-1f3a"
	at := misbehave(t, func(c *net.TCPConn, r *http.Request) {
		_, _ = io.WriteString(c, r.Header.Get("Authorization")+"\r\n\r\n")
	})
	o := options(t, "http://"+at)
	o.Header, o.Secrets = http.Header{"Authorization": {canary}}, []string{canary}
	_, err := Measure(t.Context(), o, &collector{})
	if err == nil || strings.Contains(err.Error(), canary) || !strings.Contains(err.Error(), "REDACTED") {
		t.Errorf("%v", err)
	}
}

// TestStrangersGetNoBody: the server of a session answers without the token, and with a wrong one, with a status alone.
func TestStrangersGetNoBody(t *testing.T) {
	t.Parallel()
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	p := sessionParams(wire.HTTP{Version: wire.HTTP1})
	c, err := session.Dial(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret, Params: p})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Frames.Write(wire.KindStart, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Frames.Expect(wire.KindBegin, &wire.Begun{}); err != nil {
		t.Fatal(err)
	}
	ask := func(token string, size int) (int, int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+c.Server.String(),
			bytes.NewReader(make([]byte, size)))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set(wire.TokenHeader, token)
		a, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = a.Body.Close() }()
		body, err := io.ReadAll(a.Body)
		if err != nil {
			t.Fatal(err)
		}
		return a.StatusCode, len(body)
	}
	right := hex.EncodeToString(c.Cookie[:])
	for _, wrong := range []string{"", "x", right[1:], strings.Repeat("0", len(right))} {
		if status, n := ask(wrong, p.Request); status != http.StatusUnauthorized || n != 0 {
			t.Errorf("token %q: status %d, %d bytes", wrong, status, n)
		}
	}
	if status, n := ask(right, p.Request+1); status != http.StatusBadRequest || n != 0 {
		t.Errorf("a larger body: status %d, %d bytes", status, n)
	}
	if status, n := ask(right, p.Request); status != http.StatusOK || n != p.Response {
		t.Errorf("status %d, %d bytes", status, n)
	}
}

// TestAnotherKey: a server with another key than the session's is not measured.
func TestAnotherKey(t *testing.T) {
	t.Parallel()
	own, _, err := identity()
	if err != nil {
		t.Fatal(err)
	}
	_, other, err := identity()
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.NotFoundHandler(), TLSConfig: own, ReadHeaderTimeout: time.Second,
		ErrorLog: log.New(io.Discard, "", 0)}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.ServeTLS(l, "", "") }()
	defer func() { _ = server.Close() }()
	o := options(t, "https://"+l.Addr().String())
	o.TLS = pinned(other)
	if _, err := Measure(t.Context(), o, &collector{}); err == nil || !strings.Contains(err.Error(), "tls (TLS: ") ||
		!strings.Contains(err.Error(), "another key") {
		t.Errorf("%v", err)
	}
}
