package daemon

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLeftovers: folders of agents that nobody uses are removed with what the agents put, and no others.
func TestLeftovers(t *testing.T) {
	base := t.TempDir()
	old := time.Now().Add(-time.Hour)
	elsewhere := filepath.Join(t.TempDir(), "put")
	make := func(name string, files ...string) string {
		folder := filepath.Join(base, name)
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if err := os.WriteFile(filepath.Join(folder, f), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		return folder
	}
	aged := func(folder string) string {
		if err := os.Chtimes(folder, old, old); err != nil {
			t.Fatal(err)
		}
		return folder
	}
	own := make("nearfar-0000000000000000", lockName)
	half := aged(make("nearfar-1111111111111111", "new"))
	dead := make("nearfar-2222222222222222", lockName, socketName, "nearfar-agent")
	line, err := json.Marshal([]byte(elsewhere))
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{elsewhere: nil, filepath.Join(dead, "put"): append(line, '\n')} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	gone := []string{half, dead, elsewhere}
	fresh := make("nearfar-3333333333333333", "new")
	used := make("nearfar-4444444444444444", lockName)
	lock, err := os.Open(filepath.Join(used, lockName))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = lock.Close() }()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	shared := aged(make("nearfar-5555555555555555"))
	if err := os.Chmod(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	others := aged(make("nearfar-notes"))
	foreign := make("nearfar-6666666666666666", "somebody's file")
	aged(foreign)
	link := filepath.Join(base, "nearfar-7777777777777777")
	if err := os.Symlink(others, link); err != nil {
		t.Fatal(err)
	}
	removeLeftovers(own)
	for _, path := range gone {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range []string{own, fresh, used, shared, others, foreign, link} {
		if _, err := os.Lstat(path); err != nil {
			t.Errorf("%s is gone", path)
		}
	}
}
