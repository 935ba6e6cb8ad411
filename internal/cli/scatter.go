package cli

import (
	"context"
	"path/filepath"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
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
	return func(s *contrast.Side, arm, workload string, q figures.Quantity) stats.Scatter {
		return histories[filepath.Dir(s.ID)].Scatter(ctx, filepath.Base(s.ID), compared, history.Query{
			Experiment: s.Experiment.Name, Machine: s.Machine, Arm: arm, Workload: workload,
			Metric: q.Metric, Stat: q.Stat,
		})
	}, done
}
