//go:build linux

package e2e

import (
	"fmt"
	"math"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// The rule by which TestIdenticalArmsDoNotDiffer ends: see there.
const (
	sameFirstRuns     = 8
	sameRunsPerAlarm  = 6
	sameAlarmsAtFault = 6
)

// TestIdenticalArmsDoNotDiffer: two identical arms must show no difference (an A/A test), and each run must say the
// smallest difference that it could have detected.
//
// An alarm is a run in which any comparison sees a difference. With 7 blocks the rate of false alarms is at most 3.1 %
// (2 x 2/128, for two quantities). The test is sequential: it passes as soon as it has made 8 runs, and 6 more for each
// alarm; it fails at the sixth alarm. It then fails once in 1,900 times at a true rate of 3.1 %, 60 times in 100 at
// 20 %, and 90 times in 100 at 30 %. On average it makes 10 runs. (Ten runs of which at most three may alarm fail 12
// times in 100 at a true rate of 20 %.) internal/base/stats checks the rate itself by simulation.
//
// One arm that is always a little slower raises few alarms. So the signs of all paired differences are pooled over the
// runs: no arm may have the higher p50 so often that chance does it once in 1,000 times. In the 56 blocks of 8 runs,
// that finds an arm that is slower in 80 % of the blocks 92 times in 100.
func TestIdenticalArmsDoNotDiffer(t *testing.T) {
	alarms, higher, pairs := 0, 0, 0
	for run := 1; run <= sameFirstRuns+sameRunsPerAlarm*alarms; run++ {
		a := measure(t, fmt.Sprintf(`
nearfar: v1
name: same
baseline: a
arms:
  a: {lab: {path: [bridge]}}
  b: {lab: {path: [bridge]}}
workloads:
  - {name: rr, tool: native, mode: rr, duration: 100ms, warmup: 20ms}
schedule: {blocks: 7, seed: %d}
`, run))
		wantNoFailures(t, a)
		alarm := false
		for _, c := range a.Comparisons {
			if c.Missing != nil {
				t.Logf("run %d, %s: a starved trial has too few round trips for the figure", run, c.Stat)
				continue
			}
			if c.Detectable == nil || *c.Detectable <= 0 {
				t.Errorf("run %d: %s %s does not say the smallest difference that it could have detected: %+v",
					run, c.Metric, c.Stat, c)
				continue
			}
			t.Logf("run %d, %s: %+.3f us, %s; detectable: %.3f us",
				run, c.Stat, *c.Difference*1e6, c.Verdict, *c.Detectable*1e6)
			alarm = alarm || c.Verdict != figures.NoDifference
		}
		h, n := signs(trials(t, a), "a", "b")
		higher, pairs = higher+h, pairs+n
		if alarm {
			alarms++
		}
		if alarms == sameAlarmsAtFault {
			t.Errorf("%d of %d runs saw a difference between identical arms", alarms, run)
			break
		}
	}
	p := signTest(higher, pairs)
	t.Logf("b has the higher p50 in %d of %d blocks (p = %.3f); %d alarms", higher, pairs, p, alarms)
	if pairs == 0 || p < 0.001 {
		t.Errorf("b has the higher p50 in %d of %d blocks: by chance only with probability %.2g", higher, pairs, p)
	}
}

// signs counts the blocks in which the p50 of rtt of two arms differs, and those in which the second arm has the higher
// one.
func signs(trials []result.Trial, first, second string) (higher, pairs int) {
	byBlock := map[int]map[string]float64{}
	for _, tr := range trials {
		v, ok := tr.Value(result.RTT, result.P50)
		if !ok {
			continue
		}
		if byBlock[tr.Block] == nil {
			byBlock[tr.Block] = map[string]float64{}
		}
		byBlock[tr.Block][tr.Arm] = v
	}
	for _, arms := range byBlock {
		a, hasFirst := arms[first]
		b, hasSecond := arms[second]
		if !hasFirst || !hasSecond || a == b {
			continue
		}
		pairs++
		if b > a {
			higher++
		}
	}
	return higher, pairs
}

// signTest returns the two-sided p-value of the sign test: how probable it is that of n fair coins k or more, or as
// few, show the same side.
func signTest(k, n int) float64 {
	k = max(k, n-k)
	tail := 0.0
	logFactorial := func(n int) float64 { v, _ := math.Lgamma(float64(n + 1)); return v }
	for i := k; i <= n; i++ {
		tail += math.Exp(logFactorial(n) - logFactorial(i) - logFactorial(n-i) - float64(n)*math.Ln2)
	}
	return min(1, 2*tail)
}

// TestSignTest compares the p-value with binomial tails computed by hand.
func TestSignTest(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		k, n int
		want float64
	}{{5, 10, 1}, {10, 10, 2.0 / 1024}, {0, 10, 2.0 / 1024}, {9, 10, 22.0 / 1024}, {0, 0, 1}} {
		if got := signTest(c.k, c.n); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("signTest(%d, %d) = %g, want %g", c.k, c.n, got, c.want)
		}
	}
}
