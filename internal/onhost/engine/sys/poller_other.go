//go:build !linux || portable

package sys

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/engine/timing"
)

// The limits of a poller's pause.
const (
	// longestPause is how long the hot thread sleeps at most before it looks at the load's state again.
	longestPause = int64(5 * time.Millisecond)
	// longestStay is how long it waits for readers while it spins.
	longestStay = int64(50 * time.Microsecond)
)

// WriteBuffer is how many bytes of requests a socket has room for.
const WriteBuffer = 256 << 10

// A Poller lets the readers of many connections change the state of a load. The state belongs to the hot thread
// except while that pauses.
type Poller struct {
	// access is held by the goroutine that may use the state.
	access sync.Mutex
	// waiting is how many readers wait for access.
	waiting atomic.Int32
	Readers sync.WaitGroup
	sockets []*Socket
	closed  bool
}

// NewPoller makes a poller. The hot thread has access.
func NewPoller() (*Poller, error) {
	p := &Poller{}
	p.access.Lock()
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

// Interest does nothing: a connection's reader also sends what waits there.
func (*Poller) Interest(*Socket, int, bool, bool) bool { return true }

// Err is never called, because pausing does not fail.
func (*Poller) Err() error { return nil }

// Enter waits for access; false if the poller is closed.
func (p *Poller) Enter() bool {
	p.waiting.Add(1)
	p.access.Lock()
	p.waiting.Add(-1)
	if p.closed {
		p.access.Unlock()
		return false
	}
	return true
}

// Leave gives access back.
func (p *Poller) Leave() { p.access.Unlock() }

// Pause gives access to the readers for about the given time in nanoseconds. At 0 it gives access only to readers
// that are waiting already.
func (p *Poller) Pause(timeout int64) {
	if timeout <= 0 && p.waiting.Load() == 0 {
		return
	}
	p.access.Unlock()
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
	p.access.Lock()
}

// Close ends the readers. It is called after the hot thread has ended, which leaves its access to Close.
func (p *Poller) Close() {
	p.closed = true
	p.access.Unlock()
	for _, s := range p.sockets {
		s.Interrupt()
	}
	p.Readers.Wait()
}
