//go:build linux

package cloudtest

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nearfar/internal/kits/moduleroot"
)

// Moto starts moto, a fake of AWS, on loopback, and lets the real aws talk to it.
func Moto(t *testing.T) {
	t.Helper()
	programs := Folder(t, "aws")
	root, err := moduleroot.Find()
	if err != nil {
		t.Fatal(err)
	}
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(free.Addr().String())
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", programs+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, one := range os.Environ() { // the user's own configuration
		if name, _, _ := strings.Cut(one, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	nothing := filepath.Join(t.TempDir(), "nothing")
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": "http://127.0.0.1:" + port, "AWS_ACCESS_KEY_ID": "test", "AWS_CONFIG_FILE": nothing,
		"AWS_SHARED_CREDENTIALS_FILE": nothing, "AWS_SECRET_ACCESS_KEY": "CANARY", "AWS_EC2_METADATA_DISABLED": "true",
		"NO_PROXY": "127.0.0.1",
	} {
		t.Setenv(name, value)
	}
	script := filepath.Join(root, "internal", "kits", "cloudtest", "moto_with_groups.py")
	cmd := exec.CommandContext(t.Context(), filepath.Join(programs, "python"), script, "-H", "127.0.0.1", "-p", port)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it was killed
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
	})
	for limit := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+port+"/moto-api/", nil)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.DefaultClient.Do(request)
		if err == nil {
			_ = answer.Body.Close() // only its existence counts
			return
		}
		if time.Now().After(limit) {
			t.Fatalf("moto does not answer: %v", err)
		}
	}
}
