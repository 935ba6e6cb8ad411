package clean

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// The escape sequences for colours (ECMA-48, SGR) that reports use. Text and a Writer with colours pass these on, and
// escape all other sequences.
const (
	Reset      = "\x1b[0m"
	Bold       = "\x1b[1m"
	Green      = "\x1b[32m"
	Yellow     = "\x1b[33m"
	Cyan       = "\x1b[36m"
	BoldRed    = "\x1b[31;1m"
	BoldYellow = "\x1b[33;1m"
)

// Colours lists the escape sequences that Text and a Writer with colours pass on.
func Colours() []string { return []string{Reset, Bold, Green, Yellow, Cyan, BoldRed, BoldYellow} }

// colourAt returns the escape sequence of a colour that the text begins with, or "".
func colourAt(p []byte) string {
	if len(p) == 0 || p[0] != 0x1b {
		return ""
	}
	for _, colour := range Colours() {
		if bytes.HasPrefix(p, []byte(colour)) {
			return colour
		}
	}
	return ""
}

// Writer passes text on as Text returns it. Several goroutines may use it. Each Write is passed on in one call. The
// escape sequence of a colour must be written in one Write; the bytes of a character may come in several.
type Writer struct {
	colours bool

	mu   sync.Mutex
	w    io.Writer
	rest []byte // the first bytes of a character whose other bytes have not been written yet
}

// NewWriter returns a writer that passes text on to w.
func NewWriter(w io.Writer, colours bool) *Writer { return &Writer{colours: colours, w: w} }

// Unwrap returns the writer that the text is passed on to.
func (w *Writer) Unwrap() io.Writer { return w.w }

// Write passes p on. The count refers to p, not to the escaped text; after an error it is 0.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := p
	if len(w.rest) > 0 {
		text = append(w.rest, p...)
		w.rest = nil
	}
	whole := len(text) - unfinished(text)
	w.rest = bytes.Clone(text[whole:])
	if whole == 0 {
		return len(p), nil
	}
	if _, err := w.w.Write(escape(text[:whole], w.colours)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on the first bytes of a character that was never completed, as escapes.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.rest) == 0 {
		return nil
	}
	rest := w.rest
	w.rest = nil
	_, err := w.w.Write(escape(rest, false))
	return err
}

// unfinished returns how many bytes at the end may be the beginning of a character.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}
