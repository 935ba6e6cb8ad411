package lab

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"
)

// The size of a measurement of CoreToCore: the quickest of some batches, so that what interrupts one of them does not count.
const (
	coreBatches = 8
	coreTrips   = 200
	// coreLimit is when to give up: some 50 times of what is normal between sockets.
	coreLimit = 50 * time.Millisecond
)

// CoreToCore measures how long a cache line takes from the first of the client's CPUs to the first of the server's and back,
// in about a millisecond in which both are busy. Cores that share a cache take tens of nanoseconds, others hundreds; under a
// hypervisor that moves virtual CPUs about, the same two are now the one and now the other. It is false where the two
// may run on the same CPU, or do not both come to run.
func (l *Lab) CoreToCore(client, server []int) (time.Duration, bool) {
	if len(client) == 0 || len(server) == 0 || slices.Contains(server, client[0]) || slices.Contains(client, server[0]) {
		return 0, false
	}
	if runtime.GOMAXPROCS(0) < 2 { // both must run at a time
		return 0, false
	}
	return coreToCore(client[0], server[0])
}

// A ball is a number that two threads raise in turn, on cache lines of its own.
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
		pinned := setAffinity([]int{there}) == nil
		ready <- pinned
		if pinned {
			b.answer()
		}
	}()
	go func() {
		runtime.LockOSThread()
		defer close(quickest)
		if setAffinity([]int{here}) != nil || !<-ready {
			b.over.Store(true)
			return
		}
		quickest <- b.measure()
	}()
	trip := <-quickest
	return trip, trip > 0
}

// answer raises every odd number, until the game is over.
func (b *exchange) answer() {
	for !b.over.Load() {
		if n := b.n.Load(); n%2 == 1 {
			b.n.Store(n + 1)
		}
	}
}

// play raises every even number and waits for the answer. It gives the mean time of the quickest batch, 0 where none was
// completed in time, and ends the game.
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
