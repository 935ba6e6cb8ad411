package lab

import (
	"slices"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
)

// machines is this machine, as the hosts of an arm use it.
type machines struct {
	lab *Lab
	arm string
}

// Machines is this machine, for the hosts of an arm.
func (l *Lab) Machines(arm string) host.Machines { return machines{l, arm} }

// CPUs resolves a placement to CPU numbers of this machine.
func (m machines) CPUs(p experiment.Placement) (client, server []int, err error) {
	return m.lab.CPUs(p)
}

// Lost says why the lab cannot be used any more; nil if it can.
func (m machines) Lost() error { return m.lab.Lost() }

// Watch observes the machine during a trial. A hypervisor may move virtual CPUs during a run, and everything that
// passes between the two sides then takes several times as long, or as short: so the core-to-core latency is measured
// before and after the trial.
func (m machines) Watch(client, server []int) (end func() host.Observation) {
	before, _ := m.lab.CoreToCore(client, server)
	steal := watchSteal(m.lab.Stolen, client, server)
	contention := m.lab.Watch(m.arm, client, server)
	return func() host.Observation {
		seen := host.Observation{Contention: contention(), CoreToCoreBefore: before}
		seen.Stolen, seen.StolenKnown = steal.share()
		if before > 0 {
			seen.CoreToCoreAfter, _ = m.lab.CoreToCore(client, server)
		}
		return seen
	}
}

// A stealTime measures the steal time of a trial's CPUs. The measured processes wait in that time, and no tool reports
// it.
type stealTime struct {
	stolen  func(cpus []int) (time.Duration, bool)
	cpus    []int
	started time.Time
	before  time.Duration
	known   bool
}

// watchSteal begins to measure. stolen is the steal time of CPUs since the machine started.
func watchSteal(stolen func(cpus []int) (time.Duration, bool), client, server []int) *stealTime {
	s := &stealTime{stolen: stolen}
	if len(client) > 0 && len(server) > 0 { // otherwise a process may run on any CPU
		s.cpus = slices.Concat(client, server)
		slices.Sort(s.cpus)
		s.cpus = slices.Compact(s.cpus)
	}
	s.before, s.known = stolen(s.cpus)
	s.started = time.Now()
	return s
}

// share is the steal time since the start as a share of the elapsed time; false if it is not known.
func (s *stealTime) share() (float64, bool) {
	after, known := s.stolen(s.cpus)
	elapsed := time.Since(s.started)
	if !s.known || !known || after < s.before || elapsed <= 0 {
		return 0, false
	}
	return float64(after-s.before) / float64(elapsed), true
}
