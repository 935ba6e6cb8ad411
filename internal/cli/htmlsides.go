package cli

import (
	"context"
	"encoding/json"
	"io"

	"github.com/spf13/pflag"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/gate"
	"nearfar/internal/show/page"
)

// pagesOfSides adds formatHTML to the formats of an answer about two sides.
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

// writeGatePage writes the page of a gate with its checks and the answer about the two sides.
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

// writeSides writes the page to the file, or to standard output if that is not a terminal.
func (a *app) writeSides(data page.Data, o reportOptions) error {
	write := func(w io.Writer) error { return page.Write(w, data) }
	if o.file != "" {
		return a.writeWhole(o.file, write)
	}
	if isTerminal(a.stdout) {
		return usagef("-f html is not for a terminal: name a file, for example -o answer.html")
	}
	return write(a.stdout)
}

// sidesDocument makes the document of the page that compares two runs.
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
