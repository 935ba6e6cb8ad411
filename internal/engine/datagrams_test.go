package engine

import (
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"nearfar/internal/result"
)

// TestArrivals compares with a model that remembers everything, while no more numbers are missing than are remembered.
func TestArrivals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a arrivals
		seen := map[uint64]bool{}
		var highest uint64
		for range rapid.IntRange(1, 200).Draw(t, "count") {
			most := min(highest+20, missingSize)
			n := rapid.Uint64Range(1, most).Draw(t, "number")
			want := inOrder
			switch {
			case seen[n]:
				want = duplicate
			case n < highest:
				want = outOfOrder
			}
			if got := a.add(n); got != want {
				t.Fatalf("number %d after %d: %d, want %d", n, highest, got, want)
			}
			seen[n], highest = true, max(highest, n)
		}
	})
}

// TestArrivalsFar: what is forgotten passes for a duplicate, and a number out of nowhere costs no time.
func TestArrivalsFar(t *testing.T) {
	var a arrivals
	for _, step := range []struct {
		number uint64
		want   arrival
	}{
		{1, inOrder}, {1 << 63, inOrder}, {1<<63 - 1, outOfOrder}, {1<<63 - 1, duplicate}, {1<<63 - missingSize, outOfOrder},
		{2, duplicate}, {0, duplicate}, {^uint64(0), inOrder}, {^uint64(0), duplicate},
	} {
		if got := a.add(step.number); got != step.want {
			t.Errorf("number %d: %d, want %d", step.number, got, step.want)
		}
	}
}

func TestDatagramMetrics(t *testing.T) {
	c := datagramCounts{sent: 100, received: 90, late: 3, outOfOrder: 1, duplicates: 4}
	for _, impossible := range []datagramReport{{Received: 101}, {Received: 92}} {
		if m, err := c.metrics(impossible); err == nil {
			t.Errorf("%+v is believed: %v", impossible, m)
		}
	}
}

// A script says what happens to the window's datagrams, numbered from 0 in each direction, and what that must yield.
type script struct {
	drop  map[uint64]bool
	twice map[uint64]int
	// hold keeps a datagram back until the one with the other number has come: it goes before it, or after it.
	holdUntilBefore, holdUntilAfter map[uint64]uint64
}

// scripted carries out scripts, one for each direction.
type scripted struct {
	mu    sync.Mutex
	first uint64 // the sequence number of the window's first request
	sides [2]struct {
		script
		before, after map[uint64][]byte
	}
}

func (s *scripted) filter(datagram []byte, toServer bool) [][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(datagram) < datagramHeader || datagram[flagsOffset]&flagCounted == 0 {
		return [][]byte{datagram}
	}
	if s.first == 0 {
		s.first = sequenceOf(datagram)
	}
	n := sequenceOf(datagram) - s.first
	side := &s.sides[0]
	if !toServer {
		side = &s.sides[1]
	}
	if side.before == nil {
		side.before, side.after = map[uint64][]byte{}, map[uint64][]byte{}
	}
	if until, ok := side.holdUntilBefore[n]; ok {
		side.before[until] = append([]byte(nil), datagram...)
		return nil
	}
	if until, ok := side.holdUntilAfter[n]; ok {
		side.after[until] = append([]byte(nil), datagram...)
		return nil
	}
	var out [][]byte
	if held := side.before[n]; held != nil {
		out = append(out, held)
	}
	if !side.drop[n] {
		for range 1 + side.twice[n] {
			out = append(out, datagram)
		}
	}
	if held := side.after[n]; held != nil {
		out = append(out, held)
	}
	return out
}

// TestDatagramCounts: known datagrams are dropped, doubled and held back in each direction, and each count is exact.
func TestDatagramCounts(t *testing.T) {
	s := &scripted{}
	up, down := &s.sides[0].script, &s.sides[1].script
	up.drop = map[uint64]bool{10: true, 20: true}
	up.twice = map[uint64]int{30: 1, 31: 2}
	up.holdUntilBefore = map[uint64]uint64{40: 41} // answered late, in order
	up.holdUntilAfter = map[uint64]uint64{45: 47}  // arrives out of order, and so does its reply
	down.drop = map[uint64]bool{50: true, 60: true, 70: true}
	down.twice = map[uint64]int{80: 2}
	down.holdUntilBefore = map[uint64]uint64{90: 91}
	down.holdUntilAfter = map[uint64]uint64{100: 103}
	address := relayDatagrams(t, s.filter)
	p := rrParams(UDP)
	p.Warmup, p.Duration = 10*time.Millisecond, 6*time.Second
	c, err := dial(t.Context(), RunOptions{Server: address, Secret: testSecret, Params: p})
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	c.roundTrip = 40 * time.Millisecond // waits for 400 ms: no stall of the machine counts as a loss
	r, err := c.measure(t.Context(), &collector{})
	if err != nil {
		t.Fatal(err)
	}
	sent := value(t, r, result.Sent, "", "")
	if sent < 120 {
		t.Fatalf("%v were sent: the script was not carried out", sent)
	}
	for _, want := range []struct {
		name, scope string
		value       float64
	}{
		{result.Lost, "up", 2}, {result.Lost, "down", 3}, {result.Late, "", 4}, {result.Lost, "", 9},
		{result.Received, "", sent - 9}, {result.Loss, "", 9 / sent}, {result.Loss, "up", 2 / sent}, {result.Loss, "down", 3 / (sent - 2)},
		{result.Duplicates, "up", 3}, {result.Duplicates, "down", 2}, {result.Duplicates, "", 5},
		{result.OutOfOrder, "up", 1}, {result.OutOfOrder, "down", 2}, {result.OutOfOrder, "", 3},
	} {
		if got := value(t, r, want.name, "", want.scope); got != want.value {
			t.Errorf("%s %s: %v, want %v", want.name, want.scope, got, want.value)
		}
	}
}
