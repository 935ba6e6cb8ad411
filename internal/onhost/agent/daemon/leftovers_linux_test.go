package daemon

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestLeftovers: folders of agents that are gone are removed, and no other folder.
func TestLeftovers(t *testing.T) {
	base := t.TempDir()
	old := time.Now().Add(-time.Hour)
	put := func(folder, name string, at time.Time) string {
		t.Helper()
		path := filepath.Join(base, folder)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(path, name)
		if err := os.WriteFile(file, []byte("x"), 0o700); err != nil {
			t.Fatal(err)
		}
		for _, p := range []string{file, path} {
			if err := os.Chtimes(p, at, at); err != nil {
				t.Fatal(err)
			}
		}
		return file
	}
	put("nearfar-0000000000000001", "new", old)        // the host was switched off during the copy
	put("nearfar-0000000000000002", "new", time.Now()) // it is being copied
	put("nearfar-0000000000000003", "nearfar-agent", old)
	put("nearfar-0000000000000003", lockName, old) // its agent is gone
	put("nearfar-0000000000000004", "nearfar-agent", old)
	held, err := os.OpenFile(put("nearfar-0000000000000004", lockName, old), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	put("nearfar-0000000000000005", "somebody's", old) // what is not nearfar's stays
	put("nearfar-0000000000000006", "new", old)        // this agent's own
	put("nearfar-results", "new", old)
	put("nearfar-agent-0000000000000007", lockName, old)
	put("nearfar-0000000000000008", "new", old)
	if err := os.Chmod(filepath.Join(base, "nearfar-0000000000000008"), 0o755); err != nil { // not made by nearfar
		t.Fatal(err)
	}
	removeLeftovers(base, "nearfar-0000000000000006", time.Now())
	for name, stays := range map[string]bool{
		"nearfar-0000000000000001": false, "nearfar-0000000000000002/new": true, "nearfar-0000000000000003": false,
		"nearfar-0000000000000004/nearfar-agent": true, "nearfar-0000000000000005/somebody's": true,
		"nearfar-0000000000000006/new": true, "nearfar-results/new": true, "nearfar-agent-0000000000000007": false,
		"nearfar-0000000000000008/new": true,
	} {
		if _, err := os.Lstat(filepath.Join(base, name)); (err == nil) != stays {
			t.Errorf("%s: %v, and it stays: %v", name, err, stays)
		}
	}
}
