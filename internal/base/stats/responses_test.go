package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Whoever looks after each response at two sources of the same chance, for any chance, finds them different in at most
// the level of runs.
func TestAgainstSameChanceLevel(t *testing.T) {
	const runs, rounds, level = 2000, 120, 0.05
	r := rand.New(rand.NewPCG(5, 165))
	for _, chance := range []float64{0, 0.02, 0.1, 0.3, 0.5, 0.8, 1} {
		found := 0
		for range runs {
			var reference, other Tally
			for n := range rounds {
				for range 1 + n%2 { // the reference has a lead, as after the first phase of a search
					reference.All++
					if r.Float64() < chance {
						reference.Yes++
					}
				}
				if n >= 8 {
					other.All++
					if r.Float64() < chance {
						other.Yes++
					}
				}
				if AgainstSameChance(reference, other) >= math.Log(1/level) {
					found++
					break
				}
			}
		}
		share := float64(found) / runs
		t.Logf("a chance of %.2f on both sides: found different in %.4f", chance, share)
		if share > level {
			t.Errorf("a chance of %.2f: found different in %.4f of %d runs, which is more than %.2f", chance, share, runs, level)
		}
	}
}

// The evidence is the ratio of likelihoods that its comment says, grows with responses that differ, and says nothing
// without any.
func TestAgainstSameChance(t *testing.T) {
	if e := AgainstSameChance(Tally{}, Tally{}); e != 0 {
		t.Errorf("nothing: %v", e)
	}
	// One no of the reference and one yes of the other: the means of Beta(1/2, 4) and its mirror are 1/9 and 8/9, and a
	// shared chance of 1/2 is the likeliest.
	want := math.Log(8.0/9*8/9) - 2*math.Log(0.5)
	if e := AgainstSameChance(Tally{0, 1}, Tally{1, 1}); math.Abs(e-want) > 1e-12 {
		t.Errorf("one each: %v, want %v", e, want)
	}
	last := math.Inf(-1)
	for n := 1; n <= 10; n++ {
		e := AgainstSameChance(Tally{0, 20}, Tally{n, n})
		if e <= last {
			t.Errorf("%d responses: %v after %v", n, e, last)
		}
		last = e
	}
	for _, c := range []struct{ reference, other, level int }{{20, 2, 200}, {10, 3, 200}, {8, 3, 80}} {
		if e := AgainstSameChance(Tally{0, c.reference}, Tally{c.other, c.other}); e < math.Log(float64(c.level)) {
			t.Errorf("%+v: evidence of %.0f", c, math.Exp(e))
		}
	}
	if same := AgainstSameChance(Tally{0, 20}, Tally{0, 20}); same > 0 {
		t.Errorf("equal responses are evidence: %v", same)
	}
}

// AnyTimeSigns is the test of CompareAnyTime.
func TestAnyTimeSigns(t *testing.T) {
	if p := AnyTimeSigns(0, 0, 0); p != 1 {
		t.Errorf("nothing: %v", p)
	}
	for n := 1; n <= 30; n++ {
		for k := 0; k <= n/2; k++ {
			want := anyTimeP(n, k)
			if up, down, ties := AnyTimeSigns(n-k, k, 0), AnyTimeSigns(k, n-k, 0), AnyTimeSigns(n-k, 0, k); up != want ||
				down != want || ties != want {
				t.Errorf("%d of %d: %v, %v, %v, want %v", k, n, up, down, ties, want)
			}
		}
	}
}
