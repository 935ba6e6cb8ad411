package agent

import (
	"encoding/binary"
	"fmt"
	"io"
	"time"
)

// yamux trusts the other side: it starts a goroutine for each ping that arrives, and keeps a stream for each that is
// opened. Neither side of an agent may trust the other with its memory. A guard reads the headers of the frames before
// yamux does, and ends a connection whose frames no nearfar sends.
//
// The format of a frame is in yamux' specification (spec.md): a header of 12 bytes with version, type, flags (2 bytes),
// stream (4 bytes) and length (4 bytes); the contents follow a data frame alone.
const (
	frameHeader = 12
	frameData   = 0
	frameWindow = 1
	framePing   = 2
	flagSYN     = 1
	flagACK     = 2
	flagFIN     = 4
	flagRST     = 8
)

// Pings that the other side may send: many at once after a pause, and then so many each second. Each side sends one
// every 2 s, and with a short time of silence up to 20 a second (yamuxConfig).
const (
	maxPings   = 200
	pingPerSec = 50
)

// guard is a connection whose frames are read before yamux reads them. Only one goroutine may call Read.
type guard struct {
	io.ReadWriteCloser
	// maxStreams is how many streams the other side may have open at a time: none, if it opens none.
	maxStreams int
	// answered is called when the other side has answered a ping, refused when a frame is refused. Both may be nil.
	answered func()
	refused  func(error)

	header  [frameHeader]byte
	have    int    // bytes of the header that were read
	content uint32 // bytes of the frame's contents that are still to come
	streams map[uint32]bool
	pings   float64 // that may still come
	counted time.Time
	broken  error
}

// errFlood says that the other side sends more than this program takes.
var errFlood = fmt.Errorf("%w: it floods this program", errProtocol)

func newGuard(conn io.ReadWriteCloser, maxStreams int) *guard {
	return &guard{
		ReadWriteCloser: conn, maxStreams: maxStreams, streams: map[uint32]bool{}, pings: maxPings, counted: time.Now(),
	}
}

// Read gives bytes only up to a frame that is refused.
func (g *guard) Read(b []byte) (int, error) {
	if g.broken != nil {
		return 0, g.broken
	}
	n, err := g.ReadWriteCloser.Read(b)
	for at := 0; at < n; {
		if g.content > 0 {
			skip := min(n-at, int(min(g.content, 1<<30)))
			g.content -= uint32(skip)
			at += skip
			continue
		}
		copied := copy(g.header[g.have:], b[at:n])
		g.have += copied
		at += copied
		if g.have < frameHeader {
			break
		}
		g.have = 0
		if g.broken = g.frame(); g.broken != nil {
			if g.refused != nil {
				g.refused(g.broken)
			}
			return 0, g.broken
		}
	}
	return n, err
}

// frame looks at the header of a frame.
func (g *guard) frame() error {
	kind, flags := g.header[1], binary.BigEndian.Uint16(g.header[2:])
	stream, length := binary.BigEndian.Uint32(g.header[4:]), binary.BigEndian.Uint32(g.header[8:])
	switch kind {
	case framePing:
		return g.ping(flags)
	case frameData:
		g.content = length
	case frameWindow:
	default:
		return nil
	}
	if flags&flagSYN != 0 {
		g.streams[stream] = true
		if len(g.streams) > g.maxStreams {
			return fmt.Errorf("%w with more than %d streams at a time", errFlood, g.maxStreams)
		}
	}
	if flags&(flagFIN|flagRST) != 0 {
		delete(g.streams, stream)
	}
	return nil
}

func (g *guard) ping(flags uint16) error {
	if flags&flagSYN == 0 {
		if flags&flagACK != 0 && g.answered != nil {
			g.answered()
		}
		return nil
	}
	now := time.Now()
	g.pings = min(g.pings+pingPerSec*now.Sub(g.counted).Seconds(), maxPings) - 1
	g.counted = now
	if g.pings < 0 {
		return fmt.Errorf("%w with pings", errFlood)
	}
	return nil
}
