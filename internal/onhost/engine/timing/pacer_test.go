package timing

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// schedule draws a valid schedule of at most some thousand requests.
func schedules() *rapid.Generator[Schedule] {
	return rapid.Custom(func(t *rapid.T) Schedule {
		s := Schedule{Arrivals: rapid.SampledFrom([]string{ConstantArrivals, PoissonArrivals}).Draw(t, "arrivals"),
			Seed: rapid.Uint64().Draw(t, "seed")}
		for range rapid.IntRange(1, 4).Draw(t, "steps") {
			s.Steps = append(s.Steps, Step{Rate: rapid.Float64Range(0.1, 5000).Draw(t, "rate"),
				Length: time.Duration(rapid.Int64Range(1, int64(400*time.Millisecond)).Draw(t, "length"))})
		}
		return s
	})
}

func intended(s Schedule) (all []int64) {
	p := s.Pacer()
	for {
		due, more := p.Next()
		if !more {
			return all
		}
		all = append(all, due)
	}
}

func TestConstantPacer(t *testing.T) {
	s := Schedule{Arrivals: ConstantArrivals, Steps: []Step{{Rate: 1000, Length: 3 * time.Millisecond}, {Rate: 4000,
		Length: time.Millisecond}}}
	want := []int64{0, 1e6, 2e6, 3e6, 3.25e6, 3.5e6, 3.75e6}
	if got := intended(s); !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	third := Schedule{Arrivals: ConstantArrivals, Steps: []Step{{Rate: 3, Length: time.Hour}}}
	all := intended(third)
	if len(all) != 3*3600 {
		t.Fatalf("%d requests in an hour at 3/s", len(all))
	}
	for n, at := range all { // no drift
		if want := int64(n) * 1e9 / 3; at < want-1 || at > want+1 {
			t.Fatalf("request %d at %d, not %d", n, at, want)
		}
	}
}

// TestPacer: times rise, stay within the schedule and are the same again; a copy continues independently; Remaining is
// the rest.
func TestPacer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := schedules().Draw(t, "schedule")
		if err := s.Validate(); err != nil {
			t.Fatal(err)
		}
		all := intended(s)
		if !slices.IsSorted(all) || !slices.Equal(all, intended(s)) {
			t.Fatal("the times fall, or differ")
		}
		if len(all) > 0 && (all[0] < 0 || all[len(all)-1] > int64(s.Length())) {
			t.Fatalf("from %d to %d of %d", all[0], all[len(all)-1], int64(s.Length()))
		}
		p := s.Pacer()
		for range rapid.IntRange(0, len(all)).Draw(t, "given") {
			p.Next()
		}
		fork := p
		from := rapid.Int64Range(0, int64(s.Length())).Draw(t, "from")
		remaining := fork.Remaining(from)
		var left int64
		for at, more := p.Next(); more; at, more = p.Next() {
			if at >= from {
				left++
			}
		}
		if s.Arrivals == ConstantArrivals && (remaining < left-1 ||
			remaining > left+1) { // one for a time that is rounded
			t.Fatalf("%d remain from %d on, not %d", remaining, from, left)
		}
	})
}

// TestPoissonPacer: gaps have the mean and the deviation of the exponential distribution, and 1-1/e of them are shorter
// than the mean; the seeds differ.
func TestPoissonPacer(t *testing.T) {
	const n = 200_000
	s := Schedule{Arrivals: PoissonArrivals, Steps: []Step{{Rate: n, Length: time.Second}}, Seed: 7}
	all := intended(s)
	// Five standard deviations of a Poisson count.
	if math.Abs(float64(len(all)-n)) > 5*math.Sqrt(n) {
		t.Errorf("%d requests where %d are expected", len(all), n)
	}
	var sum, squares, below float64
	last := int64(0)
	for _, at := range all {
		gap := float64(at-last) / 1e9 * n
		last = at
		sum += gap
		squares += gap * gap
		if gap < 1 {
			below++
		}
	}
	mean := sum / float64(len(all))
	if deviation := math.Sqrt(squares/float64(len(all)) - mean*mean); math.Abs(mean-1) > 0.02 ||
		math.Abs(deviation-1) > 0.02 {
		t.Errorf("gaps of mean %v and deviation %v", mean, deviation)
	}
	if share := below / float64(len(all)); math.Abs(share-(1-1/math.E)) > 0.01 {
		t.Errorf("%v of the gaps are below the mean", share)
	}
	s.Seed++
	if slices.Equal(all, intended(s)) {
		t.Error("another seed gives the same times")
	}
}

func TestScheduleValidate(t *testing.T) {
	good := Schedule{Arrivals: ConstantArrivals, Steps: []Step{{Rate: 1, Length: time.Second}}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string]func(*Schedule){
		"arrivals": func(s *Schedule) { s.Arrivals = "bursty" },
		"no steps": func(s *Schedule) { s.Steps = nil },
		"no rate":  func(s *Schedule) { s.Steps[0].Rate = 0 },
		"NaN":      func(s *Schedule) { s.Steps[0].Rate = math.NaN() },
		"too much": func(s *Schedule) { s.Steps[0].Rate = 2e9 },
		"no time":  func(s *Schedule) { s.Steps[0].Length = 0 },
		"too many": func(s *Schedule) { s.Steps = make([]Step, maxSteps+1) },
	} {
		s := good
		s.Steps = slices.Clone(s.Steps)
		wrong(&s)
		if s.Validate() == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if got, want := good.After(time.Second).Length(), 2*time.Second; got != want || len(good.Steps) != 1 {
		t.Errorf("with its warm-up it takes %v", got)
	}
	if got := good.String(); got != "constant 1/s:1s" {
		t.Error(got)
	}
}

func TestPacerDoesNotAllocate(t *testing.T) {
	for _, arrivals := range []string{ConstantArrivals, PoissonArrivals} {
		s := Schedule{Arrivals: arrivals, Steps: []Step{{Rate: 1e6, Length: time.Hour}}}
		p := s.Pacer()
		if n := testing.AllocsPerRun(1000, func() { p.Next() }); n != 0 {
			t.Errorf("%s: %v allocations", arrivals, n)
		}
	}
}

func BenchmarkPacer(b *testing.B) {
	for _, arrivals := range []string{ConstantArrivals, PoissonArrivals} {
		b.Run(arrivals, func(b *testing.B) {
			s := Schedule{Arrivals: arrivals, Steps: []Step{{Rate: 1e6, Length: 20 * time.Hour}}}
			p := s.Pacer()
			for b.Loop() {
				p.Next()
			}
		})
	}
}

func TestStall(t *testing.T) {
	ms := int64(time.Millisecond)
	s := Stall{Length: 200 * time.Millisecond, Period: time.Second}
	for since, want := range map[int64]int64{0: 0, 799 * ms: 0, 800 * ms: 200 * ms, 950 * ms: 50 * ms, 1000 * ms: 0,
		2900 * ms: 100 * ms} {
		if got := s.Left(since); got != want {
			t.Errorf("after %d ms it stalls for %d ns, not %d", since/ms, got, want)
		}
	}
	if (Stall{}).Left(900*ms) != 0 || (Stall{}).Validate() != nil || s.Validate() != nil {
		t.Error("no stall, or a good one")
	}
	for _, wrong := range []Stall{{Length: time.Second}, {Period: time.Second}, {Length: 2, Period: 1}, {Length: -1,
		Period: 1}} {
		if wrong.Validate() == nil {
			t.Errorf("%v is taken", wrong)
		}
	}
}
