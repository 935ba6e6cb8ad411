// Package page makes the HTML report: one self-contained file that draws a run, and the same page for a run that goes on.
//
// The page itself is built from web/ (TypeScript) and embedded; this package gives it its data. It runs without a
// network: everything is in the file, and its security policy allows nothing else.
package page

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"strings"
)

// ErrNotBuilt is what Write, Live and Browse return from a program that was built without the front end.
var ErrNotBuilt = errors.New("this nearfar was built without its HTML pages: build it with `make build` where npm with Node 20.19 or later is installed")

// dist holds the built pages; a fresh clone has a placeholder there.
//
//go:embed all:dist
var dist embed.FS

// The pages in dist.
const (
	reportPage = "report.html"
	browsePage = "browse.html"
)

// What the built report leaves open, in the order in which it comes.
const (
	holeTitle   = "%TITLE%"
	holeSummary = "%SUMMARY%"
	holeData    = "%DATA%"
)

// The policy of a page that stands alone, and of one that talks to the server that it came from.
const (
	connectNone = "connect-src 'none'"
	connectSelf = "connect-src 'self'"
)

// Write writes one self-contained HTML file.
func Write(w io.Writer, d Data) error {
	page, err := read(reportPage)
	if err != nil {
		return err
	}
	// Marshal writes <, > and & and the separators of lines and paragraphs as escapes, so that nothing in the data can
	// end the element that it is in.
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("the page's data: %w", err)
	}
	title := d.Name
	if title == "" {
		title = "report"
	}
	summary := strings.TrimSpace(d.Answer.Question+" "+d.Answer.Verdict) + " (This page draws its charts with JavaScript, which is off.)"
	return fillIn(w, page, title+" - nearfar", summary, data)
}

// Live gives the same page for a run that goes on. It fetches its data, a Data as JSON, from "data.json" and listens to the
// server-sent events at "events", both relative to its own address; each event "trial" or "state" makes it fetch the data
// again.
func Live() ([]byte, error) {
	page, err := read(reportPage)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	page = bytes.Replace(page, []byte(connectNone), []byte(connectSelf), 1)
	if err := fillIn(&out, page, "nearfar", "This page draws its charts with JavaScript, which is off.", nil); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Browse gives the page that lists runs. It may talk to the server that it came from.
func Browse() ([]byte, error) {
	page, err := read(browsePage)
	if err != nil {
		return nil, err
	}
	return bytes.Replace(page, []byte(connectNone), []byte(connectSelf), 1), nil
}

// Policy finds the content security policy that a page carries, for a server that sends it as a header too.
func Policy(page []byte) string {
	_, rest, _ := bytes.Cut(page, []byte(`http-equiv="Content-Security-Policy" content="`))
	policy, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(policy)
}

// Built says whether the pages are there: ErrNotBuilt if not.
func Built() error {
	_, err := read(reportPage)
	return err
}

func read(name string) ([]byte, error) { return readFrom(dist, name) }

func readFrom(built fs.FS, name string) ([]byte, error) {
	page, err := fs.ReadFile(built, "dist/"+name)
	if err != nil {
		return nil, ErrNotBuilt
	}
	return page, nil
}

// fillIn writes the page with what it left open. title and summary are text, data is JSON that is safe within HTML.
func fillIn(w io.Writer, page []byte, title, summary string, data []byte) error {
	for _, part := range []struct {
		hole string
		text []byte
	}{
		{holeTitle, []byte(html.EscapeString(title))},
		{holeSummary, []byte(html.EscapeString(summary))},
		{holeData, data},
	} {
		before, after, found := bytes.Cut(page, []byte(part.hole))
		if !found {
			return fmt.Errorf("the built page lacks %s: build it again with `make build`", part.hole)
		}
		if _, err := w.Write(before); err != nil {
			return err
		}
		if _, err := w.Write(part.text); err != nil {
			return err
		}
		page = after
	}
	_, err := w.Write(page)
	return err
}
