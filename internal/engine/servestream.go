package engine

import "time"

// serveStream receives on all connections. The server keeps the time of a stream: it says when the window begins and
// ends, and what it received between is the result.
func (d *dataServer) serveStream() error {
	sockets, err := d.acceptAll()
	if err != nil {
		return err
	}
	d.done.Facts = serverFacts(sockets[0])
	receivers := make([]*streamReceiver, len(sockets))
	for i, s := range sockets {
		receivers[i] = newStreamReceiver(s)
	}
	for _, r := range receivers {
		d.threads = append(d.threads, onThread(r.socket, r.run))
	}
	if err := d.frames.expect(frameStart, nil); err != nil {
		return err
	}
	// From here on the client says nothing but stop, and that only after the window, unless it gives up.
	stopped := make(chan error, 1)
	go func() { stopped <- d.awaitStop() }()
	if err := d.window(receivers, stopped); err != nil {
		return err
	}
	// The client ends its connections, and then says stop; its control connection has a deadline.
	return <-stopped
}

// window waits for the warm-up to pass, counts what is received within the window, and tells the client of each interval.
func (d *dataServer) window(receivers []*streamReceiver, stopped <-chan error) error {
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
	total := func() (bytes int64) {
		for _, r := range receivers {
			bytes += r.received.Load()
		}
		return bytes
	}
	if err := wait(nanotime() + int64(d.params.Warmup)); err != nil {
		return err
	}
	if err := d.frames.write(frameBegin, nil); err != nil {
		return err
	}
	account := startAccount()
	start, first := nanotime(), total()
	end := start + int64(d.params.Duration)
	last, before := start, first
	step := intervalLength(d.params.Duration)
	for last < end {
		if err := wait(min(last+step, end)); err != nil {
			return err
		}
		now, received := nanotime(), total()
		i := streamInterval{Start: time.Duration(last - start), End: time.Duration(now - start), Bytes: received - before}
		if err := d.frames.write(frameInterval, i); err != nil {
			return err
		}
		last, before = now, received
	}
	account.into(&d.done)
	d.done.Bytes, d.done.Window = before-first, time.Duration(last-start)
	return d.frames.write(frameEnd, nil)
}
