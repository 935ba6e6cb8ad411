package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/contrast"
	"nearfar/internal/conclude/history"
)

// scatterFrom returns a function that says how much runs scatter, from the histories of the folders that contain the
// compared runs. It returns nil if there are too few other runs or if no history can be made. done closes the
// histories.
func scatterFrom(ctx context.Context, c *contrast.Contrast) (of contrast.ScatterOf, done func()) {
	histories := map[string]*history.Index{}
	done = func() {
		for _, index := range histories {
			_ = index.Close() // was only read
		}
	}
	for _, s := range []*contrast.Side{c.Base, c.New} {
		if s.Kind != contrast.Run || s.ID == "" {
			return nil, done
		}
		folder := filepath.Dir(s.ID)
		if histories[folder] != nil {
			continue
		}
		if runs, _ := runsOf(folder); len(runs) < stats.FewestRuns+1 {
			return nil, done
		}
		index, err := openHistory(ctx, folder, false)
		if err != nil {
			return nil, done
		}
		histories[folder] = index
	}
	compared := []string{filepath.Base(c.Base.ID), filepath.Base(c.New.ID)}
	return func(s *contrast.Side, arm, workload string, q answer.Quantity) stats.Scatter {
		return scatterIn(ctx, histories[filepath.Dir(s.ID)], filepath.Base(s.ID), compared, history.Query{
			Experiment: s.Experiment.Name, Machine: s.Machine, Arm: arm, Workload: workload,
			Metric: q.Metric, Stat: q.Stat,
		})
	}, done
}

// scatterIn finds the series that contains a run, and returns the scatter of the other runs since the last change of
// the series. Runs with many more trials than the given run scatter less and are ignored.
func scatterIn(
	ctx context.Context, index *history.Index, run string, compared []string, q history.Query,
) stats.Scatter {
	d, err := index.Ask(ctx, q)
	if err != nil {
		return stats.Scatter{}
	}
	for _, s := range d.Series {
		at := slices.IndexFunc(s.Points, func(p history.Point) bool { return p.Run == run })
		if at < 0 || s.Scope != "" {
			continue
		}
		from := 0
		if n := len(s.Changes); n > 0 {
			from = s.Changes[n-1].Point
		}
		var values []float64
		for _, p := range s.Points[from:] {
			alike := 4*p.Trials <= 5*s.Points[at].Trials+4 // at most a quarter more trials, and one
			if alike && !slices.Contains(compared, p.Run) && !strings.EqualFold(p.State, "running") {
				values = append(values, p.Median)
			}
		}
		return stats.ScatterOf(values)
	}
	return stats.Scatter{}
}
