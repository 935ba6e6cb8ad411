//go:build !portable

package engine

import (
	"os"
	"strings"
	"testing"
	"time"

	"nearfar/internal/engine/record"
	"nearfar/internal/result"
)

// TestWaiting: each way of waiting measures, and is in the facts of both sides.
func TestWaiting(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	for _, wait := range []string{WaitBlock, WaitBusyPoll, WaitEpoll, WaitSpin} {
		for _, protocol := range []string{TCP, UDP} {
			p := rrParams(protocol)
			p.Wait = wait
			spinsUDP := wait == WaitSpin && protocol == UDP
			if wait == WaitSpin {
				p.Duration = time.Second // two threads that never sleep, on a machine that may be busy
			}
			r, c, err := run(t, address, p)
			if err != nil {
				t.Fatalf("%s %s: %v", wait, protocol, err)
			}
			if !spinsUDP { // of which a busy machine loses some: they time out
				checkTransactions(t, p, r, c)
			} else if value(t, r, result.TransactionRate, "", "") <= 0 {
				t.Error("nothing was answered")
			}
			checkWait(t, wait, r)
		}
	}
}

// checkWait checks what a record says of how both sides waited.
func checkWait(t *testing.T, wait string, r record.Result) {
	t.Helper()
	for _, side := range []string{"", "server."} {
		if r.Facts[side+"wait"] != wait {
			t.Errorf("%s %s: facts %v", wait, r.Protocol, r.Facts)
		}
		by, us := r.Facts[side+"epoll_busy_poll_by"], r.Facts[side+"epoll_busy_poll"]
		good := by == "" && us == ""
		if wait == WaitEpoll {
			good = by == pollByInstance && us == "200" || by == pollBySysctl && us != ""
		}
		if !good {
			t.Errorf("%s %s: polling in epoll %q by %q", wait, r.Protocol, us, by)
		}
	}
	// Loopback has no queue that could be polled, and that is said, of both sides.
	notes := strings.Join(r.Notes, " ")
	for _, polling := range []string{WaitBusyPoll, WaitEpoll} {
		want := 0
		if wait == polling {
			want = 2
		}
		if got := strings.Count(notes, polling+": no device queue of the "); got != want {
			t.Errorf("%s %s: notes %q", wait, r.Protocol, r.Notes)
		}
	}
}

// TestWaitingOfMessages: the receiver of one-way messages waits as it is told to. TestMessages has the other ways.
func TestWaitingOfMessages(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	for _, wait := range []string{WaitBlock, WaitEpoll} {
		for _, protocol := range []string{TCP, UDP} {
			p := messageParams(protocol, 64, 4)
			p.Wait, p.MessageRate = wait, 5000
			r, _, err := run(t, address, p)
			if err != nil {
				t.Fatalf("%s %s: %v", wait, protocol, err)
			}
			checkWait(t, wait, r)
			if received := value(t, r, result.Received, "", ""); received == 0 {
				t.Errorf("%s %s: nothing was received", wait, protocol)
			}
		}
	}
}

// TestWaitingOfLoad: load waits in epoll in any case; there the kernel sleeps, polls, or is asked again and again.
func TestWaitingOfLoad(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	for _, wait := range []string{WaitBlock, WaitEpoll, WaitSpin} {
		for _, protocol := range []string{TCP, UDP} {
			p := loadParams(protocol, 3)
			p.Wait = wait
			r, err := Run(t.Context(), loadOptions(address, p, 1000), &collector{})
			if err != nil {
				t.Fatalf("%s %s: %v", wait, protocol, err)
			}
			checkWait(t, wait, r)
			if pacing := r.Facts["pacing"]; (pacing == "never sleeps") != (wait == WaitSpin) {
				t.Errorf("%s %s: pacing %q", wait, protocol, pacing)
			}
			if rate := value(t, r, result.TransactionRate, "", ""); rate <= 0 {
				t.Errorf("%s %s: nothing was answered", wait, protocol)
			}
		}
	}
}

// TestWaitingInEpollDoesNotHang: a datagram that never comes costs the timeout there too.
func TestWaitingInEpollDoesNotHang(t *testing.T) { outlastLoss(t, WaitEpoll) }

// TestPollingNotes: what a kernel that polls for all or for none makes of it is said.
func TestPollingNotes(t *testing.T) {
	for name, c := range map[string]struct {
		facts map[string]string
		want  []string
	}{
		"polls":            {map[string]string{"wait": WaitEpoll, "napi_id": "8193", "epoll_busy_poll": "200"}, nil},
		"no queue":         {map[string]string{"wait": WaitEpoll, "napi_id": "0", "epoll_busy_poll": "200"}, []string{"no device queue of the client can be polled"}},
		"old, off":         {map[string]string{"server.wait": WaitEpoll, "server.napi_id": "8193", "server.epoll_busy_poll": "0"}, []string{"server's kernel has no busy polling for one", "net.core.busy_poll is 0"}},
		"old, on":          {map[string]string{"wait": WaitEpoll, "napi_id": "8193", "epoll_busy_poll": "50"}, nil},
		"old, not shown":   {map[string]string{"wait": WaitEpoll, "napi_id": "8193", "epoll_busy_poll": "unknown"}, []string{"is not known"}},
		"blocks":           {map[string]string{"wait": WaitBlock, "napi_id": "0"}, nil},
		"socket, no queue": {map[string]string{"wait": WaitBusyPoll, "napi_id": "0"}, []string{"busy-poll: no device queue of the client takes part"}},
	} {
		notes := strings.Join(busyPollNotes(c.facts), " ")
		if (notes != "") != (len(c.want) > 0) {
			t.Errorf("%s: %q", name, notes)
		}
		for _, want := range c.want {
			if !strings.Contains(notes, want) {
				t.Errorf("%s: %q has no %q", name, notes, want)
			}
		}
	}
}

// TestOldKernel: where epoll takes no parameters, what all of the machine do is read and recorded instead. A file that is no epoll
// instance answers as an old kernel does.
func TestOldKernel(t *testing.T) {
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	p := &poller{fd: f.Fd()}
	if err := p.busyPoll(); err != nil {
		t.Fatal(err)
	}
	want := "unknown"
	if b, err := os.ReadFile("/proc/sys/net/core/busy_poll"); err == nil {
		want = strings.TrimSpace(string(b))
	}
	facts := map[string]string{}
	p.facts(facts)
	if facts["epoll_busy_poll_by"] != pollBySysctl || facts["epoll_busy_poll"] != want {
		t.Errorf("facts %v, want %s by %s", facts, want, pollBySysctl)
	}
}

// TestEpollDoesNotAllocate: waiting in epoll is on the hot path, of a client that has a time limit for its replies (UDP) and of
// one that has none.
func TestEpollDoesNotAllocate(t *testing.T) {
	for _, protocol := range []string{TCP, UDP} {
		p := rrParams(protocol)
		p.Wait = WaitEpoll
		tr, rec := hotTransactor(t, p), newRecorder(time.Hour)
		failed := false
		n := testing.AllocsPerRun(200, func() {
			_, ok := tr.run(rec.current, 0) // one transaction
			failed = failed || !ok
		})
		if failed {
			t.Fatal(tr.err())
		}
		if n != 0 || rec.current.Count() != 201 { // AllocsPerRun warms up once
			t.Errorf("%s: a transaction allocates %v times, and %d were recorded", protocol, n, rec.current.Count())
		}
	}
}
