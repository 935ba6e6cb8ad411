package history

import (
	"context"
	"slices"
	"strings"

	"nearfar/internal/base/stats"
)

// Scatter finds the series that contains a run, and returns the scatter of the runs since the last change of the
// series, without those that are compared. Runs with many more trials than the given run scatter less and are ignored.
func (x *Index) Scatter(ctx context.Context, run string, compared []string, q Query) stats.Scatter {
	d, err := x.Ask(ctx, q)
	if err != nil {
		return stats.Scatter{}
	}
	for _, s := range d.Series {
		at := slices.IndexFunc(s.Points, func(p Point) bool { return p.Run == run })
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
