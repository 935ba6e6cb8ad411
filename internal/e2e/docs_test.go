//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
)

var fenced = regexp.MustCompile("(?ms)^```yaml[^\n]*\n(.*?)^```")

// TestDocumentedExperiments: every complete experiment in the README files is valid, and so is every lab.
func TestDocumentedExperiments(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "labs", "*", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range fenced.FindAllSubmatch(text, -1) {
			if !strings.HasPrefix(string(match[1]), "nearfar:") {
				continue
			}
			found++
			if _, err := experiment.Parse(page, match[1], tool.Declared()); err != nil {
				t.Errorf("%v", err)
			}
		}
	}
	if found == 0 {
		t.Error("no page shows an experiment")
	}
	labs, err := filepath.Glob(filepath.Join(root, "labs", "*", "experiment.yaml"))
	if err != nil || len(labs) == 0 {
		t.Fatalf("no labs: %v", err)
	}
	for _, lab := range labs {
		data, err := os.ReadFile(lab)
		if err != nil {
			t.Fatal(err)
		}
		readme, err := os.ReadFile(filepath.Join(filepath.Dir(lab), "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		// Hosts come from variables. The commands of the README set each of them.
		set := experiment.Inputs{Variable: func(name string) (string, bool) {
			if !strings.Contains(string(readme), " "+name+"=") {
				t.Errorf("%s has the variable %s, which no command of its README sets", lab, name)
			}
			return "vm-" + strings.ToLower(name), true
		}}
		if _, err := experiment.ParseWith(lab, data, tool.Declared(), set); err != nil {
			t.Errorf("%v", err)
		}
	}
}

var link = regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)

// TestLinks: every link between the project's pages has a target.
func TestLinks(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	checked := 0
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/adr/*.md", "labs/*/*.md"} {
		pages, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range link.FindAllSubmatch(text, -1) {
				target := string(match[1])
				if strings.Contains(target, "://") {
					continue
				}
				checked++
				if _, err := os.Stat(filepath.Join(filepath.Dir(page), target)); err != nil {
					t.Errorf("%s: a link to %s, which does not exist", page, target)
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no links were found")
	}
}

// TestDecisionsAreListedOnce: the index of decisions has each page in one subject.
func TestDecisionsAreListedOnce(t *testing.T) {
	t.Parallel()
	folder := filepath.Join("..", "..", "docs", "adr")
	index, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "[0-9]*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no decisions were found (%v)", err)
	}
	for _, page := range pages {
		name := filepath.Base(page)
		row := fmt.Sprintf("\n| [%s](%s) | ", name[:4], name)
		if n := strings.Count(string(index), row); n != 1 {
			t.Errorf("the index lists %s %d times, want once", name, n)
		}
	}
}
