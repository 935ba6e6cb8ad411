package process

import (
	"time"

	"nearfar/internal/onhost/engine/timing"
)

// An Account measures the CPU time of the process over a period.
type Account struct {
	start int64
	cpu   time.Duration
	ok    bool
}

// StartAccount begins to measure CPU time.
func StartAccount() Account {
	cpu, ok := cpuTime()
	return Account{start: timing.Now(), cpu: cpu, ok: ok}
}

// Elapsed gives the CPU time used and the time passed since the start, or zeros if they are not known.
func (a Account) Elapsed() (cpu, elapsed time.Duration) {
	now, ok := cpuTime()
	if !ok || !a.ok {
		return 0, 0
	}
	return now - a.cpu, time.Duration(timing.Now() - a.start)
}
