package stream

import (
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/wire"
)

// ServeMessages counts the client's one-way messages. The server keeps the time, as for a stream.
func ServeMessages(d *session.Server) error {
	socket, err := acceptMessages(d)
	if err != nil {
		return err
	}
	r := newMessageReceiver(socket, d.Secret, d.Params)
	run := r.runTCP
	if d.Params.Protocol == wire.UDP {
		run = r.runUDP
	}
	d.Run(socket, run, r.stop)
	stopped := make(chan error, 1)
	go func() { stopped <- d.AwaitStop() }()
	// Until the client receives this it sends only its opening datagram.
	if err := d.Frames.Write(wire.KindStart, nil); err != nil {
		return err
	}
	if err := d.MeasureWindow(&messageMeter{receiver: r, done: &d.Done}, stopped); err != nil {
		return err
	}
	d.Done.Facts = session.ServerFacts(socket)
	if d.Params.Protocol == wire.UDP {
		session.Include(d.Done.Facts, r.in.Facts())
	}
	err = <-stopped
	d.Close()
	if err == nil && r.failed {
		err = sys.ConnectionError(socket)
	}
	return err
}

// acceptMessages is the connected socket on which the messages come.
func acceptMessages(d *session.Server) (*sys.Socket, error) {
	if d.Params.Protocol == wire.UDP {
		s, _, err := d.FirstDatagram(d.Params.Message)
		return s, err
	}
	sockets, err := d.AcceptAll()
	if err != nil {
		return nil, err
	}
	return sockets[0], nil
}

// messageMeter is the meter of one-way messages.
type messageMeter struct {
	receiver *messageReceiver
	done     *wire.Report
	last     wire.Tally
}

func (m *messageMeter) Begin() { m.last = m.receiver.counts.read() }

func (m *messageMeter) Interval(i *wire.Interval) {
	now := m.receiver.counts.read()
	passed := now.Minus(m.last)
	m.last = now
	i.Messages = passed.Received
	i.Bytes = passed.Received * int64(m.receiver.message)
	m.done.Bytes += i.Bytes
	m.done.Messages = m.done.Messages.Plus(passed)
}

// End allows the connection to end.
func (m *messageMeter) End() { m.receiver.ending.Store(true) }
