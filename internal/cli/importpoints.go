package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"nearfar/internal/base/clean"
	"nearfar/internal/measure/recordings/captures"
)

// importPoints reads captures, and prints where on the way the time goes.
func (a *app) importPoints(ctx context.Context, o importOptions) error {
	points, err := parsePoints(o.points)
	if err != nil {
		return &usageError{err}
	}
	server, err := parseServer(o.server)
	if err != nil {
		return &usageError{err}
	}
	report, err := captures.Read(ctx, captures.Options{
		Points: points, Server: server, Open: openCapture,
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return errors.New(clean.Line(err.Error())) // names of interfaces come from the files
	}
	if o.json {
		return a.writeJSON(report)
	}
	return a.printSegments(report)
}

// openCapture opens a file that can be read twice. Others, such as pipes, could also wait for ever.
func openCapture(path string) (io.ReadCloser, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory: name each file, with a point", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file: captures are read twice", path)
	}
	return os.Open(path)
}

// parsePoints reads the --point flags. A point that is given several times has a file of each capture.
func parsePoints(texts []string) ([]captures.Point, error) {
	var points []captures.Point
	for _, text := range texts {
		one, err := parsePoint(text)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(points, func(p captures.Point) bool { return p.Name == one.Name })
		if i < 0 {
			points = append(points, one)
			continue
		}
		if points[i].Clock != one.Clock {
			return nil, fmt.Errorf("the point %q has two clocks, %q and %q", one.Name, points[i].Clock, one.Clock)
		}
		points[i].Files = append(points[i].Files, one.Files...)
	}
	return points, nil
}

// parsePoint reads NAME=FILE, NAME=FILE:INTERFACE, and what may follow: ,clock=NAME.
func parsePoint(text string) (captures.Point, error) {
	const form = "write --point NAME=FILE, or NAME=FILE:INTERFACE, and for a clock that points share ,clock=NAME"
	name, path, with := strings.Cut(text, "=")
	if !with || name == "" || path == "" || strings.HasPrefix(path, ",clock=") {
		return captures.Point{}, fmt.Errorf("--point %s: %s", clean.Quote(text), form)
	}
	p := captures.Point{Name: name}
	if at := strings.LastIndex(path, ",clock="); at >= 0 {
		p.Clock = path[at+len(",clock="):]
		if path = path[:at]; p.Clock == "" {
			return captures.Point{}, fmt.Errorf("--point %s names no clock: %s", clean.Quote(text), form)
		}
	}
	if path == "-" {
		return captures.Point{}, fmt.Errorf("--point %s: captures are read twice, so standard input cannot be one",
			clean.Quote(text))
	}
	f := captures.File{Path: path}
	if _, err := os.Stat(path); err != nil {
		// What follows the last colon is an interface, unless it is a part of the path.
		if at := strings.LastIndex(path, ":"); at > 0 && !strings.ContainsAny(path[at:], `/\`) {
			f = captures.File{Path: path[:at], Interface: path[at+1:]}
		}
	}
	p.Files = []captures.File{f}
	return p, nil
}

// parseServer reads ADDRESS or ADDRESS:PORT.
func parseServer(text string) (captures.Server, error) {
	if text == "" {
		return captures.Server{}, nil
	}
	if address, err := netip.ParseAddr(text); err == nil {
		return captures.Server{Address: address.Unmap()}, nil
	}
	both, err := netip.ParseAddrPort(text)
	if err != nil {
		return captures.Server{}, fmt.Errorf("--server %s: write an address, or 10.0.0.4:5000, or [fd00::4]:5000",
			clean.Quote(text))
	}
	return captures.Server{Address: both.Addr().Unmap(), Port: both.Port()}, nil
}

// printSegments prints the tables of points and segments, and the notes.
func (a *app) printSegments(r *captures.Report) error {
	server := r.Server
	if r.Port != 0 {
		server = netip.AddrPortFrom(netip.MustParseAddr(r.Server), r.Port).String()
	}
	fmt.Fprintf(a.stdout, "%s from %s to %s: %d transactions were seen at every point. All times are in us.\n\n",
		r.Protocol, r.Client, server, r.Matched)
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "POINT\tCLOCK\tPACKETS\tEXCHANGES\tCARRIED\tTURNAROUND P50\tP99")
	for _, p := range r.Points {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\t%s\n", orDash(p.Point), orDash(p.Clock), p.Own, p.Exchanges,
			orDash(strings.Join(captures.ByCount(p.Carried), ", ")),
			microseconds(&p.Turnaround.P50), microseconds(p.Turnaround.P99))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	table = tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "SEGMENT\tBOTH WAYS P50\tINTERVAL\tP99\tTHERE P50\tINTERVAL\tBACK P50\tINTERVAL")
	for _, s := range r.Segments {
		name := s.From + " - " + s.To
		if s.To == "" {
			name = "beyond " + s.From
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", clean.Line(name), microseconds(&s.Both.P50),
			intervalText(s.Both), microseconds(s.Both.P99), p50Text(s.There), intervalText(s.There), p50Text(s.Back),
			intervalText(s.Back))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i, note := range r.Notes {
		if _, err := fmt.Fprintf(a.stdout, "%s- %s\n", textIf(i == 0, "\n"), clean.Line(note)); err != nil {
			return err
		}
	}
	return nil
}

// microseconds writes seconds as microseconds; "-" for none.
func microseconds(seconds *float64) string {
	if seconds == nil {
		return "-"
	}
	return fmt.Sprintf("%.2f", *seconds*1e6)
}

func p50Text(f *captures.Figure) string {
	if f == nil {
		return "-"
	}
	return microseconds(&f.P50)
}

func intervalText(f *captures.Figure) string {
	if f == nil || f.Interval == nil {
		return "-"
	}
	return fmt.Sprintf("%s .. %s", microseconds(&f.Interval[0]), microseconds(&f.Interval[1]))
}
