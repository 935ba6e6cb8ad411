package machine

import (
	"testing"
	"time"
)

func TestSteal(t *testing.T) {
	for name, c := range map[string]struct {
		stolen   []time.Duration // what successive looks give; then it is not known
		min, max float64
		known    bool
	}{
		"50 ms of a second": {[]time.Duration{3 * time.Second, 3*time.Second + 50*time.Millisecond}, 0.02, 0.05, true},
		"never":             {nil, 0, 0, false},
		"only before":       {[]time.Duration{time.Second}, 0, 0, false},
		"less than before":  {[]time.Duration{time.Second, 0}, 0, 0, false},
	} {
		looks := c.stolen
		s := watchSteal(func([]int) (time.Duration, bool) {
			if len(looks) == 0 {
				return 0, false
			}
			now := looks[0]
			looks = looks[1:]
			return now, true
		}, []int{1})
		s.started = s.started.Add(-time.Second)
		// A second has passed, or somewhat more.
		if share, known := s.Share(); known != c.known || share < c.min || share > c.max {
			t.Errorf("%s: %v, %v", name, share, known)
		}
	}
}
