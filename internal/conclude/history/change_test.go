package history

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"nearfar/internal/base/prose"
)

// testLevel is the level at which the search for changes is tested.
const testLevel = 0.05

// noise is a distribution of runs' medians around their level, with a standard deviation near 1.
type noise struct {
	name string
	draw func(r *rand.Rand) float64
}

func noises() []noise {
	return []noise{
		{"normal", func(r *rand.Rand) float64 { return r.NormFloat64() }},
		{"coarse, with ties", func(r *rand.Rand) float64 { return math.Round(r.NormFloat64()) }},
		{"log-normal", func(r *rand.Rand) float64 { return math.Exp(0.8*r.NormFloat64()) - 1 }},
		{"Student t, 3 df", func(r *rand.Rand) float64 {
			a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
			return r.NormFloat64() / math.Sqrt((a*a+b*b+c*c)/3)
		}},
		{"two modes, 70:30", func(r *rand.Rand) float64 {
			if r.Float64() < 0.3 {
				return 2 + 0.2*r.NormFloat64()
			}
			return 0.2 * r.NormFloat64()
		}},
	}
}

// atMost fails if the share is more than 3.5 standard errors above the probability p.
func atMost(t *testing.T, what string, got, of int, p float64) {
	t.Helper()
	share := float64(got) / float64(of)
	t.Logf("%s: %.3f", what, share)
	if share > p+3.5*math.Sqrt(p*(1-p)/float64(of)) {
		t.Errorf("%s: %.3f, want at most %.3f", what, share, p)
	}
}

// If the level does not change, at most 5 of 100 series are marked, for any distribution of the noise. Without ties,
// all distributions give the same distribution of ranks, on which alone the cuts depend (TestCutsDependOnRanksOnly). So
// one length of series is enough for all of them but the first.
func TestFalseAlarms(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation")
	}
	series := simulated(t, 300)
	for i, noise := range noises() {
		lengths := []int{8, 10, 20, 50, 100}
		if i > 1 {
			lengths = []int{20}
		}
		for _, n := range lengths {
			t.Run(noise.name+", "+prose.Plural(n, "run"), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(30, uint64(1000*i+n)))
				marked := 0
				for range series {
					values := make([]float64, n)
					for k := range values {
						values[k] = noise.draw(r)
					}
					if len(findCuts(values, testLevel)) > 0 {
						marked++
					}
				}
				atMost(t, noise.name+", "+prose.Plural(n, "run"), marked, series, 0.05)
			})
		}
	}
}

// In tables of 24 series without changes, at most 5 of 100 tables have any mark.
func TestFalseAlarmsOfATable(t *testing.T) {
	tables := simulated(t, 200)
	t.Parallel()
	noises := noises()
	r := rand.New(rand.NewPCG(30, 2))
	marked := 0
	for range tables {
		all := make([]Series, MaxSeries)
		for i := range all {
			for range 20 {
				all[i].Points = append(all[i].Points, Point{Median: noises[i%len(noises)].draw(r)})
			}
		}
		mark(all, 0)
		if slices.ContainsFunc(all, func(s Series) bool { return len(s.Changes) > 0 }) {
			marked++
		}
	}
	atMost(t, "24 series of 20 runs", marked, tables, 0.05)
}

// Series with too few runs do not count as tests, so that they do not make it harder to find a change in another
// series.
func TestShortSeriesCostNothing(t *testing.T) {
	all := make([]Series, 10)
	for i := range all {
		all[i].Points = make([]Point, 13)
	}
	all[3].Points = nil
	for i := range 14 {
		all[3].Points = append(all[3].Points, Point{Median: float64(i/7) + float64(i)/100})
	}
	mark(all, 0)
	if len(all[3].Changes) != 1 || all[3].Changes[0].Point != 7 || all[3].Changes[0].Before.Runs != 7 {
		t.Errorf("changes %+v", all[3].Changes)
	}
	if all[0].Reason != "13 runs, too few to find a change: it takes 14" {
		t.Errorf("%q", all[0].Reason)
	}
}

// If the standard deviation triples in the middle and the level stays, the orders are not equally likely, which the
// test assumes. Such series are marked about twice as often.
func TestSpreadThatChanges(t *testing.T) {
	series := simulated(t, 300)
	t.Parallel()
	r := rand.New(rand.NewPCG(30, 5))
	for _, n := range []int{20, 50} {
		marked := 0
		for range series {
			values := make([]float64, n)
			for i := range values {
				values[i] = r.NormFloat64()
				if i >= n/2 {
					values[i] *= 3
				}
			}
			if len(findCuts(values, testLevel)) > 0 {
				marked++
			}
		}
		atMost(t, prose.Plural(n, "run"), marked, series, 0.11)
	}
}

// A change of 2 or 3 standard deviations of the runs is found, and near its true place.
func TestPower(t *testing.T) {
	if testing.Short() {
		t.Skip("a simulation")
	}
	series := float64(simulated(t, 150))
	for i, c := range []struct {
		n, at       int
		shift       float64
		found, near float64 // the smallest shares of series: found at all, and within two runs of its place
	}{
		{10, 5, 3, 0.80, 0.75}, {20, 10, 2, 0.80, 0.70}, {20, 10, 3, 0.95, 0.90}, {20, 16, 3, 0.80, 0.75},
		{50, 25, 2, 0.95, 0.80}, {50, 45, 3, 0.95, 0.85}, {100, 50, 2, 0.95, 0.80}, {100, 95, 3, 0.90, 0.75},
	} {
		name := fmt.Sprintf("%d runs, a change of %g after %d", c.n, c.shift, c.at)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(30, uint64(300+i)))
			found, near := 0., 0.
			for range int(series) {
				values := make([]float64, c.n)
				for i := range values {
					values[i] = r.NormFloat64()
					if i >= c.at {
						values[i] += c.shift
					}
				}
				cuts := findCuts(values, testLevel)
				if len(cuts) > 0 {
					found++
				}
				if slices.ContainsFunc(cuts, func(k cut) bool { return k.at >= c.at-2 && k.at <= c.at+2 }) {
					near++
				}
			}
			found, near = found/series, near/series
			t.Logf("%s: found in %.2f, within two runs in %.2f", name, found, near)
			if found < c.found || near < c.near {
				t.Errorf("%s: found in %.2f, near in %.2f; want %.2f and %.2f", name, found, near, c.found, c.near)
			}
		})
	}
}

// If a level goes up and comes back, both changes are found at their places, and rarely any other change.
func TestTwoChanges(t *testing.T) {
	series := float64(simulated(t, 200))
	t.Parallel()
	r := rand.New(rand.NewPCG(30, 4))
	right := 0.
	for range int(series) {
		var values []float64
		for i := range 60 {
			v := 10 + 0.1*r.NormFloat64()
			if i >= 20 && i < 40 {
				v++
			}
			values = append(values, v)
		}
		var at []int
		for _, c := range findCuts(values, testLevel) {
			at = append(at, c.at)
		}
		if slices.Equal(at, []int{20, 40}) {
			right++
		}
	}
	t.Logf("exactly the two changes in %.2f", right/series)
	if right/series < 0.88 {
		t.Errorf("exactly the two changes in %.2f, want 0.88 or more", right/series)
	}
}

// foundIn gives the share of simulated series with any mark, and the share with marks at the right places (at most one
// run off) and nowhere else. The runs from up to to are shifted by this many standard deviations.
func foundIn(r *rand.Rand, series, n, from, to int, shift, level float64) (any, right float64) {
	var want []int
	for _, at := range []int{from, to} {
		if at > 0 && at < n {
			want = append(want, at)
		}
	}
	for range series {
		values := make([]float64, n)
		for i := range values {
			values[i] = r.NormFloat64()
			if i >= from && i < to {
				values[i] += shift
			}
		}
		cuts := findCuts(values, level)
		if len(cuts) > 0 {
			any++
		}
		if slices.EqualFunc(cuts, want, func(c cut, at int) bool { return c.at >= at-1 && c.at <= at+1 }) {
			right++
		}
	}
	return any / float64(series), right / float64(series)
}

// simulated is the number of series that a test simulates. The figures in docs/history.md come from
// HISTORY_SERIES=1000. Simulations are skipped with -short.
func simulated(t *testing.T, few int) int {
	t.Helper()
	if testing.Short() {
		t.Skip("no simulations with -short")
	}
	if n, err := strconv.Atoi(os.Getenv("HISTORY_SERIES")); err == nil {
		return n
	}
	return few
}

// A level that goes up and comes back is found, also if 14 series are tested together.
func TestUpAndDown(t *testing.T) {
	series := simulated(t, 25)
	for i, c := range []struct {
		shift, together float64
		from, to        int
		least           float64 // the smallest share of series in which it is found
	}{
		{2, 1, 20, 30, 0.70}, {3, 1, 20, 30, 0.95}, {10, 1, 20, 30, 0.99}, {30, 1, 20, 30, 0.99},
		{10, 1, 30, 35, 0.99}, {10, 1, 30, 34, 0.99}, {10, 1, 30, 33, 0},
		{2, 14, 20, 30, 0.35}, {3, 14, 20, 30, 0.90}, {10, 14, 20, 30, 0.99}, {30, 14, 20, 30, 0.99},
		{10, 14, 30, 36, 0.95}, {10, 14, 30, 35, 0.80}, {10, 14, 30, 34, 0},
	} {
		name := fmt.Sprintf("%g series, runs %d to %d of 60 higher by %g", c.together, c.from+1, c.to, c.shift)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(30, uint64(600+i)))
			any, right := foundIn(r, series, 60, c.from, c.to, c.shift, testLevel/c.together)
			t.Logf("%s: found in %.3f, both changes and no others in %.3f", name, any, right)
			if any < c.least {
				t.Errorf("%s: found in %.3f, want %.2f", name, any, c.least)
			}
		})
	}
}

// How many runs after a large change are needed to find it.
func TestLatestRuns(t *testing.T) {
	series := simulated(t, 25)
	for i, c := range []struct {
		together float64
		n, after int
		least    float64
	}{
		{1, 10, 3, 0}, {1, 20, 3, 0.95}, {1, 50, 3, 0.99}, {1, 100, 3, 0.99}, {1, 100, 2, 0},
		{14, 20, 4, 0}, {14, 20, 5, 0}, {14, 30, 3, 0}, {14, 30, 4, 0.95}, {14, 50, 3, 0.80}, {14, 50, 4, 0.99},
		{14, 100, 3, 0.97},
	} {
		name := fmt.Sprintf("%g series of %d runs, %d of them after a change of 10", c.together, c.n, c.after)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(30, uint64(700+i)))
			any, right := foundIn(r, series, c.n, c.n-c.after, c.n, 10, testLevel/c.together)
			t.Logf("%s: found in %.3f, the change and no others in %.3f", name, any, right)
			if any < c.least {
				t.Errorf("%s: found in %.3f, want %.2f", name, any, c.least)
			}
		})
	}
}

// The probabilities of rank sums are equal to those from counting all choices.
func TestSurprises(t *testing.T) {
	for _, n := range []int{4, 7, 10} {
		for m := minSegment; m <= n/2; m++ {
			atLeast := make([]float64, m*(n-m)+1)
			all := 0.
			for set := range 1 << n {
				if bits.OnesCount(uint(set)) != m {
					continue
				}
				all++
				sum := 0
				for i := range n {
					if set>>i&1 == 1 {
						sum += 2*i + 1 - n
					}
				}
				for d := 0; d <= max(sum, -sum); d++ {
					atLeast[d]++
				}
			}
			got := surprises(n, m)
			if len(got) != len(atLeast) {
				t.Fatalf("%d of %d: %d values, want %d", m, n, len(got), len(atLeast))
			}
			for d := len(got) - 1; d >= 0; d -= 2 { // the others are only possible with ties
				if want := -math.Log(atLeast[d] / all); math.Abs(got[d]-want) > 1e-9 {
					t.Errorf("%d of %d, deviation %d: %g, want %g", m, n, d, got[d], want)
				}
			}
		}
	}
	// Where the normal distribution takes over, it is close to the exact one.
	exact, normal := surprises(100, fewRuns), newScanner(100)
	for d := 0; d < 600; d += 100 {
		z := float64(d) / math.Sqrt(fewRuns*float64(100-fewRuns)*101/3)
		if math.Abs(exact[d]-normalSurprise(z)) > 0.1+0.1*exact[d] {
			t.Errorf("deviation %d of %d: %g, normal %g", d, normal.n, exact[d], normalSurprise(z))
		}
	}
	if a, b := normalSurprise(30), normalSurprise(30.001); math.Abs(b-a-0.03) > 0.01 ||
		math.IsInf(normalSurprise(1e4), 0) {
		t.Errorf("at 30 standard deviations %g, right behind %g", a, b)
	}
}

// With fewestRuns runs the clearest change is found, and with one run fewer it is not.
func TestFewestRuns(t *testing.T) {
	for _, level := range []float64{0.05, 0.05 / 5, 0.05 / MaxSeries} {
		fewest := fewestRuns(level)
		clear := func(n int) []float64 {
			var values []float64
			for i := range n {
				v := float64(i) / 1000
				if i >= n/2 {
					v++
				}
				values = append(values, v)
			}
			return values
		}
		if cuts := findCuts(clear(fewest), level); len(cuts) != 1 || cuts[0].at != fewest/2 {
			t.Errorf("level %g: %d runs with the clearest change give %v", level, fewest, cuts)
		}
		if cuts := findCuts(clear(fewest-1), level); len(cuts) > 0 {
			t.Errorf("level %g: %d runs give %v", level, fewest-1, cuts)
		}
		t.Logf("level %.4f takes %d runs", level, fewest)
	}
}

// A series has the same changes after any increasing function, and after a change of sign.
func TestCutsDependOnRanksOnly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.Map(rapid.IntRange(0, 20), func(i int) float64 { return float64(i) })
		values := rapid.SliceOfN(whole, 8, 30).Draw(t, "values")
		raised, turned := make([]float64, len(values)), make([]float64, len(values))
		for i, v := range values {
			raised[i], turned[i] = math.Exp(v/3), -v
		}
		want := findCuts(values, testLevel)
		if got := findCuts(raised, testLevel); !slices.Equal(got, want) {
			t.Fatalf("raised: %v, want %v", got, want)
		}
		places := func(cuts []cut) (at []int) {
			for _, c := range cuts {
				at = append(at, c.at)
			}
			return at
		}
		if got := findCuts(turned, testLevel); !slices.Equal(places(got), places(want)) {
			t.Fatalf("turned: %v, want %v", got, want)
		}
	})
}

func TestEqualRunsHaveNoChange(t *testing.T) {
	if cuts := findCuts(make([]float64, 50), testLevel); len(cuts) > 0 {
		t.Errorf("equal values give %v", cuts)
	}
}

func BenchmarkFindCuts100(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	values := make([]float64, 100)
	for i := range values {
		values[i] = r.NormFloat64() + float64(i/50)*3
	}
	for b.Loop() {
		findCuts(values, testLevel)
	}
}

// BenchmarkMark24x200 tests the largest table that is shown, with two changes in each series.
func BenchmarkMark24x200(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	all := make([]Series, MaxSeries)
	for i := range all {
		for k := range 200 {
			all[i].Points = append(all[i].Points, Point{Median: r.NormFloat64() + float64(k/70%2)*5})
		}
	}
	for b.Loop() {
		for i := range all {
			all[i].Changes = nil
		}
		mark(all, 0)
	}
}

// BenchmarkFindCuts10000 tests a very long series.
func BenchmarkFindCuts10000(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 3))
	values := make([]float64, 10_000)
	for i := range values {
		values[i] = r.NormFloat64() + float64(i/5000)*3
	}
	for b.Loop() {
		findCuts(values, testLevel)
	}
}
