package runner

import (
	"slices"
	"strconv"
	"time"

	"nearfar/internal/result"
)

// A theft is what a hypervisor keeps from the CPUs of a trial while it runs. What is measured waits for it, and no tool sees it.
type theft struct {
	stage   Stage
	cpus    []int
	started time.Time
	before  time.Duration
	known   bool
}

func watchStolen(stage Stage, client, server []int) *theft {
	t := &theft{stage: stage}
	if len(client) > 0 && len(server) > 0 { // else some process may run on any CPU
		t.cpus = slices.Concat(client, server)
		slices.Sort(t.cpus)
		t.cpus = slices.Compact(t.cpus)
	}
	t.before, t.known = stage.Stolen(t.cpus)
	t.started = time.Now()
	return t
}

// record writes which share of the time since it was, where that is known.
func (t *theft) record(facts map[string]string) {
	after, known := t.stage.Stolen(t.cpus)
	elapsed := time.Since(t.started)
	if !t.known || !known || after < t.before || elapsed <= 0 {
		return
	}
	facts[result.FactStolen] = strconv.FormatFloat(float64(after-t.before)/float64(elapsed), 'f', 4, 64)
}
