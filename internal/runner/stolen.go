package runner

import (
	"slices"
	"strconv"
	"time"

	"nearfar/internal/result"
)

// A steal is the time that a hypervisor keeps from the CPUs of a trial while it runs (steal time). What is measured waits for it, and no
// tool sees it.
type steal struct {
	stage   Stage
	cpus    []int
	started time.Time
	before  time.Duration
	known   bool
}

func watchStolen(stage Stage, client, server []int) *steal {
	s := &steal{stage: stage}
	if len(client) > 0 && len(server) > 0 { // else some process may run on any CPU
		s.cpus = slices.Concat(client, server)
		slices.Sort(s.cpus)
		s.cpus = slices.Compact(s.cpus)
	}
	s.before, s.known = stage.Stolen(s.cpus)
	s.started = time.Now()
	return s
}

// record writes which share of the time since it was, where that is known.
func (s *steal) record(facts map[string]string) {
	after, known := s.stage.Stolen(s.cpus)
	elapsed := time.Since(s.started)
	if !s.known || !known || after < s.before || elapsed <= 0 {
		return
	}
	facts[result.FactStolen] = strconv.FormatFloat(float64(after-s.before)/float64(elapsed), 'f', 4, 64)
}
