//go:build !portable

package stream

import (
	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/sys"
)

// With more connections than CPUs, a thread for each connection would spend its time on switches. So each thread
// serves several connections, and waits only if none of them can continue.

// threadsFor divides n connections among at most as many threads as this process has CPUs. It gives the first
// connection of each thread, and n at the end.
func threadsFor(n int) (bounds []int) {
	threads := n
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err == nil {
		threads = min(n, max(set.Count(), 1))
	}
	for i := range threads + 1 {
		bounds = append(bounds, i*n/max(threads, 1))
	}
	return bounds
}

// senderGroup sends on several connections in turn.
type senderGroup struct {
	senders []*sender
	watch   sys.Watch
}

func newSenderGroup(senders []*sender) *senderGroup {
	g := &senderGroup{senders: senders}
	for _, s := range senders {
		g.watch.AddSender(s.socket)
	}
	return g
}

// run is the hot loop. It ends when the first of its connections is stopped or fails, because all are stopped
// together.
//
//go:nosplit
func (g *senderGroup) run() {
	for {
		waits := true
		for _, s := range g.senders {
			if s.stopped.Load() {
				return
			}
			switch n := s.socket.WriteNow(s.message); {
			case n >= 0:
				s.sent += int64(n)
				waits = false
			case n != sys.WouldBlock:
				s.failed = !s.stopped.Load()
				return
			}
		}
		if waits {
			g.watch.Wait()
		}
	}
}

// receiverGroup receives on several connections in turn, into one buffer that stays in the thread's caches.
type receiverGroup struct {
	receivers []*receiver
	buffer    []byte
	watch     sys.Watch
}

func newReceiverGroup(receivers []*receiver) *receiverGroup {
	g := &receiverGroup{receivers: receivers, buffer: sys.NewBuffer(sys.ReadSize)}
	for _, r := range receivers {
		g.watch.AddReceiver(r.socket)
	}
	return g
}

// run is the hot loop. It ends when all of its connections have.
//
//go:nosplit
func (g *receiverGroup) run() {
	for left := len(g.receivers); left > 0; {
		waits := true
		for i, r := range g.receivers {
			if g.watch.Dropped(i) {
				continue
			}
			n := r.socket.ReadNow(g.buffer)
			if n == sys.WouldBlock {
				continue
			}
			waits = false
			if !r.took(n) {
				g.watch.Drop(i)
				left--
			}
		}
		if waits {
			g.watch.Wait()
		}
	}
}

// run starts the hot threads.
func (f flows) run() (threads []<-chan struct{}) {
	bounds := threadsFor(len(f.receivers))
	for i, first := range bounds[:len(bounds)-1] {
		some := f.receivers[first:bounds[i+1]]
		if len(some) == 1 {
			threads = append(threads, process.OnThread(some[0].socket.Close, some[0].run))
		} else {
			threads = append(threads, process.OnThread(nil, newReceiverGroup(some).run))
		}
	}
	bounds = threadsFor(len(f.senders))
	for i, first := range bounds[:len(bounds)-1] {
		some := f.senders[first:bounds[i+1]]
		switch {
		case len(some) == 1:
			threads = append(threads, process.OnThread(some[0].socket.Close, some[0].run))
		case some[0].zero != nil: // each waits for its own notifications
			for _, s := range some {
				threads = append(threads, process.OnThread(s.socket.Close, s.run))
			}
		default:
			threads = append(threads, process.OnThread(nil, newSenderGroup(some).run))
		}
	}
	return threads
}
