package runner

import (
	"cmp"
	"maps"
	"slices"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Bounds on how many failed trials are run again.
const (
	// There is at most one replacement for every replacedShare trials of the schedule, but leastReplaced are always
	// allowed.
	replacedShare = 10
	leastReplaced = 2
	// After this many failures in a row, an (arm, workload) is not run again until a trial of the schedule succeeds:
	// its failures are not transient.
	lostAfter = 3
)

// schedule says which trial comes next: the experiment's trials in their order, and at the end of each block
// replacements of the trials that failed in it.
//
// It depends only on the experiment and on how each trial ended, so that a resumed run continues as if it had not been
// interrupted.
type schedule struct {
	slots   []experiment.Slot
	retries int
	// done are the trials that have ended.
	done map[int]bool
	// block is the block of the trial that ended last.
	block int
	// failed are the places of that block without a successful trial, in the order in which they failed.
	failed []*place
	// lost counts the failures in a row of each (arm, workload).
	lost map[string]int
	// replaced is how many replacements have ended, most how many there may be. number is the highest trial number so
	// far.
	replaced, most, number int
	// again are the trials that the user asked to repeat, after all others.
	again []experiment.Slot
}

// place is a trial of the schedule that failed, with the number of its replacements.
type place struct {
	slot  experiment.Slot
	tries int
}

// newSchedule plans a run without the skipped workloads. before are the trials that the run has, in the order in which
// they ran.
func newSchedule(e *experiment.Experiment, skipped map[string]string, before []result.Trial) *schedule {
	s := &schedule{retries: e.Schedule.Retries, done: map[int]bool{}, lost: map[string]int{}}
	for _, slot := range e.Slots() {
		s.number = slot.Trial
		if _, out := skipped[slot.Workload]; !out {
			s.slots = append(s.slots, slot)
		}
	}
	s.most = max(len(s.slots)/replacedShare, leastReplaced)
	for _, t := range before {
		s.ended(experiment.Slot{
			Trial: t.Trial, Block: t.Block, Deployment: e.Schedule.DeploymentOf(t.Block), Arm: t.Arm,
			Workload: t.Workload, Repeat: t.Repeat, Replaces: t.Replaces,
		}, t.Error != "")
	}
	return s
}

// next is the trial to run; false at the end of the run.
func (s *schedule) next() (experiment.Slot, bool) {
	for len(s.slots) > 0 && s.done[s.slots[0].Trial] {
		s.slots = s.slots[1:]
	}
	if len(s.slots) > 0 && (s.slots[0].Block <= s.block || s.block == 0) {
		return s.slots[0], true
	}
	for _, p := range s.failed {
		if p.tries < s.retries && s.replaced < s.most && s.lost[cell(p.slot)] < lostAfter {
			again := p.slot
			again.Trial, again.Replaces = s.number+1, p.slot.Trial
			return again, true
		}
	}
	if len(s.slots) > 0 {
		return s.slots[0], true
	}
	if len(s.again) > 0 {
		again := s.again[0]
		s.again = s.again[1:]
		again.Trial, again.Replaces = s.number+1, again.Trial
		return again, true
	}
	return experiment.Slot{}, false
}

// ahead is the trial that comes next if the running one succeeds; false if it is the last one.
func (s *schedule) ahead(running experiment.Slot) (experiment.Slot, bool) {
	then := *s
	then.done, then.lost, then.failed = maps.Clone(s.done), maps.Clone(s.lost), nil
	for _, p := range s.failed {
		place := *p
		then.failed = append(then.failed, &place)
	}
	then.again = slices.Clone(s.again)
	then.ended(running, false)
	return then.next()
}

// retryFailed plans one more trial, after all others, for each place whose trials all failed. before are the trials so
// far.
func (s *schedule) retryFailed(before []result.Trial) {
	failed := map[int]bool{}
	for _, t := range before {
		if number := cmp.Or(t.Replaces, t.Trial); t.Error == "" {
			failed[number] = false
		} else if _, known := failed[number]; !known {
			failed[number] = true
		}
	}
	for _, slot := range s.slots {
		if failed[slot.Trial] {
			s.again = append(s.again, slot)
		}
	}
}

// ended records how a trial ended.
func (s *schedule) ended(slot experiment.Slot, failed bool) {
	if slot.Block != s.block {
		s.block, s.failed = slot.Block, nil
	}
	s.done[slot.Trial] = true
	s.number = max(s.number, slot.Trial)
	if s.lost[cell(slot)]++; !failed {
		s.lost[cell(slot)] = 0
	}
	if slot.Replaces == 0 {
		if failed {
			s.failed = append(s.failed, &place{slot: slot})
		}
		return
	}
	s.replaced++
	if !failed {
		s.again = slices.DeleteFunc(s.again, func(p experiment.Slot) bool { return p.Trial == slot.Replaces })
	}
	for i, p := range s.failed {
		if p.slot.Trial != slot.Replaces {
			continue
		}
		if p.tries++; !failed {
			s.failed = append(s.failed[:i], s.failed[i+1:]...)
		}
		return
	}
}

// left lists the trials of the schedule that are yet to run.
func (s *schedule) left() []experiment.Slot {
	var left []experiment.Slot
	for _, slot := range s.slots {
		if !s.done[slot.Trial] {
			left = append(left, slot)
		}
	}
	return left
}

func cell(s experiment.Slot) string { return s.Arm + "\x00" + s.Workload }
