package machine

import (
	"testing"
	"time"
)

const procStat = `cpu  41654 40709 23117 336539 2231 0 12910 6347 0 0
cpu0 19767 19478 11436 171470 277 0 6081 3497 0 0
cpu1 21886 21230 11680 165069 1954 0 6828 2850 0 0
cpu10 1 1 1 1 1 0 1 7 0 0
intr 12345 0 0 0 0 0 0 0 0 0
`

func TestMeanStolen(t *testing.T) {
	for _, c := range []struct {
		stat string
		cpus []int
		want time.Duration
		ok   bool
	}{
		{procStat, []int{1}, 28500 * time.Millisecond, true},
		{procStat, []int{0, 1}, 31735 * time.Millisecond, true},
		{procStat, []int{10}, 70 * time.Millisecond, true},
		{procStat, []int{2}, 0, false},
		{procStat, []int{1, 2}, 0, false},
		{"cpu1 1 2 3 4\n", []int{1}, 0, false}, // a kernel before 2.6.11
		{"cpu1 1 2 3 4 5 6 7 x\n", []int{1}, 0, false},
		{"", nil, 0, false},
		{procStat, nil, 0, false},
	} {
		all, err := parseCPUTimes([]byte(c.stat))
		got, ok := meanStolen(all, c.cpus)
		if got != c.want || (err == nil && ok) != c.ok {
			t.Errorf("CPUs %v: %v, %v, %v; want %v", c.cpus, got, ok, err, c.want)
		}
	}
}
