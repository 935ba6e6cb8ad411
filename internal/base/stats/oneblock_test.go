package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// against makes a pair with this many blocks; contrary of them contradict the others. The order of the blocks passes
// the test for dependence.
func againstPair(blocks, contrary int) Pair {
	for seed := uint64(0); ; seed++ {
		var p Pair
		for i, at := range rand.New(rand.NewPCG(27, seed)).Perm(blocks) {
			d := 1 + float64(at)/100
			if at < contrary {
				d = -d
			}
			p.Arm = append(p.Arm, Value{i + 1, 100 + d})
			p.Baseline = append(p.Baseline, Value{i + 1, 100})
		}
		if c := compare(p); c.Serial.Counted >= c.Blocks {
			return p
		}
	}
}

func TestOneBlockDecides(t *testing.T) {
	for _, c := range []struct {
		name    string
		table   []Pair
		verdict Verdict
		decides bool
		more    int
		against int
	}{
		{"the fewest blocks, all agree", []Pair{againstPair(6, 0)}, Higher, true, 1, 0},
		{"one block to spare", []Pair{againstPair(7, 0)}, Higher, false, 0, 0},
		{"one contradicts, and none is allowed to", []Pair{againstPair(7, 1)}, NoDifference, false, 0, 1},
		{"one contradicts, and only one is allowed to", []Pair{againstPair(9, 1)}, Higher, true, 1, 1},
		{"two contradict, and with one there is no difference either", []Pair{againstPair(7, 2)}, NoDifference, false, 0,
			2},
		{"half contradict", []Pair{againstPair(12, 6)}, NoDifference, false, 0, 6},
		// With ten blocks and 14 comparisons all blocks must agree: one that contradicts hides every difference.
		{"a family of 14", slices.Repeat([]Pair{againstPair(10, 1)}, 14), NoDifference, false, 0, 1},
	} {
		got := CompareAll(c.table)[0]
		if got.Verdict != c.verdict || got.OneBlock != (OneBlock{c.decides, c.more}) || got.Against != c.against {
			t.Errorf("%s: %s, %+v, %d against; want %s, one block decides %v, %d more blocks end that", c.name,
				got.Verdict, got.OneBlock, got.Against, c.verdict, c.decides, c.more)
		}
	}
}

// TestOneBlockIsConsistent: if no single block decides, any block can be left out without changing the verdict. If
// one does, the stated number of further blocks ends that.
func TestOneBlockIsConsistent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 9).Draw(t, "size")
		blocks := rapid.IntRange(6, 18).Draw(t, "blocks")
		counts := make([]int, size)
		table := make([]Pair, size)
		for i := range table {
			counts[i] = rapid.IntRange(0, 3).Draw(t, "against")
			table[i] = againstPair(blocks, counts[i])
		}
		got := CompareAll(table)[0]
		without := append([]Pair{againstPair(blocks-1, counts[0])}, table[1:]...)
		// The table must keep its size, so skip if the smaller comparison cannot be tested.
		smaller := CompareAll(without)[0]
		if !smaller.PValue.Known {
			t.Skip()
		}
		if got.Verdict == Higher && (smaller.PValue.Value > Alpha) != got.OneBlock.Decides {
			t.Fatalf("p %v without a block, and got %+v", smaller.PValue.Value, got.OneBlock)
		}
		if !got.OneBlock.Decides {
			return
		}
		more := blocks + got.OneBlock.More
		if got.Verdict == Higher {
			more--
		}
		with := append([]Pair{againstPair(more, counts[0])}, table[1:]...)
		if p := CompareAll(with)[0].PValue; !p.Known || p.Value > Alpha {
			t.Fatalf("with %d blocks p is %v, which should be at most 0.05: %+v", more, p, got.OneBlock)
		}
	})
}

func TestPerBlock(t *testing.T) {
	got := PerBlock([]Value{{2, 5}, {1, 9}, {1, 1}, {1, 4}, {0, 7}, {0, 8}, {2, 6}, {3, 1}, {3, math.Inf(1)}, {3, 2}})
	want := []Value{{2, 5}, {1, 4}, {0, 7}, {0, 8}, {3, 2}}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// TestResolveGivesTheSameAsBlocksNeeded compares the two ways to compute blocks, including the case without a
// difference.
func TestResolveGivesTheSameAsBlocksNeeded(t *testing.T) {
	p := Pair{}
	for block := 1; block <= 10; block++ {
		p.Arm = append(p.Arm, Value{block, 100 + float64(block%5) - 2})
		p.Baseline = append(p.Baseline, Value{block, 100})
	}
	c := Compare(p.Arm, p.Baseline)
	if c.Verdict != NoDifference || c.BlocksNeeded != -1 {
		t.Fatalf("%+v: want no difference, and no number of blocks that would find it", c)
	}
	for _, difference := range []float64{1, 2, 3} {
		all := c.Noise.Blocks(difference)
		if more := c.Noise.BlocksNeeded(difference); all < 6 || more > 0 && more != all-10 || more == 0 && all > 10 {
			t.Errorf("a difference of %v takes %d blocks, and %d more than 10", difference, all, more)
		}
	}
	if d := c.Noise.In(40, 7).Detectable(); !d.Known || d.Value >= c.Detectable.Value {
		t.Errorf("40 blocks find %+v, 10 find %+v", d, c.Detectable)
	}
	if d := c.Noise.In(5, 1).Detectable(); d.Known {
		t.Errorf("5 blocks find %+v", d)
	}
}
