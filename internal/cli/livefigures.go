package cli

import (
	"math"
	"strings"
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// figuresShare is the least ratio of time to the time spent on figures for the live view: at most 5 % is spent. With
// few trials the figures are made after each trial, with thousands less often.
const figuresShare = 20

// figures makes the figures that the live view shows.
type figures struct {
	experiment *experiment.Experiment
	latest     *liveFigures
	// last is when latest was made. cost is how long that took.
	last time.Time
	cost time.Duration
}

func newFigures(e *experiment.Experiment) *figures {
	return &figures{experiment: e, latest: &liveFigures{}}
}

// update computes the figures again, unless that was done a short time ago and force is false.
func (f *figures) update(trials []result.Trial, now time.Time, force bool) {
	if !force && now.Sub(f.last) < figuresShare*f.cost || len(trials) == f.latest.trials {
		return
	}
	begin := time.Now()
	f.latest = newLiveFigures(f.experiment, trials)
	f.cost, f.last = time.Since(begin), now
}

// liveFigures are the figures of the trials so far. They are immutable.
type liveFigures struct {
	trials    int
	workloads []liveWorkload
	// failures are the last failed trials, the latest first. failed counts all failed trials.
	failures []result.Trial
	failed   int
	warnings []answer.Warning
}

// liveWorkload is a workload with the quantity that is shown: the one that a report shows first.
type liveWorkload struct {
	name     string
	quantity answer.Quantity
	arms     []liveArm
}

// liveArm is a row of the view.
type liveArm struct {
	name     string
	baseline bool
	// series has a value for each block up to the last that ran, NaN for a block without a value.
	series []float64
	// figure is nil before the first successful trial. comparison is nil for the baseline, and if nothing can be
	// compared.
	figure     *answer.Figure
	comparison *answer.Comparison
	failed     int
}

// maxFailuresKept is how many failed trials the view shows.
const maxFailuresKept = 3

// newLiveFigures makes the figures that the report would have if the run was stopped now: their intervals hold at any
// time of looking.
func newLiveFigures(e *experiment.Experiment, trials []result.Trial) *liveFigures {
	a := answer.Make(answer.Input{
		Experiment: e, Trials: trials, Seed: e.Schedule.Seed, State: rundir.Running,
	})
	out := &liveFigures{trials: len(trials), failed: a.Failed}
	for _, w := range a.Warnings {
		// The table shows already that trials failed and that there are few blocks. Layers are computed at the end.
		switch {
		case w.Code == "too-few-blocks", w.Code == "incomplete", w.Code == "failed-trials":
		case strings.HasPrefix(w.Code, "layers-"):
		default:
			out.warnings = append(out.warnings, w)
		}
	}
	for i := len(trials) - 1; i >= 0 && len(out.failures) < maxFailuresKept; i-- {
		if trials[i].Error != "" {
			out.failures = append(out.failures, trials[i])
		}
	}
	for _, w := range e.Workloads {
		out.workloads = append(out.workloads, newLiveWorkload(e, w.Name, a, trials))
	}
	return out
}

func newLiveWorkload(e *experiment.Experiment, name string, a answer.Answer, trials []result.Trial) liveWorkload {
	w := liveWorkload{name: name}
	for _, f := range a.Arms {
		if f.Workload == name {
			w.quantity = f.Quantity
			break
		}
	}
	for _, arm := range e.Arms {
		row := liveArm{name: arm.Name, baseline: arm.Name == e.Baseline}
		for i, f := range a.Arms {
			if f.Arm == arm.Name && f.Workload == name && f.Quantity == w.quantity {
				row.figure = &a.Arms[i]
			}
		}
		for i, c := range a.Comparisons {
			if c.Arm == arm.Name && c.Workload == name && c.Quantity == w.quantity {
				row.comparison = &a.Comparisons[i]
			}
		}
		row.series, row.failed = series(trials, arm.Name, name, w.quantity)
		w.arms = append(w.arms, row)
	}
	return w
}

// series returns the value of the quantity in each block, and the number of failed trials.
func series(trials []result.Trial, arm, workload string, q answer.Quantity) (values []float64, failed int) {
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
