package cli

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/pflag"

	"nearfar/internal/answer"
	"nearfar/internal/page"
	"nearfar/internal/rundir"
)

// formatHTML is the answer as a page, with all that the run directory holds. Only what has a run directory has it.
const formatHTML = "html"

// pages allows formatHTML beside the formats of an answer.
func (o *reportOptions) pages(f *pflag.FlagSet) {
	o.html = true
	f.Lookup("format").Usage += "; " + formatHTML + ": a page of charts in one file"
}

// writePage writes the page of a run. A terminal gets the name of the file, which is then in the run directory.
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
