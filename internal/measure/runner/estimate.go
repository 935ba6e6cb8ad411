package runner

import (
	"time"

	"nearfar/internal/declare/experiment"
)

// overhead is how much longer than its client a trial takes: the server is started and awaited. It is only the first
// guess; once trials have ended, the estimate uses their durations.
const overhead = 150 * time.Millisecond

// estimate says how long the rest of a run will take, from the durations of the trials so far.
type estimate struct {
	// cell is the key of the maps: trials of one cell take about equally long.
	cell    func(experiment.Slot) string
	guess   map[string]time.Duration
	waiting map[string]int
	spent   map[string]time.Duration
	ran     map[string]int
}

func newEstimate(
	slots []experiment.Slot, cell func(experiment.Slot) string, expected func(experiment.Slot) time.Duration,
) *estimate {
	e := &estimate{
		cell: cell, guess: map[string]time.Duration{}, waiting: map[string]int{},
		spent: map[string]time.Duration{}, ran: map[string]int{},
	}
	for _, s := range slots {
		e.added(s, expected)
	}
	return e
}

// added counts a trial that is yet to run.
func (e *estimate) added(s experiment.Slot, expected func(experiment.Slot) time.Duration) {
	key := e.cell(s)
	if _, ok := e.guess[key]; !ok {
		e.guess[key] = expected(s) + overhead
	}
	e.waiting[key]++
}

func (e *estimate) ended(s experiment.Slot, took time.Duration) {
	key := e.cell(s)
	e.waiting[key]--
	e.ran[key]++
	e.spent[key] += took
}

func (e *estimate) left() time.Duration {
	var sum time.Duration
	for key, n := range e.waiting {
		each := e.guess[key]
		if e.ran[key] > 0 {
			each = e.spent[key] / time.Duration(e.ran[key])
		}
		sum += time.Duration(n) * each
	}
	return sum
}
