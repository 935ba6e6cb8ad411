package files

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestLock: a file has one lock, which ends with the open file that took it. Two open files of one process behave like
// two processes.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	first, second := open(), open()
	defer func() { _ = second.Close() }()
	if err := Lock(first); err != nil {
		t.Fatal(err)
	}
	if err := Lock(second); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := Lock(second); err != nil {
		t.Errorf("after the first was closed: %v", err)
	}
}

// TestWriteWhole: the content is replaced, no other file is left in the folder, and a failure changes nothing.
func TestWriteWhole(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "state")
	for _, text := range []string{"a longer first text", "second"} {
		if err := WriteWhole(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("got %q, %v", got, err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 {
		t.Errorf("the folder has %v, %v", entries, err)
	}
	below := filepath.Join(folder, "full")
	if err := os.MkdirAll(filepath.Join(below, "entry"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := WriteWhole(below, []byte("x")); err == nil {
		t.Error("a folder was replaced by a file")
	}
	if entries, err = os.ReadDir(folder); err != nil || len(entries) != 2 {
		t.Errorf("after a failure the folder has %v, %v", entries, err)
	}
}
