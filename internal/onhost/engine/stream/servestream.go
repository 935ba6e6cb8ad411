package stream

import (
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/wire"
)

// Serve receives and sends on all connections. The server says when the window begins and ends. What it received in
// between is the result of the upload. The result of the download is what the client received.
func Serve(d *session.Server) error {
	sockets, err := d.AcceptAll()
	if err != nil {
		return err
	}
	f, err := newFlows(sockets, d.Params, false)
	if err != nil {
		return err
	}
	d.Threads = append(d.Threads, f.run()...)
	d.Stops = append(d.Stops, f.stop)
	if err := d.Frames.Expect(wire.KindStart, nil); err != nil {
		return err
	}
	// From here on the client says only stop, and only after the window unless it gives up.
	stopped := make(chan error, 1)
	go func() { stopped <- d.AwaitStop() }()
	if err := d.MeasureWindow(&bulkMeter{flows: f, done: &d.Done}, stopped); err != nil {
		return err
	}
	// The kernel adapts the buffers during the stream.
	d.Done.Facts = session.ServerFacts(sockets[0])
	// The client ends its connections and then says stop. Its control connection has a deadline.
	if err := <-stopped; err != nil {
		return err
	}
	d.Close()
	if sends, completed, copied, ok := f.zeroCopyFacts(); ok {
		zeroCopyFacts(d.Done.Facts, sends, completed, copied)
	}
	return f.err()
}

// bulkMeter is the server's meter of a stream.
type bulkMeter struct {
	flows  flows
	done   *wire.Report
	last   int64
	before sys.TCPSample
}

func (m *bulkMeter) Begin() {
	m.last = m.flows.received()
	m.before, m.done.Sampled = m.flows.sample()
}

func (m *bulkMeter) Interval(i *wire.Interval) {
	received := m.flows.received()
	i.Bytes = received - m.last
	m.last = received
	m.done.Bytes += i.Bytes
	if !m.done.Sampled {
		return
	}
	now, ok := m.flows.sample()
	m.done.Sampled = ok
	i.Retransmits, i.Window, i.Smoothed = max(now.Retransmits-m.before.Retransmits, 0), now.Window, now.Smoothed
	m.done.Retransmits = i.Retransmits
}

func (m *bulkMeter) End() { m.flows.end() }
