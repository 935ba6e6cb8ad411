//go:build unix

package rundir

import (
	"os"
	"path/filepath"
	"testing"
)

// A file that is replaced again and again, as a run replaces its run.json, is read all the same, whole each time.
func TestReadsWhatIsReplaced(t *testing.T) {
	dir := t.TempDir()
	replace := func() error {
		next := filepath.Join(dir, "next")
		if err := os.WriteFile(next, []byte("whole"), 0o644); err != nil {
			return err
		}
		return os.Rename(next, filepath.Join(dir, "run.json"))
	}
	if err := replace(); err != nil {
		t.Fatal(err)
	}
	end, ended := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-end:
				ended <- nil
				return
			default:
			}
			if err := replace(); err != nil {
				ended <- err
				return
			}
		}
	}()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for range 5000 {
		if data, err := readRegular(root, "run.json", 100); err != nil || string(data) != "whole" {
			t.Errorf("%q, %v", data, err)
			break
		}
	}
	close(end)
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
