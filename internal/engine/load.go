package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"nearfar/internal/engine/record"
	"nearfar/internal/result"
)

// Open-loop load: requests leave at their intended times, whatever the replies do.

// loadDrain is how long replies to the window's requests are waited for after it.
const loadDrain = 5 * time.Second

// maxSpin bounds it.
const maxSpin = time.Second

// dialersAtOnce is how many connections of a load are opened side by side.
const dialersAtOnce = 128

// Load says what a load offers. It is the client's alone.
type Load struct {
	// Schedule is as long as the window. Its first rate is offered in the warm-up too.
	Schedule Schedule
	// Spin is how long before a request is due the sender stops sleeping and asks again and again what has come; 0 for
	// sleeping until it is due.
	Spin time.Duration
}

// Validate says what cannot be in a session of the parameters, and what would be right.
func (l Load) Validate(p Params) error {
	if p.Mode != ModeLoad {
		if len(l.Schedule.Steps) > 0 {
			return fmt.Errorf("%s has no schedule; %s has", p.Mode, ModeLoad)
		}
		return nil
	}
	if err := l.Schedule.Validate(); err != nil {
		return err
	}
	if length := l.Schedule.Length(); length != p.Duration {
		return fmt.Errorf("the steps take %v together, and the window %v: they must be equal", length, p.Duration)
	}
	if l.Spin < 0 || l.Spin > maxSpin {
		return fmt.Errorf("spinning for %v: must be from 0 to %v", l.Spin, maxSpin)
	}
	return nil
}

// hotThreads is how many threads of a session are blocked in the kernel: one for each connection, but for load, where one
// serves all.
func (p Params) hotThreads() int {
	if p.Mode == ModeLoad {
		return 1
	}
	return p.dataConnections()
}

// load offers the schedule and makes the result.
func (c *client) load(ctx context.Context, observer Observer) (record.Result, error) {
	p, schedule := c.options.Params, c.options.Load.Schedule
	t := &tally{start: int64(p.Warmup), end: int64(p.length()), response: c.newRecorder(), service: NewHistogram(), lateness: NewHistogram()}
	transport, err := c.loadTransport(ctx, t)
	if err != nil {
		return record.Result{}, err
	}
	defer transport.close()
	c.files.leftovers = transport.leftovers
	l := &loader{transport: transport, tally: t, pacer: schedule.after(p.Warmup).Pacer(), drain: int64(loadDrain)}
	c.own(nil, l.stop)
	facts := localFacts()
	include(facts, c.sockets[0].facts())
	include(facts, loadFacts())
	l.spin, facts["pacing"] = c.pacing(facts["cpus"])
	w, err := c.runLoad(l, observer)
	if err != nil {
		return record.Result{}, err
	}
	return c.loadResult(l, w, facts)
}

// pacing decides how the sender waits, and says it. Where client and server have one and the same CPU, spinning would take
// it from the server.
func (c *client) pacing(cpus string) (int64, string) {
	spin := c.options.Load.Spin
	switch {
	case c.options.Params.waiting() == WaitSpin:
		return 0, "never sleeps"
	case cpus != "" && !strings.Contains(cpus, ",") && cpus == c.ready.CPUs && c.ready.Machine != "" && c.ready.Machine == machine():
		return 0, "sleeps until each request is due: client and server share their one CPU"
	case spin == 0:
		return 0, "sleeps until each request is due"
	}
	return int64(spin), fmt.Sprintf("sleeps until %v before each request, then spins", spin)
}

// loadTransport opens the data connections.
func (c *client) loadTransport(ctx context.Context, t *tally) (transport, error) {
	p := c.options.Params
	if p.Protocol == UDP {
		sockets, err := c.openAll(p.Connections, func() (*socket, error) { return c.dialDatagrams(ctx) })
		if err != nil {
			return nil, err
		}
		if err := c.openLoad(ctx, sockets[0]); err != nil {
			return nil, err
		}
		return newUDPLoad(t, sockets, c.cookie, p.Request, p.Response, c.options.Load.Schedule.mostRate())
	}
	sockets, err := c.openAll(p.Connections, func() (*socket, error) { return c.dialData(ctx) })
	if err != nil {
		return nil, err
	}
	return newTCPLoad(t, sockets, p.Request, p.Response)
}

// openAll opens n connections, some side by side: a thousand round trips one after the other take too long.
func (c *client) openAll(n int, open func() (*socket, error)) ([]*socket, error) {
	sockets, errs := make([]*socket, n), make([]error, n)
	places := make(chan struct{}, dialersAtOnce)
	var all sync.WaitGroup
	for i := range n {
		places <- struct{}{}
		all.Go(func() {
			sockets[i], errs[i] = open()
			<-places
		})
	}
	all.Wait()
	return sockets, errors.Join(errs[:min(n, 3)]...) // the first few say it all
}

// dialDatagrams opens one UDP data socket.
func (c *client) dialDatagrams(ctx context.Context) (*socket, error) {
	d := net.Dialer{Control: c.options.Params.control}
	conn, err := d.DialContext(ctx, "udp", c.server.String())
	if err != nil {
		return nil, fmt.Errorf("opening the data socket: %w", err)
	}
	return c.adopt(conn)
}

// openLoad repeats the opening datagram until the server answers it.
func (c *client) openLoad(ctx context.Context, s *socket) error {
	p := c.options.Params
	if err := s.setReceiveTimeout(openingTime); err != nil {
		return err
	}
	opening, reply := make([]byte, p.Request), make([]byte, p.Response+1)
	copy(opening, c.cookie[:])
	for deadline := time.Now().Add(handshakeTime); time.Now().Before(deadline); {
		if err := ctx.Err(); err != nil {
			return err
		}
		if n := s.write(opening); n < 0 && !s.timedOut() && !s.refused() && !s.noBuffers() {
			return fmt.Errorf("data socket: %w", s.err())
		}
		if n := s.read(reply); n == p.Response && sameCookie(reply, opening) && sequenceOf(reply) == 0 {
			return nil
		}
		if err := c.reason(); err != nil {
			return err
		}
	}
	return fmt.Errorf("no reply from the server's UDP port %d within %v: is it open?", c.server.Port(), handshakeTime)
}

// runLoad lets the server begin, runs the hot loop, and returns what the server saw.
func (c *client) runLoad(l *loader, observer Observer) (report, error) {
	if err := c.frames.write(frameStart, nil); err != nil {
		return report{}, c.said("starting", err)
	}
	begun, began := make(chan struct{}), false
	server := c.listen(func(kind frameKind) bool {
		if kind != frameBegin || began {
			return false
		}
		began = true
		close(begun)
		return true
	})
	select {
	case <-begun:
	case <-server.done:
		if server.err == nil {
			server.err = errors.New("the server reported before anything was measured")
		}
		return report{}, server.err
	}
	done := onThread(nil, l.run)
	if err := c.watch(done, l.tally.response, loadObserver{observer}); err != nil {
		c.interrupt(err)
		<-done
		return report{}, err
	}
	if l.failed {
		own := errors.New("the measurement was ended before its time")
		if !l.stopped.Load() {
			own = l.transport.err()
		}
		return report{}, c.whyFailed(own, server)
	}
	if err := c.frames.write(frameStop, nil); err != nil {
		return report{}, c.said("ending", err)
	}
	<-server.done
	return server.report, server.err
}

// loadObserver tells of intervals under the name of what a load measures.
type loadObserver struct{ Observer }

// Interval passes the interval on.
func (o loadObserver) Interval(i record.Interval) error {
	i.Response = &record.Times{Mean: i.Mean, Min: i.Min, P50: i.P50, P99: i.P99, Max: i.Max}
	i.Mean, i.Min, i.P50, i.P99, i.Max = 0, 0, 0, 0, 0
	return o.Observer.Interval(i)
}

// loadResult makes the result.
func (c *client) loadResult(l *loader, theirs report, facts map[string]string) (record.Result, error) {
	p, t := c.options.Params, l.tally
	response := t.response.total
	offered := t.scheduled + l.pacer.Remaining(int64(p.Warmup))
	switch {
	case offered == 0:
		return record.Result{}, fmt.Errorf("the schedule has no request within %v: offer more, or for longer", p.Duration)
	case t.answered == 0 && t.completed == 0:
		return record.Result{}, fmt.Errorf("of %d requests none was answered within %v after the window", offered, time.Duration(l.ended-t.end))
	}
	var histogram []byte
	if t.answered > 0 { // or the backlog of the warm-up has taken all the time
		var err error
		if histogram, err = response.Encode(); err != nil {
			return record.Result{}, err
		}
	}
	c.files.others = map[string]histogramLine{result.ServiceTime: {h: t.service, start: t.start, end: l.ended}}
	// What was never answered waited at least from the end of the window to the end of the drain.
	unanswered := offered - t.answered
	if p.Protocol == UDP {
		unanswered = offered - t.sent // what was sent and not answered is lost
	}
	r := record.Result{
		Version: Version(), Mode: p.Mode, Protocol: p.Protocol, MessageBytes: p.Request, Duration: p.Duration.Seconds(),
		ReportedAs: result.DefinitionResponseTime, Definition: result.DefinitionResponseTime,
		Metrics: response.censored(result.ResponseTime, unanswered, l.ended-t.end), Histogram: string(histogram), Facts: facts,
	}
	r.Metrics = append(r.Metrics, t.service.metrics(result.ServiceTime)...)
	r.Metrics = append(r.Metrics,
		result.Metric{Name: result.TransactionRate, Unit: result.PerSecond, Value: float64(t.completed) / p.Duration.Seconds()},
		result.Metric{Name: result.OfferedRate, Unit: result.PerSecond, Value: float64(offered) / p.Duration.Seconds()},
		result.Metric{Name: result.Unanswered, Unit: result.One, Value: float64(unanswered)})
	r.Metrics = append(r.Metrics, t.lateness.metrics(result.SendLateness)...)
	if u, ok := l.transport.(*udpLoad); ok {
		u.counts.sent, u.counts.received = t.sent, t.answered
		m, err := u.counts.metrics(theirs.Requests)
		if err != nil {
			return record.Result{}, err
		}
		r.Metrics = append(r.Metrics, m...)
		facts["reply_timeout"] = u.timeout(c.options.Load.Schedule.mostRate()).String()
		facts["foreign"] = strconv.FormatInt(u.counts.foreign, 10)
	}
	if unanswered > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d requests had no reply %v after the window: statistics of response_time that they would change "+
			"are left out; service_time is that of the answered ones.", unanswered, offered, time.Duration(l.ended-t.end).Round(time.Millisecond)))
	}
	r.Metrics = append(r.Metrics, cpuMetrics(l.cpu, l.elapsed, theirs)...)
	facts["connections"] = strconv.Itoa(p.Connections)
	facts["schedule"] = c.options.Load.Schedule.String()
	facts["offered"], facts["sent"] = strconv.FormatInt(offered, 10), strconv.FormatInt(t.sent, 10)
	facts["answered"], facts["held_back"] = strconv.FormatInt(t.answered, 10), strconv.FormatInt(l.heldBack, 10)
	facts["server.transactions"] = strconv.FormatInt(theirs.Transactions, 10)
	addClosingFacts(facts, theirs, l.waited)
	r.Notes = append(r.Notes, busyPollNotes(facts)...)
	return r, nil
}

// censored gives the statistics of the recorded times together with more that are missing, of which it is only known that
// each is at least so many nanoseconds. What the missing ones could change is left out.
func (h *Histogram) censored(name string, missing, least int64) []result.Metric {
	if missing == 0 {
		return h.metrics(name)
	}
	var kept []result.Metric
	if h.count == 0 {
		return nil
	}
	for _, m := range h.metrics(name) {
		if m.Stat == result.Min && h.min <= least {
			kept = append(kept, m)
		}
	}
	all := h.count + missing
	for _, p := range percentiles() {
		rank := int64(math.Ceil(p/100*float64(all) - 1e-9))
		if rank > h.count || !result.SupportsPercentile(all, p) {
			break
		}
		if v := h.atRank(rank); v <= least {
			kept = append(kept, result.Metric{Name: name, Stat: result.PercentileStat(p), Unit: result.Seconds, Value: float64(v) / 1e9})
		}
	}
	return kept
}
