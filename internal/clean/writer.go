package clean

import (
	"bytes"
	"io"
	"sync"
	"unicode/utf8"
)

// The escape sequences for colours (ECMA-48, SGR) that reports use. Text and a Writer with colours let these through
// and no other sequence.
const (
	Reset      = "\x1b[0m"
	Bold       = "\x1b[1m"
	Green      = "\x1b[32m"
	Yellow     = "\x1b[33m"
	Cyan       = "\x1b[36m"
	BoldRed    = "\x1b[31;1m"
	BoldYellow = "\x1b[33;1m"
)

// Colours lists the escape sequences that Text and a Writer with colours let through.
func Colours() []string { return []string{Reset, Bold, Green, Yellow, Cyan, BoldRed, BoldYellow} }

// colourAt gives the colour that the text begins with; "" for none.
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

// Writer passes text on as Text gives it. It may be used by several goroutines; each Write is
// passed on in one. A colour must be written in one Write. The bytes of a character may come in several.
type Writer struct {
	colours bool

	mu   sync.Mutex
	w    io.Writer
	rest []byte // the beginning of a character whose end has not come yet
}

// NewWriter makes a writer that passes text on to w.
func NewWriter(w io.Writer, colours bool) *Writer { return &Writer{colours: colours, w: w} }

// Unwrap gives the writer that the text is passed on to.
func (w *Writer) Unwrap() io.Writer { return w.w }

// Write passes p on. The count is of p, not of what was written for it; where an error occurred it is 0.
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

// Flush passes on the beginning of a character whose end never came.
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

// unfinished is how many bytes at the end can be the beginning of a character.
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
