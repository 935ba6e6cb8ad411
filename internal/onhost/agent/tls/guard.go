package tls

import (
	"container/list"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// maxHalfOpen is how many connections of a listener may be not authenticated at the same time. One more ends the
	// oldest, so that strangers who connect and wait keep nobody out.
	maxHalfOpen = 128
	// handOverTime is how long an authenticated connection waits until it is accepted.
	handOverTime = 10 * time.Second
	// leastAcceptPause and mostAcceptPause bound the time between two calls of Accept after one failed, for example
	// because the process has no file descriptors left.
	leastAcceptPause = 5 * time.Millisecond
	mostAcceptPause  = time.Second
)

// A guard accepts the connections of a listener, and bounds what those cost that are not authenticated: their number,
// and with handshake their time and memory.
type guard struct {
	listener net.Listener
	// authenticate makes a channel of a connection and hands it over. It owns the connection: if it fails, it closes
	// it. authenticated is called once the connection no longer counts as half open.
	authenticate func(ctx context.Context, c net.Conn, authenticated func()) error
	// refused counts the connections that were not authenticated.
	refused atomic.Int64

	slots chan struct{}
	mu    sync.Mutex
	// pending are the half-open connections (net.Conn), oldest first.
	pending *list.List
}

func newGuard(l net.Listener, authenticate func(context.Context, net.Conn, func()) error) *guard {
	return &guard{listener: l, authenticate: authenticate, slots: make(chan struct{}, maxHalfOpen),
		pending: list.New()}
}

// run accepts connections until ctx ends. Then it closes the listener, and returns when no connection is half open.
func (g *guard) run(ctx context.Context) {
	closeListener := func() { _ = g.listener.Close() } // it can only have been closed before
	defer closeListener()
	stop := context.AfterFunc(ctx, closeListener) // ends Accept
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	pause := leastAcceptPause
	for ctx.Err() == nil {
		c, err := g.listener.Accept()
		if err != nil {
			select {
			case <-ctx.Done():
			case <-time.After(pause):
				pause = min(2*pause, mostAcceptPause)
			}
			continue
		}
		pause = leastAcceptPause
		g.slot()
		leave := g.enter(c)
		running.Go(func() {
			defer leave()
			if g.authenticate(ctx, c, leave) != nil {
				g.refused.Add(1)
			}
		})
	}
}

// slot waits for the right to have one more half-open connection. If there are too many, it ends the oldest one.
func (g *guard) slot() {
	select {
	case g.slots <- struct{}{}:
		return
	default:
	}
	g.mu.Lock()
	if oldest := g.pending.Front(); oldest != nil {
		reset(g.pending.Remove(oldest).(net.Conn))
	}
	g.mu.Unlock()
	g.slots <- struct{}{}
}

// enter adds a half-open connection. leave takes it out again and frees its slot; only its first call counts.
func (g *guard) enter(c net.Conn) (leave func()) {
	g.mu.Lock()
	entry := g.pending.PushBack(c)
	g.mu.Unlock()
	return sync.OnceFunc(func() {
		g.mu.Lock()
		g.pending.Remove(entry) // no effect if it was removed before
		g.mu.Unlock()
		<-g.slots
	})
}

// reset ends a connection without waiting for unsent data.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // without it, the connection ends a little later
	}
	_ = c.Close() // nobody reads or writes it any more
}

// keepAlive notices within about 35 s that the other side of an idle connection has ended.
func keepAlive() net.KeepAliveConfig {
	return net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 5 * time.Second, Count: 4}
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	config := net.ListenConfig{KeepAliveConfig: keepAlive()}
	return config.Listen(ctx, "tcp", address)
}

func dial(ctx context.Context, address string) (net.Conn, error) {
	dialer := net.Dialer{Timeout: handshakeTime, KeepAliveConfig: keepAlive()}
	return dialer.DialContext(ctx, "tcp", address)
}
