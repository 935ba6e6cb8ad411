package cli

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"nearfar/internal/answer"
	"nearfar/internal/contrast"
	"nearfar/internal/history"
	"nearfar/internal/stats"
)

// scatterFrom gives how much runs scatter from the histories of the folders that the sides' runs are in, and what ends it. It gives
// nil where there are too few runs beside those that are compared, or no history can be made: then nothing is known, as the answer
// says.
func scatterFrom(ctx context.Context, c *contrast.Contrast) (of contrast.ScatterOf, done func()) {
	histories := map[string]*history.Index{}
	done = func() {
		for _, index := range histories {
			_ = index.Close() // it was only read
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
		if countRuns(folder) < stats.FewestRuns+1 {
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
			Experiment: s.Experiment.Name, Machine: s.Machine, Arm: arm, Workload: workload, Metric: q.Metric, Stat: q.Stat,
		})
	}, done
}

// countRuns says how many runs there are in a folder.
func countRuns(folder string) int {
	directory, err := os.Open(folder)
	if err != nil {
		return 0
	}
	entries, _ := directory.ReadDir(maxSuggested) // what there is suffices
	_ = directory.Close()                         // it was only read
	n := 0
	for _, entry := range entries {
		if _, err := os.Stat(filepath.Join(folder, entry.Name(), "run.json")); err == nil {
			n++
		}
	}
	return n
}

// scatterIn finds the series that a run is in, and takes the scatter of the other runs since its last change. Runs with more
// trials than the compared ones scatter less, and do not count.
func scatterIn(ctx context.Context, index *history.Index, run string, compared []string, q history.Query) stats.Scatter {
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
			if !slices.Contains(compared, p.Run) && 4*p.Trials <= 5*s.Points[at].Trials+4 && !strings.EqualFold(p.State, "running") {
				values = append(values, p.Median)
			}
		}
		return stats.ScatterOf(values)
	}
	return stats.Scatter{}
}
