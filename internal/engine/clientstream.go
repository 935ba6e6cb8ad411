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

// streamState is what the client keeps of a stream while it listens to the server, which keeps the time.
type streamState struct {
	senders  []*streamSender
	account  account
	begun    bool
	ended    bool
	seconds  int
	cpu      time.Duration
	elapsed  time.Duration
	resent   int64 // retransmits within the window
	resentOK bool
}

// stream sends on all connections until the server says that the window has ended.
func (c *client) stream(ctx context.Context, observer Observer) (record.Result, error) {
	p := c.options.Params
	state := &streamState{}
	for range p.Connections {
		s, err := c.dialData(ctx)
		if err != nil {
			return record.Result{}, err
		}
		sender := newStreamSender(s, p.Message)
		c.own(nil, sender.stop)
		state.senders = append(state.senders, sender)
	}
	var threads []<-chan struct{}
	for _, s := range state.senders {
		threads = append(threads, onThread(s.socket, s.run))
	}
	facts := localFacts()
	if err := c.frames.write(frameStart, nil); err != nil {
		c.interrupt(err)
		wait(threads)
		return record.Result{}, c.said("starting", err)
	}
	theirs, err := c.incoming(func(kind frameKind, payload []byte) error {
		return c.streamFrame(state, kind, payload, facts, observer)
	})
	c.interrupt(errors.New("ended"))
	wait(threads)
	if err != nil {
		return record.Result{}, err
	}
	return c.streamResult(state, theirs, facts)
}

// streamFrame takes one frame of the server: begin, interval, end.
func (c *client) streamFrame(s *streamState, kind frameKind, payload []byte, facts map[string]string, observer Observer) error {
	switch {
	case kind == frameBegin && !s.begun:
		s.begun = true
		s.account = startAccount()
		s.resent, s.resentOK = s.retransmits()
		return nil
	case kind == frameInterval && s.begun && !s.ended:
		var i streamInterval
		if err := decodePayload(payload, &i); err != nil {
			return err
		}
		if i.Start < 0 || i.End <= i.Start || i.Bytes < 0 || s.seconds > maxIntervals {
			return errors.New("an interval of the server makes no sense")
		}
		s.seconds++
		return observer.Interval(record.Interval{Second: s.seconds, Start: i.Start.Seconds(), End: i.End.Seconds(),
			Bytes: i.Bytes, Goodput: float64(i.Bytes) * 8 / (i.End - i.Start).Seconds()})
	case kind == frameEnd && s.begun && !s.ended:
		s.ended = true
		s.cpu, s.elapsed = s.account.elapsed()
		now, ok := s.retransmits()
		s.resent, s.resentOK = now-s.resent, ok && s.resentOK
		for k, v := range s.senders[0].socket.facts() {
			facts[k] = v
		}
		for _, sender := range s.senders {
			sender.stop()
		}
		return c.frames.write(frameStop, nil)
	}
	return fmt.Errorf("the server sent a frame of kind %d where it does not belong", kind)
}

// retransmits sums what the kernel has sent again on all connections.
func (s *streamState) retransmits() (sum int64, ok bool) {
	for _, sender := range s.senders {
		n, ok := sender.socket.retransmits()
		if !ok {
			return 0, false
		}
		sum += n
	}
	return sum, true
}

func (c *client) streamResult(s *streamState, theirs report, facts map[string]string) (record.Result, error) {
	p := c.options.Params
	if !s.ended || theirs.Window <= 0 {
		return record.Result{}, errors.New("the server reported before the end of the window")
	}
	for i, sender := range s.senders {
		if sender.failed {
			return record.Result{}, fmt.Errorf("connection %d of %d failed within the measurement: %w", i+1, p.Connections, connectionError(sender.socket))
		}
	}
	if theirs.Bytes == 0 {
		return record.Result{}, errors.New("the server received nothing within the window")
	}
	r := record.Result{
		Version: Version(), Mode: p.Mode, Protocol: p.Protocol, MessageBytes: p.Message, Duration: theirs.Window.Seconds(),
		ReportedAs: result.DefinitionRate, Definition: result.DefinitionRate, Facts: facts,
		Metrics: []result.Metric{{Name: result.Goodput, Unit: result.BitsPerSecond, Value: float64(theirs.Bytes) * 8 / theirs.Window.Seconds()}},
	}
	if s.resentOK {
		r.Metrics = append(r.Metrics, result.Metric{Name: result.Retransmits, Unit: result.One, Value: float64(s.resent)})
	}
	r.Metrics = append(r.Metrics, cpuMetrics(s.cpu, s.elapsed, theirs)...)
	facts["server.bytes"] = strconv.FormatInt(theirs.Bytes, 10)
	facts["connections"] = strconv.Itoa(p.Connections)
	addServerFacts(facts, theirs)
	return r, nil
}
