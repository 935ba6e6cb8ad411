package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

const (
	// coarse is how far ahead of a due time a worker leaves Go's timer, which may be a millisecond late, for the kernel's.
	coarse = 2 * time.Millisecond
	// mostSleepers is how many workers may wait in the kernel without keeping others of the scheduler's slots.
	mostSleepers = 16
	// pause is how long a worker of a closed loop waits after a failure.
	pause = 10 * time.Millisecond
)

// A run sends the requests.
type run struct {
	options Options
	tally   *tally
	dialer  *dialer
	shared  *shared // nil for HTTP/1.1, and for a connection for each request
	text    []byte
	request *http.Request

	// zero is when the run starts, epoch the same for deadlines. until is when nothing is waited for any more.
	zero, until int64
	epoch       time.Time

	mu    sync.Mutex
	pacer timing.Pacer

	cpu, elapsed time.Duration
	ended        int64
	waited       time.Duration
}

// Measure sends the requests and makes the result. It takes no longer than warm-up, window and time-out, whatever the
// server does.
func Measure(ctx context.Context, o Options, observer session.Observer) (record.Result, error) {
	if err := o.Validate(); err != nil {
		return record.Result{}, err
	}
	defer process.Collect()()
	r, err := newRun(o)
	if err != nil {
		return record.Result{}, err
	}
	if err := r.measure(ctx, observer); err != nil {
		return record.Result{}, err
	}
	return r.result()
}

func newRun(o Options) (*run, error) {
	o.Timeout = cmp.Or(o.Timeout, usualTimeout)
	r := &run{options: o, request: requestOf(&o),
		tally: newTally(o.open(), int64(o.Duration), wire.IntervalLength(o.Duration))}
	if o.open() {
		r.pacer = o.Schedule.After(o.Warmup).Pacer()
		process.Reserve(min(o.Concurrency, mostSleepers, int(o.Schedule.MostRate()*coarse.Seconds())+1))
	}
	if o.HTTP.Version == wire.HTTP1 {
		r.dialer = newDialer(&r.options, "http/1.1")
		var err error
		r.text, err = textOf(r.request, o.HTTP.PerRequest)
		return r, err
	}
	r.dialer = newDialer(&r.options, protocol2)
	if !o.HTTP.PerRequest {
		r.shared = newShared(&r.options, r.dialer)
	}
	return r, nil
}

// exchanger makes what one worker exchanges with.
func (r *run) exchanger() exchanger {
	if r.options.HTTP.Version == wire.HTTP1 {
		return newOverHTTP1(&r.options, r.dialer, r.text, r.request)
	}
	s := r.shared
	if s == nil {
		s = newShared(&r.options, r.dialer)
	}
	return newOverHTTP2(&r.options, s, r.request)
}

// measure runs the workers through warm-up, window and drain.
func (r *run) measure(ctx context.Context, observer session.Observer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o, t := r.options, r.tally
	r.zero, r.epoch = timing.Now(), time.Now()
	t.start = r.zero + int64(o.Warmup)
	t.end = t.start + int64(o.Duration)
	t.response.Begin(t.start)
	r.until = t.end + int64(o.Timeout)
	if o.open() {
		r.until = t.end + int64(drainTime)
	}
	var workers sync.WaitGroup
	for range o.Concurrency {
		workers.Go(func() { r.work(ctx) })
	}
	err := r.window(ctx, observer)
	if err != nil {
		cancel()
	}
	workers.Wait()
	r.waited = process.RunDelay()
	if r.shared != nil {
		r.shared.close()
	}
	r.ended = timing.Now()
	t.response.Absorb(t.end, r.ended)
	return err
}

// window waits for the window and for its end, and tells of each interval.
func (r *run) window(ctx context.Context, observer session.Observer) error {
	t := r.tally
	if err := sleep(ctx, t.start); err != nil {
		return err
	}
	if err := r.tell(ctx, true); err != nil {
		return err
	}
	account := process.StartAccount()
	number := 0
	for from := t.start; from < t.end; {
		if err := sleep(ctx, min(from+t.response.Length, t.end)); err != nil {
			return err
		}
		now := min(timing.Now(), t.end)
		number++
		if err := observer.Interval(intervalLine(number, t.close(from, now), t.start)); err != nil {
			return err
		}
		from = now
	}
	r.cpu, r.elapsed = account.Elapsed()
	return r.tell(ctx, false)
}

// tell says that the window opens or has closed.
func (r *run) tell(ctx context.Context, opens bool) error {
	if r.options.Window == nil {
		return nil
	}
	return r.options.Window(ctx, opens)
}

func intervalLine(number int, i observe.Interval, zero int64) record.Interval {
	line := session.IntervalLine(number, i, zero)
	line.Response = &record.Times{Mean: line.Mean, Min: line.Min, P50: line.P50, P99: line.P99, Max: line.Max}
	line.Mean, line.Min, line.P50, line.P99, line.Max = 0, 0, 0, 0, 0
	return line
}

// sleep waits until timing.Now reaches a time, or ctx ends.
func sleep(ctx context.Context, until int64) error {
	timer := time.NewTimer(time.Duration(until - timing.Now()))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work sends requests, one at a time, until none is due any more.
func (r *run) work(ctx context.Context) {
	c := r.exchanger()
	defer c.close()
	var p phases
	for {
		intended, ok := r.next(ctx)
		if !ok {
			return
		}
		actual := intended
		if r.options.open() {
			actual = timing.Now()
		}
		r.tally.due(intended, actual)
		p = phases{}
		deadline := r.epoch.Add(time.Duration(min(actual+int64(r.options.Timeout), r.until) - r.zero))
		err := c.exchange(ctx, deadline, &p)
		now := timing.Now()
		if err == nil {
			r.tally.replied(intended, actual, now, &p)
			continue
		}
		if ctx.Err() != nil || r.options.open() && now >= r.until {
			return // it has no answer yet
		}
		f, ok := errors.AsType[*failure](err)
		if !ok {
			f = &failure{broken, err}
		}
		r.tally.failed(intended, f, r.options.Secrets)
		if !r.options.open() && sleep(ctx, min(now+int64(pause), r.until)) != nil {
			return
		}
	}
}

// next waits until another request is due, and gives the time; false if none is. The due requests of an offered rate
// are taken in their order by whichever worker is free.
func (r *run) next(ctx context.Context) (intended int64, ok bool) {
	if !r.options.open() {
		now := timing.Now()
		return now, now < r.tally.end && ctx.Err() == nil
	}
	r.mu.Lock()
	due, more := r.pacer.Next()
	r.mu.Unlock()
	due += r.zero
	now := timing.Now()
	if !more || now >= r.until || ctx.Err() != nil {
		if more && due >= r.tally.start {
			r.tally.due(due, now) // it was due, and will never leave
		}
		return 0, false
	}
	if due-now > int64(coarse) && sleep(ctx, due-int64(coarse)) != nil {
		return 0, false
	}
	if due > timing.Now() {
		timing.WaitUntil(due)
	}
	return due, true
}

// result makes the result.
func (r *run) result() (record.Result, error) {
	o, t := r.options, r.tally
	offered := t.scheduled
	if o.open() {
		offered += r.pacer.Remaining(int64(o.Warmup))
	}
	if offered == 0 && !o.open() {
		return record.Result{}, fmt.Errorf("no request was sent within the window: those before it had no answer in time%s",
			strings.TrimSuffix(": "+t.complaint(), ": "))
	}
	if offered == 0 {
		return record.Result{}, fmt.Errorf("the schedule has no request within %v: offer more, or for longer", o.Duration)
	}
	if t.answered == 0 {
		what := fmt.Sprintf("of %d requests none had a good answer", offered)
		if why := t.complaint(); why != "" {
			what += ": " + why
		}
		return record.Result{}, errors.New(what)
	}
	histogram, err := t.response.Total.Encode()
	if err != nil {
		return record.Result{}, err
	}
	seconds := o.Duration.Seconds()
	m := record.Result{
		Version: process.Version(), Mode: wire.ModeHTTP, Protocol: wire.TCP, MessageBytes: o.Request, Duration: seconds,
		ReportedAs: result.DefinitionHTTP, Definition: result.DefinitionHTTP,
		Metrics: t.metrics(offered, r.ended-t.end, seconds), Histogram: string(histogram), Facts: r.facts(offered),
	}
	m.Metrics = append(m.Metrics, session.CPUMetrics(r.cpu, r.elapsed, wire.Report{})...)
	if bad := t.bad(); bad > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("%d of %d requests failed: %s. They rank as the slowest in the percentiles of "+
			"response_time; statistics that they would change are left out.", bad, offered, t.complaint()))
	}
	if waiting := offered - t.answered - t.bad(); waiting > 0 {
		m.Notes = append(m.Notes, fmt.Sprintf("%d of %d requests had no answer %v after the window: statistics of "+
			"response_time that they would change are left out.", waiting, offered,
			time.Duration(r.ended-t.end).Round(time.Millisecond)))
	}
	return m, nil
}

// facts are those of this side.
func (r *run) facts(offered int64) map[string]string {
	o, t := r.options, r.tally
	f := session.LocalFacts()
	f["io"] = "net/http"
	f["concurrency"] = strconv.Itoa(o.Concurrency)
	f["http"] = map[int]string{wire.HTTP1: "1.1", wire.HTTP2: "2"}[o.HTTP.Version]
	f["offered"], f["answered"] = strconv.FormatInt(offered, 10), strconv.FormatInt(t.answered, 10)
	f["connections_opened"] = strconv.FormatInt(r.dialer.opened.Load(), 10)
	f["tls"] = "none"
	if said := r.dialer.said.Load(); said != nil {
		f["ip"] = map[bool]string{true: "4", false: "6"}[said.remote.Is4()]
		if said.tls != "" {
			f["tls"] = said.tls
		}
	}
	if o.open() {
		f["schedule"] = o.Schedule.String()
	}
	if r.waited > 0 {
		f[result.FactRunDelay] = r.waited.Round(time.Microsecond).String()
	}
	return f
}
