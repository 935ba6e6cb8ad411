package engine

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"nearfar/internal/engine/record"
	"nearfar/internal/result"
)

// window is what the hot thread of rr and crr leaves behind.
type window struct {
	start, end int64
	cpu        time.Duration
	elapsed    time.Duration
	waited     time.Duration
	err        error
}

// listening is what the server says of a session of rr, crr or load: done is closed once report or err is there.
type listening struct {
	done   chan struct{}
	report report
	err    error
}

// listen reads what the server says until its report has come or the session is lost. The sockets are then interrupted.
// expected says of each frame before the report whether it belongs there.
func (c *client) listen(expected func(frameKind) bool) *listening {
	l := &listening{done: make(chan struct{})}
	go func() {
		defer close(l.done)
		l.report, l.err = c.incoming(func(kind frameKind, _ []byte) error {
			if expected(kind) {
				return nil
			}
			return fmt.Errorf("the server sent a frame of kind %d in the middle of %s", kind, c.options.Params.Mode)
		})
	}()
	return l
}

// transactions runs warm-up and window of rr or crr on a thread of its own, and makes the result.
func (c *client) transactions(t transactor, server *listening, observer Observer) (record.Result, error) {
	p := c.options.Params
	rec := c.newRecorder()
	facts := localFacts()
	if len(c.sockets) > 0 && p.Mode == ModeRR {
		include(facts, c.sockets[0].facts())
	} else {
		include(facts, c.tried) // the connections of crr are all made alike
	}
	var w window
	var only *socket
	if len(c.sockets) == 1 && p.Mode == ModeRR {
		only = c.sockets[0]
	}
	done := onThread(only, func() { w = runWindow(t, rec, p) })
	if err := c.watch(done, rec, observer); err != nil {
		c.interrupt(err)
		<-done
		return record.Result{}, err
	}
	if w.err != nil {
		return record.Result{}, c.whyFailed(w.err, server)
	}
	if err := c.frames.write(frameStop, nil); err != nil {
		return record.Result{}, c.said("ending", err)
	}
	<-server.done
	if server.err != nil {
		return record.Result{}, server.err
	}
	return c.transactionResult(t, rec, w, server.report, facts)
}

// whyFailed finds the reason of a hot thread's failure: that for which it was interrupted, or what the server says within
// a moment, or else the thread's own error.
func (c *client) whyFailed(own error, server *listening) error {
	if reason := c.reason(); reason != nil {
		return reason
	}
	if err := c.control.SetReadDeadline(time.Now().Add(500 * time.Millisecond)); err != nil {
		return own
	}
	<-server.done
	var said *peerError
	if errors.As(server.err, &said) {
		return server.err
	}
	return own
}

// runWindow is what the hot thread does: warm-up, and then one interval after the other. Between two intervals it closes
// the record of the first; the clock of the next starts after that.
func runWindow(t transactor, rec *recorder, p Params) (w window) {
	if p.Warmup > 0 {
		if _, ok := t.run(nil, nanotime()+int64(p.Warmup)); !ok {
			return window{err: t.err()}
		}
	}
	account := startAccount()
	w.start = nanotime()
	rec.begin(w.start)
	until := w.start + int64(p.Duration)
	from, next := w.start, w.start
	for from < until {
		for next <= from { // more than once after a stall
			next += rec.length
		}
		end, ok := t.run(rec.current, min(next, until))
		if !ok {
			w.err = t.err()
			return w
		}
		rec.closeInterval(from, end)
		w.end, from = end, end
	}
	w.cpu, w.elapsed = account.elapsed()
	if f, ok := t.(finisher); ok && !f.finish() {
		w.err = t.err()
	}
	w.waited = runDelay()
	return w
}

// watch tells the observer of the intervals until the hot thread is done.
func (c *client) watch(done <-chan struct{}, rec *recorder, observer Observer) error {
	told := 0
	tell := func() error {
		for _, i := range rec.since(told) {
			told++
			if err := observer.Interval(intervalLine(told, i, rec.slots[0].start)); err != nil {
				return err
			}
		}
		return nil
	}
	if !c.options.Live {
		<-done
		return tell()
	}
	// Often enough that a line comes soon after its interval ends.
	timer := time.NewTicker(time.Duration(rec.length) / 4)
	defer timer.Stop()
	for {
		select {
		case <-done:
			return tell()
		case <-timer.C:
			if err := tell(); err != nil {
				return err
			}
		}
	}
}

func intervalLine(number int, i interval, zero int64) record.Interval {
	seconds := func(ns int64) float64 { return float64(ns) / 1e9 }
	if i.count == 0 {
		return record.Interval{Second: number, Start: seconds(i.start - zero), End: seconds(i.end - zero)}
	}
	return record.Interval{
		Second: number, Start: seconds(i.start - zero), End: seconds(i.end - zero), Count: i.count,
		Rate: float64(i.count) / seconds(i.end-i.start), Mean: seconds(i.sum) / float64(i.count),
		Min: seconds(i.min), P50: seconds(i.p50), P99: seconds(i.p99), Max: seconds(i.max),
	}
}

// transactionResult makes the result of rr and crr.
func (c *client) transactionResult(t transactor, rec *recorder, w window, theirs report, facts map[string]string) (record.Result, error) {
	p := c.options.Params
	length := float64(w.end-w.start) / 1e9
	if rec.total.Count() == 0 {
		return record.Result{}, fmt.Errorf("no transaction was completed within %v", p.Duration)
	}
	histogram, err := rec.total.Encode()
	if err != nil {
		return record.Result{}, err
	}
	r := record.Result{
		Version: Version(), Mode: p.Mode, Protocol: p.Protocol, MessageBytes: p.Request, Duration: length,
		ReportedAs: result.DefinitionRTT, Definition: result.DefinitionRTT,
		Metrics:   rec.total.metrics(result.RTT),
		Histogram: string(histogram), Facts: facts,
	}
	r.Metrics = append(r.Metrics, result.Metric{Name: result.TransactionRate, Unit: result.PerSecond, Value: float64(rec.total.Count()) / length})
	if s, ok := t.(*stampedClient); ok {
		s.into(&r, rec.total)
		if u, ok := s.exchanger.(*udpClient); ok {
			t = u
		}
	}
	switch t := t.(type) {
	case *rrClient:
		facts["clock"] = t.clock.name()
	case *crrClient:
		facts["clock"] = t.clock.name()
		r.Metrics = append(r.Metrics, t.connects.metrics(result.ConnectTime)...)
		r.Notes = append(r.Notes, "rtt is that of a whole transaction: socket, connect, request, response, the server's close, and close.")
	case *udpClient:
		m, err := t.counts.metrics(theirs.Requests)
		if err != nil {
			return record.Result{}, err
		}
		r.Metrics = append(r.Metrics, m...)
		facts["reply_timeout"] = time.Duration(t.timeout).String()
		facts["foreign"] = strconv.FormatInt(t.counts.foreign, 10)
	}
	r.Metrics = append(r.Metrics, cpuMetrics(w.cpu, w.elapsed, theirs)...)
	facts["server.transactions"] = strconv.FormatInt(theirs.Transactions, 10)
	if p.waiting() == WaitBusyPoll || p.waiting() == WaitEpoll {
		include(facts, c.sockets[0].facts()) // the device's queue is known once something has come
	}
	addClosingFacts(facts, theirs, w.waited)
	r.Notes = append(r.Notes, busyPollNotes(facts)...)
	return r, nil
}

// cpuMetrics gives the cores that each side used; a side that does not know is left out.
func cpuMetrics(cpu, elapsed time.Duration, theirs report) (m []result.Metric) {
	if elapsed > 0 {
		m = append(m, result.Metric{Name: result.CPU, Unit: result.One, Scope: "client", Value: cpu.Seconds() / elapsed.Seconds()})
	}
	if theirs.Elapsed > 0 {
		m = append(m, result.Metric{Name: result.CPU, Unit: result.One, Scope: "server", Value: theirs.CPU.Seconds() / theirs.Elapsed.Seconds()})
	}
	return m
}

// addClosingFacts adds what is known once the measurement has ended.
func addClosingFacts(facts map[string]string, theirs report, waited time.Duration) {
	if waited > 0 {
		facts[result.FactRunDelay] = waited.Round(time.Microsecond).String()
	}
	if theirs.Waited > 0 {
		facts[result.FactServerRunDelay] = theirs.Waited.Round(time.Microsecond).String()
	}
	facts["server.version"] = printable(theirs.Version)
	for k, v := range theirs.Facts {
		facts["server."+printable(k)] = printable(v)
	}
}
