// Package interim makes the figures of a run that goes on.
package interim

import (
	"math"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// leastPause is the least ratio of time to the time spent on figures: at most 5 % is spent. With few trials the figures
// are made after each trial, with thousands less often.
const leastPause = 20

// Maker makes the figures again from time to time.
type Maker struct {
	experiment *experiment.Experiment
	latest     *Figures
	// last is when latest was made. cost is how long that took.
	last time.Time
	cost time.Duration
}

// NewMaker is a maker for the trials of an experiment.
func NewMaker(e *experiment.Experiment) *Maker { return &Maker{experiment: e, latest: &Figures{}} }

// Latest are the figures that were made last.
func (m *Maker) Latest() *Figures { return m.latest }

// Update makes the figures again, unless that was done a short time ago and force is false.
func (m *Maker) Update(trials []result.Trial, now time.Time, force bool) {
	if !force && now.Sub(m.last) < leastPause*m.cost || len(trials) == m.latest.trials {
		return
	}
	begin := time.Now()
	m.latest = Make(m.experiment, trials)
	m.cost, m.last = time.Since(begin), now
}

// Figures are the figures of the trials so far. They are immutable.
type Figures struct {
	trials    int
	Workloads []Workload
	// Failures are the last failed trials, the latest first. Failed counts all failed trials.
	Failures []result.Trial
	Failed   int
	Warnings []answer.Warning
}

// Workload is a workload with the quantity that is shown: the one that a report shows first.
type Workload struct {
	Name     string
	Quantity figures.Quantity
	Arms     []Arm
}

// Scale is the scale of all numbers of the workload.
func (w Workload) Scale() result.Scale {
	var medians []float64
	for _, arm := range w.Arms {
		if arm.Figure != nil {
			medians = append(medians, arm.Figure.Median)
		}
	}
	return result.ScaleOf(w.Quantity.Unit, medians...)
}

// HasBaseline reports whether the baseline has a figure yet.
func (w Workload) HasBaseline() bool {
	return slices.ContainsFunc(w.Arms, func(arm Arm) bool { return arm.Baseline && arm.Figure != nil })
}

// Arm is an arm of a workload.
type Arm struct {
	Name     string
	Baseline bool
	// Series has a value for each block up to the last that ran, NaN for a block without a value.
	Series []float64
	// Figure is nil before the first successful trial. Comparison is nil for the baseline, and if nothing can be
	// compared.
	Figure     *figures.Figure
	Comparison *figures.Comparison
	Failed     int
}

// Good is the number of blocks with a value.
func (a Arm) Good() int {
	n := 0
	for _, v := range a.Series {
		if !math.IsNaN(v) {
			n++
		}
	}
	return n
}

// maxFailuresKept is how many failed trials are kept.
const maxFailuresKept = 3

// Make makes the figures that the report would have if the run was stopped now: their intervals hold at any
// time of looking.
func Make(e *experiment.Experiment, trials []result.Trial) *Figures {
	a := answer.Make(answer.Input{
		Experiment: e, Trials: trials, Seed: e.Schedule.Seed, State: rundir.Running,
	})
	out := &Figures{trials: len(trials), Failed: a.Failed}
	for _, w := range a.Warnings {
		// A table of the figures shows already that trials failed and that there are few blocks. Layers are computed at
		// the end.
		switch {
		case w.Code == "too-few-blocks", w.Code == "incomplete", w.Code == "failed-trials":
		case strings.HasPrefix(w.Code, "layers-"):
		default:
			out.Warnings = append(out.Warnings, w)
		}
	}
	for i := len(trials) - 1; i >= 0 && len(out.Failures) < maxFailuresKept; i-- {
		if trials[i].Error != "" {
			out.Failures = append(out.Failures, trials[i])
		}
	}
	for _, w := range e.Unwatched().Workloads {
		out.Workloads = append(out.Workloads, newWorkload(e, w.Name, a, trials))
	}
	return out
}

func newWorkload(e *experiment.Experiment, name string, a answer.Answer, trials []result.Trial) Workload {
	w := Workload{Name: name}
	for _, f := range a.Arms {
		if f.Workload == name {
			w.Quantity = f.Quantity
			break
		}
	}
	for _, arm := range e.Arms {
		row := Arm{Name: arm.Name, Baseline: arm.Name == e.Baseline}
		for i, f := range a.Arms {
			if f.Arm == arm.Name && f.Workload == name && f.Quantity == w.Quantity {
				row.Figure = &a.Arms[i]
			}
		}
		for i, c := range a.Comparisons {
			if c.Arm == arm.Name && c.Workload == name && c.Quantity == w.Quantity {
				row.Comparison = &a.Comparisons[i]
			}
		}
		row.Series, row.Failed = series(trials, arm.Name, name, w.Quantity)
		w.Arms = append(w.Arms, row)
	}
	return w
}

// series returns the value of the quantity in each block, and the number of failed trials.
func series(trials []result.Trial, arm, workload string, q figures.Quantity) (values []float64, failed int) {
	var good []stats.Value
	for _, t := range trials {
		if t.Arm != arm || t.Workload != workload || t.Block < 1 || t.Block > experiment.MaxBlocks {
			continue
		}
		for len(values) < t.Block {
			values = append(values, math.NaN())
		}
		if t.Error != "" {
			failed++
		} else if v, ok := q.Of(t); ok {
			good = append(good, stats.Value{Block: t.Block, Value: v})
		}
	}
	for _, v := range stats.PerBlock(good) {
		values[v.Block-1] = v.Value
	}
	return values, failed
}
