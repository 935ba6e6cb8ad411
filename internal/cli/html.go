package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/gate"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/show/page"
)

// formatHTML is the format of an answer as an HTML page. Not every verb has it.
const formatHTML = "html"

// What the help of -f says of the page of a run, and of the page of two sides.
const (
	chartsPage = "; " + formatHTML + ": a page of charts in one file"
	sidesPage  = "; " + formatHTML + ": a page in one file"
)

// writePage writes the page of a run. If standard output is a terminal, it writes the page into the run directory and
// prints the file's name.
func (a *app) writePage(ans answer.Answer, o reportOptions) error {
	dir, err := rundir.Open(ans.Run)
	if err != nil {
		return err
	}
	data, err := page.Collect(dir, ans)
	if err != nil {
		return fmt.Errorf("the page of %s: %w", ans.Run, err)
	}
	write := func(w io.Writer) error { return page.Write(w, data) }
	if o.file == "" && isTerminal(a.stdout) {
		name := filepath.Join(ans.Run, "report.html")
		if err := a.writeWhole(name, write); err != nil {
			return err
		}
		_, err := fmt.Fprintln(a.stdout, name)
		return err
	}
	return a.writeWhole(o.file, write)
}

// writeGatePage writes the page of a gate with its checks and the answer about the two sides.
func (a *app) writeGatePage(r gate.Result, ans answer.Answer, o reportOptions) error {
	result, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return a.writeSides(ans, result, o)
}

// writeSides writes the page of two sides to the file, or to standard output if that is not a terminal. result is that
// of a gate; nil for a comparison.
func (a *app) writeSides(ans answer.Answer, result json.RawMessage, o reportOptions) error {
	data, err := page.Sides(ans, result)
	if err != nil {
		return err
	}
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
