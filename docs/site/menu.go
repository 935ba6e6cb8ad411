package main

import (
	"strings"

	"github.com/yuin/goldmark/ast"
)

// group is a part of the menu.
type group struct {
	title string
	pages []*page
}

// menu lists the pages to which index leads directly, in its order, in the groups in which it lists them: below a
// heading, or below a paragraph that ends with a colon.
func (s *site) menu() []group {
	p := s.pages[index]
	var groups []group
	listed := map[string]bool{}
	title := ""
	for n := p.tree.FirstChild(); n != nil; n = n.NextSibling() {
		text := plain(n, p.source)
		switch n.Kind() {
		case ast.KindHeading:
			title = text
			continue
		case ast.KindParagraph:
			if named, is := strings.CutSuffix(text, ":"); is {
				title = named
				continue
			}
			title = "More"
		}
		pages := s.listedIn(n, p, listed)
		if len(pages) > 0 {
			groups = append(groups, group{title, pages})
		}
	}
	return groups
}

// listedIn gives the pages to which a part of index links, without those in listed, and adds them to it.
func (s *site) listedIn(part ast.Node, p *page, listed map[string]bool) (pages []*page) {
	for _, l := range p.links {
		to := s.pages[l.to]
		if to == nil || to == p || listed[l.to] || !isIn(l.node, part) {
			continue
		}
		listed[l.to] = true
		pages = append(pages, to)
	}
	return pages
}

func isIn(n, part ast.Node) bool {
	for ; n != nil; n = n.Parent() {
		if n == part {
			return true
		}
	}
	return false
}
