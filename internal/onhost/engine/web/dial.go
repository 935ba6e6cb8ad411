package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/engine/timing"
)

// A dialer opens connections to the server, and says how long each part of that took. It uses no proxy.
type dialer struct {
	host, port, network string
	// tls is nil for clear text.
	tls *tls.Config
	// opened counts connections, and said is what the last one is.
	opened atomic.Int64
	said   atomic.Pointer[connection]
}

// connection is what one connection is.
type connection struct {
	remote     netip.Addr
	tls        string
	negotiated string
}

func newDialer(o *Options, protocols ...string) *dialer {
	d := &dialer{host: o.URL.Hostname(), port: o.URL.Port(), network: "ip"}
	if d.port == "" {
		d.port = map[string]string{"http": "80", "https": "443"}[o.URL.Scheme]
	}
	if o.IP != 0 {
		d.network = fmt.Sprintf("ip%d", o.IP)
	}
	if o.URL.Scheme == "https" {
		d.tls = o.TLS.Clone()
		if d.tls == nil {
			d.tls = &tls.Config{MinVersion: tls.VersionTLS12}
		}
		if d.tls.ServerName == "" {
			d.tls.ServerName = d.host
		}
		d.tls.NextProtos = protocols
	}
	return d
}

// dial opens a connection until the deadline. Its error is a *failure.
func (d *dialer) dial(ctx context.Context, deadline time.Time, p *phases) (net.Conn, error) {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	at, err := d.address(ctx, p)
	if err != nil {
		return nil, failed(connecting, "looking up "+d.host, err)
	}
	began := timing.Now()
	dialer := net.Dialer{KeepAlive: -1}
	dialer.SetMultipathTCP(false)
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(at.String(), d.port))
	if err != nil {
		return nil, failed(connecting, "connecting", err)
	}
	connected := timing.Now()
	p[connect] = connected - began
	said := connection{remote: at}
	if d.tls != nil {
		secure := tls.Client(conn, d.tls)
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, failed(securing, "TLS", err)
		}
		p[handshake] = timing.Now() - connected
		state := secure.ConnectionState()
		said.tls, said.negotiated = tls.VersionName(state.Version), state.NegotiatedProtocol
		conn = secure
	}
	d.opened.Add(1)
	d.said.Store(&said)
	return conn, nil
}

// address looks up the server's name, if it is one.
func (d *dialer) address(ctx context.Context, p *phases) (netip.Addr, error) {
	if at, err := netip.ParseAddr(d.host); err == nil {
		return at, nil
	}
	began := timing.Now()
	all, err := net.DefaultResolver.LookupNetIP(ctx, d.network, d.host)
	if err != nil {
		return netip.Addr{}, err
	}
	if len(all) == 0 {
		return netip.Addr{}, errors.New("no address")
	}
	p[lookup] = timing.Now() - began
	return all[0].Unmap(), nil
}
