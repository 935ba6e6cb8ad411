//go:build !portable

package engine

import (
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/wire"
)

// TestWaiting: each way of waiting measures, and is in the facts of both sides.
func TestWaiting(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	for _, wait := range []string{wire.WaitBlock, wire.WaitBusyPoll, wire.WaitEpoll, wire.WaitSpin} {
		for _, protocol := range []string{wire.TCP, wire.UDP} {
			p := enginetest.RR(protocol)
			p.Wait = wait
			spinsUDP := wait == wire.WaitSpin && protocol == wire.UDP
			if wait == wire.WaitSpin {
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
		if wait == wire.WaitEpoll {
			good = by == "EPIOCSPARAMS" && us == "200" || by == "net.core.busy_poll" && us != ""
		}
		if !good {
			t.Errorf("%s %s: polling in epoll %q by %q", wait, r.Protocol, us, by)
		}
	}
	// Loopback has no queue that could be polled, and that is said, of both sides.
	notes := strings.Join(r.Notes, " ")
	for _, polling := range []string{wire.WaitBusyPoll, wire.WaitEpoll} {
		want := 0
		if wait == polling {
			want = 2
		}
		if got := strings.Count(notes, polling+": no device queue of the "); got != want {
			t.Errorf("%s %s: notes %q", wait, r.Protocol, r.Notes)
		}
	}
}

// TestWaitingOfMessages: the receiver of one-way messages waits in the given way. TestMessages covers the other ways.
func TestWaitingOfMessages(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	for _, wait := range []string{wire.WaitBlock, wire.WaitEpoll} {
		for _, protocol := range []string{wire.TCP, wire.UDP} {
			p := enginetest.Messages(protocol, 64, 4)
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
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	for _, wait := range []string{wire.WaitBlock, wire.WaitEpoll, wire.WaitSpin} {
		for _, protocol := range []string{wire.TCP, wire.UDP} {
			p := enginetest.Load(protocol, 3)
			p.Wait = wait
			r, err := Run(t.Context(), enginetest.LoadOptions(address, p, 1000), &collector{})
			if err != nil {
				t.Fatalf("%s %s: %v", wait, protocol, err)
			}
			checkWait(t, wait, r)
			if pacing := r.Facts["pacing"]; (pacing == "never sleeps") != (wait == wire.WaitSpin) {
				t.Errorf("%s %s: pacing %q", wait, protocol, pacing)
			}
			if rate := value(t, r, result.TransactionRate, "", ""); rate <= 0 {
				t.Errorf("%s %s: nothing was answered", wait, protocol)
			}
		}
	}
}

// TestWaitingInEpollDoesNotHang: a datagram that never comes costs the timeout there too.
func TestWaitingInEpollDoesNotHang(t *testing.T) { outlastLoss(t, wire.WaitEpoll) }
