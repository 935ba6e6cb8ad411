package observe

import (
	"testing"

	"pgregory.net/rapid"

	"nearfar/internal/onhost/engine/wire"
)

// TestArrivals compares with a model that remembers every number, as long as no more numbers are missing than are
// remembered.
func TestArrivals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a Arrivals
		seen := map[uint64]bool{}
		var highest uint64
		for range rapid.IntRange(1, 200).Draw(t, "count") {
			most := min(highest+20, missingSize)
			n := rapid.Uint64Range(1, most).Draw(t, "number")
			want := inOrder
			switch {
			case seen[n]:
				want = Duplicate
			case n < highest:
				want = outOfOrder
			}
			if got := a.Add(n); got != want {
				t.Fatalf("number %d after %d: %d, want %d", n, highest, got, want)
			}
			seen[n], highest = true, max(highest, n)
		}
	})
}

// TestArrivalsFar: a number that is too old to be remembered counts as a duplicate, and a number far outside of the
// range costs no time.
func TestArrivalsFar(t *testing.T) {
	var a Arrivals
	for _, step := range []struct {
		number uint64
		want   arrival
	}{
		{1, inOrder}, {1 << 63, inOrder}, {1<<63 - 1, outOfOrder}, {1<<63 - 1, Duplicate}, {1<<63 - missingSize,
			outOfOrder},
		{2, Duplicate}, {0, Duplicate}, {^uint64(0), inOrder}, {^uint64(0), Duplicate},
	} {
		if got := a.Add(step.number); got != step.want {
			t.Errorf("number %d: %d, want %d", step.number, got, step.want)
		}
	}
}

func TestDatagramMetrics(t *testing.T) {
	c := DatagramCounts{Sent: 100, Received: 90, Late: 3, OutOfOrder: 1, Duplicates: 4}
	for _, impossible := range []wire.DatagramReport{{Received: 101}, {Received: 92}} {
		if m, err := c.Metrics(impossible); err == nil {
			t.Errorf("%+v is believed: %v", impossible, m)
		}
	}
}
