package captures

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Report says where on the way the time goes.
type Report struct {
	Unit string `json:"unit"`
	// Protocol, Client, Server and Port are the conversation. Others are those that were seen at every point too.
	Protocol string   `json:"protocol"`
	Client   string   `json:"client"`
	Server   string   `json:"server"`
	Port     uint16   `json:"port,omitempty"`
	Others   []string `json:"others,omitempty"`
	// Captures is the number of captures, and Matched that of transactions that were seen at every point.
	Captures int           `json:"captures"`
	Matched  int           `json:"matched"`
	Interval string        `json:"interval_of"` // IntervalWithin or IntervalCaptures
	Points   []PointReport `json:"points"`
	Segments []Segment     `json:"segments"`
	Notes    []string      `json:"notes,omitempty"`
	service  service
	coarse   map[string]float64
}

// What intervals are about.
const (
	IntervalWithin   = "within-capture"
	IntervalCaptures = "captures"
)

// PointReport is what was seen at a point, of all captures together.
type PointReport struct {
	Point string       `json:"point"`
	Clock string       `json:"clock"`
	Files []FileReport `json:"files"`
	// Packets are those of the file's interface, Own those of the conversation.
	Packets int `json:"packets"`
	Own     int `json:"own"`
	// Exchanges are requests with a reply. Unmatched are those that were left out, and requests without a reply, by
	// reason; Unreadable are packets by reason.
	Exchanges  int            `json:"exchanges"`
	Unmatched  map[reason]int `json:"unmatched,omitempty"`
	Unreadable map[reason]int `json:"unreadable,omitempty"`
	// Carried says how many of the conversation's packets were plain or in which tunnel.
	Carried map[string]int `json:"carried"`
	// Turnaround is the time from a request to its reply at the point.
	Turnaround *Figure `json:"turnaround"`
}

// FileReport is a file of a point.
type FileReport struct {
	File      string `json:"file"`
	Interface string `json:"interface,omitempty"`
	Truncated string `json:"truncated,omitempty"`
}

// A Segment is the way between two points, or the way beyond the last point and the server's own time; To is then
// empty.
type Segment struct {
	From string `json:"from"`
	To   string `json:"to,omitempty"`
	// Both is there and back together. There and Back are known on one clock only.
	Both  *Figure `json:"both"`
	There *Figure `json:"there,omitempty"`
	Back  *Figure `json:"back,omitempty"`
}

func newReport(points []Point, clocks []string, of service, rest []service) *Report {
	r := &Report{
		Unit: "s", Protocol: strings.Fields(of.String())[0], Client: of.client.String(), Server: of.server.String(),
		Port: of.port, Captures: len(points[0].Files), Interval: IntervalWithin, service: of,
		coarse: map[string]float64{},
	}
	if r.Captures > 1 {
		r.Interval = IntervalCaptures
	}
	const most = 8
	for _, other := range rest[:min(len(rest), most)] {
		r.Others = append(r.Others, other.String())
	}
	for i, p := range points {
		r.Points = append(r.Points, PointReport{
			Point: p.Name, Clock: clocks[i], Unmatched: map[reason]int{}, Unreadable: map[reason]int{},
			Carried: map[string]int{},
		})
		for _, f := range p.Files {
			r.Points[i].Files = append(r.Points[i].Files, FileReport{File: f.Path, Interface: f.Interface})
		}
	}
	return r
}

// count adds what was seen in a capture.
func (r *Report) count(index int, points []*seen, matched int) {
	r.Matched += matched
	for i, s := range points {
		p := &r.Points[i]
		p.Packets += s.packets
		p.Own += s.own
		p.Exchanges += len(s.finder.exchanges)
		p.Files[index].Truncated = s.truncated
		addCounts(p.Unmatched, s.finder.unmatched)
		addCounts(p.Unreadable, s.unreadable)
		for name, n := range s.carried {
			p.Carried[name] += n
		}
		// A file can announce finer units than its stamps have. Some of 20 fine ones are no whole microseconds.
		const enough = 20
		resolution := s.resolution
		if s.own >= enough && s.fine == 0 {
			resolution = max(resolution, 1e-6)
		}
		if resolution > 1e-7 {
			r.coarse[p.Point] = max(r.coarse[p.Point], resolution)
		}
	}
}

func addCounts(to, from map[reason]int) {
	for why, n := range from {
		if n > 0 {
			to[why] += n
		}
	}
}

// figures works out the times of points and segments.
func (r *Report) figures(all []times) {
	of := func(one func(times) summary) *Figure {
		var captures []summary
		for _, t := range all {
			captures = append(captures, one(t))
		}
		return figure(captures)
	}
	last := len(r.Points) - 1
	for i := range r.Points {
		r.Points[i].Turnaround = of(func(t times) summary { return t.turnarounds[i] })
		s := Segment{From: r.Points[i].Point}
		if i < last {
			s.To = r.Points[i+1].Point
			s.Both = of(func(t times) summary { return t.both[i] })
			s.There = of(func(t times) summary { return t.there[i] })
			s.Back = of(func(t times) summary { return t.back[i] })
		} else {
			s.Both = r.Points[i].Turnaround
		}
		r.Segments = append(r.Segments, s)
	}
}

// nothing says why no transaction was seen at every point.
func (r *Report) nothing() error {
	var parts []string
	for _, p := range r.Points {
		text := fmt.Sprintf("%s: %d exchanges", p.Point, p.Exchanges)
		if len(p.Unmatched) > 0 {
			text += ", " + reasonsText(p.Unmatched)
		}
		if len(p.Unreadable) > 0 {
			text += "; packets that cannot be used: " + reasonsText(p.Unreadable)
		}
		parts = append(parts, text)
	}
	return errors.New("no transaction of " + r.service.String() + " was seen exactly once at every point. " +
		strings.Join(parts, ". "))
}

// notes says what a reader must know.
func (r *Report) notes() {
	note := func(format string, args ...any) { r.Notes = append(r.Notes, fmt.Sprintf(format, args...)) }
	if r.Captures == 1 {
		note("this is one capture: intervals say how sure its own medians are, not what another capture would show")
	} else if r.Captures < 6 {
		note("%d captures: an interval over captures takes 6", r.Captures)
	}
	clocks := map[string]bool{}
	for _, p := range r.Points {
		clocks[p.Clock] = true
		for _, f := range p.Files {
			if f.Truncated != "" {
				note("%s: %s; what is before it was read", f.File, f.Truncated)
			}
		}
	}
	if n := len(clocks); n > 1 {
		note("%d clocks: a segment between two of them is known for there and back together only", n)
	}
	for _, p := range slices.Sorted(maps.Keys(r.coarse)) {
		note("%s: time stamps in units of %g us; a time of one transaction is right within that", p, r.coarse[p]*1e6)
	}
	for _, p := range r.Points {
		if len(p.Unmatched) > 0 {
			note("%s: not used: %s", p.Point, reasonsText(p.Unmatched))
		}
		unreadable := maps.Clone(p.Unreadable)
		delete(unreadable, other) // they were not meant
		if len(unreadable) > 0 {
			note("%s: packets that cannot be used: %s", p.Point, reasonsText(unreadable))
		}
	}
	for _, s := range r.Segments {
		if s.Both != nil && s.Both.P50 < 0 && s.To != "" {
			note("%s - %s is below 0: are the points in their order from the client to the server?", s.From, s.To)
		}
	}
	if len(r.Others) > 0 {
		note("other conversations were seen at every point, for example %s: choose with --server", r.Others[0])
	}
}
