package hostverbs

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/agent/binaries"
	"nearfar/internal/onhost/database"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/front"
	"nearfar/internal/onhost/host"
)

const appCanary = "canary-c0de"

// anApp puts the front into the test's folder for temporary files, and gives a free address for each part.
func anApp(t *testing.T) (first, second netip.AddrPort) {
	t.Helper()
	program, err := binaries.Front(host.System{OS: runtime.GOOS, Arch: runtime.GOARCH})
	if err != nil {
		t.Skip(err)
	}
	if _, err := database.Version(t.Context()); err != nil {
		t.Skip(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(os.TempDir(), front.File)
	if err := os.WriteFile(path, program.Content, 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	var free [2]netip.AddrPort
	for i := range free {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = l.Close() }()
		free[i] = netip.MustParseAddrPort(l.Addr().String())
	}
	return free[0], free[1]
}

// serveApp runs the server's side until the end of the test, and waits until a port is held.
func serveApp(t *testing.T, b database.Backend, port netip.AddrPort) {
	t.Helper()
	text, err := json.Marshal(b)
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	v := &Verbs{Stdin: bytes.NewReader(text), Stdout: &said, Stderr: &said, Data: &said}
	cmd := v.engineDatabase()
	cmd.SetArgs([]string{})
	cmd.SetOut(&said)
	cmd.SetErr(&said)
	ctx, end := context.WithCancel(t.Context())
	var failed error
	ended := make(chan struct{})
	go func() {
		failed = cmd.ExecuteContext(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		end()
		if <-ended; failed != nil || bytes.Contains(said.Bytes(), []byte(appCanary)) {
			t.Errorf("%v: %s", failed, &said)
		}
	})
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for limit := time.After(time.Minute); ; {
		if c, err := net.Dial("tcp", port.String()); err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-again.C:
		case <-ended:
			t.Fatalf("it ended: %v", failed)
		case <-limit:
			t.Fatal("nobody listens")
		}
	}
}

// call runs the caller, and reads its record.
func call(t *testing.T, c front.Caller, args ...string) (record.Run, error) {
	t.Helper()
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var data, said bytes.Buffer
	v := &Verbs{Stdin: bytes.NewReader(text), Stdout: &said, Stderr: &said, Data: &data}
	cmd := v.engineApp()
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(append(args, "--duration", "1500ms", "--warmup", "100ms"))
	failed := cmd.ExecuteContext(t.Context())
	if strings.Contains(data.String()+said.String(), appCanary) {
		t.Errorf("a secret is in\n%s\n%s", &data, &said)
	}
	run, err := record.Read(data.Bytes())
	if (failed == nil) != (err == nil) {
		t.Errorf("it ended with %v, and the record with %v", failed, err)
	}
	return run, err
}

// options are those of a front for a database at an address.
func optionsAt(listen string, at netip.AddrPort, password string) *front.Options {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(database.User, password), Host: at.String(),
		Path: database.Name, RawQuery: "sslmode=disable"}
	return &front.Options{Listen: listen, Token: appCanary, Database: u.String(), Queries: 5, Parallel: 1, Size: 100,
		Pages: 1}
}

// TestApp: caller, front and PostgreSQL measure pages, wherever the front is, and a database that refuses is told.
func TestApp(t *testing.T) {
	at, pages := anApp(t)
	b := database.Backend{
		Database: &database.Options{Listen: at, Password: appCanary, Connections: 8},
		Front:    optionsAt(pages.String(), at, appCanary),
	}
	serveApp(t, b, pages)
	for name, c := range map[string]struct {
		caller front.Caller
		args   []string
	}{
		"front beside the caller":   {front.Caller{Token: appCanary, Front: optionsAt("127.0.0.1:0", at, appCanary)}, nil},
		"front beside the database": {front.Caller{Token: appCanary}, []string{pages.String()}},
		"offered": {front.Caller{Token: appCanary, Front: optionsAt("127.0.0.1:0", at, appCanary)},
			[]string{"--rate", "100/s"}},
	} {
		run, err := call(t, c.caller, c.args...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := run.Result
		values := map[string]float64{}
		for _, m := range r.Metrics {
			values[m.Name+" "+m.Stat] = m.Value
		}
		if r.Mode != "app" || r.Definition != result.DefinitionPage || values["page_queries "] != 5 ||
			values["page_query_time min"] <= 0 || values["response_time min"] <= values["page_query_time min"] ||
			values["error_share "] != 0 || !strings.HasPrefix(r.Facts["database"], "PostgreSQL ") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	_, err := call(t, front.Caller{Token: appCanary, Front: optionsAt("127.0.0.1:0", at, "wrong")})
	if err == nil || !strings.Contains(err.Error(), "password authentication failed") {
		t.Errorf("a wrong password: %v", err)
	}
	_, err = call(t, front.Caller{Token: "guessed"}, pages.String())
	if err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("a wrong token: %v", err)
	}
}
