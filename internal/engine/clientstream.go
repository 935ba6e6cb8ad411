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

// streamState is what the client keeps of a stream, or of one-way messages, while it listens to the server. The server
// says when the window and its intervals begin and end; each side counts what it received on its own clock.
type streamState struct {
	flows    flows
	messages *messageSender // of messages, in place of flows
	account  account
	begun    bool
	ended    bool
	seconds  int
	cpu      time.Duration
	elapsed  time.Duration
	waited   time.Duration
	// first, last and begin are of what this side has received: at the begin of the window, and at the last interval.
	first, last int64
	start, at   int64
	// sent is the number of messages sent in the window, by this side's own count.
	sent int64
	// before and now are what the kernel said of this side's senders at the begin of the window and last; theirs is
	// the server's.
	before, now tcpSample
	sampled     bool
	theirs      tcpSample
	mostWindow  int64
	smoothed    []time.Duration // one an interval
}

// stream sends and receives on all connections until the server says that the window has ended.
func (c *client) stream(ctx context.Context, observer Observer) (record.Result, error) {
	p := c.options.Params
	var sockets []*socket
	for range p.dataConnections() {
		s, err := c.dialData(ctx)
		if err != nil {
			return record.Result{}, err
		}
		sockets = append(sockets, s)
	}
	f, err := newFlows(sockets, p, true)
	if err != nil {
		return record.Result{}, err
	}
	c.own(nil, func() { f.end(); f.stop() })
	state := &streamState{flows: f}
	threads := f.run()
	facts := localFacts()
	facts["wait"] = WaitBlock
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
		s.before, s.sampled = s.flows.sample()
		s.now = s.before
		s.first, s.start = s.flows.received(), nanotime()
		s.last, s.at = s.first, s.start
		if s.messages != nil {
			s.sent = s.messages.sent.Load()
		}
		return nil
	case kind == frameInterval && s.begun && !s.ended:
		var i streamInterval
		if err := decodePayload(payload, &i); err != nil {
			return err
		}
		if !i.sound() || s.seconds > maxIntervals {
			return errors.New("an interval of the server makes no sense")
		}
		s.seconds++
		return observer.Interval(s.interval(i, c.options.Params))
	case kind == frameEnd && s.begun && !s.ended:
		s.ended = true
		s.cpu, s.elapsed = s.account.elapsed()
		if s.messages != nil {
			s.sent = s.messages.sent.Load() - s.sent
		}
		s.waited = runDelay() // before the threads end
		if s.messages != nil {
			s.messages.stop()
		}
		for _, sender := range s.flows.senders[:min(1, len(s.flows.senders))] {
			include(facts, sender.socket.facts())
		}
		for _, receiver := range s.flows.receivers[:min(1, len(s.flows.receivers))] {
			include(facts, receiver.socket.facts())
		}
		s.flows.end()
		s.flows.stop()
		return c.frames.write(frameStop, nil)
	}
	return fmt.Errorf("the server sent a frame of kind %d where it does not belong", kind)
}

func include(facts, more map[string]string) {
	for k, v := range more {
		facts[k] = v
	}
}

// interval makes the record of one interval from what the server says and what this side has received and sent.
func (s *streamState) interval(i streamInterval, p Params) record.Interval {
	rate := func(bytes int64, over time.Duration) float64 { return float64(bytes) * 8 / over.Seconds() }
	line := record.Interval{Second: s.seconds, Start: i.Start.Seconds(), End: i.End.Seconds(), Bytes: i.Bytes,
		Goodput: rate(i.Bytes, i.End-i.Start)}
	if p.Mode == ModeMessages {
		line.Messages = i.Messages
		line.MessageRate = float64(i.Messages) / (i.End - i.Start).Seconds()
		return line
	}
	resent := i.Retransmits - s.theirs.retransmits
	s.theirs = tcpSample{retransmits: i.Retransmits, window: i.Window, smoothed: i.Smoothed}
	window, smoothed := i.Window, i.Smoothed
	if s.sampled {
		now, ok := s.flows.sample()
		resent += now.retransmits - s.now.retransmits
		window, smoothed = now.window, now.smoothed
		s.now, s.sampled = now, ok
	}
	line.Retransmits, line.CongestionWindow, line.SmoothedRTT = max(resent, 0), window, smoothed.Seconds()
	s.mostWindow = max(s.mostWindow, window)
	if smoothed > 0 {
		s.smoothed = append(s.smoothed, smoothed)
	}
	if len(s.flows.receivers) == 0 {
		return line
	}
	// Frames may come close behind each other: what came between them then belongs to the next interval.
	received, at := s.flows.received(), nanotime()
	if at <= s.at {
		return line
	}
	bytes, over := received-s.last, time.Duration(at-s.at)
	if p.direction() == Download {
		line.Start, line.End = time.Duration(s.at-s.start).Seconds(), time.Duration(at-s.start).Seconds()
		line.Bytes, line.Goodput = bytes, rate(bytes, over)
	} else {
		line.Upload, line.Download = line.Goodput, rate(bytes, over)
		line.Bytes, line.Goodput = line.Bytes+bytes, line.Upload+line.Download
	}
	s.last, s.at = received, at
	return line
}

func (c *client) streamResult(s *streamState, theirs report, facts map[string]string) (record.Result, error) {
	p := c.options.Params
	if !s.ended || theirs.Window <= 0 {
		return record.Result{}, errors.New("the server reported before the end of the window")
	}
	if err := s.flows.err(); err != nil {
		return record.Result{}, err
	}
	r := record.Result{
		Version: Version(), Mode: p.Mode, Protocol: p.Protocol, MessageBytes: p.Message, Duration: theirs.Window.Seconds(),
		ReportedAs: result.DefinitionRate, Definition: result.DefinitionRate, Facts: facts,
	}
	goodput := func(scope string, bytes int64, over time.Duration) float64 {
		v := float64(bytes) * 8 / over.Seconds()
		r.Metrics = append(r.Metrics, result.Metric{Name: result.Goodput, Unit: result.BitsPerSecond, Value: v, Scope: scope})
		return v
	}
	mine, over := s.last-s.first, time.Duration(s.at-s.start)
	var total float64
	switch down := p.direction(); {
	case down != Upload && (mine == 0 || over == 0), down != Download && theirs.Bytes == 0:
		return record.Result{}, errNothingReceived
	case down == Upload:
		total = goodput("", theirs.Bytes, theirs.Window)
	case down == Download:
		r.Duration = over.Seconds()
		total = goodput("", mine, over)
	default:
		up := goodput(Upload, theirs.Bytes, theirs.Window)
		total = up + goodput(Download, mine, over)
		r.Metrics = append(r.Metrics, result.Metric{Name: result.Goodput, Unit: result.BitsPerSecond, Value: total})
	}
	s.retransmits(&r, theirs, p)
	r.Metrics = append(r.Metrics, cpuMetrics(s.cpu, s.elapsed, theirs)...)
	r.Metrics = append(r.Metrics, cpuPerBit(s.cpu, s.elapsed, theirs, total)...)
	if p.direction() != Download {
		facts["server.bytes"] = strconv.FormatInt(theirs.Bytes, 10)
	}
	if p.direction() != Upload {
		facts["client.bytes"] = strconv.FormatInt(mine, 10)
	}
	facts["connections"] = strconv.Itoa(p.Connections)
	facts["direction"] = p.direction()
	if sends, completed, copied, ok := s.flows.zeroCopyFacts(); ok {
		zeroCopyFacts(facts, sends, completed, copied)
	}
	addClosingFacts(facts, theirs, s.waited)
	r.Notes = append(r.Notes, zeroCopyNotes(facts)...)
	return r, nil
}

// retransmits adds what was sent again within the window, and what TCP_INFO said at the intervals.
func (s *streamState) retransmits(r *record.Result, theirs report, p Params) {
	resent, known := int64(0), true
	if len(s.flows.senders) > 0 {
		resent, known = s.now.retransmits-s.before.retransmits, s.sampled
	}
	if p.direction() != Upload {
		resent, known = resent+theirs.Retransmits, known && theirs.Sampled
	}
	if !known {
		return
	}
	r.Metrics = append(r.Metrics, result.Metric{Name: result.Retransmits, Unit: result.One, Value: float64(resent)})
	if n := len(s.smoothed); n > 0 {
		var sum time.Duration
		for _, d := range s.smoothed {
			sum += d
		}
		r.Facts["smoothed_rtt_mean"] = (sum / time.Duration(n)).String()
		r.Facts["congestion_window_max"] = strconv.FormatInt(s.mostWindow, 10)
	}
}

// cpuPerBit gives the CPU time that each side, and both together, spent for each bit delivered, in seconds.
func cpuPerBit(cpu, elapsed time.Duration, theirs report, goodput float64) (m []result.Metric) {
	if goodput <= 0 {
		return nil
	}
	metric := func(scope string, cores float64) {
		m = append(m, result.Metric{Name: result.CPUPerBit, Unit: result.SecondsPerBit, Scope: scope, Value: cores / goodput})
	}
	var client, server float64
	if elapsed > 0 {
		client = cpu.Seconds() / elapsed.Seconds()
		metric("client", client)
	}
	if theirs.Elapsed > 0 {
		server = theirs.CPU.Seconds() / theirs.Elapsed.Seconds()
		metric("server", server)
	}
	if elapsed > 0 && theirs.Elapsed > 0 {
		metric("", client+server)
	}
	return m
}

func zeroCopyFacts(facts map[string]string, sends, completed, copied int64) {
	facts["zerocopy_sends"] = strconv.FormatInt(sends, 10)
	facts["zerocopy_completed"] = strconv.FormatInt(completed, 10)
	facts["zerocopy_copied"] = strconv.FormatInt(copied, 10)
}

// zeroCopyNotes says where the kernel copied what was sent without copying.
func zeroCopyNotes(facts map[string]string) (notes []string) {
	for _, side := range []struct{ name, prefix string }{{"client", ""}, {"server", "server."}} {
		copied, err := strconv.ParseInt(facts[side.prefix+"zerocopy_copied"], 10, 64)
		if err != nil || copied <= 0 {
			continue
		}
		notes = append(notes, fmt.Sprintf("zero-copy: the kernel copied the data of %d of the %s's %s sends all the same, as it does where the path stays on one machine or the device cannot gather.",
			copied, side.name, facts[side.prefix+"zerocopy_sends"]))
	}
	return notes
}
