// Package load offers requests at their intended times, whatever the replies do, and measures when the replies come.
package load

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/wire"
)

// drainTime is how long the client waits for replies after the window.
const drainTime = 5 * time.Second

// Measure offers the schedule and makes the result.
func Measure(ctx context.Context, c *session.Client, observer session.Observer) (record.Result, error) {
	p, schedule := c.Options.Params, c.Options.Load.Schedule
	t := &tally{start: int64(p.Warmup), end: int64(p.Length()), response: c.NewRecorder(),
		service: observe.NewHistogram(), lateness: observe.NewHistogram()}
	transport, err := open(ctx, c, t)
	if err != nil {
		return record.Result{}, err
	}
	defer transport.close()
	c.Files.Leftovers = transport.leftovers
	l := &loader{transport: transport, tally: t, pacer: schedule.After(p.Warmup).Pacer(), drain: int64(drainTime)}
	c.Own(nil, l.stop)
	facts := session.LocalFacts()
	session.Include(facts, c.Sockets[0].Facts())
	session.Include(facts, systemFacts())
	l.spin, facts["pacing"] = pacing(c, facts["cpus"])
	w, err := run(c, l, observer)
	if err != nil {
		return record.Result{}, err
	}
	return makeResult(c, l, w, facts)
}

// pacing decides how the sender waits, and describes it. If client and server share a single CPU, the sender does not
// spin, because that would take the CPU from the server.
func pacing(c *session.Client, cpus string) (int64, string) {
	spin := c.Options.Load.Spin
	switch {
	case c.Options.Params.WaitOrDefault() == wire.WaitSpin:
		return 0, "never sleeps"
	case cpus != "" && !strings.Contains(cpus, ",") && cpus == c.Ready.CPUs && c.Ready.Machine != "" &&
		c.Ready.Machine == process.Machine():
		return 0, "sleeps until each request is due: client and server share their one CPU"
	case spin == 0:
		return 0, "sleeps until each request is due"
	}
	return int64(spin), fmt.Sprintf("sleeps until %v before each request, then spins", spin)
}

// open opens the data connections.
func open(ctx context.Context, c *session.Client, t *tally) (transport, error) {
	p := c.Options.Params
	if p.Protocol == wire.UDP {
		sockets, err := c.OpenAll(p.Connections, func() (*sys.Socket, error) { return c.DialDatagrams(ctx) })
		if err != nil {
			return nil, err
		}
		if err := openUDP(ctx, c, sockets[0]); err != nil {
			return nil, err
		}
		return newOverUDP(t, sockets, c.Cookie, p.Request, p.Response, c.Options.Load.Schedule.MostRate())
	}
	sockets, err := c.OpenAll(p.Connections, func() (*sys.Socket, error) { return c.DialData(ctx) })
	if err != nil {
		return nil, err
	}
	return newOverTCP(t, sockets, p.Request, p.Response)
}

// openUDP repeats the opening datagram until the server answers it.
func openUDP(ctx context.Context, c *session.Client, s *sys.Socket) error {
	p := c.Options.Params
	if err := s.SetReceiveTimeout(openingTime); err != nil {
		return err
	}
	opening, reply := make([]byte, p.Request), make([]byte, p.Response+1)
	copy(opening, c.Cookie[:])
	for deadline := time.Now().Add(wire.HandshakeTime); time.Now().Before(deadline); {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n := s.Write(opening); n < 0 && !s.TimedOut() && !s.Refused() && !s.NoBuffers() {
			return fmt.Errorf("data socket: %w", s.Err())
		}
		if n := s.Read(reply); n == p.Response && wire.SameCookie(reply, opening) && wire.Sequence(reply) == 0 {
			return nil
		}
		if err := c.Reason(); err != nil {
			return err
		}
	}
	return fmt.Errorf("no reply from the server's UDP port %d within %v: is it open?", c.Server.Port(),
		wire.HandshakeTime)
}

// run starts the server, runs the hot loop, and returns the server's report.
func run(c *session.Client, l *loader, observer session.Observer) (wire.Report, error) {
	if err := c.Frames.Write(wire.KindStart, nil); err != nil {
		return wire.Report{}, c.Said("starting", err)
	}
	begun, began := make(chan struct{}), false
	server := c.Listen(func(kind wire.Kind) bool {
		if kind != wire.KindBegin || began {
			return false
		}
		began = true
		close(begun)
		return true
	})
	select {
	case <-begun:
	case <-server.Done:
		if server.Err == nil {
			server.Err = errors.New("the server reported before anything was measured")
		}
		return wire.Report{}, server.Err
	}
	done := process.OnThread(nil, l.run)
	if err := c.Watch(done, l.tally.response, namedObserver{observer}); err != nil {
		c.Interrupt(err)
		<-done
		return wire.Report{}, err
	}
	if l.failed {
		own := errors.New("the measurement was ended before its time")
		if !l.stopped.Load() {
			own = l.transport.err()
		}
		return wire.Report{}, c.WhyFailed(own, server)
	}
	if err := c.Frames.Write(wire.KindStop, nil); err != nil {
		return wire.Report{}, c.Said("ending", err)
	}
	<-server.Done
	return server.Report, server.Err
}

// namedObserver reports intervals under the name of what a load measures.
type namedObserver struct{ session.Observer }

// Interval passes the interval on.
func (o namedObserver) Interval(i record.Interval) error {
	i.Response = &record.Times{Mean: i.Mean, Min: i.Min, P50: i.P50, P99: i.P99, Max: i.Max}
	i.Mean, i.Min, i.P50, i.P99, i.Max = 0, 0, 0, 0, 0
	return o.Observer.Interval(i)
}

// makeResult makes the result.
func makeResult(c *session.Client, l *loader, theirs wire.Report, facts map[string]string) (record.Result, error) {
	p, t := c.Options.Params, l.tally
	response := t.response.Total
	offered := t.scheduled + l.pacer.Remaining(int64(p.Warmup))
	switch {
	case offered == 0:
		return record.Result{}, fmt.Errorf("the schedule has no request within %v: offer more, or for longer",
			p.Duration)
	case t.answered == 0 && t.completed == 0:
		return record.Result{}, fmt.Errorf("of %d requests none was answered within %v after the window", offered,
			time.Duration(l.ended-t.end))
	}
	var histogram []byte
	if t.answered > 0 { // or the backlog of the warm-up has taken all the time
		var err error
		if histogram, err = response.Encode(); err != nil {
			return record.Result{}, err
		}
	}
	c.Files.Others = map[string]observe.LogLine{result.ServiceTime: {Times: t.service, Start: t.start, End: l.ended}}
	// Requests without a reply waited at least from the end of the window to the end of the drain.
	unanswered := offered - t.answered
	if p.Protocol == wire.UDP {
		unanswered = offered - t.sent // what was sent and not answered is lost
	}
	r := record.Result{
		Version: process.Version(), Mode: p.Mode, Protocol: p.Protocol, MessageBytes: p.Request,
		Duration:   p.Duration.Seconds(),
		ReportedAs: result.DefinitionResponseTime, Definition: result.DefinitionResponseTime,
		Metrics: response.Censored(result.ResponseTime, unanswered, l.ended-t.end), Histogram: string(histogram),
		Facts: facts,
	}
	r.Metrics = append(r.Metrics, t.service.Metrics(result.ServiceTime)...)
	r.Metrics = append(r.Metrics,
		result.Metric{Name: result.TransactionRate, Unit: result.PerSecond,
			Value: float64(t.completed) / p.Duration.Seconds()},
		result.Metric{Name: result.OfferedRate, Unit: result.PerSecond, Value: float64(offered) / p.Duration.Seconds()},
		result.Metric{Name: result.Unanswered, Unit: result.One, Value: float64(unanswered)})
	r.Metrics = append(r.Metrics, t.lateness.Metrics(result.SendLateness)...)
	if u, ok := l.transport.(*overUDP); ok {
		u.counts.Sent, u.counts.Received = t.sent, t.answered
		m, err := u.counts.Metrics(theirs.Requests)
		if err != nil {
			return record.Result{}, err
		}
		r.Metrics = append(r.Metrics, m...)
		facts["reply_timeout"] = u.timeout(c.Options.Load.Schedule.MostRate()).String()
		facts["foreign"] = strconv.FormatInt(u.counts.Foreign, 10)
	}
	if unanswered > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d requests had no reply %v after the window: statistics of "+
			"response_time that they would change are left out; service_time covers the answered requests only.",
			unanswered, offered,
			time.Duration(l.ended-t.end).Round(time.Millisecond)))
	}
	r.Metrics = append(r.Metrics, session.CPUMetrics(l.cpu, l.elapsed, theirs)...)
	facts["connections"] = strconv.Itoa(p.Connections)
	facts["schedule"] = c.Options.Load.Schedule.String()
	facts["offered"], facts["sent"] = strconv.FormatInt(offered, 10), strconv.FormatInt(t.sent, 10)
	facts["answered"], facts["held_back"] = strconv.FormatInt(t.answered, 10), strconv.FormatInt(l.heldBack, 10)
	if err := c.CheckReport(theirs, session.Sent{}, wire.Interval{}); err != nil {
		return record.Result{}, err
	}
	facts["server.transactions"] = strconv.FormatInt(theirs.Transactions, 10)
	session.AddClosingFacts(facts, theirs, l.waited)
	r.Notes = append(r.Notes, session.BusyPollNotes(facts)...)
	return r, nil
}
