package report

// Printable makes text that came from a host or a file harmless.
func Printable(s string) string { return printable(s) }

// Wrap breaks text into lines of a terminal's width, each behind the indent, the further ones a little deeper.
func Wrap(s, indent string, width int) string { return wrap(s, indent, width) }

// MarkdownText makes text harmless that stands in markdown, and keeps it from being read as markup.
func MarkdownText(s string) string { return markdownText(printable(s)) }
