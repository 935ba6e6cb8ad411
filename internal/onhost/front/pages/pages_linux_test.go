package pages_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/database"
	"nearfar/internal/onhost/front"
	"nearfar/internal/onhost/front/pages"
)

const (
	password = "canary-7f3e"
	token    = "canary-token"
)

// aDatabase starts PostgreSQL for a test, and gives its URL.
func aDatabase(t *testing.T) string {
	t.Helper()
	if _, err := database.Version(t.Context()); err != nil {
		t.Skip(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := netip.MustParseAddrPort(l.Addr().String())
	_ = l.Close()
	var said bytes.Buffer
	s, err := database.Start(t.Context(), database.Options{Listen: at, Password: password, Connections: 8}, &said)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("%v: %s", err, &said)
		}
	})
	awaitPort(t, at.String(), s)
	u := url.URL{Scheme: "postgres", User: url.UserPassword(database.User, password), Host: at.String(),
		Path: database.Name, RawQuery: "sslmode=disable"}
	return u.String()
}

func awaitPort(t *testing.T, address string, s *database.Server) {
	t.Helper()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for limit := time.After(time.Minute); ; {
		if c, err := net.Dial("tcp", address); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-again.C:
		case <-s.Ended():
			t.Fatal("PostgreSQL ended")
		case <-limit:
			t.Fatalf("nobody listens at %s", address)
		}
	}
}

// aFront runs a front until the end of the test, and gives what it says.
func aFront(t *testing.T, o front.Options) front.Said {
	t.Helper()
	o.Listen, o.Token = "127.0.0.1:0", token
	in, give := io.Pipe()
	said, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- pages.Main(in, out)
		_ = out.Close()
	}()
	t.Cleanup(func() {
		_ = give.Close()
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Error("the front goes on when its input has ended")
		}
	})
	if err := json.NewEncoder(give).Encode(o); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	var s front.Said
	if err := json.Unmarshal(line, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// page asks for a page.
func page(t *testing.T, address, with string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+front.PagePath, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(front.TokenHeader, with)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// TestPages: a page has what its queries gave, however they are asked, and the front counts them.
func TestPages(t *testing.T) {
	at := aDatabase(t)
	for name, o := range map[string]front.Options{
		"one after the other": {Queries: 7, Parallel: 1},
		"in parallel":         {Queries: 7, Parallel: 3},
		"more places":         {Queries: 2, Parallel: 4},
		"per request":         {Queries: 3, Parallel: 2, PerRequest: true},
	} {
		t.Run(name, func(t *testing.T) {
			o.Database, o.Size, o.Pages = at, 100, 1
			s := aFront(t, o)
			if s.Failed != "" {
				t.Fatalf("%+v", s)
			}
			for range 3 {
				if status, body := page(t, s.Listen, token); status != 200 || body != strings.Repeat("x", 100*o.Queries) {
					t.Fatalf("status %d, %d bytes", status, len(body))
				}
			}
			f, err := front.Ask(t.Context(), s.Listen, token)
			if err != nil || !strings.HasPrefix(f.Facts["database"], "PostgreSQL ") || f.Pages != 3 ||
				f.Queries != int64(3*o.Queries) || f.Failed != 0 {
				t.Fatalf("%+v, %v", f, err)
			}
			if len(f.Metrics) == 0 || f.Metrics[0].Name != result.PageQueryTime || f.Metrics[0].Value <= 0 {
				t.Errorf("%+v", f.Metrics)
			}
			if f, err = front.Ask(t.Context(), s.Listen, token); err != nil || f.Pages != 0 || len(f.Metrics) != 0 {
				t.Errorf("they did not begin anew: %+v, %v", f, err)
			}
			if status, _ := page(t, s.Listen, "guessed"); status != http.StatusForbidden {
				t.Errorf("status %d without the token", status)
			}
		})
	}
}

// TestRefused: a database that cannot be used is told before a page is asked for, and no secret with it.
func TestRefused(t *testing.T) {
	at := aDatabase(t)
	wrong := strings.Replace(at, password, password+"-wrong", 1)
	for name, c := range map[string]struct{ url, want string }{
		"wrong password": {wrong, "password authentication failed"},
		"no database":    {strings.Replace(at, "/postgres?", "/other?", 1), `database "other" does not exist`},
		"gone":           {"postgres://nearfar:" + password + "@127.0.0.1:1/postgres?sslmode=disable", "connection refused"},
		"no TLS":         {strings.Replace(at, "disable", "require", 1), "refused TLS"},
		"no URL":         {"postgres://nearfar:" + password + "@[::1/postgres", "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			s := aFront(t, front.Options{Database: c.url, Queries: 1, Parallel: 1, Size: 1, Pages: 1})
			if !strings.Contains(s.Failed, c.want) || strings.Contains(s.Failed, password) {
				t.Errorf("it said %q", s.Failed)
			}
		})
	}
}
