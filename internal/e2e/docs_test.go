//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	experimentfile "nearfar/internal/declare/experiment/file"
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
			if _, err := experimentfile.Parse(page, match[1], tool.Declared()); err != nil {
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
		set := experimentfile.Inputs{Variable: func(name string) (string, bool) {
			if !strings.Contains(string(readme), " "+name+"=") {
				t.Errorf("%s has the variable %s, which no command of its README sets", lab, name)
			}
			return "vm-" + strings.ToLower(name), true
		}}
		if _, err := experimentfile.ParseWith(lab, data, tool.Declared(), set); err != nil {
			t.Errorf("%v", err)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)#]*)(?:#([^)]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	// What GitHub leaves out of a heading when it makes the name of the heading's place.
	unnamed = regexp.MustCompile(`\]\([^)]*\)|[^\pL\pN_ -]`)
)

// headings gives the names of a page's headings, as links have them.
func headings(page []byte) map[string]bool {
	names := map[string]bool{}
	for _, match := range heading.FindAllSubmatch(fencedBlock.ReplaceAll(page, nil), -1) {
		name := strings.ReplaceAll(unnamed.ReplaceAllString(strings.ToLower(string(match[1])), ""), " ", "-")
		numbered := name
		for i := 1; names[numbered]; i++ {
			numbered = fmt.Sprintf("%s-%d", name, i)
		}
		names[numbered] = true
	}
	return names
}

// TestLinks: every link between the project's pages has a target, and every link to a heading that heading.
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
				to := page
				if target != "" {
					to = filepath.Join(filepath.Dir(page), target)
				}
				if _, err := os.Stat(to); err != nil {
					t.Errorf("%s: a link to %s, which does not exist", page, target)
					continue
				}
				if part := string(match[2]); part != "" && filepath.Ext(to) == ".md" {
					text, err := os.ReadFile(to)
					if err != nil {
						t.Fatal(err)
					}
					if !headings(text)[part] {
						t.Errorf("%s: a link to %s#%s, and no such heading", page, target, part)
					}
				}
			}
		}
	}
	if checked == 0 {
		t.Error("no links were found")
	}
}

var (
	fencedBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	// A passage ends with a paragraph, a heading, an item of a list and a cell of a table.
	passageEnd = regexp.MustCompile(`\n\s*\n|(?m)^#.*$|^ *[-*] |^ *[0-9]+\. |^\||[^\\]\|`)
	word       = regexp.MustCompile(`[\pL\pN_$./%+-]*[\pL\pN]`)
)

// TestNoPassageTwice: no page repeats another one. What two pages need stands in the one where a reader looks for it,
// and the other has a link. So it cannot be changed in one place and stay in the other.
func TestNoPassageTwice(t *testing.T) {
	t.Parallel()
	const longest = 9 // words in a row that two pages may share
	pages, err := filepath.Glob(filepath.Join("..", "..", "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages were found (%v)", err)
	}
	type passage struct{ page, text string }
	seen := map[string]passage{}
	for _, page := range append(pages, filepath.Join("..", "..", "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		prose := fencedBlock.ReplaceAll(text, nil)
		prose = link.ReplaceAll(prose, []byte("]"))
		for _, part := range passageEnd.Split(string(prose), -1) {
			words := word.FindAllString(strings.ToLower(part), -1)
			for i := 0; i+longest < len(words); i++ {
				p := passage{page, strings.Join(words[i:i+longest+1], " ")}
				if earlier, found := seen[p.text]; found && earlier.page != page {
					t.Errorf("%s and %s say the same; keep one, and link it: %s", earlier.page, page, p.text)
					break
				}
				seen[p.text] = p
			}
		}
	}
	if len(seen) < 10_000 {
		t.Errorf("only %d passages were found", len(seen))
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
