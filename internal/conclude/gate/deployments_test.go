package gate

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/contrast"
	"nearfar/internal/declare/result"
)

// deployedSide has 24 blocks in 3 deployments. Each deployment adds its microseconds to the arm b.
func deployedSide(micros ...float64) *contrast.Side {
	r := rand.New(rand.NewPCG(7, 71))
	per := 24 / len(micros)
	s := side("A", 24, 1, map[string]float64{"a": 100, "b": 100}, func(t *result.Trial) {
		t.Deployment = (t.Block-1)/per + 1
		if t.Workload == "rr" {
			t.Metrics[0].Value = (100 + 0.2*r.NormFloat64()) * 1e-6
			if t.Arm == "b" {
				t.Metrics[0].Value += micros[t.Deployment-1] * 1e-6
			}
		}
	})
	s.Experiment.Baseline = "a"
	s.Experiment.Schedule.Deployments = len(micros)
	return s
}

func judge(t *testing.T, s *contrast.Side, rule string) Result {
	t.Helper()
	rules, err := parse([]string{rule})
	if err != nil {
		t.Fatal(err)
	}
	return Evaluate(contrast.Alone(s), rules, false)
}

// A gate over several deployments is about the configuration: deployments that differ are no regression.
func TestGateOverDeployments(t *testing.T) {
	for _, c := range []struct {
		micros []float64
		rule   string
		want   Verdict
	}{
		{[]float64{9, 2, 5}, "b rr rtt.p50 > +1us", Inconclusive},
		{[]float64{5.2, 4.9, 5.1}, "b rr rtt.p50 > +1us", Fail},
		{[]float64{5.2, 4.9, 5.1}, "b rr rtt.p50 > +10us", Pass},
		{[]float64{5.2, 4.9, 5.1}, "b rr rtt.p50 > 110us", Pass},
		{[]float64{19, 2, 5}, "b rr rtt.p50 > 110us", Inconclusive},
	} {
		r := judge(t, deployedSide(c.micros...), c.rule)
		check := r.Checks[0]
		if check.Verdict != c.want || check.About != figures.AboutConfiguration {
			t.Errorf("%v, %s: %s, about %q: %s", c.micros, c.rule, check.Verdict, check.About, check.Reason)
		}
		if c.want == Inconclusive && !strings.Contains(check.Reason, "deployment") {
			t.Errorf("%v, %s: %s", c.micros, c.rule, check.Reason)
		}
	}
	pooled := deployedSide(9, 2, 5)
	for i := range pooled.Trials {
		pooled.Trials[i].Deployment = 0
	}
	if check := judge(t, pooled, "b rr rtt.p50 > +1us").Checks[0]; check.Verdict != Fail {
		t.Errorf("all blocks together: %s", check.Verdict)
	}
}

// Hosts that the file names are these machines.
func TestGateOfHostsSaysThatItIsAboutThem(t *testing.T) {
	for _, hosts := range []bool{true, false} {
		s := deployedSide(5)
		for i := range s.Trials {
			s.Trials[i].Deployment = 0
		}
		for i := range s.Experiment.Arms {
			if hosts {
				s.Experiment.Arms[i].Client, s.Experiment.Arms[i].Server = "x", fmt.Sprint("y", i)
			}
		}
		r := judge(t, s, "b rr rtt.p50 > +1us")
		if r.Verdict != Fail || strings.Contains(r.Summary, "these machines") != hosts {
			t.Errorf("hosts of the file %v: %s, %s", hosts, r.Verdict, r.Summary)
		}
	}
}
