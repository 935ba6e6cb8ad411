package reach

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"nearfar/internal/onhost/host"
)

// maxConnections limits the connections that a server keeps at the same time.
const maxConnections = 256

// Serve holds the sockets at the address and answers requests that show the secret, until ctx ends or Lifetime is over.
// First it writes one line of JSON with a Result for each socket. A socket that cannot be opened is reported there; it
// is no error. Then it writes a line of JSON with a Source for each address from which such a request comes, before it
// answers. It takes no notice of others than peers, if there are any.
func Serve(ctx context.Context, secret []byte, at netip.Addr, sockets []host.Socket, peers []netip.Prefix,
	out io.Writer,
) error {
	ctx, cancel := context.WithTimeout(ctx, Lifetime)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	places := make(chan struct{}, maxConnections)
	from := &sources{out: out, seen: map[netip.Addr]bool{}, peers: peers, ready: make(chan struct{})}
	results := make([]Result, len(sockets))
	var opened []io.Closer
	for i, s := range sockets {
		results[i] = Result{Socket: s, Outcome: Reached}
		c, err := open(ctx, s, at)
		switch held := c.(type) {
		case net.PacketConn:
			all.Go(func() { answerDatagrams(held, secret, from) })
		case net.Listener:
			all.Go(func() { answerConnections(held, secret, from, places, &all) })
		}
		if err != nil {
			results[i].Outcome, results[i].Detail = outcome(err), err.Error()
			continue
		}
		opened = append(opened, c)
	}
	err := json.NewEncoder(out).Encode(results)
	close(from.ready)
	if err == nil {
		<-ctx.Done()
	}
	for _, c := range opened {
		_ = c.Close() // nothing is left to send
	}
	return err
}

// open opens a socket: a net.PacketConn for UDP, a net.Listener for TCP.
func open(ctx context.Context, s host.Socket, at netip.Addr) (io.Closer, error) {
	var c net.ListenConfig
	if s.Protocol == "udp" {
		return c.ListenPacket(ctx, network(s.Protocol, at), address(at, s.Port))
	}
	return c.Listen(ctx, network(s.Protocol, at), address(at, s.Port))
}

// network is the name of the protocol over the address's version of IP: a socket of IPv6 must not take the port of
// IPv4 too.
func network(protocol string, at netip.Addr) string {
	if at.Is4() {
		return protocol + "4"
	}
	return protocol + "6"
}

func address(at netip.Addr, port int) string {
	return net.JoinHostPort(at.String(), strconv.Itoa(port))
}

// maxSources limits how many addresses are reported.
const maxSources = 64

// sources reports the addresses from which requests come.
type sources struct {
	peers []netip.Prefix
	// ready is closed when the first line has been written.
	ready chan struct{}

	mu   sync.Mutex
	out  io.Writer
	seen map[netip.Addr]bool
}

// admit says whether requests from an address are answered.
func (s *sources) admit(from net.Addr) bool {
	at, ok := addressOf(from)
	return len(s.peers) == 0 || ok && slices.ContainsFunc(s.peers, func(p netip.Prefix) bool { return p.Contains(at) })
}

// saw reports the source of a request that shows the secret.
func (s *sources) saw(from net.Addr) {
	at, ok := addressOf(from)
	<-s.ready
	s.mu.Lock()
	defer s.mu.Unlock()
	if !ok || s.seen[at] || len(s.seen) >= maxSources {
		return
	}
	s.seen[at] = true
	_ = json.NewEncoder(s.out).Encode(Source{at}) // without the line, the source is not known
}

func addressOf(a net.Addr) (netip.Addr, bool) {
	h, ok := a.(interface{ AddrPort() netip.AddrPort })
	if !ok {
		return netip.Addr{}, false
	}
	return h.AddrPort().Addr().Unmap().WithZone(""), true
}

func answerDatagrams(c net.PacketConn, secret []byte, sources *sources) {
	b := make([]byte, requestLength+1)
	for {
		n, from, err := c.ReadFrom(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // some systems report that an earlier answer did not arrive
		}
		if reply := answer(secret, b[:n]); reply != nil && sources.admit(from) {
			sources.saw(from)
			_, _ = c.WriteTo(reply, from) // the client asks again
		}
	}
}

func answerConnections(l net.Listener, secret []byte, sources *sources, places chan struct{}, all *sync.WaitGroup) {
	for {
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		select {
		case places <- struct{}{}:
			all.Go(func() {
				defer func() { <-places }()
				answerConnection(c, secret, sources)
			})
		default:
			_ = c.Close() // the place is needed for others
		}
	}
}

// answerConnection answers one request and waits until the client has closed the connection. The server's end then
// keeps no port busy: some servers cannot open a port on which a connection was closed shortly before.
func answerConnection(c net.Conn, secret []byte, sources *sources) {
	defer func() { _ = c.Close() }()
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	if !sources.admit(c.RemoteAddr()) {
		return
	}
	_ = c.SetDeadline(time.Now().Add(Timeout))
	request := make([]byte, requestLength)
	if _, err := io.ReadFull(c, request); err != nil {
		return
	}
	if reply := answer(secret, request); reply != nil {
		sources.saw(c.RemoteAddr())
		if _, err := c.Write(reply); err == nil {
			_, _ = c.Read(request)
		}
	}
}
