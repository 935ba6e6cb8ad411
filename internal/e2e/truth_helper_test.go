//go:build linux

package e2e

import (
	"fmt"
	"strconv"
	"testing"

	"nearfar/internal/answer"
	"nearfar/internal/result"
)

// attempts is how often a measurement is made whose figures a hypervisor may have spoilt.
const attempts = 3

// wantTruth makes a measurement of which it is known what must come out, and fails the test with what check finds wrong.
//
// A virtual machine that is not given its CPUs cannot show any truth: where a hypervisor kept 1 % of their time and more, what is
// wrong is measured again. Where it did so each time there is nothing that the test could see, and it is skipped.
func wantTruth(t *testing.T, experiment string, check func(a answer.Answer) (wrong []string)) {
	t.Helper()
	var said string
	for range attempts {
		a := measure(t, experiment)
		wantNoFailures(t, a)
		wrong := check(a)
		if len(wrong) == 0 {
			return
		}
		stolen := stolenShare(t, a)
		if stolen < 0.01 {
			for _, w := range wrong {
				t.Error(w)
			}
			return
		}
		said = fmt.Sprintf("the hypervisor kept %.1f %% of the CPU time for others, and it shows: %q", 100*stolen, wrong)
		t.Log(said)
	}
	t.Skip(said)
}

// stolenShare is the largest share of CPU time that a hypervisor kept from a workload, on average over its trials; 0 where the
// kernel does not say.
func stolenShare(t *testing.T, a answer.Answer) float64 {
	t.Helper()
	sum, n := map[string]float64{}, map[string]float64{}
	for _, tr := range trials(t, a) {
		share, err := strconv.ParseFloat(tr.Facts[result.FactStolen], 64)
		if err != nil {
			continue
		}
		sum[tr.Workload] += share
		n[tr.Workload]++
	}
	most := 0.0
	for workload := range sum {
		most = max(most, sum[workload]/n[workload])
	}
	return most
}
