package experiment

import "math/rand/v2"

// Slot is one trial to be run.
type Slot struct {
	// Trial counts from 1 in the order of execution, Block from 1.
	Trial, Block  int
	Arm, Workload string
}

// Slots gives all trials in the order in which they run: randomised complete blocks, each with every arm and workload
// once.
//
// The order within a block depends only on Schedule.Seed, the block's number and the arms and workloads, so that an
// experiment with more blocks begins with the same ones. Every order of a block is equally likely (Fisher-Yates).
func (e *Experiment) Slots() []Slot {
	slots := make([]Slot, 0, e.Schedule.Blocks*len(e.Arms)*len(e.Workloads))
	for block := 1; block <= e.Schedule.Blocks; block++ {
		start := len(slots)
		for _, a := range e.Arms {
			for _, w := range e.Workloads {
				slots = append(slots, Slot{Block: block, Arm: a.Name, Workload: w.Name})
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
