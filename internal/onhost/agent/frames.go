package agent

import (
	"encoding/binary"
	"fmt"
	"io"
	"sync"
	"time"
)

// The frames of yamux (https://github.com/hashicorp/yamux/blob/master/spec.md): a header of 12 bytes in network byte
// order (version 1 byte, type 1, flags 2, stream 4, length 4), and for data as many bytes as the length says.
const (
	frameHeader = 12

	frameData   = 0
	frameWindow = 1
	framePing   = 2
	frameGoAway = 3

	flagSYN = 1
	flagFIN = 4
	flagRST = 8
)

const (
	// pingsPerSecond is the rate of questions of the other side that is borne for long, and pingBurst how many may come
	// at once. yamux asks again when its question was answered or is overdue: at most 20 times a second with the
	// settings of yamuxConfig.
	pingsPerSecond = 50
	pingBurst      = 200
	// opensPerSecond is the rate at which the other side may open streams for long, and openBurst how many at once. A run
	// makes less than a hundred calls a second.
	opensPerSecond = 1000
	openBurst      = 2000
	// maxUnread bounds the data that has arrived and that nobody has read, over all streams, in bytes. One stream has
	// at most 256 KiB.
	maxUnread = 8 << 20
)

// frames is a connection that looks at the frames of yamux before the library does, and refuses those by which the
// other side could use up the memory. The library starts a goroutine for each ping, and makes a stream for each one
// that the other side opens, with a buffer of its own.
type frames struct {
	io.ReadWriteCloser
	// opens is how many streams the other side may have open at a time; 0 if it may open none.
	opens int
	now   func() time.Time
	// violated is told of a violation.
	violated func(err error)
	// over is called when no more can be read, before the library learns it; it may be nil.
	over func()

	// in is used by Read alone, out by Write alone: the library does both from one goroutine each.
	in, out frameScanner

	mu      sync.Mutex
	streams map[uint32]*frameStream
	// theirs counts the streams that the other side has open.
	theirs int
	unread int64
	// pings and opened are the pings of the other side, and the streams that it opened.
	pings, opened rate
}

// A frameStream is what the frames of a stream said.
type frameStream struct {
	unread                        int64
	theirs, endedHere, endedThere bool
}

// newFrames guards a connection. The other side may have the given number of streams open.
func newFrames(conn io.ReadWriteCloser, opens int, violated func(error)) *frames {
	return &frames{ReadWriteCloser: conn, opens: opens, now: time.Now, violated: violated,
		streams: map[uint32]*frameStream{}, pings: rate{perSecond: pingsPerSecond, burst: pingBurst},
		opened: rate{perSecond: opensPerSecond, burst: openBurst}}
}

// Read reads bytes that obey the bounds. After a violation it closes the connection.
func (f *frames) Read(b []byte) (int, error) {
	n, err := f.ReadWriteCloser.Read(b)
	if bad := f.in.scan(b[:n], f.arrived); bad != nil {
		f.violated(bad)
		_ = f.Close() // the violation is the reason
		n, err = 0, bad
	}
	if err != nil && f.over != nil {
		f.over()
	}
	return n, err
}

// Write notes what this side tells: what was read, and which streams have ended.
func (f *frames) Write(b []byte) (int, error) {
	if err := f.out.scan(b, f.left); err != nil {
		return 0, err
	}
	return f.ReadWriteCloser.Write(b)
}

// arrived judges the header of a frame of the other side.
func (f *frames) arrived(h frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case h.kind == framePing && h.flags&flagSYN != 0:
		if !f.pings.allows(f.now()) {
			return fmt.Errorf("%w: a flood of pings, more than %d a second", errProtocol, pingsPerSecond)
		}
		return nil
	case h.kind == framePing || h.kind == frameGoAway:
		return nil
	}
	if h.flags&flagSYN != 0 && f.streams[h.stream] == nil {
		if err := f.open(h.stream); err != nil {
			return err
		}
	}
	s := f.streams[h.stream]
	if s == nil {
		return nil // the library discards it
	}
	if h.kind == frameData {
		s.unread += int64(h.length)
		if f.unread += int64(h.length); f.unread > maxUnread {
			return fmt.Errorf("%w: more than %d MiB came that nobody asked for", errProtocol, maxUnread>>20)
		}
	}
	s.endedThere = s.endedThere || h.flags&flagFIN != 0
	f.ended(h, s)
	return nil
}

// A rate allows a number of events a second, and more of them at once. The zero time of since is the beginning.
type rate struct {
	perSecond, burst float64
	used             float64
	since            time.Time
}

// allows counts an event at a moment, and says whether it is within the rate.
func (r *rate) allows(now time.Time) bool {
	if !r.since.IsZero() {
		r.used = max(0, r.used-r.perSecond*now.Sub(r.since).Seconds())
	}
	r.since = now
	r.used++
	return r.used <= r.burst
}

// open counts a stream that the other side opens.
func (f *frames) open(stream uint32) error {
	if f.theirs >= f.opens {
		return fmt.Errorf("%w: more than %d streams at a time", errProtocol, f.opens)
	}
	if !f.opened.allows(f.now()) {
		return fmt.Errorf("%w: a flood of streams, more than %d a second", errProtocol, opensPerSecond)
	}
	f.theirs++
	f.streams[stream] = &frameStream{theirs: true}
	return nil
}

// left notes the header of a frame of this side.
func (f *frames) left(h frame) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.kind != frameData && h.kind != frameWindow {
		return nil
	}
	s := f.streams[h.stream]
	if s == nil {
		if h.flags&flagSYN == 0 {
			return nil
		}
		s = &frameStream{}
		f.streams[h.stream] = s
	}
	if h.kind == frameWindow {
		read := min(int64(h.length), s.unread)
		s.unread -= read
		f.unread -= read
	}
	s.endedHere = s.endedHere || h.flags&flagFIN != 0
	f.ended(h, s)
	return nil
}

// ended forgets a stream that has ended in both directions.
func (f *frames) ended(h frame, s *frameStream) {
	if h.flags&flagRST != 0 || s.endedHere && s.endedThere {
		f.unread -= s.unread
		if s.theirs {
			f.theirs--
		}
		delete(f.streams, h.stream)
	}
}

// frame is the header of a frame.
type frame struct {
	kind           byte
	flags          uint16
	stream, length uint32
}

// A frameScanner finds the headers in one direction of a connection.
type frameScanner struct {
	head [frameHeader]byte
	have int    // bytes of the header that have come
	skip uint32 // bytes of data until the next header
}

// scan calls header for each header that is complete with these bytes.
func (s *frameScanner) scan(b []byte, header func(frame) error) error {
	for len(b) > 0 {
		if s.skip > 0 {
			n := min(uint64(s.skip), uint64(len(b)))
			s.skip -= uint32(n)
			b = b[n:]
			continue
		}
		n := copy(s.head[s.have:], b)
		s.have += n
		b = b[n:]
		if s.have < frameHeader {
			return nil
		}
		s.have = 0
		h := frame{kind: s.head[1], flags: binary.BigEndian.Uint16(s.head[2:]),
			stream: binary.BigEndian.Uint32(s.head[4:]), length: binary.BigEndian.Uint32(s.head[8:])}
		if s.head[0] != 0 || h.kind > frameGoAway {
			return fmt.Errorf("%w: what came is no frame of it", errProtocol)
		}
		if h.kind == frameData {
			s.skip = h.length
		}
		if err := header(h); err != nil {
			return err
		}
	}
	return nil
}
