package engine

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"
)

var errClientGone = errors.New("the client is gone")

// cookieTime is how long a data connection may take to send the cookie.
const cookieTime = 2 * time.Second

// dataServer is the server's side of the data of one session.
type dataServer struct {
	params  Params
	secret  cookie
	peer    netip.Addr
	frames  *frameConn
	tcp     *net.TCPListener // until it is given to crr
	udp     *net.UDPConn     // until it is given to rr
	number  int
	threads []<-chan struct{}
	// stops tell the hot loops to end that do not end with their sockets.
	stops   []func()
	sockets []*socket
	done    report
	stall   Stall
	// gone ends when the client leaves or the server is told to end.
	gone context.Context
}

// openData opens the data port for the peer.
func openData(ctx context.Context, p Params, local netip.AddrPort, peer netip.Addr, frames *frameConn) (*dataServer, error) {
	d := &dataServer{params: p, secret: newCookie(), peer: peer, frames: frames}
	reserveThreads(p.hotThreads())
	if p.Protocol == UDP {
		c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(local))
		if err != nil {
			return nil, err
		}
		d.udp, d.number = c, c.LocalAddr().(*net.UDPAddr).Port
		return d, nil
	}
	// Plain TCP: Go listens for Multipath TCP unless told otherwise, and keep-alives are nobody's business here.
	lc := net.ListenConfig{KeepAlive: -1, Control: p.control}
	lc.SetMultipathTCP(false)
	l, err := lc.Listen(ctx, "tcp", local.String())
	if err != nil {
		return nil, err
	}
	var ok bool
	if d.tcp, ok = l.(*net.TCPListener); !ok {
		_ = l.Close()
		return nil, fmt.Errorf("a listener of type %T", l)
	}
	d.number = d.tcp.Addr().(*net.TCPAddr).Port
	return d, nil
}

func (d *dataServer) port() int      { return d.number }
func (d *dataServer) cookie() []byte { return d.secret[:] }

// run runs a hot loop of the session on a thread of its own; only is as onThread has it. stop, which may be nil, tells the
// loop to end where an interrupt of its socket alone would not. close calls it, however the session ends.
func (d *dataServer) run(only *socket, loop, stop func()) {
	if stop != nil {
		d.stops = append(d.stops, stop)
	}
	d.threads = append(d.threads, onThread(only, loop))
}

// close ends the hot loops, waits for their threads, and frees what the session holds. It may be called twice.
func (d *dataServer) close() {
	for _, stop := range d.stops {
		stop()
	}
	if d.tcp != nil {
		_ = d.tcp.Close()
	}
	if d.udp != nil {
		_ = d.udp.Close()
	}
	for _, s := range d.sockets {
		s.interrupt()
	}
	wait(d.threads)
	for _, s := range d.sockets {
		s.close()
	}
	d.sockets, d.stops = nil, nil // their descriptors may soon be others'
}

// serve serves the data until the client says stop, leaves, or ctx ends.
func (d *dataServer) serve(ctx context.Context) error {
	gone, leave := context.WithCancel(ctx)
	defer leave()
	d.gone = gone
	d.frames.readAhead(leave)
	switch {
	case d.params.Mode == ModeCRR:
		return d.serveCRR()
	case d.params.Mode == ModeStream:
		return d.serveStream()
	case d.params.Mode == ModeLoad:
		return d.serveLoad()
	case d.params.Mode == ModeMessages:
		return d.serveMessages()
	case d.params.Protocol == UDP:
		return d.serveUDP()
	}
	return d.serveRR()
}

func (d *dataServer) report() report { return d.done }

// awaitStop waits for the client's stop; whatever else comes, or the end of the connection, is an error.
func (d *dataServer) awaitStop() error {
	if err := d.frames.expect(frameStop, nil); err != nil {
		if errors.Is(err, io.EOF) {
			return errClientGone
		}
		return fmt.Errorf("waiting for the end of the measurement: %w", err)
	}
	return nil
}

func (d *dataServer) serveRR() error {
	sockets, err := d.acceptAll()
	if err != nil {
		return err
	}
	if d.params.Timestamps {
		return d.serveStamped(sockets[0])
	}
	s := newRRServer(sockets[0], d.params.Request, d.params.Response)
	s.stalling.stall = d.stall
	d.done.Facts = serverFacts(sockets[0])
	account := startAccount()
	d.run(sockets[0], s.run, nil)
	if err := d.awaitStop(); err != nil {
		return err
	}
	account.into(&d.done)
	d.close()
	d.done.Transactions = s.transactions.Load()
	return nil
}

func (d *dataServer) serveCRR() error {
	a, err := newAcceptor(d.tcp, d.peer, d.params)
	if err != nil {
		return err
	}
	d.tcp = nil
	s := newCRRServer(a, d.params.Request, d.params.Response)
	d.sockets = append(d.sockets, &a.listener)
	d.done.Facts = serverFacts(&a.listener)
	account := startAccount()
	d.run(nil, s.run, nil)
	if err := d.awaitStop(); err != nil {
		return err
	}
	account.into(&d.done)
	d.close()
	d.done.Transactions = s.transactions.Load()
	return nil
}

// serveUDP waits for the first datagram, and answers from then on, beginning with that one.
func (d *dataServer) serveUDP() error {
	socket, buffer, err := d.firstDatagram(d.params.Request)
	if err != nil {
		return err
	}
	// A reply that cannot be sent is lost like any other: the client asks again.
	_ = socket.write(buffer[:d.params.Response])
	s := newUDPServer(socket, d.secret, d.params.Request, d.params.Response)
	s.arrivals.add(sequenceOf(buffer))
	d.done.Facts = serverFacts(socket)
	if d.params.Timestamps {
		if s.stamps, err = newStampedServer(socket, 1); err != nil {
			return err
		}
	}
	account := startAccount()
	d.run(socket, s.run, s.stop)
	err = d.awaitStop()
	account.into(&d.done)
	d.close()
	d.done.Transactions, d.done.Requests = s.transactions.Load(), s.requests
	if s.stamps != nil {
		s.stamps.into(d.done.Facts)
		if s.stamps.failure != nil {
			return s.stamps.failure
		}
	}
	return err
}

// firstDatagram waits for the first datagram of the size with the cookie from the peer, and fixes the socket on where it
// came from. It returns the datagram in a buffer that is one byte larger.
func (d *dataServer) firstDatagram(size int) (*socket, []byte, error) {
	defer d.whileHere(d.udp)()
	if err := d.udp.SetReadDeadline(time.Now().Add(handshakeTime)); err != nil {
		return nil, nil, err
	}
	buffer := make([]byte, size+1)
	var client netip.AddrPort
	for {
		n, from, err := d.udp.ReadFromUDPAddrPort(buffer)
		if err != nil {
			if isTimeout(err) {
				return nil, nil, fmt.Errorf("no datagram of the session came within %v: is UDP port %d open?", handshakeTime, d.number)
			}
			return nil, nil, d.whyEnded("waiting for the client's datagrams", err)
		}
		if n == size && from.Addr().Unmap() == d.peer && sameCookie(buffer, d.secret[:]) {
			client = from
			break
		}
	}
	if err := d.udp.SetReadDeadline(time.Time{}); err != nil {
		return nil, nil, err
	}
	socket, err := newSocket(d.udp)
	if err != nil {
		return nil, nil, err
	}
	d.udp = nil
	d.sockets = append(d.sockets, socket)
	if err := socket.connectTo(client); err != nil {
		return nil, nil, err
	}
	return socket, buffer, socket.prepare(d.params)
}

// acceptAll accepts the session's connections: from the peer, starting with the cookie. Others are closed unanswered.
func (d *dataServer) acceptAll() ([]*socket, error) {
	defer d.whileHere(d.tcp)()
	deadline := time.Now().Add(handshakeTime)
	if err := d.tcp.SetDeadline(deadline); err != nil {
		return nil, err
	}
	for len(d.sockets) < d.params.dataConnections() {
		c, err := d.tcp.AcceptTCP()
		if err != nil {
			if isTimeout(err) {
				return nil, fmt.Errorf("%d of %d data connections came within %v: is TCP port %d open?",
					len(d.sockets), d.params.dataConnections(), handshakeTime, d.number)
			}
			return nil, d.whyEnded("accepting a data connection", err)
		}
		if !d.admit(c, deadline) {
			_ = c.Close()
			continue
		}
		s, err := newSocket(c)
		if err != nil {
			_ = c.Close()
			return nil, err
		}
		d.sockets = append(d.sockets, s)
		if err := s.prepare(d.params); err != nil {
			return nil, err
		}
	}
	err := d.tcp.Close()
	d.tcp = nil
	return d.sockets, err
}

// whileHere closes what is being waited on when the client leaves; the function that it returns ends that.
func (d *dataServer) whileHere(c io.Closer) func() bool {
	return context.AfterFunc(d.gone, func() { _ = c.Close() })
}

// whyEnded says why waiting for the client's data failed.
func (d *dataServer) whyEnded(doing string, err error) error {
	if d.gone.Err() != nil {
		return errClientGone
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// admit says whether a data connection is the session's. The time it may take is short, for others wait behind it; the
// address is checked first, so that a stranger takes none.
func (d *dataServer) admit(c *net.TCPConn, deadline time.Time) bool {
	from, err := addrPort(c.RemoteAddr())
	if err != nil || from.Addr() != d.peer {
		return false
	}
	defer d.whileHere(c)()
	if soon := time.Now().Add(cookieTime); soon.Before(deadline) {
		deadline = soon
	}
	if err := c.SetDeadline(deadline); err != nil {
		return false
	}
	var got cookie
	if _, err := io.ReadFull(c, got[:]); err != nil || subtle.ConstantTimeCompare(got[:], d.secret[:]) != 1 {
		return false
	}
	return c.SetDeadline(time.Time{}) == nil
}

func serverFacts(s *socket) map[string]string {
	f := localFacts()
	for k, v := range s.facts() {
		f[k] = v
	}
	return f
}

// An account measures the CPU time of the process over a time.
type account struct {
	start int64
	cpu   time.Duration
	ok    bool
}

func startAccount() account {
	cpu, ok := processCPU()
	return account{start: nanotime(), cpu: cpu, ok: ok}
}

// elapsed gives the CPU time used and the time passed since the start, or zeroes where it is not known.
func (a account) elapsed() (cpu, elapsed time.Duration) {
	now, ok := processCPU()
	if !ok || !a.ok {
		return 0, 0
	}
	return now - a.cpu, time.Duration(nanotime() - a.start)
}

// into writes them into the report, and how long the threads waited for a CPU, while these are still there.
func (a account) into(r *report) {
	r.CPU, r.Elapsed = a.elapsed()
	r.Waited = runDelay()
}
