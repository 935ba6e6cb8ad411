package cli

import (
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"nearfar/internal/base/clean"
	"nearfar/internal/show/report"
)

// terminalFile returns the terminal that w writes to. ok is false if w is not a terminal.
func terminalFile(w io.Writer) (f *os.File, ok bool) {
	if c, wrapped := w.(*clean.Writer); wrapped {
		w = c.Unwrap()
	}
	f, ok = w.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// wantsColor reports whether to write colours: to a terminal, unless NO_COLOR is set or TERM is dumb.
func wantsColor(w io.Writer) bool {
	_, ok := terminalFile(w)
	return ok && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// unicodeLocale reports whether the locale can show characters beyond ASCII. It reads LC_ALL, else LC_CTYPE, else LANG
// (POSIX, Base Definitions, 8.2). Windows has none of these; Windows Terminal sets WT_SESSION.
func unicodeLocale(getenv func(string) string) bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(getenv(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return getenv("WT_SESSION") != ""
}

// reportScreen returns the options for a report to w.
func reportScreen(format string, w io.Writer) report.Options {
	return report.Options{
		Format: format, Color: wantsColor(w), Unicode: unicodeLocale(os.Getenv), Width: terminalWidth(w, os.Getenv),
	}
}

// mostColumns bounds what COLUMNS may say.
const mostColumns = 1000

// terminalWidth is how many columns w has: what COLUMNS says, as in other programs (POSIX, Base Definitions, 8.3), or
// the width of the terminal; 0 if neither is known.
func terminalWidth(w io.Writer, getenv func(string) string) int {
	if n, err := strconv.Atoi(getenv("COLUMNS")); err == nil && n > 0 {
		return min(n, mostColumns)
	}
	if f, ok := terminalFile(w); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil {
			return width
		}
	}
	return 0
}
