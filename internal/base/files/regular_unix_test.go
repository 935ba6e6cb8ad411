//go:build unix

package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReadRegular: only regular files within the bound are read, and nothing is waited for.
func TestReadRegular(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	if err := os.WriteFile(at("file"), []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(at("pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadRegular(at("file"), 4); err != nil || string(got) != "text" {
		t.Errorf("got %q, %v", got, err)
	}
	for path, says := range map[string]string{
		at("pipe"): "not a regular file", folder: "not a regular file", "/dev/zero": "not a regular file",
		at("none"): "no such file",
	} {
		if _, err := ReadRegular(path, 4); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", path, err, says)
		}
	}
	if _, err := ReadRegular(at("file"), 3); err == nil || !strings.Contains(err.Error(), "has 4 bytes; at most 3") {
		t.Errorf("too long: %v", err)
	}
	if entries, err := List(folder, 1); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
	if entries, err := List(folder, 100); err != nil || len(entries) < 2 || entries[0].Name() != "file" {
		t.Errorf("%v, %v", entries, err)
	}
	if entries, err := List(t.TempDir(), 100); err != nil || len(entries) != 0 {
		t.Errorf("an empty folder: %v, %v", entries, err)
	}
	if _, err := List(at("pipe"), 1); err == nil || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("a pipe: %v", err)
	}
}
