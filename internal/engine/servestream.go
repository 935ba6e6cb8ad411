package engine

import "time"

// serveStream receives and sends on all connections. The server keeps the time of a stream: it says when the window
// begins and ends, and what it received between is the result of the upload; of the download it is what the client has.
func (d *dataServer) serveStream() error {
	sockets, err := d.acceptAll()
	if err != nil {
		return err
	}
	f, err := newFlows(sockets, d.params, false)
	if err != nil {
		return err
	}
	d.threads = append(d.threads, f.run()...)
	d.stops = append(d.stops, f.stop)
	if err := d.frames.expect(frameStart, nil); err != nil {
		return err
	}
	// From here on the client says nothing but stop, and that only after the window, unless it gives up.
	stopped := make(chan error, 1)
	go func() { stopped <- d.awaitStop() }()
	if err := d.window(&streamMeter{flows: f, done: &d.done}, stopped); err != nil {
		return err
	}
	// The kernel fits the buffers to the stream as it goes.
	d.done.Facts = serverFacts(sockets[0])
	// The client ends its connections, and then says stop; its control connection has a deadline.
	if err := <-stopped; err != nil {
		return err
	}
	d.close()
	if sends, completed, copied, ok := f.zeroCopyFacts(); ok {
		zeroCopyFacts(d.done.Facts, sends, completed, copied)
	}
	return f.err()
}

// A meter counts for a window.
type meter interface {
	// begin is called when the window begins.
	begin()
	// interval completes what happened since the last call, or since the beginning.
	interval(*streamInterval)
	// end is called when the window has ended, before the client hears of it.
	end()
}

// streamMeter is the server's meter of a stream.
type streamMeter struct {
	flows  flows
	done   *report
	last   int64
	before tcpSample
}

func (m *streamMeter) begin() {
	m.last = m.flows.received()
	m.before, m.done.Sampled = m.flows.sample()
}

func (m *streamMeter) interval(i *streamInterval) {
	received := m.flows.received()
	i.Bytes = received - m.last
	m.last = received
	m.done.Bytes += i.Bytes
	if !m.done.Sampled {
		return
	}
	now, ok := m.flows.sample()
	m.done.Sampled = ok
	i.Retransmits, i.Window, i.Smoothed = max(now.retransmits-m.before.retransmits, 0), now.window, now.smoothed
	m.done.Retransmits = i.Retransmits
}

func (m *streamMeter) end() { m.flows.end() }

// window waits for the warm-up to pass, counts what happens within the window, and tells the client of each interval.
func (d *dataServer) window(m meter, stopped <-chan error) error {
	timer := time.NewTimer(d.params.Warmup)
	defer timer.Stop()
	wait := func(until int64) error {
		timer.Reset(time.Duration(until - nanotime()))
		select {
		case <-timer.C:
			return nil
		case err := <-stopped:
			if err == nil {
				err = &peerError{"the client stopped before the end of the window"}
			}
			return err
		}
	}
	if err := wait(nanotime() + int64(d.params.Warmup)); err != nil {
		return err
	}
	if err := d.frames.write(frameBegin, nil); err != nil {
		return err
	}
	account := startAccount()
	start := nanotime()
	m.begin()
	end := start + int64(d.params.Duration)
	last := start
	step := d.params.interval()
	for last < end {
		if err := wait(min(last+step, end)); err != nil {
			return err
		}
		now := nanotime()
		i := streamInterval{Start: time.Duration(last - start), End: time.Duration(now - start)}
		m.interval(&i)
		if err := d.frames.write(frameInterval, i); err != nil {
			return err
		}
		last = now
	}
	d.done.CPU, d.done.Elapsed = account.elapsed()
	d.done.Window = time.Duration(last - start)
	m.end()
	d.done.Waited = runDelay() // once nothing is counted any more
	return d.frames.write(frameEnd, nil)
}
