package load

import (
	"math"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// TestStallArithmetic computes, without a clock, the record of a server that stalls for 200 ms at the end of each
// second and otherwise answers in 20 us, at 1000 requests a second. 20 % of the requests fall into a stall and wait
// from 0 to 200 ms: 10 % of all wait for more than 100 ms, 1 % for more than 190 ms, 0.1 % for more than 199 ms.
func TestStallArithmetic(t *testing.T) {
	stall := timing.Stall{Length: 200 * time.Millisecond, Period: time.Second}
	tl := &tally{end: int64(10 * time.Second), response: observe.NewRecorder(int64(10*time.Second), int64(time.Second)),
		service: observe.NewHistogram()}
	for _, due := range enginetest.DueTimes(timing.Schedule{Arrivals: timing.ConstantArrivals,
		Steps: []timing.Step{{Rate: 1000, Length: 10 * time.Second}}}) {
		tl.replied(due, due, due+stall.Left(due)+20_000)
	}
	for p, want := range map[float64]float64{90: 100e6, 99: 190e6, 99.9: 199e6} {
		if got := float64(tl.response.Current.Percentile(p)); math.Abs(got-want) > want*0.01 {
			t.Errorf("p%v is %v ns, not %v", p, got, want)
		}
	}
}

// TestPacing: the sender does not take the one CPU that it shares with the server.
func TestPacing(t *testing.T) {
	c := &session.Client{Options: session.RunOptions{Load: session.Load{Spin: timing.DefaultSpin}},
		Ready: wire.Ready{CPUs: "1", Machine: process.Machine()}}
	for cpus, want := range map[string]int64{"1": 0, "0": int64(timing.DefaultSpin), "0,1": int64(timing.DefaultSpin),
		"": int64(timing.DefaultSpin)} {
		if spin, said := pacing(c, cpus); spin != want || said == "" {
			t.Errorf("on %q it spins for %d: %s", cpus, spin, said)
		}
	}
	c.Ready.Machine = "another"
	if spin, _ := pacing(c, "1"); spin == 0 {
		t.Error("it does not spin beside a server elsewhere")
	}
}
