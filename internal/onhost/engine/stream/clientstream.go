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

// state is what the client knows of a stream, or of one-way messages, while it listens to the server. The server says
// when the window and its intervals begin and end. Each side counts what it received on its own clock.
type state struct {
	flows    flows
	messages *messageSender // of messages, in place of flows
	account  process.Account
	begun    bool
	ended    bool
	seconds  int
	// latest is the server's latest interval, and sums are the sums of all of them, with the end of the latest.
	latest, sums wire.Interval
	cpu          time.Duration
	elapsed      time.Duration
	waited       time.Duration
	// window is how long the window was on this side's clock.
	window time.Duration
	// What this side has received: first and start at the beginning of the window, last and at at the last interval.
	first, last int64
	start, at   int64
	// wall is the beginning of the window by the wall clock.
	wall time.Time
	// sent is how many messages this side sent in the window.
	sent int64
	// before and now are the kernel's figures of this side's senders: at the beginning of the window, and the latest.
	// theirs are the server's.
	before, now sys.TCPSample
	sampled     bool
	theirs      sys.TCPSample
	mostWindow  int64
	smoothed    []time.Duration // one an interval
}

// Measure sends and receives on all connections until the server says that the window has ended.
func Measure(ctx context.Context, c *session.Client, observer session.Observer) (record.Result, error) {
	p := c.Options.Params
	var sockets []*sys.Socket
	for range p.DataConnections() {
		s, err := c.DialData(ctx)
		if err != nil {
			return record.Result{}, err
		}
		sockets = append(sockets, s)
	}
	f, err := newFlows(sockets, p, true)
	if err != nil {
		return record.Result{}, err
	}
	c.Own(nil, func() { f.end(); f.stop() })
	state := &state{flows: f}
	threads := f.run()
	facts := session.LocalFacts()
	facts["wait"] = wire.WaitBlock
	if err := c.Frames.Write(wire.KindStart, nil); err != nil {
		c.Interrupt(err)
		process.Wait(threads)
		return record.Result{}, c.Said("starting", err)
	}
	theirs, err := c.Incoming(func(kind wire.Kind, payload []byte) error {
		return frame(c, state, kind, payload, facts, observer)
	})
	c.Interrupt(errors.New("ended"))
	process.Wait(threads)
	if err != nil {
		return record.Result{}, err
	}
	return makeResult(c, state, theirs, facts)
}

// frame handles one frame of the server: begin, interval, end.
func frame(c *session.Client, s *state, kind wire.Kind, payload []byte, facts map[string]string,
	observer session.Observer) error {
	switch {
	case kind == wire.KindBegin && !s.begun:
		s.begun = true
		s.account = process.StartAccount()
		s.before, s.sampled = s.flows.sample()
		s.now = s.before
		s.first, s.start, s.wall = s.flows.received(), timing.Now(), time.Now()
		s.last, s.at = s.first, s.start
		if s.messages != nil {
			s.sent = s.messages.sent.Load()
		}
		return nil
	case kind == wire.KindInterval && s.begun && !s.ended:
		var i wire.Interval
		if err := wire.DecodePayload(payload, &i); err != nil {
			return err
		}
		if err := c.CheckInterval(i, s.latest); err != nil {
			return err
		}
		if s.seconds > wire.MaxIntervals {
			return errors.New("the server sends more intervals than there are")
		}
		s.seconds++
		s.latest, s.sums.End = i, i.End
		s.sums.Bytes, s.sums.Messages = s.sums.Bytes+i.Bytes, s.sums.Messages+i.Messages
		if s.sums.Bytes < 0 || s.sums.Messages < 0 {
			return errors.New("the server reports more bytes than can be counted")
		}
		line := s.interval(i, c.Options.Params)
		if !s.wall.IsZero() {
			line.EndUnix = float64(s.wall.UnixMicro())/1e6 + line.End
		}
		return observer.Interval(line)
	case kind == wire.KindEnd && s.begun && !s.ended:
		s.ended = true
		s.cpu, s.elapsed = s.account.Elapsed()
		s.window = time.Duration(timing.Now() - s.start)
		if s.messages != nil {
			s.sent = s.messages.sent.Load() - s.sent
		}
		s.waited = process.RunDelay() // before the threads end
		if s.messages != nil {
			s.messages.stop()
		}
		for _, sender := range s.flows.senders[:min(1, len(s.flows.senders))] {
			session.Include(facts, sender.socket.Facts())
		}
		for _, receiver := range s.flows.receivers[:min(1, len(s.flows.receivers))] {
			session.Include(facts, receiver.socket.Facts())
		}
		s.flows.end()
		s.flows.stop()
		return c.Frames.Write(wire.KindStop, nil)
	}
	return fmt.Errorf("the server sent a frame of kind %d where it does not belong", kind)
}

// interval makes the record of one interval from the server's figures and this side's.
func (s *state) interval(i wire.Interval, p wire.Params) record.Interval {
	rate := func(bytes int64, over time.Duration) float64 { return float64(bytes) * 8 / over.Seconds() }
	line := record.Interval{Second: s.seconds, Start: i.Start.Seconds(), End: i.End.Seconds(), Bytes: i.Bytes,
		Goodput: rate(i.Bytes, i.End-i.Start)}
	if p.Mode == wire.ModeMessages {
		line.Messages = i.Messages
		line.MessageRate = float64(i.Messages) / (i.End - i.Start).Seconds()
		return line
	}
	resent := i.Retransmits - s.theirs.Retransmits
	s.theirs = sys.TCPSample{Retransmits: i.Retransmits, Window: i.Window, Smoothed: i.Smoothed}
	window, smoothed := i.Window, i.Smoothed
	if s.sampled {
		now, ok := s.flows.sample()
		resent += now.Retransmits - s.now.Retransmits
		window, smoothed = now.Window, now.Smoothed
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
	// Two frames may come shortly one after the other. The bytes between them then count for the next interval.
	received, at := s.flows.received(), timing.Now()
	if at <= s.at {
		return line
	}
	bytes, over := received-s.last, time.Duration(at-s.at)
	if p.DirectionOrDefault() == wire.Download {
		line.Start, line.End = time.Duration(s.at-s.start).Seconds(), time.Duration(at-s.start).Seconds()
		line.Bytes, line.Goodput = bytes, rate(bytes, over)
	} else {
		line.Upload, line.Download = line.Goodput, rate(bytes, over)
		line.Bytes, line.Goodput = line.Bytes+bytes, line.Upload+line.Download
	}
	s.last, s.at = received, at
	return line
}

func makeResult(c *session.Client, s *state, theirs wire.Report, facts map[string]string) (record.Result, error) {
	p := c.Options.Params
	if !s.ended || theirs.Window <= 0 {
		return record.Result{}, errors.New("the server reported before the end of the window")
	}
	if err := s.flows.err(); err != nil {
		return record.Result{}, err
	}
	if err := c.CheckReport(theirs, session.Sent{Bytes: s.flows.sent()},
		s.sums); err != nil {
		return record.Result{}, err
	}
	mine, over := s.last-s.first, time.Duration(s.at-s.start)
	if err := s.checkWindows(p, theirs.Bytes, mine, over); err != nil {
		return record.Result{}, err
	}
	r := record.Result{
		Version: process.Version(), Mode: p.Mode, Protocol: p.Protocol, MessageBytes: p.Message,
		Duration:   theirs.Window.Seconds(),
		ReportedAs: result.DefinitionRate, Definition: result.DefinitionRate, Facts: facts,
	}
	goodput := func(scope string, bytes int64, over time.Duration) float64 {
		v := float64(bytes) * 8 / over.Seconds()
		r.Metrics = append(r.Metrics, result.Metric{Name: result.Goodput, Unit: result.BitsPerSecond, Value: v,
			Scope: scope})
		return v
	}
	var total float64
	switch p.DirectionOrDefault() {
	case wire.Upload:
		total = goodput("", theirs.Bytes, theirs.Window)
	case wire.Download:
		r.Duration = over.Seconds()
		total = goodput("", mine, over)
	default:
		up := goodput(wire.Upload, theirs.Bytes, theirs.Window)
		total = up + goodput(wire.Download, mine, over)
		r.Metrics = append(r.Metrics, result.Metric{Name: result.Goodput, Unit: result.BitsPerSecond, Value: total})
	}
	s.retransmits(&r, theirs, p)
	r.Metrics = append(r.Metrics, session.CPUMetrics(s.cpu, s.elapsed, theirs)...)
	r.Metrics = append(r.Metrics, session.CPUPerBit(s.cpu, s.elapsed, theirs, total)...)
	if p.DirectionOrDefault() != wire.Download {
		facts["server.bytes"] = strconv.FormatInt(theirs.Bytes, 10)
	}
	if p.DirectionOrDefault() != wire.Upload {
		facts["client.bytes"] = strconv.FormatInt(mine, 10)
	}
	facts["connections"] = strconv.Itoa(p.Connections)
	facts["direction"] = p.DirectionOrDefault()
	if sends, completed, copied, ok := s.flows.zeroCopyFacts(); ok {
		zeroCopyFacts(facts, sends, completed, copied)
	}
	session.AddClosingFacts(facts, theirs, s.waited)
	r.Notes = append(r.Notes, zeroCopyNotes(facts)...)
	return r, nil
}

// checkWindows says why the window gives no figure, in one of the directions. up is what the server received; down is
// what this side received, in a window of its own.
func (s *state) checkWindows(p wire.Params, up, down int64, over time.Duration) error {
	const counted = "bytes were received"
	if p.DirectionOrDefault() != wire.Download {
		if err := session.CheckWindow(p.Duration, s.window, up, counted); err != nil {
			return err
		}
	}
	if p.DirectionOrDefault() != wire.Upload {
		return session.CheckWindow(p.Duration, over, down, counted)
	}
	return nil
}

// retransmits adds how many segments were sent again within the window, and what TCP_INFO said at the intervals.
func (s *state) retransmits(r *record.Result, theirs wire.Report, p wire.Params) {
	resent, known := int64(0), true
	if len(s.flows.senders) > 0 {
		resent, known = s.now.Retransmits-s.before.Retransmits, s.sampled
	}
	if p.DirectionOrDefault() != wire.Upload {
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

func zeroCopyFacts(facts map[string]string, sends, completed, copied int64) {
	facts["zerocopy_sends"] = strconv.FormatInt(sends, 10)
	facts["zerocopy_completed"] = strconv.FormatInt(completed, 10)
	facts["zerocopy_copied"] = strconv.FormatInt(copied, 10)
}

// zeroCopyNotes says where the kernel copied data despite zero-copy.
func zeroCopyNotes(facts map[string]string) (notes []string) {
	for _, side := range []struct{ name, prefix string }{{"client", ""}, {"server", "server."}} {
		copied, err := strconv.ParseInt(facts[side.prefix+"zerocopy_copied"], 10, 64)
		if err != nil || copied <= 0 {
			continue
		}
		notes = append(notes, fmt.Sprintf("zero-copy: the kernel copied the data of %d of the %s's %s sends all the "+
			"same, as it does where the path stays on one machine or the device cannot gather.",
			copied, side.name, facts[side.prefix+"zerocopy_sends"]))
	}
	return notes
}
