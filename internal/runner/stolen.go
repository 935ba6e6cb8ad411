package runner

import (
	"slices"
	"strconv"
	"time"

	"nearfar/internal/result"
)

// A stealTime measures the steal time of a trial's CPUs: the time in which the hypervisor did not run them. The
// measured processes wait in that time, and no tool reports it.
type stealTime struct {
	stage   Stage
	cpus    []int
	started time.Time
	before  time.Duration
	known   bool
}

func watchSteal(stage Stage, client, server []int) *stealTime {
	s := &stealTime{stage: stage}
	if len(client) > 0 && len(server) > 0 { // otherwise a process may run on any CPU
		s.cpus = slices.Concat(client, server)
		slices.Sort(s.cpus)
		s.cpus = slices.Compact(s.cpus)
	}
	s.before, s.known = stage.Stolen(s.cpus)
	s.started = time.Now()
	return s
}

// record writes the steal time since the start as a share of the elapsed time, if it is known.
func (s *stealTime) record(facts map[string]string) {
	after, known := s.stage.Stolen(s.cpus)
	elapsed := time.Since(s.started)
	if !s.known || !known || after < s.before || elapsed <= 0 {
		return
	}
	facts[result.FactStolen] = strconv.FormatFloat(float64(after-s.before)/float64(elapsed), 'f', 4, 64)
}
