package gate

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/contrast"
	"nearfar/internal/declare/result"
)

// scaled makes a run of one arm whose figures scatter by noise and are multiplied by a factor.
func scaled(name string, seed uint64, blocks int, noise, factor float64) *contrast.Side {
	r := rand.New(rand.NewPCG(seed, 71))
	return side(name, blocks, seed, map[string]float64{"l2": 10}, func(t *result.Trial) {
		t.Metrics[0].Value = 10e-6 * (1 + noise*r.NormFloat64()) * factor
		if t.Mode == "stream" {
			t.Metrics[0].Value = 1e9 * (1 + noise*r.NormFloat64()) * factor
		}
	})
}

// TestWouldFailFrom: a check fails 1 % beyond the stated figure, and does not 1 % before it.
func TestWouldFailFrom(t *testing.T) {
	for _, rule := range []string{"rr rtt.p50 > +5%", "rr rtt.p50 > 10us", "bulk goodput < -5%",
		"bulk goodput < 900Mbit/s"} {
		c := evaluate(t, scaled("BASE", 1, 12, 0.05, 1), scaled("NEW", 2, 12, 0.05, 1), false, rule).Checks[0]
		if c.WouldFailFrom == nil || c.Verdict == Fail {
			t.Fatalf("%s: %+v", rule, c)
		}
		factor := *c.WouldFailFrom / *c.Estimate
		if c.Kind == Relative {
			factor = (1 + *c.WouldFailFrom) / (1 + *c.Estimate)
		}
		beyond := 0.01 // the standard error of the ranks moves a little with the factor
		if !c.Above {
			beyond = -beyond
		}
		for _, test := range []struct {
			by   float64
			fail bool
		}{{factor * (1 + beyond), true}, {factor * (1 - beyond), false}} {
			got := evaluate(t, scaled("BASE", 1, 12, 0.05, 1),
				scaled("NEW", 2, 12, 0.05, test.by), false, rule).Checks[0]
			if (got.Verdict == Fail) != test.fail {
				t.Errorf("%s says it would have failed from %s, and with the new side times %v it is %s", rule,
					c.from(), test.by, got.Verdict)
			}
		}
	}
}

// TestCoarseChecksWarn: for pairs of identical runs whose figures scatter widely, a gate for 5 % is almost always
// inconclusive. Each check says from where on it would have failed, and warns. If 98 % of the pairs are inconclusive,
// the test fails with a probability of 2e-4; if 75 % are, it passes with 0.4 %.
func TestCoarseChecksWarn(t *testing.T) {
	t.Parallel()
	const pairs = 60
	inconclusive, told, warned := 0, 0, 0
	for i := range uint64(pairs) {
		r := evaluate(t, scaled("BASE", 2*i, 10, 0.25, 1), scaled("NEW", 2*i+1, 10, 0.25, 1), false, "rr rtt.p50 > +5%")
		if r.Checks[0].Verdict == Inconclusive {
			inconclusive++
		}
		if from := r.Checks[0].WouldFailFrom; from != nil && *from > 0.05 {
			told++
		}
		if slices.ContainsFunc(r.Warnings, func(w answer.Warning) bool {
			return w.Code == "coarse-check" && strings.Contains(w.Message, "more than 3 times its bound")
		}) {
			warned++
		}
	}
	t.Logf("%d inconclusive, %d with a figure, %d warned", inconclusive, told, warned)
	if inconclusive < pairs*9/10 || told < pairs || warned < pairs*9/10 {
		t.Errorf("of %d: %d inconclusive, %d with a figure, %d warned", pairs, inconclusive, told, warned)
	}
}

// merged makes a side of several runs, each with its own level.
func merged(t *testing.T, name string, seed uint64, runs int, factor float64) *contrast.Side {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 72))
	var all []*contrast.Side
	for i := range runs {
		s := scaled(name, seed+uint64(i), 10, 0.01, factor*(1+0.1*r.NormFloat64()))
		s.ID += string(rune('a' + i))
		all = append(all, s)
	}
	s, err := contrast.Merge(name, all)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRunsAreTheUnit: with several runs on each side that scatter by 10 %, a gate without a margin fails in 2.5 % of
// draws without a difference (the interval is two-sided), and finds a change by a factor of two. Single runs never
// fail without a margin. A right build fails with a probability of 2e-4; a build that fails in 13 % of draws without
// a difference passes with 0.9 %, and one that finds 88 % passes with 0.1 %.
func TestRunsAreTheUnit(t *testing.T) {
	t.Parallel()
	const draws = 200
	failed, found, single := 0, 0, 0
	for i := range uint64(draws) {
		if r := evaluate(t, merged(t, "BASE", 100*i, 4, 1), merged(t, "NEW", 100*i+50, 4, 1), false,
			"rr rtt.p50 > +0%"); r.Verdict == Fail {
			failed++
		}
		r := evaluate(t, merged(t, "BASE", 100*i, 4, 1), merged(t, "NEW", 100*i+50, 4, 2), false, "rr rtt.p50 > +0%")
		if r.Verdict == Fail {
			found++
		}
		if c := r.Checks[0]; c.About != "runs" || c.Runs == nil || *c.Runs != [2]int{4, 4} || c.Trials != 4 {
			t.Fatalf("%+v", c)
		}
		if r := evaluate(t, merged(t, "BASE", 100*i, 1, 1), merged(t, "NEW", 100*i+50, 1, 1), false,
			"rr rtt.p50 > +0%"); r.Verdict == Fail {
			single++
		}
	}
	t.Logf("of %d draws %d failed without a difference, %d with twice as much, %d of single runs",
		draws, failed, found, single)
	if failed > 14 || found < draws*95/100 || single > 0 {
		t.Errorf("of %d draws %d failed without a difference, %d with twice as much, %d of single runs",
			draws, failed, found, single)
	}
}

// TestFewRuns: one run against one says nothing about runs; a limit on two or more runs has an interval.
func TestFewRuns(t *testing.T) {
	r := evaluate(t, merged(t, "BASE", 1, 2, 1), merged(t, "NEW", 50, 1, 1), false, "rr rtt.p50 > +5%")
	if c := r.Checks[0]; c.Verdict != Inconclusive || c.Interval != nil ||
		!strings.Contains(c.Reason, "run on each side") {
		t.Errorf("%+v", c)
	}
	r = evaluate(t, merged(t, "BASE", 1, 1, 1), merged(t, "NEW", 50, 3, 1), false, "rr rtt.p50 > 20us")
	if c := r.Checks[0]; c.Verdict != Pass || c.Trials != 3 || c.Runs == nil {
		t.Errorf("%+v", c)
	}
	r = evaluate(t, merged(t, "BASE", 1, 1, 1), merged(t, "NEW", 50, 5, 1), false, "rr rtt.p50 > +50%")
	if c := r.Checks[0]; c.Interval == nil || math.Abs(*c.Estimate) > 0.5 {
		t.Errorf("%+v", c)
	}
}
