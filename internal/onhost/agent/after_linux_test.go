package agent

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/hosts/fake"
	"nearfar/internal/onhost/host"
)

// TestStartAfter: a process starts when the one before, and all that it started, have ended, and not earlier. The port
// of the one before is free then.
func TestStartAfter(t *testing.T) {
	c := newInProcess(t, ServerOptions{}).connect("host", time.Minute)
	h, port := c.Host(), c.Host().Endpoint().Ports().Data
	listen := self("listen", "tcp", strconv.Itoa(port))
	listen.Serves = host.Socket{Protocol: "tcp", Port: port}
	for _, first := range []host.Cmd{
		self("listen", "tcp", strconv.Itoa(port)),
		self("stubborn", strconv.Itoa(port)), // ignores that it is asked to end
		self("tree", strconv.Itoa(port)),     // a stubborn child in a session of its own
	} {
		before, err := h.Start(t.Context(), first)
		if err != nil {
			t.Fatal(err)
		}
		if err := before.Serves(t.Context(), "tcp", port); err != nil {
			t.Fatal(err)
		}
		next := listen
		next.After = before
		soon, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if _, err := h.Start(soon, next); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %q, which runs: %v", first.Argv, err)
		}
		cancel()
		stopped := make(chan error, 1)
		go func() { stopped <- before.Stop(100 * time.Millisecond) }()
		after, err := h.Start(t.Context(), next)
		if err != nil {
			t.Fatal(err)
		}
		if err := after.Serves(t.Context(), "tcp", port); err != nil {
			t.Errorf("after %q: %v", first.Argv, err)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		_, ended := before.Times()
		if started, _ := after.Times(); started.Before(ended) {
			t.Errorf("after %q: started at %v, before its end at %v", first.Argv, started, ended)
		}
		if again, err := h.Start(t.Context(), host.Cmd{Argv: []string{"true"}, After: before}); err != nil {
			t.Errorf("after %q, which ended long ago: %v", first.Argv, err)
		} else if err := again.Wait(); err != nil {
			t.Error(err)
		}
		if err := after.Stop(time.Second); err != nil {
			t.Error(err)
		}
	}
}

// TestStartOfWhatEndsAtOnce: a process whose end is known before the answer to its start has started, and is not
// forgotten before.
func TestStartOfWhatEndsAtOnce(t *testing.T) {
	h := newInProcess(t, ServerOptions{}).connect("host", time.Minute).Host()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 60 {
				p, err := h.Start(t.Context(), host.Cmd{Argv: []string{"true"}})
				if err == nil {
					err = p.Wait()
				}
				if err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
}

// TestStartAfterOthers: a process of another agent is not waited for, and one of another kind of host is refused.
func TestStartAfterOthers(t *testing.T) {
	one := newInProcess(t, ServerOptions{}).connect("one", time.Minute)
	other := newInProcess(t, ServerOptions{}).connect("other", time.Minute)
	running, err := other.Host().Start(t.Context(), self("wait"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := one.Host().Start(t.Context(), host.Cmd{Argv: []string{"true"}, After: running})
	if err == nil {
		err = p.Wait()
	}
	if err != nil {
		t.Errorf("after a process of another agent: %v", err)
	}
	function := func(context.Context, []string, []byte, io.Writer, io.Writer) int { return 0 }
	foreign, err := fake.New("fake", map[string]fake.Program{"true": function}).Start(t.Context(),
		host.Cmd{Argv: []string{"true"}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = one.Host().Start(t.Context(), host.Cmd{Argv: []string{"true"}, After: foreign})
	if err == nil || !strings.Contains(err.Error(), "another kind of host") {
		t.Errorf("after a process of another kind of host: %v", err)
	}
}

// TestWatchesOverlap: if a watch begins before the end of the one before, the time of the process between them counts
// for the one before alone.
func TestWatchesOverlap(t *testing.T) {
	c := newInProcess(t, ServerOptions{}).connect("host", time.Minute)
	h := c.Host()
	const busy = `trap 'exit 0' TERM; i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; echo; while :; do sleep 0.01; done`
	for range 3 {
		_, endFirst := c.Watch(t.Context(), nil, netip.Addr{})
		r, w := io.Pipe()
		first, err := h.Start(t.Context(), host.Cmd{Argv: []string{"sh", "-c", busy}, Stdout: w})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := bufio.NewReader(r).ReadByte(); err != nil {
			t.Fatal(err)
		}
		begun, endSecond := c.Watch(t.Context(), nil, netip.Addr{})
		stopped := make(chan error, 1)
		go func() { stopped <- first.Stop(10 * time.Second) }()
		second, err := h.Start(t.Context(), host.Cmd{Argv: []string{"true"}, After: first})
		if err != nil {
			t.Fatal(err)
		}
		begun()
		if err := errors.Join(<-stopped, second.Wait()); err != nil {
			t.Fatal(err)
		}
		one, two := endFirst(), endSecond()
		if one.Contention.Ran < 10*time.Millisecond || one.Window < one.Contention.Ran {
			t.Errorf("the busy process ran %v in %v", one.Contention.Ran, one.Window)
		}
		if two.Contention.Ran > one.Contention.Ran/2 || two.Window <= 0 {
			t.Errorf("the short process ran %v in %v, and the busy one %v", two.Contention.Ran, two.Window,
				one.Contention.Ran)
		}
	}
}

// TestFollowedWatch: if the end of a trial was not observed, and the next one has begun, nothing is known: it is not
// observed later.
func TestFollowedWatch(t *testing.T) {
	c := newInProcess(t, ServerOptions{}).connect("host", time.Minute)
	_, end := c.Watch(t.Context(), nil, netip.Addr{})
	_, endNext := c.Watch(t.Context(), nil, netip.Addr{})
	if s := end(); s.Window != 0 {
		t.Errorf("observed for %v", s.Window)
	}
	if s := endNext(); s.Window <= 0 {
		t.Errorf("the next one: %+v", s)
	}
}

// TestObservationsAreKept: an observation that is asked for again, because its answer was lost, is the one that was
// made, although another one was made since: it would be of the next trial otherwise.
func TestObservationsAreKept(t *testing.T) {
	c := newInProcess(t, ServerOptions{}).connect("host", time.Minute)
	observe := func(key, after string) time.Time {
		r, err := c.exchange(t.Context(), call{request: request{Call: callObserve, Key: key, After: after}})
		if err != nil {
			t.Fatal(err)
		}
		return r.Observed.State.At
	}
	last, next := observe("last", ""), observe("next", "last")
	if again := observe("last", ""); !again.Equal(last) || !next.After(last) {
		t.Errorf("observed at %v, again at %v, and the next one at %v", last, again, next)
	}
	if again := observe("next", "last"); !again.Equal(next) {
		t.Errorf("the next one at %v, and again at %v", next, again)
	}
}
