package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/runner"
)

// takes is a schedule of two trials. latency has the core-to-core latencies of each take in nanoseconds: before and
// after the first trial, before and after the second.
type takes struct {
	latency [][4]int
	n       int
	err     error
}

func (s *takes) Run(_ context.Context, record runner.Record, _ []result.Trial) error {
	latency := s.latency[min(s.n, len(s.latency)-1)]
	s.n++
	for i, name := range []string{"ours", "theirs"} {
		t := result.Trial{Block: 1, Workload: name, Arm: armName, Facts: map[string]string{},
			Metrics: []result.Metric{{Name: result.RTT, Stat: result.P50, Value: float64(s.n)}}}
		if latency[0] > 0 {
			t.Facts[result.FactCoreToCoreBefore] = fmt.Sprintf("%dns", latency[2*i])
			t.Facts[result.FactCoreToCoreAfter] = fmt.Sprintf("%dns", latency[2*i+1])
		}
		if err := record.Append(t); err != nil {
			return err
		}
	}
	return s.err
}

// A group with rows is measured again if the core-to-core latency changed, and only the last take is kept. A group
// without rows is measured once.
func TestTakes(t *testing.T) {
	steady, later := [4]int{90, 95, 88, 91}, [4]int{90, 92, 91, 440}
	broken := errors.New("interrupted")
	for name, c := range map[string]struct {
		s        takes
		rows     int
		take     float64
		want     moves
		progress int
	}{
		"constant": {s: takes{latency: [][4]int{steady}}, rows: 1, take: 1, want: moves{Groups: 1}},
		"constant and large": {s: takes{latency: [][4]int{{440, 450, 460, 430}}}, rows: 1, take: 1,
			want: moves{Groups: 1}},
		"changed once": {s: takes{latency: [][4]int{later, steady}}, rows: 1, take: 2,
			want: moves{Groups: 1, Again: 1}, progress: 1},
		"changed within a trial": {s: takes{latency: [][4]int{{90, 440, 440, 440}, steady}}, rows: 1, take: 2,
			want: moves{Groups: 1, Again: 1}, progress: 1},
		"changed each time": {s: takes{latency: [][4]int{later}}, rows: 1, take: mostTakes,
			want: moves{Groups: 1, Again: mostTakes - 1, Stayed: 1}, progress: mostTakes - 1},
		"one CPU": {s: takes{latency: [][4]int{{}}}, rows: 1, take: 1},
		"no rows": {s: takes{latency: [][4]int{later}}, take: 1},
		"interrupted": {s: takes{latency: [][4]int{later}, err: broken}, rows: 1, take: 1,
			want: moves{Groups: 1, Stayed: 1}},
	} {
		dir, err := rundir.Create(t.TempDir(), rundir.Manifest{Nearfar: "v1",
			Experiment: &experiment.Experiment{Name: "bench"}, State: rundir.Running, Started: time.Now()})
		if err != nil {
			t.Fatal(err)
		}
		g := group{Workloads: []experiment.Workload{{Name: "ours"}}, Rows: make([]row, c.rows)}
		var told []string
		b := &bench{groups: []group{g}, record: &record{Dir: dir, trials: trials{}}}
		b.progress = func(format string, args ...any) { told = append(told, fmt.Sprintf(format, args...)) }
		if err := b.measure(context.Background(), &c.s, g, nil); !errors.Is(err, c.s.err) {
			t.Errorf("%s: %v", name, err)
		}
		again := slices.DeleteFunc(slices.Clone(told), func(line string) bool {
			return !strings.Contains(line, "measured again")
		})
		if b.moves != c.want || len(again) != c.progress || b.record.count != 2 {
			t.Errorf("%s: %+v, %d trials kept, %q", name, b.moves, b.record.count, told)
		}
		kept := b.record.trials["theirs"][1]
		if v, _ := kept.Value(result.RTT, result.P50); v != c.take {
			t.Errorf("%s: take %v counts, want %v", name, v, c.take)
		}
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}
}
