package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Every verb has a manual page, the completions are scripts that their shells accept, and all of it is the same
// wherever it is made.
func TestTexts(t *testing.T) {
	at := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	one, two := t.TempDir(), t.TempDir()
	t.Setenv("HOME", "/home/one")
	if err := write(one, at); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", "/elsewhere")
	t.Setenv("XDG_CACHE_HOME", "/elsewhere/cache")
	t.Setenv("XDG_STATE_HOME", "/elsewhere/state")
	t.Setenv("COLUMNS", "60")
	if err := write(two, at); err != nil {
		t.Fatal(err)
	}
	pages := 0
	err := filepath.WalkDir(one, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(one, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		again, err := os.ReadFile(filepath.Join(two, name))
		if err != nil || !bytes.Equal(text, again) {
			t.Errorf("%s differs elsewhere (%v)", name, err)
		}
		if strings.HasSuffix(name, ".1") {
			pages++
			if !bytes.Contains(text, []byte(".SH NAME")) || !bytes.Contains(text, []byte(`"Nov 2026"`)) {
				t.Errorf("%s is no manual page of that time:\n%.200s", name, text)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"nearfar.1", "nearfar-run.1", "nearfar-engine-rr.1"} {
		if _, err := os.Stat(filepath.Join(one, "man", page)); err != nil {
			t.Error(err)
		}
	}
	if pages < 20 {
		t.Errorf("only %d manual pages", pages)
	}
	for shell, file := range map[string]string{"bash": "nearfar.bash", "fish": "nearfar.fish"} {
		cmd := exec.CommandContext(t.Context(), shell, "-n", filepath.Join(one, "completions", file))
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", shell, err, out)
		}
	}
}
