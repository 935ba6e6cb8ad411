package web

import (
	"fmt"
	"math"
	"strings"
	"sync"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/observe"
)

// A tally counts and records what happens to the requests. Times are readings of timing.Now.
type tally struct {
	// start and end are the limits of the window. They do not change once there are workers.
	start, end int64

	mu       sync.Mutex
	response *observe.Recorder
	phases   [phaseCount]*observe.Histogram
	// service and lateness are of an offered rate; nil without.
	service, lateness *observe.Histogram
	// scheduled and answered count the requests of the window, completed the good answers that came within it, to any
	// request.
	scheduled, answered, completed int64
	// failures are those of the window, by kind, and examples the first one of each kind.
	failures [kinds]int64
	examples [kinds]string
	// early is a failure before the window, for a run in which nothing is answered.
	early string
}

func newTally(open bool, window, interval int64) *tally {
	t := &tally{response: observe.NewRecorder(window, interval)}
	for i := range t.phases {
		t.phases[i] = observe.NewHistogram()
	}
	if open {
		t.service, t.lateness = observe.NewHistogram(), observe.NewHistogram()
	}
	return t
}

// due notes a request that a worker has taken.
func (t *tally) due(intended, actual int64) {
	if intended < t.start {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.scheduled++
	if t.lateness != nil {
		t.lateness.Record(actual - intended)
	}
}

// replied notes a good answer.
func (t *tally) replied(intended, actual, now int64, p *phases) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now >= t.start && now < t.end {
		t.completed++
	}
	if intended < t.start {
		return
	}
	t.answered++
	t.response.Current.Respond(intended, actual, now)
	if t.service != nil {
		t.service.Record(now - actual)
	}
	for i, ns := range p {
		if ns > 0 {
			t.phases[i].Record(ns)
		}
	}
}

// failed notes a request without a good answer.
func (t *tally) failed(intended int64, f *failure, secrets []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if intended < t.start {
		if t.early == "" {
			t.early = fmt.Sprintf("%v (%s)", f.kind, say(f, secrets))
		}
		return
	}
	if t.failures[f.kind]++; t.examples[f.kind] == "" {
		t.examples[f.kind] = say(f, secrets)
	}
}

// close ends an interval and gives it.
func (t *tally) close(from, until int64) observe.Interval {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(t.response.Since(0))
	t.response.CloseInterval(from, until)
	if closed := t.response.Since(n); len(closed) > 0 {
		return closed[0]
	}
	return observe.Interval{Start: from, End: until}
}

// bad counts the failures of the window.
func (t *tally) bad() (sum int64) {
	for _, n := range t.failures {
		sum += n
	}
	return sum
}

// complaint lists the failures: "3 timeout (waiting for the answer: ...), 1 status (status 503)".
func (t *tally) complaint() string {
	var parts []string
	for k, n := range t.failures {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %v (%s)", n, kind(k), t.examples[k]))
		}
	}
	if len(parts) == 0 && t.early != "" {
		return "before the window: " + t.early
	}
	return strings.Join(parts, ", ")
}

// metrics gives all figures. offered counts the requests that were due in the window. Those that have no answer yet
// have waited for at least least nanoseconds; those that failed never get one, and rank as the slowest.
func (t *tally) metrics(offered, least int64, seconds float64) []result.Metric {
	missing, bad := offered-t.answered, t.bad()
	if missing == bad {
		least = math.MaxInt64
	}
	m := t.response.Total.Censored(result.ResponseTime, missing, least)
	for i, name := range []string{result.LookupTime, result.ConnectTime, result.TLSTime, result.FirstByteTime,
		result.RestTime} {
		m = append(m, t.phases[i].Metrics(name)...)
	}
	number := func(name, scope, unit string, value float64) {
		m = append(m, result.Metric{Name: name, Unit: unit, Scope: scope, Value: value})
	}
	number(result.TransactionRate, "", result.PerSecond, float64(t.completed)/seconds)
	if t.service != nil {
		m = append(m, t.service.Metrics(result.ServiceTime)...)
		m = append(m, t.lateness.Metrics(result.SendLateness)...)
		number(result.OfferedRate, "", result.PerSecond, float64(offered)/seconds)
		number(result.Unanswered, "", result.One, float64(missing-bad))
	}
	number(result.Errors, "", result.One, float64(bad))
	number(result.ErrorShare, "", result.One, float64(bad)/float64(max(offered, 1)))
	for k, n := range t.failures {
		if n > 0 {
			number(result.Errors, kind(k).String(), result.One, float64(n))
		}
	}
	return m
}
