package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/yuin/goldmark"
)

// The pages where readers begin.
const (
	front = "README.md"
	index = "docs/README.md"
)

// site is the documentation.
type site struct {
	files fs.FS
	md    goldmark.Markdown
	// pages are all pages to which front and index lead, by their names.
	pages map[string]*page
}

// read reads the pages, beginning with front and index, and going where their links lead.
func read(files fs.FS) (*site, error) {
	s := &site{files: files, md: markdown(), pages: map[string]*page{}}
	for todo := []string{front, index}; len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		if s.pages[name] != nil {
			continue
		}
		p, err := readPage(files, s.md, name)
		if err != nil {
			return nil, err
		}
		s.pages[name] = p
		for _, l := range p.links {
			if isPage(l.to) && isFile(files, l.to) {
				todo = append(todo, l.to)
			}
		}
	}
	return s, nil
}

// check finds links that lead nowhere, and pages of docs to which index does not lead.
func (s *site) check() error {
	var problems []error
	for _, name := range s.names() {
		for _, l := range s.pages[name].links {
			if problem := s.wrong(l); problem != "" {
				problems = append(problems, fmt.Errorf("%s: a link to %s", name, problem))
			}
		}
	}
	reached := s.reached()
	for _, pattern := range []string{"docs/*.md", "docs/*/*.md"} {
		all, err := fs.Glob(s.files, pattern)
		if err != nil {
			return err
		}
		for _, name := range all {
			if !reached[name] {
				problems = append(problems, fmt.Errorf("%s: no link leads there from %s", name, index))
			}
		}
	}
	return errors.Join(problems...)
}

// wrong says what is wrong with a link; empty if it leads somewhere.
func (s *site) wrong(l link) string {
	if _, err := fs.Stat(s.files, l.to); err != nil {
		return l.to + ", which does not exist"
	}
	if p := s.pages[l.to]; p != nil && l.place != "" && !p.places[l.place] {
		return fmt.Sprintf("%s#%s, and no such heading", l.to, l.place)
	}
	return ""
}

// reached are the pages to which index leads.
func (s *site) reached() map[string]bool {
	reached := map[string]bool{}
	for todo := []string{index}; len(todo) > 0; todo = todo[1:] {
		p := s.pages[todo[0]]
		if p == nil || reached[p.name] {
			continue
		}
		reached[p.name] = true
		for _, l := range p.links {
			todo = append(todo, l.to)
		}
	}
	return reached
}

// names are those of all pages, sorted.
func (s *site) names() []string {
	names := make([]string, 0, len(s.pages))
	for name := range s.pages {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
