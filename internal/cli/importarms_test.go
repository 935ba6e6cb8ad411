package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseArms(t *testing.T) {
	arms, err := parseArms([]string{"near=a.txt", "far=dir/b=c.txt", "middle", "all=-"})
	want := []armFlag{{"near", "a.txt"}, {"far", "dir/b=c.txt"}, {"middle", ""}, {"all", "-"}}
	if err != nil || fmt.Sprint(arms) != fmt.Sprint(want) {
		t.Errorf("%v, %v", arms, err)
	}
	for says, texts := range map[string][]string{
		`"=a.txt" names no arm`: {"=a.txt"},
		`"near=" names no file`: {"near="},
		`"near" is given twice`: {"near=a.txt", "far=b.txt", "near=c.txt"},
		`"far" is given twice`:  {"far", "far=b.txt"},
	} {
		if _, err := parseArms(texts); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, want it to say %s", texts, err, says)
		}
	}
}

func TestSources(t *testing.T) {
	for name, c := range map[string]struct {
		arms  []armFlag
		files []string
		want  string // or the error
	}{
		"files alone":       {nil, []string{"a", "b"}, "[{ a} { b}]"},
		"one arm":           {[]armFlag{{"near", ""}}, []string{"a", "b"}, "[{near a} {near b}]"},
		"arms with files":   {[]armFlag{{"far", "x"}, {"near", "y"}}, nil, "[{far x} {near y}]"},
		"both":              {[]armFlag{{"far", "x"}, {"near", ""}}, []string{"a"}, "[{far x} {near a}]"},
		"files of none":     {[]armFlag{{"far", "x"}}, []string{"a"}, "[{far x} { a}]"},
		"two plain arms":    {[]armFlag{{"far", ""}, {"near", ""}}, []string{"a"}, "cannot belong to two arms"},
		"an arm of no file": {[]armFlag{{"far", ""}}, nil, `"far" has no file`},
		"nothing":           {nil, nil, "no file is named"},
	} {
		all, err := sources(c.arms, c.files)
		if got := fmt.Sprint(all); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %s, %v; want %s", name, got, err, c.want)
		}
	}
}

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
	got, failed := expand([]recording{{"near", dir}, {"far", "-"}, {"far", filepath.Join(dir, "nowhere")}})
	want := fmt.Sprint([]recording{
		{"near", filepath.Join(dir, "a.txt")}, {"near", filepath.Join(dir, "b.txt")},
		{"near", filepath.Join(dir, "c.txt")}, {"far", "-"}, {"far", filepath.Join(dir, "nowhere")},
	})
	if diff := cmp.Diff(want, fmt.Sprint(got)); diff != "" || len(failed) != 0 {
		t.Errorf("%v\n%s", failed, diff)
	}
	_, failed = expand([]recording{{"near", filepath.Join(dir, "empty")}})
	if len(failed) != 1 || !strings.Contains(failed[0].Error(), "contains no files") {
		t.Errorf("an empty directory: %v", failed)
	}
}

func FuzzParseArmFlag(f *testing.F) {
	for _, seed := range []string{"near", "near=a.txt", "=", "a==b", "near=", "\x00=\x1b[2J", "a=b=c", "", "--arm=x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		arm, err := parseArmFlag(text)
		switch {
		case err != nil:
			if !strings.HasPrefix(text, "=") && !strings.HasSuffix(text, "=") {
				t.Fatalf("%q: %v", text, err)
			}
		case strings.Contains(arm.name, "="):
			t.Fatalf("%q has the name %q", text, arm.name)
		case arm.path == "" && arm.name != text, arm.path != "" && arm.name+"="+arm.path != text:
			t.Fatalf("%q becomes %q and %q", text, arm.name, arm.path)
		}
	})
}

func TestNumbersInNamesAreOrderedByValue(t *testing.T) {
	names := []string{"run-10", "run-9", "run-09b", "run-1", "a", "run-", "run-100"}
	slices.SortStableFunc(names, compareNumbered)
	if got, want := strings.Join(names, " "), "a run- run-1 run-9 run-09b run-10 run-100"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
