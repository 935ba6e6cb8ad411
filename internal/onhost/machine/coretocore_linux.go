package machine

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// CoreToCore takes the fastest of several batches, so that an interrupt during one of them does not count.
const (
	coreBatches = 8
	coreTrips   = 200
	// coreLimit is when to give up: about 50 times the normal duration between sockets.
	coreLimit = 50 * time.Millisecond
)

// CoreToCore measures the core-to-core latency: how long a cache line takes from the client's first CPU to the server's
// first CPU and back. It keeps both busy for about a millisecond. Cores that share a cache take tens of nanoseconds,
// others hundreds; a hypervisor that moves virtual CPUs changes which of the two holds. It is false if the sides share
// CPUs, or if the two threads do not run at the same time.
func CoreToCore(client, server []int) (time.Duration, bool) {
	if len(client) == 0 || len(server) == 0 ||
		slices.Contains(server, client[0]) || slices.Contains(client, server[0]) {
		return 0, false
	}
	if runtime.GOMAXPROCS(0) < 2 { // both threads must run at the same time
		return 0, false
	}
	return coreToCore(client[0], server[0])
}

// An exchange is a number on a cache line of its own. Two threads increment it in turn.
type exchange struct {
	over atomic.Bool
	_    [128]byte
	n    atomic.Int64
	_    [120]byte
}

func coreToCore(here, there int) (time.Duration, bool) {
	b := new(exchange)
	ready, quickest := make(chan bool, 1), make(chan time.Duration, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its affinity
		pinned := Pin([]int{there}) == nil
		ready <- pinned
		if pinned {
			b.answer()
		}
	}()
	go func() {
		runtime.LockOSThread()
		defer close(quickest)
		if Pin([]int{here}) != nil || !<-ready {
			b.over.Store(true)
			return
		}
		quickest <- b.measure()
	}()
	trip := <-quickest
	return trip, trip > 0
}

// answer increments odd numbers, until the exchange is over.
func (b *exchange) answer() {
	for !b.over.Load() {
		if n := b.n.Load(); n%2 == 1 {
			b.n.Store(n + 1)
		}
	}
}

// measure increments even numbers, waits for each answer, and ends the exchange. The result is the mean duration of a
// round trip in the fastest batch; 0 if no batch was completed in time.
func (b *exchange) measure() (quickest time.Duration) {
	defer b.over.Store(true)
	begun := time.Now()
	for range coreBatches {
		started := time.Now()
		for range coreTrips {
			next := b.n.Load() + 1
			b.n.Store(next)
			for spins := 1; b.n.Load() == next; spins++ {
				if spins%4096 == 0 && time.Since(begun) > coreLimit {
					return quickest
				}
			}
		}
		if trip := time.Since(started) / coreTrips; quickest == 0 || trip < quickest {
			quickest = trip
		}
	}
	return quickest
}
