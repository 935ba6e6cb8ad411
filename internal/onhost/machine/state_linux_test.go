package machine

import (
	"math"
	"testing"
	"time"
)

func TestParseContention(t *testing.T) {
	if u, err := parseUse([]byte("438002713 289641833 156\n")); err != nil || u.Ran != 438002713 ||
		u.Delay != 289641833 {
		t.Errorf("%+v, %v", u, err)
	}
	for _, wrong := range []string{"", "1 2", "x 2 3", "1 x 3"} {
		if u, err := parseUse([]byte(wrong)); err == nil {
			t.Errorf("%q: %+v", wrong, u)
		}
	}
	total, avg10, ok := parsePressure([]byte("some avg10=1.98 avg60=4.29 avg300=15.97 total=120830218\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"))
	if !ok || total != 120830218*time.Microsecond || math.Abs(avg10-0.0198) > 1e-9 {
		t.Errorf("%v %v %v", total, avg10, ok)
	}
	if _, _, ok := parsePressure([]byte("full total=1\n")); ok {
		t.Error("a pressure without its line")
	}
	if l, ok := parseLoad([]byte("0.44 1.21 0.67 2/317 26486\n")); !ok || l.Average != 0.44 || l.Running != 2 {
		t.Errorf("%+v %v", l, ok)
	}
	cpus, err := parseCPUTimes([]byte(procStat))
	if err != nil || cpus[1].Stolen != 28500*time.Millisecond {
		t.Errorf("%+v %v", cpus, err)
	}
}
