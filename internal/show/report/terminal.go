package report

import (
	"slices"
	"strings"

	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer"
)

// terminal writes the answer as text for a terminal. It can be read without colour.
func terminal(a answer.Answer, s screen) string {
	var b strings.Builder
	if a.Unverified != "" {
		b.WriteString(s.title(printable(a.Unverified)))
	}
	if a.Question != "" {
		b.WriteString(s.title(printable(a.Question)) + "\n")
	}
	for i, text := range paragraphs(a) {
		if i == 0 {
			b.WriteString(s.strong(printable(text), "  "))
		} else {
			b.WriteString(prose.Wrap(printable(text), "  ", s.width))
		}
	}
	if a.Environment != nil {
		b.WriteString(prose.Wrap(printable(a.Environment.String()), "  ", s.width))
	}
	for _, section := range sections(a) {
		b.WriteString("\n" + s.title(section.title) + section.text(s))
	}
	if a.Run != "" {
		b.WriteString("\nRun: " + printable(a.Run) + "\n")
	}
	return b.String()
}

// paragraphs is the answer in words: its first line, what that rests on, and what else was found. An answer of an older
// version has one text.
func paragraphs(a answer.Answer) []string {
	if a.Headline == "" && a.Verdict != "" {
		return []string{a.Verdict}
	}
	return slices.DeleteFunc([]string{a.Headline, a.Basis, a.Also}, func(text string) bool { return text == "" })
}

// text writes a section without its title.
func (part section) text(s screen) string {
	var b strings.Builder
	var left []string
	for i, g := range part.groups {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(prose.Wrap(printable(g.caption), "  ", s.width))
		text, without := g.table.text("  ", s)
		b.WriteString(text)
		for _, name := range without {
			if !slices.Contains(left, name) {
				left = append(left, name)
			}
		}
	}
	for _, line := range part.lines {
		b.WriteString(prose.Wrap(line, "  ", s.width))
	}
	for _, warning := range part.warnings {
		b.WriteString(prose.Wrap("! "+warning, "  ", s.width))
	}
	if part.note != "" {
		b.WriteString(prose.Wrap(part.note, "  ", s.width))
	}
	if len(left) > 0 {
		text := "Not shown for lack of width: " + strings.Join(left, ", ") + ". -f markdown shows all."
		b.WriteString(prose.Wrap(text, "  ", s.width))
	}
	return b.String()
}
