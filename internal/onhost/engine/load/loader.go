package load

import (
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/timing"
)

// The hot loop of open-loop load. One thread sends requests at their intended times, over all connections in turn,
// and takes the replies as they come. Between requests it sleeps in the kernel until shortly before the next one is
// due. Then it spins.

const (
	// mostDue is how many due requests are sent before the loop looks for replies.
	mostDue = 64
	// mostSleep limits a sleep, so that an interrupted loop ends.
	mostSleep = int64(100 * time.Millisecond)
	// roomAgain is how long the loop waits for a reply if there is no room for another request.
	roomAgain = int64(time.Millisecond)
)

// A transport carries the requests and replies of a load. The hot thread calls its methods.
type transport interface {
	// send sends the next request; false if there is no room for it yet, or if it failed.
	send(intended int64) bool
	// poll waits for replies, at most for the given time in nanoseconds, and takes them. False if it failed.
	poll(timeout int64) bool
	// outstanding is how many requests may still be answered at the given time.
	outstanding(now int64) int64
	// err is why send or poll failed.
	err() error
	// leftovers gives the requests that were never answered. An actual time of 0 means that the request never left.
	leftovers(each func(intended, actual int64))
	close()
}

// A tally counts and records what happens to the requests. Times are readings of timing.Now.
type tally struct {
	// start and end are the limits of the window.
	start, end int64
	response   *observe.Recorder
	service    *observe.Histogram
	lateness   *observe.Histogram
	// scheduled, sent and answered count the requests of the window. completed counts the replies that came within the
	// window, to any request.
	scheduled, sent, answered, completed int64
}

// left notes that a request was handed to the kernel.
//
//go:nosplit
func (t *tally) left(intended, actual int64) {
	if intended >= t.start {
		t.sent++
		t.lateness.Record(actual - intended)
	}
}

// replied notes that a request was answered.
//
//go:nosplit
func (t *tally) replied(intended, actual, now int64) {
	if now >= t.start && now < t.end {
		t.completed++
	}
	if intended < t.start {
		return
	}
	t.answered++
	t.service.Record(now - actual)
	t.response.Current.Respond(intended, actual, now)
}

// A loader is the hot loop and its results.
type loader struct {
	transport transport
	tally     *tally
	pacer     timing.Pacer
	// zero is when the schedule starts, spin how long before a request the sleep ends, drain how long the loop waits
	// for replies after the window; in nanoseconds.
	zero, spin, drain int64
	// heldBack counts how often there was no room for a request that was due.
	heldBack int64
	stopped  atomic.Bool
	failed   bool
	// ended is when the loop ended.
	ended   int64
	account process.Account
	cpu     time.Duration
	elapsed time.Duration
	waited  time.Duration
}

// run sends the schedule and waits for the replies, until the drain is over.
func (l *loader) run() {
	timing.ExactTimers()
	t := l.tally
	l.zero = timing.Now()
	t.start += l.zero
	t.end += l.zero
	t.response.Begin(t.start)
	if l.loop(t.start, false) {
		l.account = process.StartAccount()
		if l.window() {
			l.loop(t.end+l.drain, true)
		}
	}
	l.ended = timing.Now()
	// The replies that came during the drain.
	t.response.Absorb(t.end, l.ended)
	l.waited = process.RunDelay() // by now no reply waits for it
}

// window runs the window, one interval after the other, and returns false when it failed.
func (l *loader) window() bool {
	t := l.tally
	from, next := t.start, t.start
	for from < t.end {
		for next <= from { // more than once after a stall of this machine
			next += t.response.Length
		}
		if !l.loop(min(next, t.end), false) {
			return false
		}
		now := min(timing.Now(), t.end)
		t.response.CloseInterval(from, now)
		from = now
	}
	l.cpu, l.elapsed = l.account.Elapsed()
	return true
}

// loop runs until the given time. During the drain it ends when everything has left and nothing is outstanding. False
// if it failed or was stopped.
//
//go:nosplit
func (l *loader) loop(until int64, drain bool) bool {
	ahead := l.pacer // a copy, for the next request's time
	due, more := ahead.Next()
	due += l.zero
	for {
		now := timing.Now()
		if now >= until {
			return true
		}
		room := true
		for n := 0; more && due <= now && n < mostDue; n++ {
			if room = l.transport.send(due); !room {
				l.heldBack++
				break
			}
			if due >= l.tally.start {
				l.tally.scheduled++
			}
			l.pacer = ahead
			due, more = ahead.Next()
			due += l.zero
			now = timing.Now()
		}
		wait := until - now
		switch {
		case !room:
			wait = min(wait, roomAgain)
		case more:
			wait = min(wait, due-now-l.spin)
		case drain && l.transport.outstanding(now) == 0:
			return true
		}
		if !l.transport.poll(max(min(wait, mostSleep), 0)) || l.stopped.Load() {
			l.failed = true
			return false
		}
	}
}

// stop ends the loop.
func (l *loader) stop() { l.stopped.Store(true) }
