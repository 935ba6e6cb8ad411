package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"nearfar/internal/engine/record"
	"nearfar/internal/result"
)

// openingInterval is how long the client waits before it repeats its first datagram.
const openingInterval = 50 * time.Millisecond

// messages sends one-way messages until the server says that the window has ended.
func (c *client) messages(ctx context.Context, observer Observer) (record.Result, error) {
	p := c.options.Params
	socket, err := c.messageSocket(ctx)
	if err != nil {
		return record.Result{}, err
	}
	sender, err := newMessageSender(socket, c.cookie, p)
	if err != nil {
		return record.Result{}, err
	}
	c.own(nil, sender.stop)
	facts := localFacts()
	include(facts, socket.facts())
	include(facts, sender.facts())
	state := &streamState{messages: sender}
	var threads []<-chan struct{}
	started := make(chan struct{})
	go c.knock(ctx, socket, started)
	theirs, err := c.incoming(func(kind frameKind, payload []byte) error {
		if kind == frameStart && threads == nil {
			close(started)
			threads = append(threads, onThread(socket, func() {
				exactTimers() // or a rate's messages go in larger portions
				sender.run()
			}))
			return nil
		}
		return c.streamFrame(state, kind, payload, facts, observer)
	})
	if threads == nil {
		close(started)
	}
	c.interrupt(errors.New("ended"))
	wait(threads)
	if err != nil {
		return record.Result{}, err
	}
	return c.messageResult(state, theirs, facts)
}

// messageSocket opens the connected socket that the messages go out on.
func (c *client) messageSocket(ctx context.Context) (*socket, error) {
	if c.options.Params.Protocol == UDP {
		return c.dialDatagrams(ctx)
	}
	return c.dialData(ctx)
}

// knock sends the first datagram, whose sequence number is 0 and which does not count, until the server says that it has
// heard one. Over TCP the connection says it.
func (c *client) knock(ctx context.Context, s *socket, heard <-chan struct{}) {
	p := c.options.Params
	if p.Protocol != UDP {
		return
	}
	datagram := newBuffer(p.Message)
	copy(datagram, c.cookie[:])
	clear(datagram[cookieSize:datagramHeader])
	timer := time.NewTicker(openingInterval)
	defer timer.Stop()
	for {
		// One that is lost, or that the kernel does not take, is repeated; the server gives up after a while and says so.
		_ = s.write(datagram)
		select {
		case <-heard:
			return
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

func (c *client) messageResult(s *streamState, theirs report, facts map[string]string) (record.Result, error) {
	p := c.options.Params
	if !s.ended || theirs.Window <= 0 {
		return record.Result{}, errors.New("the server reported before the end of the window")
	}
	if s.messages.failed {
		return record.Result{}, fmt.Errorf("sending failed within the measurement: %w", s.messages.err())
	}
	if theirs.Messages.Received == 0 {
		return record.Result{}, errNoMessages
	}
	r := record.Result{
		Version: Version(), Mode: p.Mode, Protocol: p.Protocol, MessageBytes: p.Message, Duration: theirs.Window.Seconds(),
		ReportedAs: result.DefinitionRate, Definition: result.DefinitionRate, Facts: facts,
	}
	one := func(name, unit string, v float64) {
		r.Metrics = append(r.Metrics, result.Metric{Name: name, Unit: unit, Value: v})
	}
	m := theirs.Messages
	goodput := float64(theirs.Bytes) * 8 / theirs.Window.Seconds()
	one(result.MessageRate, result.PerSecond, float64(m.Received)/theirs.Window.Seconds())
	one(result.Goodput, result.BitsPerSecond, goodput)
	one(result.Received, result.One, float64(m.Received))
	if p.Protocol == UDP {
		// What the sequence numbers say was sent between the first and the last that came within the window. Where
		// messages overtake each other at its edges, a few more can come than were sent.
		sent := max(m.Sent, m.Received)
		one(result.Sent, result.One, float64(sent))
		one(result.Lost, result.One, float64(sent-m.Received))
		one(result.Loss, result.One, float64(sent-m.Received)/float64(sent))
		one(result.OutOfOrder, result.One, float64(m.OutOfOrder))
		facts["server.foreign"] = strconv.FormatInt(m.Foreign, 10)
	} else {
		one(result.Sent, result.One, float64(s.sent))
	}
	r.Metrics = append(r.Metrics, cpuMetrics(s.cpu, s.elapsed, theirs)...)
	r.Metrics = append(r.Metrics, cpuPerBit(s.cpu, s.elapsed, theirs, goodput)...)
	facts["batch"] = strconv.Itoa(p.batch())
	facts["rate"] = "max"
	if p.MessageRate > 0 {
		facts["rate"] = strconv.FormatFloat(p.MessageRate, 'g', -1, 64)
	}
	if s.elapsed > 0 {
		facts["sender_rate"] = strconv.FormatFloat(float64(s.sent)/s.elapsed.Seconds(), 'f', 0, 64)
	}
	addClosingFacts(facts, theirs, s.waited)
	r.Notes = append(r.Notes, busyPollNotes(facts)...)
	return r, nil
}

// busyPollNotes says where a side's kernel was to poll, and had nothing that could be polled or does not do it.
func busyPollNotes(facts map[string]string) (notes []string) {
	for _, side := range []struct{ name, prefix string }{{"client", ""}, {"server", "server."}} {
		wait, none := facts[side.prefix+"wait"], facts[side.prefix+"napi_id"] == "0"
		polls := facts[side.prefix+"epoll_busy_poll"]
		const old = "has no busy polling for one epoll instance (Linux has it since 6.9)"
		switch {
		case wait == WaitBusyPoll && none:
			notes = append(notes, fmt.Sprintf("busy-poll: no device queue of the %s takes part in it (a veth pair has none), so its kernel blocked.", side.name))
		case wait == WaitEpoll && none:
			notes = append(notes, fmt.Sprintf("epoll: no device queue of the %s can be polled (a veth pair has none), so its kernel slept in epoll_wait.", side.name))
		case wait == WaitEpoll && polls == "0":
			notes = append(notes, fmt.Sprintf("epoll: the %s's kernel %s, and net.core.busy_poll is 0: it slept in epoll_wait.", side.name, old))
		case wait == WaitEpoll && polls == "unknown":
			notes = append(notes, fmt.Sprintf("epoll: whether the %s's kernel polled in epoll_wait is not known: it %s, and does not show net.core.busy_poll here.", side.name, old))
		}
	}
	return notes
}
