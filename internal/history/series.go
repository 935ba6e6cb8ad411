package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"nearfar/internal/answer"
	"nearfar/internal/stats"
)

const (
	// MaxSeries bounds how many series are shown at once.
	MaxSeries = 24
	// FamilyLevel is the probability of any false mark in what is shown at once.
	FamilyLevel = 0.05
)

// row is a figure as the database gives it.
type row struct {
	meaning Meaning
	rank    int
	runID   int64
	point   Point
}

// condition is something that was so in a run and might be otherwise in the next. Subject is "" for the run as a whole,
// or names the arm or the workload that it is about.
type condition struct {
	subject, name, value string
}

// seriesOf sorts rows, which are in the order of time, into series. Each keeps its latest limit points.
func seriesOf(rows []row, limit int) []Series {
	index := map[Meaning]int{}
	var all []Series
	ranks := map[Meaning]int{}
	for _, r := range rows {
		i, ok := index[r.meaning]
		if !ok {
			i = len(all)
			index[r.meaning] = i
			all = append(all, Series{Meaning: r.meaning, Points: []Point{}, Changes: []Change{}})
		}
		ranks[r.meaning] = r.rank
		all[i].Points = append(all[i].Points, r.point)
	}
	for i := range all {
		if extra := len(all[i].Points) - limit; extra > 0 {
			all[i].Points = slices.Clone(all[i].Points[extra:])
		}
	}
	slices.SortStableFunc(all, func(a, b Series) int {
		return cmp.Or(
			strings.Compare(a.Experiment, b.Experiment), strings.Compare(a.Machine, b.Machine), strings.Compare(a.Workload, b.Workload),
			rankOrder(ranks[a.Meaning])-rankOrder(ranks[b.Meaning]), strings.Compare(a.Metric, b.Metric), strings.Compare(a.Stat, b.Stat),
			strings.Compare(a.Scope, b.Scope), strings.Compare(a.Arm, b.Arm),
			// Of those that only differ in their meaning, the one that goes on comes first.
			b.Points[len(b.Points)-1].Started.Compare(a.Points[len(a.Points)-1].Started),
		)
	})
	return all
}

// rankOrder puts what is no headline last.
func rankOrder(rank int) int {
	if rank == 0 {
		return 1 << 10
	}
	return rank
}

// mark looks for changes in all the series that are shown at once. The level of each is the family's divided by the number of
// those in which one could be found at all, so that a mark in any of them is as rare as it would be in one.
func mark(all []Series) {
	candidates := 0
	for _, s := range all {
		if len(s.Points) >= fewestRuns(FamilyLevel) {
			candidates++
		}
	}
	level := FamilyLevel / float64(max(candidates, 1))
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() { markOne(&all[i], level, candidates) })
	}
	wait.Wait()
}

// markOne looks for changes in one of the series, of which so many are looked at together.
func markOne(s *Series, level float64, together int) {
	var values []float64
	for _, p := range s.Points {
		values = append(values, p.Median)
	}
	if fewest := fewestRuns(level); len(values) < fewest {
		s.Reason = fmt.Sprintf("%s, too few to find a change in: it takes %d", runs(len(values)), fewest)
		if together > 1 {
			s.Reason += fmt.Sprintf(" where %d series are looked at together", together)
		}
		return
	}
	cuts := findCuts(values, level)
	for n, c := range cuts {
		from, to := 0, len(values)
		if n > 0 {
			from = cuts[n-1].at
		}
		if n+1 < len(cuts) {
			to = cuts[n+1].at
		}
		change := Change{Point: c.at, Run: s.Points[c.at].Run, Before: levelOf(values[from:c.at]), After: levelOf(values[c.at:to]), PValue: c.pValue}
		if change.Before.Median > 0 {
			relative := change.After.Median/change.Before.Median - 1
			change.Relative = &relative
		}
		s.Changes = append(s.Changes, change)
	}
}

func runs(n int) string {
	if n == 1 {
		return "1 run"
	}
	return fmt.Sprintf("%d runs", n)
}

// levelOf summarises a stretch of runs.
func levelOf(values []float64) Level {
	s := stats.Summarize(values)
	l := Level{Median: s.Median.Value, Runs: s.Count}
	if s.Interval.Known {
		l.Interval = &answer.Bounds{s.Interval.Low, s.Interval.High}
	}
	return l
}

// maxDiffers bounds what is said of one run.
const maxDiffers = 12

// compareConditions says what is not as in the run before, for the arm and the workload that a series is about.
func compareConditions(before, now []condition, m Meaning) []string {
	of := func(all []condition) map[[2]string]string {
		values := map[[2]string]string{}
		for _, c := range all {
			if c.subject == "" || c.subject == armSubject(m.Arm) || c.subject == workloadSubject(m.Workload) || c.subject == cellSubject(m.Arm, m.Workload) {
				values[[2]string{c.subject, c.name}] = c.value
			}
		}
		return values
	}
	old, current := of(before), of(now)
	var keys [][2]string
	for key := range old {
		keys = append(keys, key)
	}
	for key := range current {
		if _, ok := old[key]; !ok {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b [2]string) int { return cmp.Or(strings.Compare(a[0], b[0]), strings.Compare(a[1], b[1])) })
	differs := []string{}
	for _, key := range keys {
		was, is := old[key], current[key]
		if was == is {
			continue
		}
		if len(differs) == maxDiffers {
			return append(differs, "and more")
		}
		if key[1] == declaration {
			what := "the workload"
			if key[0] == armSubject(m.Arm) {
				what = "the arm"
			}
			differs = append(differs, what+" is declared differently")
			continue
		}
		differs = append(differs, fmt.Sprintf("%s: %s, was %s", key[1], cmp.Or(is, "nothing"), cmp.Or(was, "nothing")))
	}
	return differs
}
