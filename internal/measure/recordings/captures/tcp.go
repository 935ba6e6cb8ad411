package captures

import (
	"cmp"
	"slices"
	"sort"
)

// A stream is a connection of TCP at a point. It knows how far each side has sent.
type stream struct {
	toServer, toClient progress
	// A request is open until bytes come back; end is the number behind its last byte.
	open    bool
	end     uint32
	request sight
}

// progress is the number behind the last byte that was seen.
type progress struct {
	known bool
	end   uint32
}

// advance takes bytes that were seen; false if all of them were seen before.
func (p *progress) advance(end uint32) bool {
	if p.known && int32(end-p.end) <= 0 {
		return false
	}
	p.known, p.end = true, end
	return true
}

// addTCP takes a packet of TCP. A request is all that the client sends until the server does, and passes with its last
// packet. The reply passes with its first one, if that says that the whole request has arrived.
func (f *finder) addTCP(p packet, port uint16, toServer bool) {
	s := f.tcp[port]
	if s == nil || p.syn && toServer {
		if s != nil && s.open {
			f.unmatched[NoReply]++
		}
		s = &stream{}
		f.tcp[port] = s
	}
	if p.length == 0 || p.syn {
		return
	}
	end := p.seq + uint32(p.length)
	seen := sight{time: p.time, ident: p.ident, length: int32(p.length)}
	if toServer {
		before := s.toServer
		if !s.toServer.advance(end) {
			f.requests.add(port, p.seq, end)
			return
		}
		f.requests.overlap(port, before, p.seq)
		s.open, s.end, s.request = true, end, seen
		return
	}
	before := s.toClient
	if !s.toClient.advance(end) {
		f.replies.add(port, p.seq, end)
		return
	}
	f.replies.overlap(port, before, p.seq)
	if !s.open {
		return
	}
	s.open = false
	if p.ack != s.end {
		f.unmatched[Overlapping]++
		return
	}
	f.keep(key{port: port, request: uint64(s.end), reply: uint64(p.seq)}, exchange{request: s.request, reply: seen})
}

// A span is numbers of bytes from first to last, both included; first <= last.
type span struct{ first, last uint32 }

// spans are the bytes that were seen more than once, of the connections of a service, by the client's port.
type spans struct {
	of    map[uint16][]span
	count int
	full  bool // there were more than are kept: nothing is known of any byte
}

// overlap adds the bytes that a packet with new bytes repeats.
func (s *spans) overlap(port uint16, before progress, from uint32) {
	if before.known && int32(before.end-from) > 0 {
		s.add(port, from, before.end)
	}
}

// add adds the bytes from a number to the one before another.
func (s *spans) add(port uint16, from, end uint32) {
	if s.count >= maxSpans {
		s.full = true
		return
	}
	s.count++
	if last := end - 1; from <= last {
		s.of[port] = append(s.of[port], span{from, last})
	} else { // the numbers begin anew in between
		s.of[port] = append(s.of[port], span{from, ^uint32(0)}, span{0, last})
	}
}

// join adds all spans of others.
func (s *spans) join(o spans) {
	s.full = s.full || o.full
	for port, some := range o.of {
		s.of[port] = append(s.of[port], some...)
	}
}

// sort orders the spans and merges them, for has.
func (s *spans) sort() {
	for port, all := range s.of {
		slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.first, b.first) })
		merged := all[:0]
		for _, one := range all {
			if n := len(merged); n > 0 && one.first <= merged[n-1].last {
				merged[n-1].last = max(merged[n-1].last, one.last)
				continue
			}
			merged = append(merged, one)
		}
		s.of[port] = merged
	}
}

// has says whether a byte was seen more than once.
func (s *spans) has(port uint16, number uint32) bool {
	all := s.of[port]
	i := sort.Search(len(all), func(i int) bool { return all[i].last >= number })
	return s.full || i < len(all) && all[i].first <= number
}
