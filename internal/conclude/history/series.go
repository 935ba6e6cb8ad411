package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

	"nearfar/internal/base/prose"
	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
)

const (
	// MaxSeries is the largest number of series that are shown at once.
	MaxSeries = 24
	// FalseAlarmsPerYear is how many nights a year show a change in any series of the folder, at most and on average, if
	// nothing changes.
	FalseAlarmsPerYear = 1
	// NightsPerYear is how often somebody looks who looks every night.
	NightsPerYear = 365
	// FamilyLevel is the largest probability that one look shows a change in any series of the folder, if nothing
	// changed.
	FamilyLevel = FalseAlarmsPerYear / float64(NightsPerYear)
)

// row is a figure from the database.
type row struct {
	meaning Meaning
	rank    int
	runID   int64
	point   Point
}

// condition is a fact about a run that may differ in another run. Subject is the arm, the workload or both; "" for the
// whole run.
type condition struct {
	subject, name, value string
}

// seriesOf groups rows, which are in the order of time, into series. Each keeps its latest limit points.
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
			strings.Compare(a.Experiment, b.Experiment), strings.Compare(a.Machine, b.Machine),
			strings.Compare(a.Workload, b.Workload), rankOrder(ranks[a.Meaning])-rankOrder(ranks[b.Meaning]),
			strings.Compare(a.Metric, b.Metric), strings.Compare(a.Stat, b.Stat),
			strings.Compare(a.Scope, b.Scope), strings.Compare(a.Arm, b.Arm),
			// The series with the newest run first.
			b.Points[len(b.Points)-1].Started.Compare(a.Points[len(a.Points)-1].Started),
		)
	})
	return all
}

// rankOrder sorts quantities that a report does not show last.
func rankOrder(rank int) int { return cmp.Or(rank, 1<<10) }

// mark looks for changes in the series that are shown. The level of each is FamilyLevel divided by the number of series
// of the folder that are long enough for a change to be found (Bonferroni): whoever shows them one by one would else
// have as many more false alarms. folder is that number as far as the caller knows; those that are shown count anyway.
//
// A look every night is a test every night. Each has the level, so that the expected number of nights with a false mark
// is at most the level times the number of nights, whatever depends on what.
func mark(all []Series, folder int) {
	candidates := 0
	for _, s := range all {
		if len(s.Points) >= longEnough(FamilyLevel) {
			candidates++
		}
	}
	candidates = max(candidates, folder)
	level := FamilyLevel / float64(max(candidates, 1))
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() { markOne(&all[i], level, candidates) })
	}
	wait.Wait()
}

// markOne looks for changes in one series. Together is the number of series that are tested.
func markOne(s *Series, level float64, together int) {
	var values []float64
	for _, p := range s.Points {
		values = append(values, p.Median)
	}
	if fewest := longEnough(level); len(values) < fewest {
		s.Reason = fmt.Sprintf("%s, too few to find a change: it takes %d", prose.Plural(len(values), "run"), fewest)
		if together > 1 {
			s.Reason += fmt.Sprintf(" if %d series are tested together", together)
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
		change := Change{
			Point: c.at, Run: s.Points[c.at].Run, PValue: c.pValue,
			Before: levelOf(values[from:c.at]), After: levelOf(values[c.at:to]),
		}
		if change.Before.Median > 0 {
			change.Relative = new(change.After.Median/change.Before.Median - 1)
		}
		s.Changes = append(s.Changes, change)
	}
}

// levelOf gives the level of a stretch of runs.
func levelOf(values []float64) Level {
	s := stats.Summarize(values)
	l := Level{Median: s.Median.Value, Runs: s.Count}
	if s.Interval.Known {
		l.Interval = &figures.Bounds{s.Interval.Low, s.Interval.High}
	}
	return l
}

// maxDiffers is the largest number of differences that are listed for one run.
const maxDiffers = 12

// compareConditions lists the conditions that differ from the run before, for the arm and the workload of a series.
func compareConditions(before, now []condition, m Meaning) []string {
	subjects := []string{"", armSubject(m.Arm), workloadSubject(m.Workload), cellSubject(m.Arm, m.Workload)}
	of := func(all []condition) map[[2]string]string {
		values := map[[2]string]string{}
		for _, c := range all {
			if slices.Contains(subjects, c.subject) {
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
	slices.SortFunc(keys, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
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
