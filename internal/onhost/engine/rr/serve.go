package rr

import (
	"fmt"
	"sync/atomic"

	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/wire"
)

// Serve answers the requests of rr or crr until the client says stop.
func Serve(d *session.Server) error {
	switch {
	case d.Params.Mode == wire.ModeCRR:
		return serveCRR(d)
	case d.Params.Protocol == wire.UDP:
		return serveUDP(d)
	}
	return serveTCP(d)
}

func serveTCP(d *session.Server) error {
	sockets, err := d.AcceptAll()
	if err != nil {
		return err
	}
	if d.Params.Timestamps {
		return serveStamped(d, sockets[0])
	}
	s := newTCPServer(sockets[0], d.Params.Request, d.Params.Response, d.Params.Loop)
	s.stalling.Stall = d.Stall
	d.Done.Facts = session.ServerFacts(sockets[0])
	d.Done.Facts[factLoop] = loopName(s.assembly)
	return answer(d, sockets[0], s.run, nil, &s.transactions)
}

// answer runs a hot loop until the client says stop, and reports how many transactions it answered.
func answer(d *session.Server, only *sys.Socket, loop, stop func(), transactions *atomic.Int64) error {
	account := process.StartAccount()
	d.Run(only, loop, stop)
	err := d.Finish(account)
	d.Done.Transactions = transactions.Load()
	return err
}

func serveCRR(d *session.Server) error {
	opening, from, err := d.AcceptOpening()
	if err != nil {
		return err
	}
	defer func() { _ = opening.Close() }()
	a, err := sys.NewAcceptor(d.TCP, from, d.Params)
	if err != nil {
		return err
	}
	d.TCP = nil
	s := newCRRServer(a, d.Params.Request, d.Params.Response)
	d.Sockets = append(d.Sockets, &a.Listener)
	d.Done.Facts = session.ServerFacts(&a.Listener)
	if _, err := opening.Write([]byte{0}); err != nil {
		return fmt.Errorf("opening the data port: %w", err)
	}
	return answer(d, nil, s.run, nil, &s.transactions)
}

// serveUDP waits for the first datagram, answers it, and then answers the others.
func serveUDP(d *session.Server) error {
	socket, buffer, err := d.FirstDatagram(d.Params.Request)
	if err != nil {
		return err
	}
	// A reply that cannot be sent is lost like any other: the client asks again.
	_ = socket.Write(buffer[:d.Params.Response])
	s := newUDPServer(socket, d.Secret, d.Params.Request, d.Params.Response)
	s.arrivals.Add(wire.Sequence(buffer))
	d.Done.Facts = session.ServerFacts(socket)
	if d.Params.Timestamps {
		if s.stamps, err = newStampedServer(socket, 1); err != nil {
			return err
		}
	}
	err = answer(d, socket, s.run, s.stop, &s.transactions)
	d.Done.Requests = s.requests
	if s.stamps != nil {
		s.stamps.into(d.Done.Facts)
		if s.stamps.failure != nil {
			return s.stamps.failure
		}
	}
	return err
}

// serveStamped answers over TCP with timestamps.
func serveStamped(d *session.Server, socket *sys.Socket) error {
	s, err := newStampedTCPServer(socket, d.Params.Request, d.Params.Response)
	if err != nil {
		return err
	}
	d.Done.Facts = session.ServerFacts(socket)
	d.Done.Facts[factLoop] = wire.LoopGo
	if err := answer(d, socket, s.run, nil, &s.transactions); err != nil {
		return err
	}
	s.stamps.into(d.Done.Facts)
	return s.stamps.failure
}
