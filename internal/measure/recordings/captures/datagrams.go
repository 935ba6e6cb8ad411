package captures

import (
	"slices"

	"nearfar/internal/onhost/capture"
)

// asked are the requests of one client's port that wait for their replies, the oldest first.
type asked struct {
	pending []waiting
	last    key // the exchange that was found last
}

// waiting is a request in a datagram.
type waiting struct {
	key      uint64
	contents uint64
	marks    [3]uint64
	seen     sight
	repeated bool
}

// maxUnderWay is the most requests of a port that wait.
const maxUnderWay = 64

// ask takes a request.
func (f *finder) ask(p packet, port uint16) {
	a := f.datagrams[port]
	if a == nil {
		a = &asked{}
		f.datagrams[port] = a
	}
	for i := range a.pending {
		if a.pending[i].key == p.key {
			a.pending[i].repeated = true
			return
		}
	}
	if f.pending >= maxPending {
		f.forget()
		a = &asked{}
		f.datagrams[port] = a
	}
	if len(a.pending) == maxUnderWay {
		a.pending = slices.Delete(a.pending, 0, 1)
		f.unmatched[NoReply]++
		f.pending--
	}
	a.pending = append(a.pending, waiting{
		key: p.key, contents: p.contents + uint64(port), marks: p.marks,
		seen: sight{time: p.time, ident: p.ident, length: int32(p.length)},
	})
	f.pending++
}

// forget drops all requests that wait.
func (f *finder) forget() {
	f.unmatched[NoReply] += f.pending
	f.pending = 0
	clear(f.datagrams)
}

// answer takes a reply, and looks for its request.
func (f *finder) answer(p packet, port uint16) {
	a := f.datagrams[port]
	if a == nil {
		return
	}
	if len(a.pending) == 0 {
		if e, found := f.exchanges[a.last]; found && a.last.reply == p.key {
			e.repeated = true
			f.exchanges[a.last] = e
		}
		return
	}
	i := a.requestOf(p)
	if i < 0 {
		f.unmatched[Overlapping] += len(a.pending)
		f.pending -= len(a.pending)
		a.pending = a.pending[:0]
		return
	}
	r := a.pending[i]
	a.pending = slices.Delete(a.pending, i, i+1)
	f.pending--
	a.last = f.keepNext(key{port: port, request: r.key, reply: p.key}, exchange{
		request: r.seen, reply: sight{time: p.time, ident: p.ident, length: int32(p.length)}, repeated: r.repeated,
		contents: r.contents,
	})
}

// requestOf is the request to which a reply belongs: the only one that begins with the same 24 bytes, or else with the
// same 8, such as a number that the server sends back; or else the only one that waits. -1 if nothing says so.
func (a *asked) requestOf(p packet) int {
	for _, same := range []func(w waiting) bool{
		func(w waiting) bool { return w.marks == p.marks },
		func(w waiting) bool { return w.marks[0] == p.marks[0] },
	} {
		if i := slices.IndexFunc(a.pending, same); i >= 0 {
			if slices.ContainsFunc(a.pending[i+1:], same) {
				return -1
			}
			return i
		}
	}
	if len(a.pending) == 1 && p.protocol == capture.ProtoUDP {
		return 0
	}
	return -1
}
