package machine

import (
	"testing"
	"time"
)

// TestCoreToCore: the latency between two CPUs is plausible; with one CPU there is nothing to measure.
func TestCoreToCore(t *testing.T) {
	cpus, err := CPUs()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ client, server []int }{
		"any": {nil, nil}, "one": {cpus[:1], cpus[:1]}, "client anywhere": {nil, cpus[:1]}, "overlap": {cpus, cpus[:1]},
	} {
		if trip, ok := CoreToCore(c.client, c.server); ok {
			t.Errorf("%s: %v", name, trip)
		}
	}
	if len(cpus) < 2 {
		t.Skip("this machine lets us use one CPU only")
	}
	trip, ok := CoreToCore(cpus[1:2], cpus[:1])
	// A busy CPU may keep one of the two waiting: that adds to the time, or ends the try.
	const most = 20 * time.Microsecond
	for tries := 1; (!ok || trip > most) && tries < 20; tries++ {
		trip, ok = CoreToCore(cpus[1:2], cpus[:1])
	}
	if !ok || trip < 5*time.Nanosecond || trip > most {
		t.Errorf("a cache line takes %v (%v)", trip, ok)
	}
	if trip, ok := CoreToCore(cpus[1:2], []int{1 << 12}); ok {
		t.Errorf("to a CPU that is not there a cache line takes %v", trip)
	}
}

// TestCoreToCoreGivesUp: without answers, measure ends by itself and gives no result.
func TestCoreToCoreGivesUp(t *testing.T) {
	b := new(exchange)
	if trip := b.measure(); trip != 0 || !b.over.Load() {
		t.Errorf("%v, over: %v", trip, b.over.Load())
	}
}
