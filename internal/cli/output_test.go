package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestOutputsAreCheckedFirst: an output that cannot be written is refused with its reason. What is there stays as it
// is, and nothing is left.
func TestOutputsAreCheckedFirst(t *testing.T) {
	dir := t.TempDir()
	kept := filepath.Join(dir, "kept")
	if err := os.WriteFile(kept, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, says := range map[string]string{
		filepath.Join(dir, "none", "x"): "there is no directory", filepath.Join(kept, "x"): "not a directory",
		dir: "is a directory", kept: "", filepath.Join(dir, "new"): "", os.DevNull: "", "": "", "-": "",
	} {
		at := name
		err := checkOutput("-o", &at)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("-o %s: %v, want %q", name, err, says)
		}
	}
	for name, says := range map[string]string{
		filepath.Join(dir, "a", "b"): "", dir: "", kept: "is not a directory", filepath.Join(kept, "a"): "not a directory",
	} {
		err := checkFolder("--out", name)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("--out %s: %v, want %q", name, err, says)
		}
	}
	if text, err := os.ReadFile(kept); err != nil || string(text) != "before" {
		t.Errorf("the file holds %q, %v", text, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left: %v, %v", left, err)
	}
	if name := "-"; checkOutput("-o", &name) != nil || name != "" {
		t.Errorf("- is %q, not standard output", name)
	}
}
