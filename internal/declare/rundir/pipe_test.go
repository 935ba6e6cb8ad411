//go:build unix

package rundir

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"nearfar/internal/measure/tool"
)

// TestPipes: a pipe in place of any file of a run directory is an error, and opening it does not block.
func TestPipes(t *testing.T) {
	for _, name := range []string{manifestName, trialsName, rawName, nextName} {
		t.Run(name, func(t *testing.T) {
			path := closed(t)
			pipe := filepath.Join(path, name)
			if err := os.RemoveAll(pipe); err != nil {
				t.Fatal(err)
			}
			if err := unix.Mkfifo(pipe, 0o644); err != nil {
				t.Fatal(err)
			}
			d, err := Open(path)
			if err == nil && name == trialsName {
				_, err = d.Trials()
			}
			fails := name == manifestName || name == trialsName
			if fails != (err != nil) || fails && !strings.Contains(err.Error(), "is not a regular file") {
				t.Errorf("reading: %v", err)
			}
			d, err = Resume(path, tool.Declared())
			if resumes := name == nextName; resumes != (err == nil) {
				t.Errorf("resuming: %v", err)
			}
			if err == nil {
				if _, err := d.WriteRaw("a", nil); err != nil {
					t.Error(err)
				}
				if err := d.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(pipe); err == nil {
		t.Error("a pipe is a run directory")
	}
}
