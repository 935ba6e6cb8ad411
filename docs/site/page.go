package main

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
)

// page is a Markdown file.
type page struct {
	// name is its path from the project's folder, with slashes.
	name   string
	title  string
	source []byte
	tree   ast.Node
	// places are the names of its headings.
	places map[string]bool
	links  []link
}

// link is a link or a picture that stays within the project.
type link struct {
	node ast.Node
	// to is the path of its target from the project's folder, place a heading there; empty for the whole.
	to, place string
}

// markdown is the dialect of the pages: CommonMark with tables. HTML in Markdown is left out.
func markdown() goldmark.Markdown { return goldmark.New(goldmark.WithExtensions(extension.Table)) }

// readPage reads a page. Its headings get the names by which links call them.
func readPage(files fs.FS, md goldmark.Markdown, name string) (*page, error) {
	source, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	p := &page{name: name, title: name, source: source, places: map[string]bool{}}
	p.tree = md.Parser().Parse(text.NewReader(source))
	titled := false
	err = ast.Walk(p.tree, func(n ast.Node, enters bool) (ast.WalkStatus, error) {
		if !enters {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			written := plain(n, source)
			n.SetAttributeString("id", []byte(p.newPlace(written)))
			if n.Level == 1 && !titled {
				p.title, titled = written, true
			}
		case *ast.Link:
			p.add(files, n, string(n.Destination))
		case *ast.Image:
			p.add(files, n, string(n.Destination))
		}
		return ast.WalkContinue, nil
	})
	return p, err
}

// unnamed is what a heading's name leaves out, as GitHub does, so that links work there too.
var unnamed = regexp.MustCompile(`[^\pL\pN_ -]`)

// newPlace names a heading.
func (p *page) newPlace(heading string) string {
	name := strings.ReplaceAll(unnamed.ReplaceAllString(strings.ToLower(heading), ""), " ", "-")
	numbered := name
	for i := 1; p.places[numbered]; i++ {
		numbered = fmt.Sprintf("%s-%d", name, i)
	}
	p.places[numbered] = true
	return numbered
}

// add notes a link, unless it leads out of the project.
func (p *page) add(files fs.FS, node ast.Node, destination string) {
	if strings.Contains(destination, "://") || strings.HasPrefix(destination, "mailto:") {
		return
	}
	target, place, _ := strings.Cut(destination, "#")
	to := p.name
	if target != "" {
		to = path.Join(path.Dir(p.name), target)
	}
	if readme := path.Join(to, "README.md"); isFile(files, readme) {
		to = readme
	}
	p.links = append(p.links, link{node: node, to: to, place: place})
}

func isFile(files fs.FS, name string) bool {
	info, err := fs.Stat(files, name)
	return err == nil && info.Mode().IsRegular()
}

// plain is the text of a node without markup.
func plain(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, enters bool) (ast.WalkStatus, error) {
		if t, is := n.(*ast.Text); is && enters {
			b.Write(t.Segment.Value(source))
			if t.SoftLineBreak() {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// isPage says whether a path is of a page.
func isPage(name string) bool { return path.Ext(name) == ".md" }

// file is the path of a page in the site, and of other files their own.
func file(name string) string {
	if !isPage(name) {
		return name
	}
	if path.Base(name) == "README.md" {
		return path.Join(path.Dir(name), "index.html")
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}
