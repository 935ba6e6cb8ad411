package runner

import (
	"maps"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/host"
)

// TestWaitingForOthers: the two sides' waiting for each other does not count as contention, and neither does what other
// programs do while the trial does not need the CPU.
func TestWaitingForOthers(t *testing.T) {
	const ms = time.Millisecond
	side := func(ran, delay, others time.Duration) host.ContentionSide {
		return host.ContentionSide{Ran: ran, Lived: 1000 * ms, Delay: delay, DelayKnown: true, Pinned: true, CPUs: 1,
			Others: others, OthersKnown: true}
	}
	unknown := func(s host.ContentionSide) host.ContentionSide {
		s.Delay, s.DelayKnown = 0, false
		return s
	}
	free := func(s host.ContentionSide) host.ContentionSide {
		s.Pinned = false
		return s
	}
	for name, c := range map[string]struct {
		client, server host.ContentionSide
		shared         bool
		facts          map[string]string
		want           string
	}{
		"rr on one CPU, quiet":        {side(490*ms, 270*ms, 2*ms), side(490*ms, 270*ms, 0), true, nil, "0.0020"},
		"rr on one CPU, others after": {side(490*ms, 270*ms, 400*ms), side(490*ms, 270*ms, 0), true, nil, "0.0200"},
		"rr on one CPU, contended":    {side(300*ms, 270*ms, 400*ms), side(300*ms, 270*ms, 0), true, nil, "0.4000"},
		"a CPU each, one contended":   {side(700*ms, 300*ms, 300*ms), side(900*ms, 5*ms, 90*ms), false, nil, "0.1601"},
		"others while it slept":       {side(100*ms, 10*ms, 400*ms), side(100*ms, 10*ms, 400*ms), false, nil, "0.0909"},
		"delay not known, pinned":     {unknown(side(600*ms, 0, 300*ms)), side(900*ms, 0, 0), false, nil, "0.1667"},
		"delay not known, free": {free(unknown(side(600*ms, 0, 300*ms))), free(side(900*ms, 0, 0)), true, nil,
			""},
		"the tool says it": {free(unknown(side(600*ms, 0, 300*ms))), free(side(300*ms, 0, 0)), true,
			map[string]string{result.FactRunDelay: "100ms"}, "0.1000"},
		"the tool talks nonsense": {free(unknown(side(600*ms, 0, 300*ms))), free(side(300*ms, 0, 0)), true,
			map[string]string{result.FactRunDelay: "-1s"}, ""},
	} {
		facts := map[string]string{}
		maps.Copy(facts, c.facts)
		contentionFacts(host.Contention{Window: 1100 * ms, CPUs: 1, Client: c.client, Server: c.server,
			Shared: c.shared}, facts)
		if facts[result.FactWaited] != c.want {
			t.Errorf("%s: waited %q, want %q (%v)", name, facts[result.FactWaited], c.want, facts)
		}
	}
	facts := map[string]string{}
	if contentionFacts(host.Contention{}, facts); len(facts) != 0 {
		t.Errorf("nothing is known, and %v is said", facts)
	}
}
