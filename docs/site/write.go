package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/yuin/goldmark/ast"
)

//go:embed page.html
var frame string

//go:embed style.css
var style []byte

// shown is what the frame shows of a page.
type shown struct {
	Title string
	// Up leads to the folder of the site.
	Up   string
	Menu []shownGroup
	Body template.HTML
}

type shownGroup struct {
	Title string
	Pages []entry
}

type entry struct {
	Title, Address string
	Current        bool
}

// write writes the site: its pages, and the files to which they link.
func (s *site) write(out string) error {
	parsed, err := template.New("page").Parse(frame)
	if err != nil {
		return err
	}
	menu := s.menu() // before links change
	copied := map[string]bool{}
	for _, name := range s.names() {
		p := s.pages[name]
		for _, l := range p.links {
			if !isPage(l.to) && isFile(s.files, l.to) {
				copied[l.to] = true
			}
		}
		if err := s.writePage(out, parsed, menu, p); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	for name := range copied {
		data, err := fs.ReadFile(s.files, name)
		if err != nil {
			return err
		}
		if err := save(out, name, data); err != nil {
			return err
		}
	}
	return save(out, "style.css", style)
}

func (s *site) writePage(out string, parsed *template.Template, menu []group, p *page) error {
	if err := s.relink(p); err != nil {
		return err
	}
	var body, whole bytes.Buffer
	if err := s.md.Renderer().Render(&body, p.source, p.tree); err != nil {
		return err
	}
	up, err := between(p.name, "style.css")
	if err != nil {
		return err
	}
	view := shown{Title: p.title, Up: up[:len(up)-len("style.css")], Body: template.HTML(body.String())}
	for _, g := range menu {
		part := shownGroup{Title: g.title}
		for _, to := range g.pages {
			address, err := between(p.name, to.name)
			if err != nil {
				return err
			}
			part.Pages = append(part.Pages, entry{Title: to.title, Address: address, Current: to == p})
		}
		view.Menu = append(view.Menu, part)
	}
	if err := parsed.Execute(&whole, view); err != nil {
		return err
	}
	return save(out, file(p.name), whole.Bytes())
}

// relink makes the links of a page lead to files of the site. A link to a folder becomes plain text.
func (s *site) relink(p *page) error {
	for _, l := range p.links {
		if !isFile(s.files, l.to) {
			unlink(l.node)
			continue
		}
		address, err := between(p.name, l.to)
		if err != nil {
			return err
		}
		if l.to == p.name && l.place != "" {
			address = ""
		}
		if l.place != "" {
			address += "#" + l.place
		}
		switch n := l.node.(type) {
		case *ast.Link:
			n.Destination = []byte(address)
		case *ast.Image:
			n.Destination = []byte(address)
		}
	}
	return nil
}

// unlink replaces a link by its text.
func unlink(n ast.Node) {
	parent := n.Parent()
	for c := n.FirstChild(); c != nil; c = n.FirstChild() {
		parent.InsertBefore(parent, n, c)
	}
	parent.RemoveChild(parent, n)
}

// between is the address of a page or a file, seen from a page.
func between(from, to string) (string, error) {
	address, err := filepath.Rel(filepath.Dir(file(from)), file(to))
	return filepath.ToSlash(address), err
}

// save writes a file of the site.
func save(out, name string, data []byte) error {
	at := filepath.Join(out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		return err
	}
	return os.WriteFile(at, data, 0o644)
}
