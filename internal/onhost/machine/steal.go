package machine

import "time"

// A Steal measures the steal time of CPUs during a trial. The measured processes wait in that time, and no tool reports
// it.
type Steal struct {
	stolen  func(cpus []int) (time.Duration, bool)
	cpus    []int
	started time.Time
	before  time.Duration
	known   bool
}

// WatchSteal begins to measure the steal time of the CPUs.
func WatchSteal(cpus []int) *Steal { return watchSteal(Stolen, cpus) }

func watchSteal(stolen func(cpus []int) (time.Duration, bool), cpus []int) *Steal {
	s := &Steal{stolen: stolen, cpus: cpus}
	s.before, s.known = stolen(s.cpus)
	s.started = time.Now()
	return s
}

// Share is the steal time since the start as a share of the elapsed time; false if it is not known.
func (s *Steal) Share() (float64, bool) {
	after, known := s.stolen(s.cpus)
	elapsed := time.Since(s.started)
	if !s.known || !known || after < s.before || elapsed <= 0 {
		return 0, false
	}
	return float64(after-s.before) / float64(elapsed), true
}
