package cli

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/pflag"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/show/page"
)

// formatHTML is the format of an answer as an HTML page. Not every verb has it.
const formatHTML = "html"

// pages adds formatHTML to the formats of an answer about a run.
func (o *reportOptions) pages(f *pflag.FlagSet) {
	o.html = true
	f.Lookup("format").Usage += "; " + formatHTML + ": a page of charts in one file"
}

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
	switch {
	case o.file != "":
		return a.writeWhole(o.file, write)
	case isTerminal(a.stdout):
		name := filepath.Join(ans.Run, "report.html")
		if err := a.writeWhole(name, write); err != nil {
			return err
		}
		_, err := fmt.Fprintln(a.stdout, name)
		return err
	}
	return write(a.data())
}
