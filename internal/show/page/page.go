// Package page makes the HTML report, which is one self-contained file, and the same page for a run in progress.
//
// The page itself is built from web/ (TypeScript) and embedded; this package provides its data. The page needs no
// network: the file holds everything, and its content security policy forbids requests.
package page

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"io/fs"
	"strings"
)

// ErrNotBuilt is what Write, Live and Browse return if the program was built without the pages.
var ErrNotBuilt = errors.New("this nearfar was built without its HTML pages: build it with `make build` " +
	"where npm with Node 20.19 or later is installed")

// dist holds the built pages. A fresh clone has only a README there.
//
//go:embed all:dist
var dist embed.FS

// The pages in dist.
const (
	reportPage = "report.html"
	browsePage = "browse.html"
)

// The placeholders in the built report, in their order.
const (
	placeTitle   = "%TITLE%"
	placeSummary = "%SUMMARY%"
	placeData    = "%DATA%"
)

// noScript is shown by a browser that does not run JavaScript.
const noScript = "This page draws its charts with JavaScript, which is off."

// The part of the content security policy about requests: none for a file, and only its own server for a served page.
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
	// Marshal escapes <, >, & and the separators of lines and paragraphs, so that nothing in the data can close the
	// element around it.
	data, err := json.Marshal(d)
	if err != nil {
		return fmt.Errorf("the page's data: %w", err)
	}
	summary := strings.TrimSpace(d.Answer.Question+" "+d.Answer.Verdict) + " (" + noScript + ")"
	return fillIn(w, page, cmp.Or(d.Name, "report")+" - nearfar", summary, data)
}

// Live gives the same page for a run in progress. It fetches its data, a Data as JSON, from "data.json", and listens to
// the server-sent events at "events", both relative to its own address. Each event "trial" or "state" makes it fetch
// the data again.
func Live() ([]byte, error) {
	page, err := read(reportPage)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	page = bytes.Replace(page, []byte(connectNone), []byte(connectSelf), 1)
	if err := fillIn(&out, page, "nearfar", noScript, nil); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// Browse gives the page that lists runs. Its policy allows requests to its own server.
func Browse() ([]byte, error) {
	page, err := read(browsePage)
	if err != nil {
		return nil, err
	}
	return bytes.Replace(page, []byte(connectNone), []byte(connectSelf), 1), nil
}

// Policy gives the content security policy in a page, so that a server can send it as a header too.
func Policy(page []byte) string {
	_, rest, _ := bytes.Cut(page, []byte(`http-equiv="Content-Security-Policy" content="`))
	policy, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(policy)
}

// Built returns ErrNotBuilt if the program was built without the pages.
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

// fillIn writes the page with its placeholders replaced. title and summary are text; data is JSON that is safe within
// HTML.
func fillIn(w io.Writer, page []byte, title, summary string, data []byte) error {
	for _, part := range []struct {
		placeholder string
		text        []byte
	}{
		{placeTitle, []byte(html.EscapeString(title))},
		{placeSummary, []byte(html.EscapeString(summary))},
		{placeData, data},
	} {
		before, after, found := bytes.Cut(page, []byte(part.placeholder))
		if !found {
			return fmt.Errorf("the built page lacks %s: build it again with `make build`", part.placeholder)
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
