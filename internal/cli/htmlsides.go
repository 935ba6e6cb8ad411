package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/spf13/pflag"

	"nearfar/internal/answer"
	"nearfar/internal/gate"
	"nearfar/internal/page"
)

// pagesOfSides allows formatHTML beside the formats of what sets two sides side by side.
func (o *reportOptions) pagesOfSides(f *pflag.FlagSet) {
	o.html = true
	f.Lookup("format").Usage += "; " + formatHTML + ": a page in one file"
}

// writeComparePage writes the page of a comparison.
func (a *app) writeComparePage(ans answer.Answer, o reportOptions) error {
	data, err := page.Sides(ans, nil)
	if err != nil {
		return err
	}
	return a.writeSides(data, o)
}

// writeGatePage writes the page of a gate: its checks, and the answer about the two sides.
func (a *app) writeGatePage(r gate.Result, ans answer.Answer, o reportOptions) error {
	result, err := json.Marshal(r)
	if err != nil {
		return err
	}
	data, err := page.Sides(ans, result)
	if err != nil {
		return err
	}
	return a.writeSides(data, o)
}

// writeSides writes the page to the file, or to standard output. A terminal is no place for it.
func (a *app) writeSides(data page.Data, o reportOptions) error {
	write := func(w io.Writer) error { return page.Write(w, data) }
	if o.file != "" {
		return a.writeWhole(o.file, write)
	}
	if isTerminal(a.stdout) {
		return &usageError{errors.New("-f html: name the file for the page, for example -o answer.html")}
	}
	return write(a.stdout)
}

// sidesDocument makes the document of the page that sets two runs side by side.
func (a *app) sidesDocument(ctx context.Context, base, other string) ([]byte, error) {
	c, done, err := a.contrast(ctx, []string{base}, "A", []string{other}, "B")
	if err != nil {
		return nil, err
	}
	defer done()
	data, err := page.Sides(c.Answer(), nil)
	if err != nil {
		return nil, err
	}
	return json.Marshal(data)
}
