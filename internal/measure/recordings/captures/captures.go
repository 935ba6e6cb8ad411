package captures

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Read reads all captures, and works out their report.
func Read(ctx context.Context, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var surveys []survey
	for _, p := range o.Points {
		s, err := o.survey(ctx, p.Files[0])
		if err != nil {
			return nil, err
		}
		surveys = append(surveys, s)
	}
	of, rest, err := choose(surveys, o.Server)
	if err != nil {
		return nil, err
	}
	if err := o.oneInterface(surveys, of); err != nil {
		return nil, err
	}
	clocks := o.clocks()
	r := newReport(o.Points, clocks, of, rest)
	var all []times
	for i := range o.Points[0].Files {
		t, points, err := o.capture(ctx, i, of, clocks)
		if err != nil {
			return nil, err
		}
		r.count(i, points, t.turnarounds[0].count)
		all = append(all, t)
	}
	if r.Matched == 0 {
		return nil, r.nothing()
	}
	r.figures(all)
	r.notes()
	return r, nil
}

// check refuses options that say nothing, or too much.
func (o Options) check() error {
	if len(o.Points) == 0 {
		return errors.New("no point is named")
	}
	if len(o.Points) > MaxPoints {
		return fmt.Errorf("%d points; the most is %d", len(o.Points), MaxPoints)
	}
	n := len(o.Points[0].Files)
	if n > MaxCaptures {
		return fmt.Errorf("%d captures; the most is %d", n, MaxCaptures)
	}
	for _, p := range o.Points {
		if len(p.Files) != n || n == 0 {
			return fmt.Errorf("the point %q has %d files, and %q has %d: a capture has a file for each point",
				o.Points[0].Name, n, p.Name, len(p.Files))
		}
	}
	return nil
}

// oneInterface refuses files in which the service has several interfaces, as its packets are then there twice.
func (o Options) oneInterface(surveys []survey, of service) error {
	for i, p := range o.Points {
		if labels := surveys[i][of].labels; len(labels) > 1 {
			path := p.Files[0].Path
			one := slices.Sorted(maps.Keys(labels))[0]
			return fmt.Errorf("%s: it has packets of %s of the interfaces %s: name one, for example %s=%s:%s",
				path, of, listed(labels), p.Name, path, one)
		}
	}
	return nil
}

// clocks names the clock of each point: the one that was given, or the files that the point reads.
func (o Options) clocks() []string {
	var all []string
	for _, p := range o.Points {
		name := p.Clock
		if name == "" {
			var paths []string
			for _, f := range p.Files {
				paths = append(paths, f.Path)
			}
			name = strings.Join(paths, " ")
		}
		all = append(all, name)
	}
	return all
}

// times are those of one capture. turnarounds has an entry for each point. both, there and back have one for each point
// but the last: to the next point and back, together and apart. Apart they are empty if the next point has another
// clock.
type times struct{ turnarounds, both, there, back []summary }

// capture reads the files of one capture.
func (o Options) capture(ctx context.Context, index int, of service, clocks []string) (times, []*seen, error) {
	var points []*seen
	for _, p := range o.Points {
		s, err := o.find(ctx, p.Files[index], of)
		if err != nil {
			return times{}, nil, err
		}
		points = append(points, s)
	}
	keys := match(points)
	var t times
	for i, p := range points {
		at := p.finder.exchanges
		turnaround := func(k key) int64 { return at[k].reply.time - at[k].request.time }
		t.turnarounds = append(t.turnarounds, summarize(keys, turnaround))
		if i+1 == len(points) {
			break
		}
		next := points[i+1].finder.exchanges
		t.both = append(t.both, summarize(keys, func(k key) int64 {
			return turnaround(k) - (next[k].reply.time - next[k].request.time)
		}))
		var there, back summary
		if clocks[i] == clocks[i+1] {
			there = summarize(keys, func(k key) int64 { return next[k].request.time - at[k].request.time })
			back = summarize(keys, func(k key) int64 { return at[k].reply.time - next[k].reply.time })
		}
		t.there, t.back = append(t.there, there), append(t.back, back)
	}
	return t, points, nil
}

// leastDistinct is how many exchanges that differ there must be between two that look the same.
const leastDistinct = 1024

// anchored says whether the first exchange of datagrams is the same at all points, and the last. The identification of
// IP then tells requests apart whose contents are the same. Otherwise it may not: it begins anew after 65,536 packets,
// and a point could have seen those before and another one those after.
func anchored(points []*seen) bool {
	o := points[0].finder.order
	for _, p := range points {
		if of := p.finder.order; of.first != o.first || of.last != o.last {
			return false
		}
	}
	return true
}

// sameOrder says whether the points saw the same datagrams in the same order, so that those that look the same are told
// apart by their turn.
func sameOrder(points []*seen) bool {
	for _, p := range points {
		f := p.finder
		if f.order != points[0].finder.order || f.unmatched[Backwards] > 0 { // what is left out has no turn
			return false
		}
		distinct := f.order.count
		for _, more := range f.turns {
			distinct -= int(more)
		}
		if distinct < leastDistinct {
			return false
		}
	}
	return true
}

// match gives the exchanges that were seen once at every point, in the order of the first point, and counts the others
// of each point by reason.
func match(points []*seen) []key {
	requests, replies := spans{of: map[uint16][]span{}}, spans{of: map[uint16][]span{}}
	tcp := false
	for _, p := range points {
		requests.join(p.finder.requests)
		replies.join(p.finder.replies)
		tcp = tcp || len(p.finder.tcp) > 0
	}
	requests.sort()
	replies.sort()
	anchored, ordered := anchored(points), sameOrder(points)
	why := func(k key) reason {
		first := points[0].finder.exchanges[k]
		for _, p := range points {
			e, found := p.finder.exchanges[k]
			switch {
			case !found:
				return Elsewhere
			case e.repeated, p.finder.alike[e.contents] && !anchored, p.finder.turns[k.first()] > 0 && !ordered:
				return Repeated
			case !e.request.sameAs(first.request) || !e.reply.sameAs(first.reply):
				return OtherCopy
			}
		}
		return ""
	}
	var keys []key
	for i, p := range points {
		for k := range p.finder.exchanges {
			var out reason
			if tcp && (requests.has(k.port, uint32(k.request)-1) || replies.has(k.port, uint32(k.reply))) {
				out = Retransmitted
			} else {
				out = why(k)
			}
			switch {
			case out != "":
				p.finder.unmatched[out]++
			case i == 0:
				keys = append(keys, k)
			}
		}
	}
	at := points[0].finder.exchanges
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(at[a].request.time, at[b].request.time), cmp.Compare(a.port, b.port),
			cmp.Compare(a.request, b.request), cmp.Compare(a.reply, b.reply), cmp.Compare(a.turn, b.turn))
	})
	return keys
}
