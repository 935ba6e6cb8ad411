package answer

import (
	"fmt"
	"math"
	"time"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Recommended is the cheapest plan that finds the wanted difference in the first quantity of each workload with a
// probability of 80 %.
type Recommended struct {
	// Reached is false if no plan within the bounds finds it; Reason then says why, and the rest is empty.
	Reached bool   `json:"reached"`
	Reason  string `json:"reason,omitempty"`
	// Blocks is for the whole experiment, Workloads the durations.
	Blocks    int                   `json:"blocks,omitempty"`
	Workloads []RecommendedDuration `json:"workloads,omitempty"`
	// Seconds is about how long the experiment takes.
	Seconds float64 `json:"estimated_seconds,omitempty"`
	// Text is the recommendation in a sentence.
	Text string `json:"text"`
}

// RecommendedDuration is how long the trials of a workload should measure, in seconds.
type RecommendedDuration struct {
	Workload string  `json:"workload"`
	Seconds  float64 `json:"duration_seconds"`
}

// fewestPlanned is the smallest number of blocks that is recommended: the default of the experiment, with which a
// difference is found although a stalled trial contradicts it.
func fewestPlanned(self *experiment.SelfComparison) int {
	return experiment.DefaultBlocks(self.Comparisons + 1)
}

// resolve sets how to find the wanted difference in this quantity alone.
func (f *measuredFloor) resolve(aim *figures.Aim, fewest int) {
	difference, ok := aim.Difference(f.Quantity, f.Level)
	if !ok {
		return
	}
	f.aim = difference
	plan := &FloorPlan{Difference: difference}
	least := math.Inf(1)
	for blocks := fewest; blocks <= MostPlanned; blocks++ {
		if plan.Blocks == nil && f.finds(blocks, f.Duration) {
			plan.Blocks = new(blocks)
		}
		if seconds, ok := f.shortest(blocks); ok {
			if cost := float64(blocks) * (seconds + f.trial); cost < least*0.999 {
				least, plan.CheapestBlocks, plan.CheapestDuration = cost, new(blocks), &seconds
			}
		}
		if float64(blocks+1)*(f.lengths[0]+f.trial) > least && plan.Blocks != nil {
			break // more blocks cost more, however short their trials are
		}
	}
	f.Resolve = plan
}

// finds says whether this many blocks of trials of this length find the wanted difference.
func (f *measuredFloor) finds(blocks int, seconds float64) bool {
	d := f.detectable(blocks)
	return d.Known && d.Value*f.factor(seconds) <= f.aim
}

// shortest is the shortest trial with which this many blocks find the wanted difference.
func (f *measuredFloor) shortest(blocks int) (seconds float64, ok bool) {
	for _, seconds := range f.lengths {
		if f.finds(blocks, seconds) {
			return seconds, true
		}
	}
	return 0, false
}

// recommend chooses the blocks, which all workloads share, and the duration of each workload, so that the whole takes
// the least time. It returns nil if no first quantity has the unit of the aim.
func recommend(in Input, floors []measuredFloor, aim *figures.Aim) *Recommended {
	self := in.Experiment.SelfComparison
	var wanted []*measuredFloor
	for i := range floors {
		if floors[i].primary && floors[i].aim > 0 {
			wanted = append(wanted, &floors[i])
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	each := float64(self.Comparisons + in.Experiment.Schedule.Repeats()) // trials of a workload in a block
	least := math.Inf(1)
	var best *Recommended
	for blocks := fewestPlanned(self); blocks <= MostPlanned; blocks++ {
		plan, block, shortest := &Recommended{Reached: true, Blocks: blocks}, 0.0, 0.0
		for _, l := range self.Lengths {
			seconds, beyond, most, ok := lengthFor(in, wanted, l, blocks)
			plan.Reached = plan.Reached && ok
			plan.Workloads = append(plan.Workloads, RecommendedDuration{l.Workload, seconds})
			block, shortest = block+each*(seconds+beyond), shortest+each*(most+beyond)
		}
		if plan.Seconds = float64(blocks) * block; plan.Reached && plan.Seconds < least*0.999 {
			best, least = plan, plan.Seconds
		}
		if float64(blocks+1)*shortest > least {
			break
		}
	}
	if best == nil {
		return &Recommended{Reason: unreachable(wanted, aim), Text: unreachable(wanted, aim)}
	}
	best.Text = best.sentence(aim)
	return best
}

// lengthFor is the shortest duration of a workload with which this many blocks find the wanted difference, how long its
// trials take beyond that, and the shortest of its durations, in seconds. A workload without a wanted difference keeps
// its duration.
func lengthFor(in Input, wanted []*measuredFloor, l experiment.Lengths, blocks int) (
	seconds, beyond, shortest float64, ok bool,
) {
	for _, f := range wanted {
		if f.Workload == l.Workload {
			seconds, ok = f.shortest(blocks)
			return seconds, f.trial, f.lengths[0], ok
		}
	}
	w, _ := in.Experiment.Workload(l.Workload)
	own := w.Duration.Seconds()
	return own, beyondDuration(in.Trials, l.Workload), own, true
}

// sentence says what to write into the file: "For 5 %: blocks: 14, and duration 500ms in rr. That takes about 2m10s."
func (r *Recommended) sentence(aim *figures.Aim) string {
	var durations []string
	for _, w := range r.Workloads {
		durations = append(durations, experiment.FormatDuration(duration(w.Seconds))+" in "+w.Workload)
	}
	return fmt.Sprintf("To find %s four times in five, the cheapest plan is blocks: %d, with a duration of %s: "+
		"about %v.", aim.Text, r.Blocks, list(durations), duration(r.Seconds).Round(roundTo(r.Seconds)))
}

// unreachable says which difference the largest plan finds, and whether longer trials help.
func unreachable(wanted []*measuredFloor, aim *figures.Aim) string {
	for _, f := range wanted {
		longest := f.lengths[len(f.lengths)-1]
		if _, ok := f.shortest(MostPlanned); ok {
			continue
		}
		text := fmt.Sprintf("No plan of up to %d blocks finds %s in %s %s", MostPlanned, aim.Text, f.Workload, f.Name())
		if d := f.detectable(MostPlanned); d.Known {
			text += fmt.Sprintf(": %d blocks with a duration of %s find %s", MostPlanned,
				experiment.FormatDuration(duration(longest)), result.Amount(d.Value*f.factor(longest), f.Unit))
		}
		if f.Fixed != nil && *f.Fixed > 0.5 {
			text += fmt.Sprintf(". Longer trials help little: they do not shrink %s of the variance",
				result.Share(*f.Fixed))
		}
		return text + "."
	}
	return fmt.Sprintf("No plan of up to %d blocks finds %s in all workloads.", MostPlanned, aim.Text)
}

// duration converts seconds.
func duration(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

// roundTo is the precision of an estimated time.
func roundTo(seconds float64) time.Duration {
	if seconds < 10 {
		return time.Second / 10
	}
	return time.Second
}
