package bisect

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/bisection"
	"nearfar/internal/declare/result"
)

// names are n steps, s1 to sn.
func names(n int) []bisection.Step {
	steps := make([]bisection.Step, n)
	for i := range steps {
		steps[i].Name = fmt.Sprintf("s%d", i+1)
	}
	return steps
}

// rtt is the quantity of the tests.
func rtt() figures.Quantity {
	return figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
}

// search carries a search to its end, or through most visits. visit makes the visit to a step.
func search(t *testing.T, o Options, most int, visit func(step int) bisection.Visit) (*Search, []bisection.Visit) {
	t.Helper()
	s := New(o)
	var visits []bisection.Visit
	for {
		next, more := s.Next()
		if !more {
			return s, visits
		}
		if next < 0 || next >= o.Steps {
			t.Fatalf("step %d of %d", next, o.Steps)
		}
		if len(visits) == most {
			return s, visits
		}
		v := visit(next)
		v.Step = next
		visits = append(visits, v)
		s.Add(v)
	}
}

// exact gives figures without noise: 1 before a step, 2 from it on.
func exact(first int) func(int) bisection.Visit {
	return func(step int) bisection.Visit {
		if step < first {
			return bisection.Visit{Value: 1}
		}
		return bisection.Visit{Value: 2}
	}
}

// Without noise every step of every list is found, in either direction, and with few visits.
func TestFindsEveryStep(t *testing.T) {
	for _, n := range []int{2, 3, 4, 5, 8, 9, 33, 100} {
		for first := 1; first < n; first++ {
			for _, sign := range []float64{1, -1} {
				at := exact(first)
				s, visits := search(t, Options{Steps: n, Alpha: 0.05, Seed: uint64(first)}, 1000, func(step int) bisection.Visit {
					v := at(step)
					v.Value *= sign
					return v
				})
				r := s.Of(names(n), rtt(), len(visits))
				if r.Outcome != Found || r.First.Place != first+1 || r.Before.Place != first || r.Risk > r.Alpha+1e-12 {
					t.Fatalf("%d steps, the first bad one is %d: %+v", n, first+1, r)
				}
				// 7 rounds of two tell good and bad apart, and then each halving takes at most 3 rounds of three.
				most := 14 + 9*int(math.Ceil(math.Log2(float64(n-1))))
				if len(visits) > most {
					t.Errorf("%d steps took %d visits, more than %d", n, len(visits), most)
				}
			}
		}
	}
}

// A world gives figures of visits to good and bad steps. A visit has noise of scale 1.
type world struct {
	name string
	// apart is how far bad is from good, in units of the noise.
	apart float64
	// noise is that of one visit, drift that of the machine, which goes on from visit to visit.
	noise func(r *rand.Rand) float64
	drift func(r *rand.Rand, now float64, visit int) float64
}

func normal(r *rand.Rand) float64 { return r.NormFloat64() }

// skewed is lognormal, less its median, with about the scale of the others.
func skewed(r *rand.Rand) float64 { return math.Exp(0.8*r.NormFloat64()) - 1 }

// wild is normal, and a tenth of the visits are far up.
func wild(r *rand.Rand) float64 {
	if r.Float64() < 0.1 {
		return 20 * r.Float64()
	}
	return r.NormFloat64()
}

// placed is one of two levels, by where the processes happen to run, and a little noise.
func placed(r *rand.Rand) float64 {
	level := 0.0
	if r.Float64() < 0.3 {
		level = 2
	}
	return level + 0.3*r.NormFloat64()
}

func still(*rand.Rand, float64, int) float64 { return 0 }

// wanders changes with each visit, and slowly goes up.
func wanders(r *rand.Rand, now float64, _ int) float64 { return now + 0.05 + 0.3*r.NormFloat64() }

// jumps goes to another level every forty visits.
func jumps(r *rand.Rand, now float64, visit int) float64 {
	if visit%40 == 39 {
		return 10 * r.NormFloat64()
	}
	return now
}

func worlds() []world {
	return []world{
		{"normal, 1.5 apart", 1.5, normal, still},
		{"normal, 3 apart", 3, normal, still},
		{"normal, 8 apart", 8, normal, still},
		{"skewed, 3 apart", 3, skewed, still},
		{"a tenth wild, 4 apart", 4, wild, still},
		{"two levels, 3 apart", 3, placed, still},
		{"wanders, 4 apart", 4, normal, wanders},
		{"jumps, 4 apart", 4, normal, jumps},
	}
}

// visits makes visits to a world where a step is the first bad one.
func (w world) visits(r *rand.Rand, first int) func(int) bisection.Visit {
	drift, n := 0.0, 0
	return func(step int) bisection.Visit {
		drift = w.drift(r, drift, n)
		n++
		value := 100 + drift + w.noise(r)
		if step >= first {
			value += w.apart
		}
		return bisection.Visit{Value: value}
	}
}

// mostWrong is how many of so many answers may be wrong: the chance of error, and two standard errors.
func mostWrong(runs int, alpha float64) int {
	return int(float64(runs)*alpha + 2*math.Sqrt(float64(runs)*alpha*(1-alpha)))
}

// The stated chance of error holds: in worlds with noise of several kinds, on machines that drift, for 2 to 1000 steps
// the answer excludes the planted step in at most 5 % of searches. And searches end with one step, mostly.
func TestCoverageOfBisections(t *testing.T) {
	runs := 500
	if testing.Short() {
		runs = 100
	}
	const alpha = 0.05
	for k, w := range worlds() {
		for _, n := range []int{2, 5, 30, 1000} {
			wrong, found, same, open := 0, 0, 0, 0
			var visits []int
			for run := range runs {
				r := rand.New(rand.NewPCG(uint64(100*k+n), uint64(run)))
				first := 1 + r.IntN(n-1)
				s, all := search(t, Options{Steps: n, Alpha: alpha, Seed: r.Uint64(), MostVisits: 4000}, 4000, w.visits(r, first))
				visits = append(visits, len(all))
				res := s.Of(names(n), rtt(), len(all))
				switch res.Outcome {
				case Same:
					same++
				case Found:
					found++
				default:
					open++
				}
				if len(res.Candidates) > 0 && !res.has(first) {
					wrong++
				}
				if res.Risk > alpha+1e-12 {
					t.Errorf("the risk is %v", res.Risk)
				}
			}
			slices.Sort(visits)
			t.Logf("%s, %d steps: wrong %.3f, one step %.3f, not apart %.3f, several %.3f; visits: median %d, 9 of 10 within %d",
				w.name, n, share(wrong, runs), share(found, runs), share(same, runs), share(open, runs), visits[runs/2],
				visits[runs*9/10])
			if most := mostWrong(runs, alpha); wrong > most {
				t.Errorf("%s, %d steps: %d of %d answers are wrong, more than %d", w.name, n, wrong, runs, most)
			}
			if w.apart >= 3 && found < runs*8/10 {
				t.Errorf("%s, %d steps: only %d of %d searches end with one step", w.name, n, found, runs)
			}
		}
	}
}

// has says whether a step, by its index, is among the candidates.
func (r Result) has(step int) bool {
	return slices.ContainsFunc(r.Candidates, func(c Named) bool { return c.Place == step+1 })
}

func share(some, all int) float64 { return float64(some) / float64(all) }

// Where good and bad are the same, a step is named in at most 5 % of searches.
func TestBisectionsOfNothing(t *testing.T) {
	const runs, alpha = 400, 0.05
	for k, w := range worlds() {
		w.apart = 0
		named := 0
		for run := range runs {
			r := rand.New(rand.NewPCG(uint64(7000+k), uint64(run)))
			s, _ := search(t, Options{Steps: 20, Alpha: alpha, Seed: r.Uint64(), MostVisits: 2000}, 2000, w.visits(r, 1))
			if s.Outcome() != Same {
				named++
			}
		}
		t.Logf("%s: good and bad are told apart in %.3f", w.name, share(named, runs))
		if most := mostWrong(runs, alpha); named > most {
			t.Errorf("%s: good and bad are told apart in %d of %d, more than %d", w.name, named, runs, most)
		}
	}
}

// Plain repetition measures good, bad and each step of the halving so often, and takes the nearer median.
// The test says how often it is wrong, and how many visits it takes until it is wrong as seldom as the search.
func TestBisectionsAgainstRepetition(t *testing.T) {
	const runs, alpha = 300, 0.05
	for _, w := range []world{
		{"normal, 3 apart", 3, normal, still}, {"a tenth wild, 4 apart", 4, wild, still},
		{"wanders, 4 apart", 4, normal, wanders},
	} {
		for _, n := range []int{30, 1000} {
			var ours []int
			for run := range runs {
				r := rand.New(rand.NewPCG(uint64(9000+n), uint64(run)))
				s, all := search(t, Options{Steps: n, Alpha: alpha, Seed: r.Uint64()}, 4000, w.visits(r, 1+r.IntN(n-1)))
				if s.Outcome() == Found {
					ours = append(ours, len(all))
				}
			}
			slices.Sort(ours)
			text := fmt.Sprintf("%s, %d steps: the search takes %d visits (median)", w.name, n, ours[len(ours)/2])
			for _, times := range []int{1, 3, 5, 9, 15, 25} {
				wrong, visits := 0, 0
				for run := range runs {
					r := rand.New(rand.NewPCG(uint64(9500+n), uint64(run)))
					first := 1 + r.IntN(n-1)
					found, took := plain(n, times, w.visits(r, first))
					visits += took
					if found != first {
						wrong++
					}
				}
				text += fmt.Sprintf("; %d times each: %d visits, wrong %.3f", times, visits/runs, share(wrong, runs))
				if times == 1 && share(wrong, runs) < 0.1 {
					t.Errorf("%s: single runs are wrong in only %.3f: there is nothing to compare", w.name, share(wrong, runs))
				}
			}
			t.Log(text)
		}
	}
}

// plain bisects with so many visits to each step.
func plain(n, times int, visit func(int) bisection.Visit) (found, visits int) {
	middle := func(step int) float64 {
		var all []float64
		for range times {
			all = append(all, visit(step).Value)
			visits++
		}
		return *median(all)
	}
	good, bad := middle(0), middle(n-1)
	low, high := 0, n-1
	for high-low > 1 {
		at := (low + high) / 2
		if v := middle(at); math.Abs(v-bad) < math.Abs(v-good) {
			high = at
		} else {
			low = at
		}
	}
	return high, visits
}

// Whatever happens, the state of a search follows from its visits: one that is read again at any point goes on in the
// same way. Skipped steps are not visited again, and the answer holds the planted step.
func TestReplay(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 3))
		n := 2 + r.IntN(40)
		first := 1 + r.IntN(n-1)
		o := Options{Steps: n, Alpha: 0.05, Seed: r.Uint64(), Checks: r.IntN(3)}
		at, gone := exact(first), map[int]bool{}
		s, visits := search(t, o, 2000, func(step int) bisection.Visit {
			if gone[step] {
				t.Fatalf("step %d is visited after it was skipped", step)
			}
			ends := step == 0 || step == n-1
			switch x := r.Float64(); {
			case x < 0.1 && !ends:
				gone[step] = true
				return bisection.Visit{Skip: "it does not build"}
			case x < 0.2:
				return bisection.Visit{Error: "the service did not start"}
			}
			return at(step)
		})
		want := s.Of(names(n), rtt(), 0)
		if want.Outcome != Broken && !want.has(first) {
			t.Errorf("%d steps, the first bad one is %d: %+v", n, first+1, want)
		}
		cut := r.IntN(len(visits) + 1)
		again := New(o)
		if err := again.Replay(visits[:cut]); err != nil {
			t.Fatal(err)
		}
		if err := again.Replay(visits[cut:]); err != nil {
			t.Fatal(err)
		}
		if got := again.Of(names(n), rtt(), 0); got.Verdict != want.Verdict || got.Visits != want.Visits ||
			!slices.Equal(got.Candidates, want.Candidates) {
			t.Errorf("read again: %+v, want %+v", got, want)
		}
	}
	s := New(Options{Steps: 5, Alpha: 0.05})
	next, _ := s.Next()
	if err := s.Replay([]bisection.Visit{{Step: 4 - next}}); err == nil {
		t.Error("a visit to another step is taken")
	}
}

// The order of visits depends on no unit: figures in other units, and rates in the place of times, are searched alike.
func TestUnitsDoNotMatter(t *testing.T) {
	w := worlds()[1]
	visited := func(factor float64) (steps []int) {
		r := rand.New(rand.NewPCG(11, 12))
		at := w.visits(r, 17)
		_, visits := search(t, Options{Steps: 40, Alpha: 0.05, Seed: 5}, 4000, func(step int) bisection.Visit {
			v := at(step)
			v.Value *= factor
			return v
		})
		for _, v := range visits {
			steps = append(steps, v.Step)
		}
		return steps
	}
	plain := visited(1)
	for _, factor := range []float64{1e-9, 1e12, -1} {
		if !slices.Equal(visited(factor), plain) {
			t.Errorf("figures times %v are searched otherwise", factor)
		}
	}
}

// A change back, and several changes, are said.
func TestNotMonotone(t *testing.T) {
	level := func(levels ...float64) func(int) bisection.Visit {
		return func(step int) bisection.Visit { return bisection.Visit{Value: levels[step]} }
	}
	for name, c := range map[string]struct {
		levels []float64
		by     float64
		checks int
		first  int // 0 for none
		says   string
	}{
		"one change":         {[]float64{1, 1, 1, 1, 2, 2, 2, 2, 2}, 0, 2, 5, ""},
		"bad before":         {[]float64{1, 1, 2, 1, 1, 1, 1, 2, 2}, 0, 2, 8, "is as bad, and comes before"},
		"good after":         {[]float64{1, 1, 1, 1, 2, 2, 1, 2, 2}, 0, 2, 5, "is as good, and comes after"},
		"two steps":          {[]float64{1, 1, 1, 1.4, 2, 2, 2, 2, 2}, 0, 0, 5, "other steps changed it too"},
		"exactly between":    {[]float64{1, 1, 1, 1.5, 1.5, 2, 2, 2, 2}, 0, 0, 0, "Neither as good nor as bad"},
		"the first tenth":    {[]float64{1, 1, 1.2, 1.2, 1.2, 2, 2, 2, 2}, 0.1, 0, 3, "other steps changed it too"},
		"no checks, no word": {[]float64{1, 1, 2, 1, 1, 1, 1, 2, 2}, 0, 0, 8, ""},
	} {
		n := len(c.levels)
		s, visits := search(t, Options{Steps: n, Alpha: 0.05, Seed: 1, By: c.by, Checks: c.checks}, 2000, level(c.levels...))
		r := s.Of(names(n), rtt(), len(visits))
		notes := strings.Join(r.Notes, "\n")
		if c.first > 0 && (r.Outcome != Found || r.First.Place != c.first) || c.first == 0 && r.Outcome != Several ||
			c.says == "" && notes != "" || !strings.Contains(notes, c.says) {
			t.Errorf("%s: %s\n%s", name, r.Verdict, notes)
		}
	}
}

// --by is the difference that counts: good and bad that differ by less are the same.
func TestBy(t *testing.T) {
	for _, c := range []struct {
		by    float64
		share bool
		want  Outcome
	}{{0.9, false, Found}, {1.1, false, Same}, {0.9, true, Found}, {1.1, true, Same}} {
		for _, sign := range []float64{1, -1} {
			at := exact(6)
			s, visits := search(t, Options{Steps: 12, Alpha: 0.05, Seed: 2, By: c.by, ByShare: c.share}, 2000,
				func(step int) bisection.Visit {
					v := at(step)
					if sign < 0 { // down by 1 from 1
						v.Value = 2 - v.Value
					}
					return v
				})
			if r := s.Of(names(12), rtt(), len(visits)); r.Outcome != c.want || c.want == Found && r.First.Place != 7 {
				t.Errorf("by %v (a share: %v), direction %v: %s", c.by, c.share, sign, r.Verdict)
			}
		}
	}
}

// What cannot be measured is skipped after three visits, and good and bad end the search.
func TestFailures(t *testing.T) {
	at := exact(10)
	for _, fails := range []int{0, 11, 7} {
		s, visits := search(t, Options{Steps: 12, Alpha: 0.05, Seed: 4}, 2000, func(step int) bisection.Visit {
			if step == fails || fails == 7 && step > 6 && step < 11 {
				return bisection.Visit{Error: "connection refused"}
			}
			return at(step)
		})
		r := s.Of(names(12), rtt(), len(visits))
		text := r.Verdict + "\n" + strings.Join(r.Notes, "\n")
		want := Broken
		if fails == 7 {
			want = Several
		}
		if r.Outcome != want || !strings.Contains(text, "connection refused") && want == Broken {
			t.Errorf("step %d fails: %s", fails, text)
		}
		if fails == 7 && (len(r.Candidates) != 5 || !strings.Contains(text, "s8, s9, s10, s11, s12") ||
			!strings.Contains(text, "Skipped, since they cannot be put in place or measured: s8, s9, s10, s11.")) {
			t.Errorf("skipped: %s", text)
		}
	}
}

// The most visits end a search, and a greater bound goes on.
func TestMostVisits(t *testing.T) {
	o := Options{Steps: 100, Alpha: 0.05, Seed: 6, MostVisits: 20}
	s, visits := search(t, o, 2000, exact(40))
	r := s.Of(names(100), rtt(), 20)
	if notes := strings.Join(r.Notes, ""); len(visits) != 20 || r.Outcome != Unfinished ||
		!strings.Contains(notes, "The most trials were run") {
		t.Errorf("%d visits: %+v", len(visits), r)
	}
	if !strings.Contains(r.Verdict, "Not known yet") || len(r.Candidates) == 0 {
		t.Errorf("%s", r.Verdict)
	}
	o.MostVisits = 0
	on := New(o)
	if err := on.Replay(visits); err != nil {
		t.Fatal(err)
	}
	for {
		next, more := on.Next()
		if !more {
			break
		}
		on.Add(exact(40)(next))
	}
	if r := on.Of(names(100), rtt(), 0); r.Outcome != Found || r.First.Place != 41 {
		t.Errorf("after more visits: %s", r.Verdict)
	}
}

// The text begins with the answer, and lists what was visited.
func TestText(t *testing.T) {
	steps := names(9)
	steps[4] = bisection.Step{Name: strings.Repeat("a1", 20), About: "proxy: copy each \x1b[31mrequest"}
	at := exact(4)
	s, visits := search(t, Options{Steps: 9, Alpha: 0.05, Seed: 9, Checks: 2}, 2000, func(step int) bisection.Visit {
		v := at(step)
		v.Value *= 1e-3
		return v
	})
	r := s.Of(steps, rtt(), 2*len(visits))
	var b strings.Builder
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, want := range []string{
		"a1a1a1a1a1a1 (proxy: copy each", "is the first bad step, with a chance of error of at most 5 %.\n",
		"rtt p50: good 1.00 ms, bad 2.00 ms; difference +1.00 ms [+1.00, +1.00] (95 % at any time).",
		fmt.Sprintf("%d visits to steps, %d trials. Good and bad were on the wrong side 0 of ", len(visits), 2*len(visits)),
		"place", "good, given", "bad, given", "bad, error at most", "100 %",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the text lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("the text has an escape: %q", text)
	}
}
