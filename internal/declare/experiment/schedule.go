package experiment

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Limits of what a schedule repeats.
const (
	maxBaselineRepeats = 9
	maxRetries         = 5
	maxDeployments     = 1000
)

// DefaultRetries is how many times a failed trial runs again in its block, if the file does not say.
const DefaultRetries = 2

// manyArms is the number of arms from which on a block runs the baseline three times, if the file does not say. Every
// comparison uses the baseline, and the median of three is rarely an outlier (TestRepeatsPay of package stats).
const manyArms = 5

// leastBlocks is the smallest default number of blocks.
const leastBlocks = 12

// DefaultBaselineRepeats is how many times a block runs the baseline, if the file does not say.
func DefaultBaselineRepeats(arms int) int {
	if arms >= manyArms {
		return 3
	}
	return 1
}

// DefaultBlocks is how many blocks a run has, if the file does not say. It is at least 12, and at least the smallest
// number with which a difference is found although two blocks contradict it (one block, if blocks run the baseline
// three times). All arms except the baseline are compared in each quantity, so the sign test of one comparison must
// reject at the level 5 % / (arms - 1).
func DefaultBlocks(arms int) int {
	level := 0.05 / float64(max(arms-1, 1))
	for n := leastBlocks; ; n++ {
		// The number of the 2^n outcomes of n fair coins in which the rarer side occurs at most once, or twice.
		few := 1 + float64(n)
		if arms < manyArms {
			few += float64(n*(n-1)) / 2
		}
		if 2*few <= level*math.Exp2(float64(n)) {
			return n
		}
	}
}

// Repeats is how many times a block runs the baseline in each workload.
func (s Schedule) Repeats() int { return max(s.BaselineRepeats, 1) }

// DeploymentCount is how many times the hosts are made.
func (s Schedule) DeploymentCount() int { return max(s.Deployments, 1) }

// AllBlocks is the number of blocks of all deployments together.
func (s Schedule) AllBlocks() int { return s.Blocks * s.DeploymentCount() }

// inDeployments says in how many deployments the blocks run, after their number; empty for one.
func (s Schedule) inDeployments() string {
	if s.DeploymentCount() == 1 {
		return ""
	}
	return fmt.Sprintf(" in each of %d deployments", s.Deployments)
}

// DeploymentOf is the deployment to which a block belongs, from 1. Blocks are numbered through all deployments.
func (s Schedule) DeploymentOf(block int) int { return (block-1)/max(s.Blocks, 1) + 1 }

// trials is how many trials the schedule has, without replacements of failed ones.
func (s Schedule) trials(arms, workloads int) int {
	if arms == 0 {
		return 0
	}
	return s.AllBlocks() * workloads * (arms - 1 + s.Repeats())
}

// TrialsOf is how many trials the schedule has of each workload in an arm.
func (e *Experiment) TrialsOf(arm string) int {
	if arm == e.Baseline {
		return e.Schedule.AllBlocks() * e.Schedule.Repeats()
	}
	return e.Schedule.AllBlocks()
}

// Planned is how many trials the schedule has, without the trials of skipped workloads and without replacements of
// failed trials.
func (e *Experiment) Planned(skipped map[string]string) int {
	workloads := 0
	for _, w := range e.Workloads {
		if _, out := skipped[w.Name]; !out {
			workloads++
		}
	}
	return e.Schedule.trials(len(e.Arms), workloads)
}

// Slot is one trial to be run.
type Slot struct {
	// Trial counts from 1 in the order of execution, Block from 1 through all deployments. A replacement has a number
	// after all trials of the schedule.
	Trial, Block int
	// Deployment counts from 1. The blocks of a deployment run before those of the next one.
	Deployment    int
	Arm, Workload string
	// Repeat counts the trials of the baseline in one block and workload from 1. It is 0 if there is only one.
	Repeat int
	// Replaces is the number of the failed trial that this one repeats; 0 for the trials of the schedule.
	Replaces int
}

// Slots gives all trials in the order in which they run: randomised complete blocks, each with every arm and workload
// once, and the baseline as often as the schedule says.
//
// The order within a block depends only on Schedule.Seed, the block's number and the arms and workloads, so that an
// experiment with more blocks begins with the same ones. Every order of a block is equally likely (Fisher-Yates).
func (e *Experiment) Slots() []Slot {
	slots := make([]Slot, 0, e.Schedule.trials(len(e.Arms), len(e.Workloads)))
	for block := 1; block <= e.Schedule.AllBlocks(); block++ {
		start := len(slots)
		for _, a := range e.Arms {
			for _, w := range e.Workloads {
				slot := Slot{Block: block, Deployment: e.Schedule.DeploymentOf(block), Arm: a.Name, Workload: w.Name}
				slots = append(slots, e.repeated(slot)...)
			}
		}
		order := rand.New(rand.NewPCG(e.Schedule.Seed, uint64(block)))
		order.Shuffle(len(slots)-start, func(i, j int) {
			slots[start+i], slots[start+j] = slots[start+j], slots[start+i]
		})
		for i := start; i < len(slots); i++ {
			slots[i].Trial = i + 1
		}
	}
	return slots
}

// repeated gives the trials of one arm and workload in a block.
func (e *Experiment) repeated(s Slot) []Slot {
	n := e.Schedule.Repeats()
	if s.Arm != e.Baseline || n == 1 {
		return []Slot{s}
	}
	all := make([]Slot, n)
	for i := range all {
		all[i] = s
		all[i].Repeat = i + 1
	}
	return all
}

// MaxBlocks is the greatest number of blocks, and MaxTrials the greatest number of trials.
const (
	MaxBlocks = 10_000
	MaxTrials = 100_000
)

// Numbers are the keys of a schedule that have whole numbers, except its seed.
func (s *Schedule) Numbers() []NumberKey {
	return []NumberKey{{"blocks", &s.Blocks, Range{1, MaxBlocks}},
		{"baseline_repeats", &s.BaselineRepeats, Range{1, maxBaselineRepeats}},
		{"retries", &s.Retries, Range{0, maxRetries}}, {"deployments", &s.Deployments, Range{1, maxDeployments}}}
}
