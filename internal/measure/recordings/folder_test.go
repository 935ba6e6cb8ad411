package recordings

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A directory stands for its regular files, sorted by name. Hidden files, subdirectories and dangling links are
// ignored.
func TestExpand(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b.txt", "a.txt", ".hidden"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"deeper", "empty"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "a.txt"), filepath.Join(dir, "c.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "d.txt")); err != nil {
		t.Fatal(err)
	}
	got, failed := expand([]Recording{{"near", dir}, {"far", "-"}, {"far", filepath.Join(dir, "nowhere")}})
	want := fmt.Sprint([]Recording{
		{"near", filepath.Join(dir, "a.txt")}, {"near", filepath.Join(dir, "b.txt")},
		{"near", filepath.Join(dir, "c.txt")}, {"far", "-"}, {"far", filepath.Join(dir, "nowhere")},
	})
	if diff := cmp.Diff(want, fmt.Sprint(got)); diff != "" || len(failed) != 0 {
		t.Errorf("%v\n%s", failed, diff)
	}
	_, failed = expand([]Recording{{"near", filepath.Join(dir, "empty")}})
	if len(failed) != 1 || !strings.Contains(failed[0].Error(), "contains no files") {
		t.Errorf("an empty directory: %v", failed)
	}
}

func TestNumbersInNamesAreOrderedByValue(t *testing.T) {
	names := []string{"run-10", "run-9", "run-09b", "run-1", "a", "run-", "run-100"}
	slices.SortStableFunc(names, compareNumbered)
	if got, want := strings.Join(names, " "), "a run- run-1 run-9 run-09b run-10 run-100"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
