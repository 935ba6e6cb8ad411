package report

import (
	"strings"

	"nearfar/internal/answer"
)

// markdown lays the answer out for a page or a ticket.
func markdown(a answer.Answer) string {
	var b strings.Builder
	if a.Question != "" {
		b.WriteString("# " + markdownText(printable(a.Question)) + "\n\n")
	}
	b.WriteString("**" + markdownText(printable(a.Verdict)) + "**\n")
	if a.Environment != nil {
		b.WriteString("\n" + markdownText(printable(a.Environment.String())) + "\n")
	}
	for _, s := range sections(a) {
		b.WriteString("\n## " + MarkdownText(s.title) + "\n\n")
		for i, g := range s.groups {
			if i > 0 {
				b.WriteString("\n")
			}
			b.WriteString(MarkdownText(g.caption) + ":\n\n")
			b.WriteString(g.table.markdown())
		}
		if len(s.groups) > 0 && len(s.said) > 0 {
			b.WriteString("\n")
		}
		for _, line := range append(s.said, s.lines...) {
			b.WriteString("- " + markdownText(line) + "\n")
		}
		if s.note != "" {
			b.WriteString("\n" + markdownText(s.note) + "\n")
		}
	}
	if a.Run != "" {
		b.WriteString("\nRun: " + markdownText(printable(a.Run)) + "\n")
	}
	return b.String()
}
