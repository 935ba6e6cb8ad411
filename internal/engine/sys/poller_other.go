//go:build !linux || portable

package sys

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"nearfar/internal/engine/timing"
)

// The bounds of a poller's pause.
const (
	// longestPause is how long the hot thread sleeps at most before it looks at the books again.
	longestPause = int64(5 * time.Millisecond)
	// longestStay is how long it waits for the readers at its door while it spins.
	longestStay = int64(50 * time.Microsecond)
)

// WriteBuffer is how many bytes of requests a socket has room for.
const WriteBuffer = 256 << 10

// A Poller lets the readers of many connections in to the books of a load, which are the hot thread's except while it
// pauses.
type Poller struct {
	// door is held by whoever is at the books.
	door sync.Mutex
	// waiting is how many readers stand before it.
	waiting atomic.Int32
	Readers sync.WaitGroup
	sockets []*Socket
	closed  bool
}

// NewPoller makes a poller whose door the hot thread holds.
func NewPoller() (*Poller, error) {
	p := &Poller{}
	p.door.Lock()
	return p, nil
}

// Add prepares a connection for its reader.
func (p *Poller) Add(s *Socket, _ int) error {
	p.sockets = append(p.sockets, s)
	if err := s.conn.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	if c, ok := s.conn.(*net.TCPConn); ok {
		return c.SetWriteBuffer(WriteBuffer)
	}
	return nil
}

// Interest does nothing: a connection's reader goes on with what waits there.
func (*Poller) Interest(*Socket, int, bool, bool) bool { return true }

// Err is never called: pausing does not fail.
func (*Poller) Err() error { return nil }

// Enter waits until the books are free; false where there is nothing to enter any more.
func (p *Poller) Enter() bool {
	p.waiting.Add(1)
	p.door.Lock()
	p.waiting.Add(-1)
	if p.closed {
		p.door.Unlock()
		return false
	}
	return true
}

func (p *Poller) Leave() { p.door.Unlock() }

// Pause lets the readers in for about the given time in nanoseconds. At 0 it lets those in that stand at the door, if any.
func (p *Poller) Pause(timeout int64) {
	if timeout <= 0 && p.waiting.Load() == 0 {
		return
	}
	p.door.Unlock()
	if timeout > 0 {
		timing.Pause(min(timeout, longestPause))
	} else {
		for until := timing.Now() + longestStay; p.waiting.Load() > 0 && timing.Now() < until; {
			continue
		}
		if p.waiting.Load() > 0 {
			runtime.Gosched()
		}
	}
	p.door.Lock()
}

// Close ends the readers. The hot thread has ended, and left the door to this.
func (p *Poller) Close() {
	p.closed = true
	p.door.Unlock()
	for _, s := range p.sockets {
		s.Interrupt()
	}
	p.Readers.Wait()
}
