package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/wire"
)

// DialData opens one TCP data connection that starts with the cookie.
func (c *Client) DialData(ctx context.Context) (*sys.Socket, error) {
	d := net.Dialer{Timeout: wire.HandshakeTime, KeepAlive: -1, Control: sys.Controlled(c.Options.Params)}
	conn, err := d.DialContext(ctx, "tcp", c.Server.String())
	if err != nil {
		return nil, fmt.Errorf("connecting to the server's data port: %w", err)
	}
	if _, err := conn.Write(c.Cookie[:]); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("opening the data connection: %w", err)
	}
	return c.Adopt(conn)
}

// OpenData opens a session of crr. Its first connection has the cookie and tells the server the address from which the
// others come, which have no cookie. The server sends a byte when it is ready for them.
func (c *Client) OpenData(ctx context.Context) error {
	d := net.Dialer{Timeout: wire.HandshakeTime, KeepAlive: -1}
	conn, err := d.DialContext(ctx, "tcp", c.Server.String())
	if err != nil {
		return fmt.Errorf("connecting to the server's data port: %w", err)
	}
	defer func() { _ = conn.Close() }()
	c.Own(nil, func() { _ = conn.Close() })
	err = conn.SetDeadline(time.Now().Add(wire.HandshakeTime))
	if err == nil {
		_, err = conn.Write(c.Cookie[:])
	}
	if err == nil {
		_, err = io.ReadFull(conn, make([]byte, 1))
	}
	if err != nil {
		return fmt.Errorf("opening the data port: %w", err)
	}
	return nil
}

// Adopt takes over a connection of the net package.
func (c *Client) Adopt(conn net.Conn) (*sys.Socket, error) {
	raw, ok := conn.(sys.Raw)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("a data connection of type %T", conn)
	}
	s, err := sys.New(raw)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("opening the data connection: %w", err)
	}
	c.Own(s, s.Interrupt)
	return s, s.Prepare(c.Options.Params)
}

// dialersAtOnce is how many connections of a load are opened at the same time.
const dialersAtOnce = 128

// OpenAll opens n connections, several at the same time: one after the other, a thousand round trips would take too
// long.
func (c *Client) OpenAll(n int, open func() (*sys.Socket, error)) ([]*sys.Socket, error) {
	sockets, errs := make([]*sys.Socket, n), make([]error, n)
	places := make(chan struct{}, dialersAtOnce)
	var all sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			sockets[i], errs[i] = open()
			<-places
		})
	}
	all.Wait()
	return sockets, errors.Join(errs[:min(n, 3)]...) // the first few say it all
}

// DialDatagrams opens one UDP data socket.
func (c *Client) DialDatagrams(ctx context.Context) (*sys.Socket, error) {
	d := net.Dialer{Control: sys.Controlled(c.Options.Params)}
	conn, err := d.DialContext(ctx, "udp", c.Server.String())
	if err != nil {
		return nil, fmt.Errorf("opening the data socket: %w", err)
	}
	return c.Adopt(conn)
}
