package rr

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// Measure measures rr or crr.
func Measure(ctx context.Context, c *session.Client, observer session.Observer) (record.Result, error) {
	// The client listens before the first transaction. Otherwise the transactions that open a session could wait
	// forever.
	server := c.Listen(func(wire.Kind) bool { return false })
	t, err := open(ctx, c)
	if err != nil {
		return record.Result{}, c.WhyFailed(err, server)
	}
	return run(c, t, server, observer)
}

// open opens the data connection, if the mode has one.
func open(ctx context.Context, c *session.Client) (transactor, error) {
	p := c.Options.Params
	switch {
	case p.Mode == wire.ModeCRR:
		if err := c.OpenData(ctx); err != nil {
			return nil, err
		}
		t := newCRRClient(sys.NewConnector(c.Server, p), p.Request, p.Response)
		c.Own(&t.socket, t.stop)
		return t, nil
	case p.Protocol == wire.UDP:
		u, err := openUDP(ctx, c)
		if err != nil || !p.Timestamps {
			return u, err
		}
		return newStampedUDP(u)
	}
	s, err := c.DialData(ctx)
	if err != nil {
		return nil, err
	}
	if p.Timestamps {
		return openStampedTCP(s, p)
	}
	return newTCPClient(s, p.Request, p.Response, p.Loop), nil
}

// openStampedTCP carries out the first transactions on a thread of their own: they wait in the kernel
// (process.OnThread).
func openStampedTCP(s *sys.Socket, p wire.Params) (t transactor, err error) {
	<-process.OnThread(nil, func() { t, err = newStampedTCP(s, p.Request, p.Response) })
	return t, err
}

// openUDP opens the data socket, and repeats the first datagram until the server answers.
func openUDP(ctx context.Context, c *session.Client) (*udpClient, error) {
	p := c.Options.Params
	s, err := c.DialDatagrams(ctx)
	if err != nil {
		return nil, err
	}
	timeout := replyTimeout(c.RoundTrip)
	if err := s.SetReceiveTimeout(timeout + timerSlack); err != nil {
		return nil, err
	}
	u := newUDPClient(s, c.Cookie, p.Request, p.Response, timeout)
	c.Own(nil, func() { u.stopped.Store(true); s.Interrupt() })
	for deadline := time.Now().Add(wire.HandshakeTime); !u.opened; {
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("no reply from the server's UDP port %d within %v: is it open?", c.Server.Port(),
				wire.HandshakeTime)
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if _, ok := u.run(nil, 0); !ok && !s.Refused() {
			return nil, u.err()
		}
	}
	return u, nil
}

// factLoop is the fact that names the loop of rr over TCP.
const factLoop = "loop"

// window is the result of the hot thread of rr and crr.
type window struct {
	start, end int64
	cpu        time.Duration
	elapsed    time.Duration
	waited     time.Duration
	err        error
}

// run runs warm-up and window of rr or crr on a thread of its own, and makes the result.
func run(c *session.Client, t transactor, server *session.Listening, observer session.Observer) (record.Result, error) {
	p := c.Options.Params
	rec := c.NewRecorder()
	facts := session.LocalFacts()
	if len(c.Sockets) > 0 && p.Mode == wire.ModeRR {
		session.Include(facts, c.Sockets[0].Facts())
	} else {
		session.Include(facts, c.Tried) // the connections of crr are all made alike
	}
	var w window
	var only func()
	if len(c.Sockets) == 1 && p.Mode == wire.ModeRR {
		only = c.Sockets[0].Close
	}
	done := process.OnThread(only, func() { w = runWindow(t, rec, p) })
	if err := c.Watch(done, rec, observer); err != nil {
		c.Interrupt(err)
		<-done
		return record.Result{}, err
	}
	if w.err != nil {
		return record.Result{}, c.WhyFailed(w.err, server)
	}
	if err := c.Frames.Write(wire.KindStop, nil); err != nil {
		return record.Result{}, c.Said("ending", err)
	}
	<-server.Done
	if server.Err != nil {
		return record.Result{}, server.Err
	}
	return makeResult(c, t, rec, w, server.Report, facts)
}

// runWindow is the hot thread's work: the warm-up, and then one interval after the other. Between two intervals it
// closes the record of the first one. The next one's time begins after that.
func runWindow(t transactor, rec *observe.Recorder, p wire.Params) (w window) {
	if p.Warmup > 0 {
		if _, ok := t.run(nil, timing.Now()+int64(p.Warmup)); !ok {
			return window{err: t.err()}
		}
	}
	account := process.StartAccount()
	w.start = timing.Now()
	rec.Begin(w.start)
	until := w.start + int64(p.Duration)
	from, next := w.start, w.start
	for from < until {
		for next <= from { // more than once after a stall
			next += rec.Length
		}
		end, ok := t.run(rec.Current, min(next, until))
		if !ok {
			w.err = t.err()
			return w
		}
		rec.CloseInterval(from, end)
		w.end, from = end, end
	}
	w.cpu, w.elapsed = account.Elapsed()
	if f, ok := t.(finisher); ok && !f.finish() {
		w.err = t.err()
	}
	w.waited = process.RunDelay()
	return w
}

// makeResult makes the result of rr and crr.
func makeResult(c *session.Client, t transactor, rec *observe.Recorder, w window, theirs wire.Report,
	facts map[string]string) (record.Result, error) {
	p := c.Options.Params
	length := float64(w.end-w.start) / 1e9
	if err := session.CheckWindow(p.Duration, time.Duration(w.end-w.start), rec.Total.Count(),
		"transactions were completed"); err != nil {
		return record.Result{}, err
	}
	histogram, err := rec.Total.Encode()
	if err != nil {
		return record.Result{}, err
	}
	r := record.Result{
		Version: process.Version(), Mode: p.Mode, Protocol: p.Protocol, MessageBytes: p.Request, Duration: length,
		ReportedAs: result.DefinitionRTT, Definition: result.DefinitionRTT,
		Metrics:   rec.Total.Metrics(result.RTT),
		Histogram: string(histogram), Facts: facts,
	}
	r.Metrics = append(r.Metrics, result.Metric{Name: result.TransactionRate, Unit: result.PerSecond,
		Value: float64(rec.Total.Count()) / length})
	if s, ok := t.(*stampedClient); ok {
		s.into(&r, rec.Total)
		if u, ok := s.exchanger.(*udpClient); ok {
			t = u
		}
	}
	if p.Mode == wire.ModeRR && p.Protocol == wire.TCP {
		facts[factLoop] = wire.LoopGo
	}
	switch t := t.(type) {
	case *tcpClient:
		facts[factLoop] = loopName(t.assembly)
		facts["clock"] = t.clock.Name()
	case *crrClient:
		facts["clock"] = t.clock.Name()
		r.Metrics = append(r.Metrics, t.connects.Metrics(result.ConnectTime)...)
		r.Notes = append(r.Notes, "rtt is the time of a whole transaction: socket, connect, request, response, the "+
			"server's close, and close.")
	case *udpClient:
		m, err := t.counts.Metrics(theirs.Requests)
		if err != nil {
			return record.Result{}, err
		}
		r.Metrics = append(r.Metrics, m...)
		facts["reply_timeout"] = time.Duration(t.timeout).String()
		facts["foreign"] = strconv.FormatInt(t.counts.Foreign, 10)
	}
	r.Metrics = append(r.Metrics, session.CPUMetrics(w.cpu, w.elapsed, theirs)...)
	if err := c.CheckReport(theirs, session.Sent{}, wire.Interval{}); err != nil {
		return record.Result{}, err
	}
	facts["server.transactions"] = strconv.FormatInt(theirs.Transactions, 10)
	if p.WaitOrDefault() == wire.WaitBusyPoll || p.WaitOrDefault() == wire.WaitEpoll {
		session.Include(facts, c.Sockets[0].Facts()) // the device's queue is known once something has come
	}
	session.AddClosingFacts(facts, theirs, w.waited)
	r.Notes = append(r.Notes, session.BusyPollNotes(facts)...)
	return r, nil
}
