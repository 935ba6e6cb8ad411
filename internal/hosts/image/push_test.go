package image

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// startRegistry starts a registry on loopback. It wants the password if it is not empty.
func startRegistry(t *testing.T, password string) (address string) {
	t.Helper()
	inner := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, _ := r.BasicAuth(); given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you?"}]}`, http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// logIn writes credentials as `docker login` does. Without a password there are none.
func logIn(t *testing.T, address, password string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("REGISTRY_AUTH_FILE", filepath.Join(dir, "none"))
	t.Setenv("XDG_RUNTIME_DIR", dir)
	content := "{}"
	if password != "" {
		content = fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, address,
			base64.StdEncoding.EncodeToString([]byte("me:"+password)))
	}
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func parsed(t *testing.T, text string, insecure bool) name.Tag {
	t.Helper()
	tag, err := ParseName(text, insecure)
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

// TestPush pushes an image twice and pulls it back, with and without a password.
func TestPush(t *testing.T) {
	for _, password := range []string{"", "secret"} {
		address := startRegistry(t, password)
		logIn(t, address, password)
		i, err := Make(options())
		if err != nil {
			t.Fatal(err)
		}
		tag := parsed(t, address+"/perf/nearfar-agent:0.1.0", false)
		for range 2 {
			if err := i.Push(t.Context(), tag, "0.1.0", false); err != nil {
				t.Fatal(err)
			}
		}
		var as []remote.Option
		if password != "" {
			as = append(as, remote.WithTransport(withPassword{password}))
		}
		pulled, err := remote.Index(tag, as...)
		if err != nil {
			t.Fatal(err)
		}
		want, err := i.Digest()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := pulled.Digest(); err != nil || got.String() != want {
			t.Errorf("pulled %v, pushed %s; %v", got, want, err)
		}
		checkPlatforms(t, pulled, options())
	}
}

// withPassword sends a password with each request.
type withPassword struct{ password string }

func (p withPassword) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.SetBasicAuth("me", p.password)
	return http.DefaultTransport.RoundTrip(r)
}

// TestPushRefused: what a registry refuses is said with what to do about it.
func TestPushRefused(t *testing.T) {
	i, err := Make(options())
	if err != nil {
		t.Fatal(err)
	}
	address := startRegistry(t, "secret")
	for _, password := range []string{"", "wrong"} {
		logIn(t, address, password)
		err = i.Push(t.Context(), parsed(t, address+"/x:1", false), "0.1.0", false)
		if err == nil || !strings.Contains(err.Error(), "docker login "+address) {
			t.Errorf("password %q: %v", password, err)
		}
		if err != nil && password != "" && strings.Contains(err.Error(), password+"@") {
			t.Errorf("the password is in the message: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := i.Push(ctx, parsed(t, address+"/x:1", false), "0.1.0", false); err == nil {
		t.Error("an interrupted push is no error")
	}
	// Port 1 of loopback: nobody listens.
	if err := i.Push(t.Context(), parsed(t, "127.0.0.1:1/x:1", false), "0.1.0", false); err == nil ||
		!strings.Contains(err.Error(), "connection refused") {
		t.Errorf("a registry that does not run: %v", err)
	}
}

// TestPlainHTTP: a registry without TLS needs permission, unless it is on this machine. The library accepts only
// 127.0.0.1 as this machine, so 127.0.0.2 is a public address here.
func TestPlainHTTP(t *testing.T) {
	logIn(t, "", "")
	i, err := Make(options())
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(startRegistry(t, ""), ":")
	s := httptest.NewUnstartedServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("no address 127.0.0.2: %v", err)
	}
	_ = s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	name := listener.Addr().String() + "/x:1"
	err = i.Push(t.Context(), parsed(t, name, false), "0.1.0", false)
	if err == nil || !strings.Contains(err.Error(), "--insecure") {
		t.Errorf("without permission: %v", err)
	}
	if err := i.Push(t.Context(), parsed(t, name, true), "0.1.0", true); err != nil {
		t.Errorf("with permission: %v", err)
	}
	if err := i.Push(t.Context(), parsed(t, "localhost:"+port+"/x:1", false), "0.1.0", false); err != nil {
		t.Errorf("localhost: %v", err)
	}
}

// TestPrivateAddresses: requests without encryption to private addresses are not sent.
func TestPrivateAddresses(t *testing.T) {
	for url, sent := range map[string]bool{
		"http://10.0.0.5:5000/v2/": false, "http://192.168.1.2/v2/": false, "http://registry.example/v2/": false,
		"https://10.0.0.5:5000/v2/": true, "http://127.0.0.1:5000/v2/": true, "http://[::1]:5000/v2/": true,
		"http://localhost:5000/v2/": true,
	} {
		reached := false
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = encrypted{transportFunc(func() { reached = true })}.RoundTrip(r)
		if reached != sent || (err == nil) != sent {
			t.Errorf("%s: sent %v, %v", url, reached, err)
		}
	}
}

type transportFunc func()

func (f transportFunc) RoundTrip(*http.Request) (*http.Response, error) {
	f()
	return &http.Response{}, nil
}
