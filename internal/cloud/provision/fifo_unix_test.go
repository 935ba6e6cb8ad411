//go:build unix

package provision

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRecordsThatNeverEnd: what stands in the place of a record and never delivers anything, or never ends, is a problem
// that is listed, and does not hang the list.
func TestRecordsThatNeverEnd(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	below := t.TempDir()
	put := func(name string, make func(path string) error) {
		t.Helper()
		path := filepath.Join(below, Folder, name, recordFile)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := make(path); err != nil {
			t.Fatal(err)
		}
	}
	put("pipe", func(path string) error { return unix.Mkfifo(path, 0o600) })
	put("device", func(path string) error { return os.Symlink("/dev/zero", path) })
	put("folder", func(path string) error { return os.Mkdir(path, 0o700) })
	put("large", func(path string) error { return os.WriteFile(path, []byte(strings.Repeat(" ", maxRecord+1)), 0o600) })
	index, err := indexFolder()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(index, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(index, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	listed := beside(func() []error { _, problems := List(below); return problems })
	select {
	case problems := <-listed:
		var all []string
		for _, p := range problems {
			all = append(all, strings.TrimPrefix(p.Error(), filepath.Join(below, Folder)))
		}
		want := []string{"/device/record.json is not a regular file", "/folder/record.json is not a regular file",
			"/large/record.json has 1048577 bytes; at most 1048576 are read", "/pipe/record.json is not a regular file"}
		if strings.Join(all, "\n") != strings.Join(want, "\n") {
			t.Errorf("problems:\n%s\nwant:\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the list hangs")
	}
}

// beside runs a function beside the test.
func beside(f func() []error) <-chan []error {
	c := make(chan []error, 1)
	go func() { c <- f() }()
	return c
}
