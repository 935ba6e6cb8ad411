package engine

// serveMessages counts the client's one-way messages. As of a stream, the server keeps the time.
func (d *dataServer) serveMessages() error {
	socket, err := d.messageSocket()
	if err != nil {
		return err
	}
	r := newMessageReceiver(socket, d.secret, d.params)
	run := r.runTCP
	if d.params.Protocol == UDP {
		run = r.runUDP
	}
	d.run(socket, run, r.stop)
	stopped := make(chan error, 1)
	go func() { stopped <- d.awaitStop() }()
	// The client sends nothing but its opening until it hears that.
	if err := d.frames.write(frameStart, nil); err != nil {
		return err
	}
	if err := d.window(&messageMeter{receiver: r, done: &d.done, protocol: d.params.Protocol}, stopped); err != nil {
		return err
	}
	d.done.Facts = serverFacts(socket)
	if d.params.Protocol == UDP {
		include(d.done.Facts, r.in.facts())
	}
	err = <-stopped
	d.close()
	if err == nil && r.failed {
		err = connectionError(socket)
	}
	return err
}

// messageSocket is the connected socket that the messages come on.
func (d *dataServer) messageSocket() (*socket, error) {
	if d.params.Protocol == UDP {
		s, _, err := d.firstDatagram(d.params.Message)
		return s, err
	}
	sockets, err := d.acceptAll()
	if err != nil {
		return nil, err
	}
	return sockets[0], nil
}

// messageMeter is the meter of one-way messages.
type messageMeter struct {
	receiver *messageReceiver
	done     *report
	protocol string
	last     messageTally
}

func (m *messageMeter) begin() { m.last = m.receiver.counts.read() }

func (m *messageMeter) interval(i *streamInterval) {
	now := m.receiver.counts.read()
	passed := now.minus(m.last)
	m.last = now
	i.Messages = passed.Received
	i.Bytes = passed.Received * int64(m.receiver.message)
	m.done.Bytes += i.Bytes
	m.done.Messages = m.done.Messages.plus(passed)
}

// end lets the stream of a client that stops end.
func (m *messageMeter) end() { m.receiver.ending.Store(true) }
