//go:build linux

package e2e

import (
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// makeSite makes the site of a project's documentation, as make docs does, and gives what the program printed.
func makeSite(t *testing.T, root, out string) (string, error) {
	t.Helper()
	root, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command("go", "-C", filepath.Join("..", "..", "docs", "site"), "run", ".", "-root", root, "-out", out)
	run.Env = append(os.Environ(), "GOFLAGS=", "CGO_ENABLED=0")
	printed, err := run.CombinedOutput()
	return string(printed), err
}

// sitePage is a page of the site as a browser reads it.
type sitePage struct {
	// places are the ids of its elements, links what it links to or shows.
	places map[string]bool
	links  []string
}

func readSitePage(t *testing.T, name string) sitePage {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }() // only read from
	tree, err := html.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	p := sitePage{places: map[string]bool{}}
	for n := range tree.Descendants() {
		for _, a := range n.Attr {
			switch a.Key {
			case "id":
				p.places[a.Val] = true
			case "href", "src":
				p.links = append(p.links, a.Val)
			}
		}
	}
	return p
}

// TestDocsSite: the documentation becomes a site. As a browser reads it, each link within it leads to a file and to a
// place there, each page of docs can be reached from the index, and each heading has the name that it has on GitHub.
func TestDocsSite(t *testing.T) {
	t.Parallel()
	root, out := filepath.Join("..", ".."), t.TempDir()
	if printed, err := makeSite(t, root, out); err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	pages := map[string]sitePage{}
	err := filepath.WalkDir(out, func(name string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Ext(name) == ".html" {
			address, _ := filepath.Rel(out, name)
			pages[filepath.ToSlash(address)] = readSitePage(t, name)
		}
		return err
	})
	if err != nil || len(pages) < 100 {
		t.Fatalf("%d pages: %v", len(pages), err)
	}
	reached := map[string]bool{}
	for todo := []string{"docs/index.html"}; len(todo) > 0; todo = todo[1:] {
		if reached[todo[0]] {
			continue
		}
		reached[todo[0]] = true
		for _, l := range pages[todo[0]].links {
			if to, _, inside := within(t, todo[0], l); inside {
				todo = append(todo, to)
			}
		}
	}
	for name, p := range pages {
		for _, l := range p.links {
			to, place, inside := within(t, name, l)
			if !inside {
				continue
			}
			if info, err := os.Stat(filepath.Join(out, to)); err != nil || info.IsDir() {
				t.Errorf("%s: a link to %s, which is no file", name, l)
			}
			if place != "" && !pages[to].places[place] {
				t.Errorf("%s: a link to %s, where that place does not exist", name, l)
			}
		}
	}
	for _, pattern := range []string{"*.md", "adr/*.md"} {
		sources, err := filepath.Glob(filepath.Join(root, "docs", pattern))
		if err != nil || len(sources) == 0 {
			t.Fatalf("no pages are docs/%s: %v", pattern, err)
		}
		for _, source := range sources {
			checkSitePage(t, source, pages, reached)
		}
	}
}

// checkSitePage checks the page that a Markdown file of docs became.
func checkSitePage(t *testing.T, source string, pages map[string]sitePage, reached map[string]bool) {
	t.Helper()
	name, err := filepath.Rel(filepath.Join("..", ".."), source)
	if err != nil {
		t.Fatal(err)
	}
	name = strings.TrimSuffix(strings.Replace(filepath.ToSlash(name), "README.md", "index.md", 1), ".md") + ".html"
	if !reached[name] {
		t.Errorf("%s cannot be reached from docs/index.html", name)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	for place := range headings(text) {
		if !pages[name].places[place] {
			t.Errorf("%s has no place %s", name, place)
		}
	}
}

// within gives the file and the place to which a link leads, if it stays in the site.
func within(t *testing.T, from, link string) (to, place string, inside bool) {
	t.Helper()
	address, err := url.Parse(link)
	if err != nil {
		t.Fatalf("%s: %v", from, err)
	}
	if address.IsAbs() {
		return "", "", false
	}
	if address.Path == "" {
		return from, address.Fragment, true
	}
	return path.Join(path.Dir(from), address.Path), address.Fragment, true
}

// TestDocsSiteFindsMistakes: there is no site if a link leads nowhere, or if the index does not lead to a page.
func TestDocsSiteFindsMistakes(t *testing.T) {
	t.Parallel()
	root, out := t.TempDir(), filepath.Join(t.TempDir(), "site")
	for name, text := range map[string]string{
		"README.md":      "# Front\n\n[Documentation](docs/README.md), [a folder](docs)\n",
		"docs/README.md": "# Index\n\nStart here:\n\n- [a](a.md), [gone](gone.md), [its part](a.md#the-part), [b](a.md#b)\n",
		"docs/a.md":      "# A\n\n## The `part`\n",
		"docs/alone.md":  "# Alone\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	printed, err := makeSite(t, root, out)
	for _, want := range []string{
		"docs/README.md: a link to docs/gone.md, which does not exist",
		"docs/README.md: a link to docs/a.md#b, and no such heading",
		"docs/alone.md: no link leads there from docs/README.md",
	} {
		if !strings.Contains(printed, want) {
			t.Errorf("%q is not found: %s", want, printed)
		}
	}
	if _, made := os.Stat(out); err == nil || !os.IsNotExist(made) || strings.Count("\n"+printed, "\ndocs/") != 3 {
		t.Errorf("%v, %v: %s", err, made, printed)
	}
}
