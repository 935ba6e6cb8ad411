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
	"time"
)

// patience bounds every wait of these tests. A test that reaches it fails.
const patience = 30 * time.Second

// started serves the site until the test ends.
func started(t *testing.T, site http.Handler) *Server {
	t.Helper()
	s, err := Listen(t.Context(), DefaultAddress)
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(site)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return s
}

// get fetches an address. change may modify the request; nil for no change.
func get(t *testing.T, address string, change func(*http.Request)) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if change != nil {
		change(r)
	}
	noRedirect := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	client := http.Client{Timeout: patience, CheckRedirect: noRedirect}
	defer client.CloseIdleConnections()
	response, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

// secret is a site whose content must not appear in a refusal.
type secret struct{}

func (secret) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = fmt.Fprintf(w, "the figures at %s", r.URL.Path)
}

func TestRefusals(t *testing.T) {
	s := started(t, secret{})
	address, err := url.Parse(s.URL())
	if err != nil {
		t.Fatal(err)
	}
	root := "http://" + address.Host
	token := strings.Trim(address.Path, "/")
	header := func(pairs ...string) func(*http.Request) {
		return func(r *http.Request) {
			for i := 0; i < len(pairs); i += 2 {
				r.Header.Set(pairs[i], pairs[i+1])
			}
		}
	}
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	method := func(name string) func(*http.Request) { return func(r *http.Request) { r.Method = name } }
	foreign := func(mode, destination string) func(*http.Request) {
		return header("Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", mode, "Sec-Fetch-Dest", destination)
	}
	body := func(r *http.Request) { r.Body, r.ContentLength = io.NopCloser(strings.NewReader("x")), 1 }
	for name, c := range map[string]struct {
		address string
		change  func(*http.Request)
		code    int
	}{
		"no token":                  {root + "/", nil, 403},
		"no token, data":            {root + "/data.json", nil, 403},
		"no token, events":          {root + "/events", nil, 403},
		"no token, asterisk":        {root + "/*", nil, 403},
		"wrong token":               {root + "/" + strings.Repeat("0", len(token)) + "/", nil, 403},
		"wrong token, data":         {root + "/" + strings.Repeat("0", len(token)) + "/data.json", nil, 403},
		"half a token":              {root + "/" + token[:len(token)/2] + "/", nil, 403},
		"more than the token":       {root + "/" + token + "0/", nil, 403},
		"token in capitals":         {root + "/" + strings.ToUpper(token) + "/", nil, 403},
		"token as a query":          {root + "/?token=" + token, nil, 403},
		"token as a header":         {root + "/", header("Authorization", "Bearer "+token), 403},
		"token further down":        {root + "/x/" + token + "/", nil, 403},
		"token after dots":          {root + "/x/../" + token + "/", nil, 403},
		"another name":              {s.URL(), host("evil.example:" + address.Port()), 403},
		"another name, no port":     {s.URL(), host("127.0.0.1"), 403},
		"another port":              {s.URL(), host("127.0.0.1:1"), 403},
		"a name that begins so":     {s.URL(), host("127.0.0.1:" + address.Port() + ".evil.example"), 403},
		"post":                      {s.URL(), method(http.MethodPost), 405},
		"put":                       {s.URL(), method(http.MethodPut), 405},
		"options":                   {s.URL(), method(http.MethodOptions), 405},
		"trace":                     {s.URL(), method(http.MethodTrace), 405},
		"another origin":            {s.URL() + "data.json", header("Origin", "http://evil.example"), 403},
		"no origin":                 {s.URL() + "data.json", header("Origin", "null"), 403},
		"another site":              {s.URL() + "data.json", header("Sec-Fetch-Site", "cross-site"), 403},
		"another port's page":       {s.URL() + "data.json", header("Sec-Fetch-Site", "same-site"), 403},
		"in a frame of another":     {s.URL(), foreign("navigate", "iframe"), 403},
		"a script of another":       {s.URL(), foreign("no-cors", "script"), 403},
		"with a body":               {s.URL(), body, 400},
		"a header that is too long": {s.URL(), header("X-Long", strings.Repeat("x", 2*maxHeader)), 431},
	} {
		t.Run(name, func(t *testing.T) {
			response, body := get(t, c.address, c.change)
			if response.StatusCode != c.code {
				t.Errorf("answered with %d, want %d: %s", response.StatusCode, c.code, body)
			}
			if strings.Contains(body, "figures") || strings.Contains(body, token) {
				t.Errorf("discloses the content or the token: %s", body)
			}
			if response.Header.Get("Access-Control-Allow-Origin") != "" {
				t.Error("lets other origins read")
			}
			if c.code == 403 && response.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
				t.Errorf("a refusal of type %q", response.Header.Get("Content-Type"))
			}
		})
	}
}

func TestAllowed(t *testing.T) {
	s := started(t, secret{})
	address, _ := url.Parse(s.URL())
	for name, change := range map[string]func(*http.Request){
		"as printed":      nil,
		"under localhost": func(r *http.Request) { r.Host = "LocalHost:" + address.Port() },
		"by its own page": func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			r.Header.Set("Origin", "http://"+address.Host)
		},
		"by the address bar": func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "none") },
		"by a link": func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
			r.Header.Set("Sec-Fetch-Dest", "document")
		},
	} {
		response, body := get(t, s.URL()+"data.json", change)
		if response.StatusCode != 200 || body != "the figures at /data.json" {
			t.Errorf("%s: %d %s", name, response.StatusCode, body)
		}
		for key, want := range map[string]string{
			"Content-Security-Policy": denyAll, "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY",
			"Cross-Origin-Resource-Policy": "same-origin", "Access-Control-Allow-Origin": "",
		} {
			if got := response.Header.Get(key); got != want {
				t.Errorf("%s: %s is %q, want %q", name, key, got, want)
			}
		}
	}
	// Without the last slash the page's relative links would be wrong.
	response, _ := get(t, strings.TrimSuffix(s.URL(), "/"), nil)
	if response.StatusCode != http.StatusPermanentRedirect || response.Header.Get("Location") != address.Path {
		t.Errorf("without the slash: %d to %q", response.StatusCode, response.Header.Get("Location"))
	}
}

func TestTokens(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		s, err := Listen(t.Context(), DefaultAddress)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.token) != 32 || seen[s.token] {
			t.Fatalf("token %q", s.token)
		}
		seen[s.token] = true
		if err := s.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestListensOnLoopbackOnly(t *testing.T) {
	if _, err := Listen(t.Context(), "0.0.0.0:0"); err == nil {
		t.Error("listens on every address")
	}
	s := started(t, secret{})
	host, _, err := net.SplitHostPort(s.listener.Addr().String())
	if err != nil || host != "127.0.0.1" {
		t.Errorf("listens on %s, %v", host, err)
	}
	_, err = Listen(t.Context(), s.listener.Addr().String())
	if err == nil || !strings.Contains(err.Error(), "the pages cannot be served: ") {
		t.Errorf("an address in use: %v", err)
	}
}

// Connections above the limit are closed. When others have ended, new ones are accepted.
func TestConnectionsAreBounded(t *testing.T) {
	s := started(t, secret{})
	address, _ := url.Parse(s.URL())
	var held []net.Conn
	ask := func(c net.Conn) (string, error) {
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			return "", err
		}
		if _, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", address.Path, address.Host); err != nil {
			return "", err
		}
		return bufio.NewReader(c).ReadString('\n')
	}
	dial := func() net.Conn {
		c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address.Host)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	for range maxConnections {
		c := dial()
		if line, err := ask(c); err != nil || !strings.Contains(line, "200") {
			t.Fatalf("connection %d: %q, %v", len(held), line, err)
		}
		held = append(held, c)
	}
	if line, err := ask(dial()); err == nil {
		t.Errorf("one connection more than %d is answered: %q", maxConnections, line)
	}
	for _, c := range held {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	deadline := time.Now().Add(patience)
	for {
		if _, err := ask(dial()); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no connection is answered after the others have been closed")
		}
	}
}
