package stream

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// openingInterval is how long the client waits before it repeats its first datagram.
const openingInterval = 50 * time.Millisecond

// MeasureMessages sends one-way messages until the server says that the window has ended.
func MeasureMessages(ctx context.Context, c *session.Client, observer session.Observer) (record.Result, error) {
	p := c.Options.Params
	socket, err := dialMessages(ctx, c)
	if err != nil {
		return record.Result{}, err
	}
	sender, err := newMessageSender(socket, c.Cookie, p)
	if err != nil {
		return record.Result{}, err
	}
	c.Own(nil, sender.stop)
	facts := session.LocalFacts()
	session.Include(facts, socket.Facts())
	session.Include(facts, sender.facts())
	state := &state{messages: sender}
	var threads []<-chan struct{}
	started := make(chan struct{})
	go knock(ctx, c, socket, started)
	theirs, err := c.Incoming(func(kind wire.Kind, payload []byte) error {
		if kind == wire.KindStart && threads == nil {
			close(started)
			threads = append(threads, process.OnThread(socket.Close, func() {
				timing.ExactTimers() // or a rate's messages go in larger portions
				sender.run()
			}))
			return nil
		}
		return frame(c, state, kind, payload, facts, observer)
	})
	if threads == nil {
		close(started)
	}
	c.Interrupt(errors.New("ended"))
	process.Wait(threads)
	if err != nil {
		return record.Result{}, err
	}
	return messageResult(c, state, theirs, facts)
}

// dialMessages opens the connected socket that the messages go out on.
func dialMessages(ctx context.Context, c *session.Client) (*sys.Socket, error) {
	if c.Options.Params.Protocol == wire.UDP {
		return c.DialDatagrams(ctx)
	}
	return c.DialData(ctx)
}

// knock repeats the opening datagram, which has the sequence number 0 and does not count, until the server says that
// it has come. Over TCP the connection is enough.
func knock(ctx context.Context, c *session.Client, s *sys.Socket, heard <-chan struct{}) {
	p := c.Options.Params
	if p.Protocol != wire.UDP {
		return
	}
	datagram := sys.NewBuffer(p.Message)
	copy(datagram, c.Cookie[:])
	clear(datagram[wire.CookieSize:wire.DatagramHeader])
	timer := time.NewTicker(openingInterval)
	defer timer.Stop()
	for {
		// A lost datagram is repeated. The server gives up after a while and says so.
		_ = s.Write(datagram)
		select {
		case <-heard:
			return
		case <-ctx.Done():
			return
		case <-timer.C:
		}
	}
}

func messageResult(c *session.Client, s *state, theirs wire.Report, facts map[string]string) (record.Result, error) {
	p := c.Options.Params
	if !s.ended || theirs.Window <= 0 {
		return record.Result{}, errors.New("the server reported before the end of the window")
	}
	if s.messages.failed {
		return record.Result{}, fmt.Errorf("sending failed within the measurement: %w", s.messages.err())
	}
	// The server may have received a part of a batch whose end was never sent.
	sent := s.messages.sent.Load() + int64(p.BatchOrDefault())
	if err := c.CheckReport(theirs, session.Sent{Bytes: session.Unknown, Messages: sent}, s.sums); err != nil {
		return record.Result{}, err
	}
	if theirs.Messages.Received == 0 && p.MessageRate > 0 && p.MessageRate*p.Duration.Seconds() < 1 {
		return record.Result{}, fmt.Errorf("no message was due within %v at a rate of %g a second: offer more, or for "+
			"longer", p.Duration, p.MessageRate)
	}
	if err := session.CheckWindow(p.Duration, s.window, theirs.Messages.Received,
		"messages were received"); err != nil {
		return record.Result{}, err
	}
	r := record.Result{
		Version: process.Version(), Mode: p.Mode, Protocol: p.Protocol, MessageBytes: p.Message,
		Duration:   theirs.Window.Seconds(),
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
	if p.Protocol == wire.UDP {
		// Sent comes from the sequence numbers of the first and the last message within the window. If messages
		// overtake each other at its ends, more can arrive than were sent.
		sent := max(m.Sent, m.Received)
		one(result.Sent, result.One, float64(sent))
		one(result.Lost, result.One, float64(sent-m.Received))
		one(result.Loss, result.One, float64(sent-m.Received)/float64(sent))
		one(result.OutOfOrder, result.One, float64(m.OutOfOrder))
		facts["server.foreign"] = strconv.FormatInt(m.Foreign, 10)
	} else {
		one(result.Sent, result.One, float64(s.sent))
	}
	r.Metrics = append(r.Metrics, session.CPUMetrics(s.cpu, s.elapsed, theirs)...)
	r.Metrics = append(r.Metrics, session.CPUPerBit(s.cpu, s.elapsed, theirs, goodput)...)
	facts["batch"] = strconv.Itoa(p.BatchOrDefault())
	facts["rate"] = "max"
	if p.MessageRate > 0 {
		facts["rate"] = strconv.FormatFloat(p.MessageRate, 'g', -1, 64)
	}
	if s.elapsed > 0 {
		facts["sender_rate"] = strconv.FormatFloat(float64(s.sent)/s.elapsed.Seconds(), 'f', 0, 64)
	}
	session.AddClosingFacts(facts, theirs, s.waited)
	r.Notes = append(r.Notes, session.BusyPollNotes(facts)...)
	if n := facts["server.socket_drops"]; n != "" && n != "0" && m.Sent > m.Received {
		r.Notes = append(r.Notes, lateReceiver(facts["server.wait"]))
	}
	return r, nil
}

// lateReceiver is the note of a session in which the server's kernel dropped packets at the socket. It is the same for
// all trials: the fact server.socket_drops has the number.
func lateReceiver(wait string) string {
	note := "The server's kernel dropped packets that had come: its receive buffer was full because the receiver was " +
		"late, or (rarely) a checksum was wrong. They count as lost. A larger receive buffer holds more"
	if wait != wire.WaitSpin {
		note += ", and a receiver that spins is not late to wake"
	}
	return note + "."
}
