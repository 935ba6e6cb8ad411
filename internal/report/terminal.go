package report

import (
	"strings"

	"nearfar/internal/answer"
)

// terminal lays the answer out for people at a terminal; it can be read without colour.
func terminal(a answer.Answer, color bool) string {
	bold := func(s string) string { return s }
	if color {
		bold = func(s string) string { return "\x1b[1m" + s + "\x1b[0m" }
	}
	var b strings.Builder
	if a.Question != "" {
		b.WriteString(bold(printable(a.Question)) + "\n\n")
	}
	b.WriteString("  " + printable(a.Verdict) + "\n")
	for _, s := range sections(a) {
		b.WriteString("\n" + bold(s.title) + "\n")
		for i, g := range s.groups {
			if i > 0 {
				b.WriteString("\n")
			}
			b.WriteString("  " + g.caption + "\n")
			b.WriteString(g.table.text("    "))
		}
		for _, line := range s.lines {
			b.WriteString("  ! " + line + "\n")
		}
		for _, line := range strings.Split(s.note, "\n") {
			if line != "" {
				b.WriteString("  " + line + "\n")
			}
		}
	}
	if a.Run != "" {
		b.WriteString("\nRun: " + printable(a.Run) + "\n")
	}
	return b.String()
}
