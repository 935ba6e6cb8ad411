package experiment

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// scheduled makes an experiment in which only the schedule matters.
func scheduled(arms, workloads, blocks int, seed uint64) *Experiment {
	e := &Experiment{Schedule: Schedule{Blocks: blocks, Seed: seed}}
	for i := range arms {
		e.Arms = append(e.Arms, Arm{Name: fmt.Sprint("arm", i)})
	}
	for i := range workloads {
		e.Workloads = append(e.Workloads, Workload{Name: fmt.Sprint("workload", i)})
	}
	return e
}

func TestSlotsAreCompleteBlocks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		arms, workloads := rapid.IntRange(1, 6).Draw(t, "arms"), rapid.IntRange(1, 4).Draw(t, "workloads")
		blocks, seed := rapid.IntRange(1, 12).Draw(t, "blocks"), rapid.Uint64().Draw(t, "seed")
		slots := scheduled(arms, workloads, blocks, seed).Slots()
		if len(slots) != arms*workloads*blocks {
			t.Fatalf("%d slots for %d arms, %d workloads, %d blocks", len(slots), arms, workloads, blocks)
		}
		seen := make(map[Slot]int)
		for i, s := range slots {
			if s.Trial != i+1 || s.Block != i/(arms*workloads)+1 {
				t.Fatalf("slot %d is trial %d of block %d", i, s.Trial, s.Block)
			}
			s.Trial = 0
			seen[s]++
		}
		if len(seen) != len(slots) {
			t.Fatalf("%d different slots of %d: a block holds something twice", len(seen), len(slots))
		}
		if diff := cmp.Diff(slots, scheduled(arms, workloads, blocks, seed).Slots()); diff != "" {
			t.Fatalf("the same seed gives another order:\n%s", diff)
		}
		more := scheduled(arms, workloads, blocks+rapid.IntRange(1, 5).Draw(t, "more"), seed).Slots()
		if diff := cmp.Diff(slots, more[:len(slots)]); diff != "" {
			t.Fatalf("more blocks change the earlier ones:\n%s", diff)
		}
	})
}

// The blocks of a deployment run before those of the next one, and a schedule with more deployments begins with the
// same ones.
func TestSlotsOfDeployments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		blocks, seed := rapid.IntRange(1, 6).Draw(t, "blocks"), rapid.Uint64().Draw(t, "seed")
		e := scheduled(3, 2, blocks, seed)
		e.Schedule.Deployments = rapid.IntRange(2, 5).Draw(t, "deployments")
		slots := e.Slots()
		if want := 3 * 2 * blocks * e.Schedule.Deployments; len(slots) != want || e.Planned(nil) != want {
			t.Fatalf("%d slots, %d planned; want %d", len(slots), e.Planned(nil), want)
		}
		for i, s := range slots {
			block := i/6 + 1
			if s.Block != block || s.Deployment != (block-1)/blocks+1 || s.Trial != i+1 {
				t.Fatalf("slot %d: %+v", i, s)
			}
		}
		fewer := *e
		fewer.Schedule.Deployments--
		if diff := cmp.Diff(fewer.Slots(), slots[:len(slots)-6*blocks]); diff != "" {
			t.Fatalf("another deployment changes the earlier ones:\n%s", diff)
		}
	})
}

func TestBlocksAndSeedsDiffer(t *testing.T) {
	// Of 12! orders, two are the same with a probability of 1 in 479 million.
	order := func(slots []Slot, block int) []string {
		var names []string
		for _, s := range slots {
			if s.Block == block {
				names = append(names, s.Arm+s.Workload)
			}
		}
		return names
	}
	seen := make(map[string]string)
	for seed := range uint64(20) {
		slots := scheduled(4, 3, 20, seed).Slots()
		for block := 1; block <= 20; block++ {
			key := fmt.Sprint(order(slots, block))
			here := fmt.Sprintf("seed %d block %d", seed, block)
			if there, twice := seen[key]; twice {
				t.Errorf("%s has the order of %s", here, there)
			}
			seen[key] = here
		}
	}
}

// The order of a recorded run must never change, or --resume would continue with another one.
func TestSlotsStayTheSame(t *testing.T) {
	var got []string
	for _, s := range scheduled(3, 1, 3, 1).Slots() {
		got = append(got, s.Arm)
	}
	want := []string{"arm0", "arm1", "arm2", "arm1", "arm0", "arm2", "arm0", "arm2", "arm1"}
	if !slices.Equal(got, want) {
		t.Errorf("order %q, want %q", got, want)
	}
}

// Every arm is as likely as any other to stand at a position, whatever the block: chi-square over many seeds.
// The statistic has (arms-1)^2 = 25 degrees of freedom; it exceeds 60.1 with a probability of 1e-4. The seeds are
// fixed, so the test always gives the same.
func TestPositionsAreUniform(t *testing.T) {
	const arms, seeds, limit = 6, 6000, 60.1
	for _, block := range []int{1, 2, 7} {
		var counts [arms][arms]float64
		for seed := range uint64(seeds) {
			slots := scheduled(arms, 1, block, seed+1).Slots()
			for position, s := range slots[(block-1)*arms:] {
				counts[s.Arm[len("arm")]-'0'][position]++
			}
		}
		statistic, expected := 0.0, float64(seeds)/arms
		for _, row := range counts {
			for _, n := range row {
				statistic += (n - expected) * (n - expected) / expected
			}
		}
		if statistic > limit {
			t.Errorf("block %d: chi-square %.1f over %g; counts %v", block, statistic, limit, counts)
		}
	}
}

// The first trial of a block does not predict the first trial of the next block: chi-square over many seeds, with 35
// degrees of freedom; it exceeds 75.1 with a probability of 1e-4.
func TestBlocksAreIndependent(t *testing.T) {
	const arms, seeds, limit = 6, 6000, 75.1
	var counts [arms][arms]float64
	for seed := range uint64(seeds) {
		slots := scheduled(arms, 1, 2, seed+1).Slots()
		counts[slots[0].Arm[len("arm")]-'0'][slots[arms].Arm[len("arm")]-'0']++
	}
	statistic, expected := 0.0, float64(seeds)/(arms*arms)
	for _, row := range counts {
		for _, n := range row {
			statistic += (n - expected) * (n - expected) / expected
		}
	}
	if statistic > limit {
		t.Errorf("chi-square %.1f over %g; counts %v", statistic, limit, counts)
	}
}

func TestDefaultSchedule(t *testing.T) {
	for _, c := range []struct{ arms, blocks, repeats int }{
		{0, 12, 1}, {1, 12, 1}, {2, 12, 1}, {3, 13, 1}, {4, 14, 1}, {5, 12, 3}, {8, 12, 3}, {9, 13, 3}, {15, 13,
			3}, {16, 14, 3}, {28, 14, 3}, {100, 17, 3},
	} {
		if blocks, repeats := DefaultBlocks(c.arms), DefaultBaselineRepeats(c.arms); blocks != c.blocks ||
			repeats != c.repeats {
			t.Errorf("%d arms: %d blocks with the baseline %d times, want %d and %d", c.arms, blocks, repeats, c.blocks,
				c.repeats)
		}
	}
}

// A block holds the baseline as often as the schedule says, each trial with a number of its own, and every other arm
// once.
func TestBaselineRepeats(t *testing.T) {
	e := scheduled(3, 2, 4, 9)
	e.Baseline = e.Arms[1].Name
	e.Schedule.BaselineRepeats = 3
	counts, numbers := map[Slot]int{}, map[int]bool{}
	slots := e.Slots()
	for _, s := range slots {
		numbers[s.Trial] = true
		s.Trial = 0
		counts[s]++
		if (s.Repeat > 0) != (s.Arm == e.Baseline) || s.Repeat > 3 {
			t.Errorf("%+v", s)
		}
	}
	if want := 4 * 2 * 5; len(slots) != want || len(counts) != want || len(numbers) != want || e.Planned(nil) != want {
		t.Errorf("%d trials, %d of them different, %d numbers, %d planned; want %d", len(slots), len(counts),
			len(numbers), e.Planned(nil), want)
	}
	if got := e.Planned(map[string]string{e.Workloads[0].Name: "absent"}); got != 20 {
		t.Errorf("%d planned without a workload, want 20", got)
	}
}
