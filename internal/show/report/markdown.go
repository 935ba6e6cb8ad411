package report

import (
	"strings"

	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer"
)

// markdown writes the answer as markdown, for a page or a ticket.
func markdown(a answer.Answer) string {
	var b strings.Builder
	if a.Unverified != "" {
		b.WriteString("**" + prose.Markdown(printable(a.Unverified)) + "**\n\n")
	}
	if a.Question != "" {
		b.WriteString("# " + prose.Markdown(printable(a.Question)) + "\n\n")
	}
	for i, text := range paragraphs(a) {
		if text = prose.Markdown(printable(text)); i == 0 {
			b.WriteString("**" + text + "**\n")
		} else {
			b.WriteString("\n" + text + "\n")
		}
	}
	if a.Environment != nil {
		b.WriteString("\n" + prose.Markdown(printable(a.Environment.String())) + "\n")
	}
	for _, s := range sections(a) {
		b.WriteString("\n## " + prose.Markdown(printable(s.title)) + "\n\n")
		for i, g := range s.groups {
			if i > 0 {
				b.WriteString("\n")
			}
			b.WriteString(prose.Markdown(printable(g.caption)) + ":\n\n")
			b.WriteString(g.table.markdown())
		}
		if len(s.groups) > 0 && len(s.lines) > 0 {
			b.WriteString("\n")
		}
		for _, line := range append(s.lines, s.warnings...) {
			b.WriteString("- " + prose.Markdown(line) + "\n")
		}
		if s.note != "" {
			b.WriteString("\n" + prose.Markdown(s.note) + "\n")
		}
	}
	if a.Run != "" {
		b.WriteString("\nRun: " + prose.Markdown(printable(a.Run)) + "\n")
	}
	return b.String()
}
