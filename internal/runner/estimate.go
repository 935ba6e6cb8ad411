package runner

import (
	"time"

	"nearfar/internal/experiment"
)

// overhead is what a trial takes beside its client's run: starting the server and seeing it ready. It is only the first
// guess; the estimate then goes by what trials took.
const overhead = 150 * time.Millisecond

// estimate says how long the rest of a run will take, from what the trials of each workload took so far.
type estimate struct {
	guess   map[string]time.Duration
	waiting map[string]int
	spent   map[string]time.Duration
	ran     map[string]int
}

func newEstimate(slots []experiment.Slot, expected func(workload string) time.Duration) *estimate {
	e := &estimate{
		guess: map[string]time.Duration{}, waiting: map[string]int{},
		spent: map[string]time.Duration{}, ran: map[string]int{},
	}
	for _, s := range slots {
		if _, ok := e.guess[s.Workload]; !ok {
			e.guess[s.Workload] = expected(s.Workload) + overhead
		}
		e.waiting[s.Workload]++
	}
	return e
}

func (e *estimate) ended(s experiment.Slot, took time.Duration) {
	e.waiting[s.Workload]--
	e.ran[s.Workload]++
	e.spent[s.Workload] += took
}

func (e *estimate) left() time.Duration {
	var sum time.Duration
	for workload, n := range e.waiting {
		each := e.guess[workload]
		if e.ran[workload] > 0 {
			each = e.spent[workload] / time.Duration(e.ran[workload])
		}
		sum += time.Duration(n) * each
	}
	return sum
}
