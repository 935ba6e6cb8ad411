package engine

import (
	"math"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/record"
)

// checkParts says whether the parts of a result add up to its mean round trip within 1 us.
func checkParts(t testing.TB, r record.Result) {
	t.Helper()
	if apart := checkPartsOf(t, r); math.Abs(apart) > 1e-6 {
		t.Errorf("the parts add up to %.3f us more than the round trip", apart*1e6)
	}
}

// checkPartsOf says whether the parts are whole, and gives by how many seconds their sum is more than the mean round
// trip: as much as the record says.
func checkPartsOf(t testing.TB, r record.Result) float64 {
	t.Helper()
	mean := func(scope string) float64 { return value(t, r, result.RTT, result.Mean, scope) }
	sum := mean("client") + mean("network") + mean("server-stack") + mean("server-application")
	apart := sum - mean("")
	if said, err := time.ParseDuration(r.Facts["timestamps_sum_minus_rtt"]); err != nil ||
		math.Abs(apart-said.Seconds()) > 2e-9 {
		t.Errorf("the parts add up to %v s more than the round trip, the record says %v (%v)", apart, said, err)
	}
	if noted := strings.Contains(strings.Join(r.Notes, " "),
		"The parts are those of"); noted != (math.Abs(apart) > 1e-6) {
		t.Errorf("the parts add up to %v s more than the round trip; notes: %v", apart, r.Notes)
	}
	for whole, directions := range map[string][2]string{"client": {"client-send", "client-receive"},
		"server-stack": {"server-receive", "server-send"}} {
		if got := mean(directions[0]) + mean(directions[1]); math.Abs(got-mean(whole)) > 1e-12 {
			t.Errorf("%s is %v, its directions add up to %v", whole, mean(whole), got)
		}
	}
	for _, part := range []string{"client", "network", "server-stack", "server-application"} {
		if p50 := value(t, r, result.RTT, result.P50, part); mean(part) <= 0 || p50 <= 0 {
			t.Errorf("%s: mean %v, p50 %v", part, mean(part), p50)
		}
	}
	t.Logf("%.2f us: client %.2f, network %.2f, server stack %.2f, server application %.2f; divided %s, overhead %s",
		mean("")*1e6, mean("client")*1e6,
		mean("network")*1e6, mean("server-stack")*1e6, mean("server-application")*1e6, r.Facts["timestamps_divided"],
		r.Facts["timestamps_overhead"])
	return apart
}
