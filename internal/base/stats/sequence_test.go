package stats

import (
	"math/rand/v2"
	"testing"
)

// Whoever looks after each block, and stops at the first difference, finds a false one in at most 5 % of runs, however
// long they are. The sign test of a fixed number of blocks finds one in many more.
func TestAnyTimeLevel(t *testing.T) {
	const runs, blocks = 3000, 200
	r := rand.New(rand.NewPCG(21, 9))
	fixed, anyTime := 0, 0
	// The p-values do not depend on the run.
	var count, level [blocks + 1]int
	for n := range count {
		count[n], level[n] = anyTimeCount(n, Alpha), criticalCount(n, Alpha)
	}
	for range runs {
		above := 0
		foundFixed, foundAny := false, false
		for n := 1; n <= blocks; n++ {
			above += int(r.Uint64() & 1)
			k := min(above, n-above)
			foundFixed = foundFixed || k <= level[n]
			foundAny = foundAny || k <= count[n]
		}
		if foundFixed {
			fixed++
		}
		if foundAny {
			anyTime++
		}
	}
	t.Logf("%d looks at equal arms, %d runs: a false difference in %.3f with the fixed test, in %.3f at any time", blocks,
		runs, float64(fixed)/runs, float64(anyTime)/runs)
	if float64(anyTime)/runs > 0.05 {
		t.Errorf("the test at any time rejects in %d of %d runs", anyTime, runs)
	}
}

// The test at any time rejects exactly if the interval excludes 0, and few blocks say that they are few.
func TestCompareAnyTime(t *testing.T) {
	if n := MinBlocksAnyTime(1, Alpha); n != 7 {
		t.Errorf("one comparison takes %d blocks, want 7", n)
	}
	for blocks := 1; blocks <= 60; blocks++ {
		for contrary := 0; contrary <= blocks/2; contrary++ {
			var p Pair
			for b := range blocks {
				d := 1.0
				if b < contrary {
					d = -1
				}
				p.Arm = append(p.Arm, Value{b + 1, 100 + d*(1+float64(b)/100)})
				p.Baseline = append(p.Baseline, Value{b + 1, 100})
			}
			// The order of the blocks would look dependent; the rule is tested on independent ones.
			p.Arm = shuffledBlocks(p.Arm)
			c := CompareAnyTime([]Pair{p})[0]
			if c.Serial.Counted < c.Blocks {
				continue
			}
			want := NoDifference
			switch {
			case blocks < 7:
				want = FewBlocks
			case anyTimeP(blocks, contrary) <= Alpha:
				want = Higher
			}
			if c.Verdict != want {
				t.Fatalf("%d blocks, %d contrary: %s, want %s", blocks, contrary, c.Verdict, want)
			}
			if c.Verdict == Higher && c.Interval.Contains(0) || c.Verdict == NoDifference && !c.Interval.Contains(0) ||
				c.Widened {
				t.Fatalf("%d blocks, %d contrary: %s with %+v", blocks, contrary, c.Verdict, c.Interval)
			}
		}
	}
}

// shuffledBlocks renumbers the blocks in an order that is always the same.
func shuffledBlocks(values []Value) []Value {
	r := rand.New(rand.NewPCG(3, uint64(len(values))))
	order := r.Perm(len(values))
	all := make([]Value, len(values))
	for i, v := range values {
		all[i] = Value{order[i] + 1, v.Value}
	}
	return all
}
