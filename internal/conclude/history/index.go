package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"

	"nearfar/internal/declare/result"
)

// Index is a database with the figures of runs.
type Index struct {
	store  *store
	source string
	lock   *os.File // nil for an index in memory
	// warnings are problems that did not prevent the index from being made.
	warnings []string
}

// OpenDirectory gives an up-to-date index of the runs in a directory. It is stored in the file cache; if cache is empty
// or cannot be used, the index is made in memory. With rebuild, it is made again from all runs. Runs that cannot be
// read are left out, with a warning. The error is a SingleRunError if the directory is a run.
func OpenDirectory(ctx context.Context, dir, cache string, rebuild bool) (*Index, error) {
	runs, err := scan(dir)
	if err != nil {
		return nil, err
	}
	x := &Index{source: dir}
	if cache != "" {
		err := x.openCache(ctx, cache, runs, rebuild)
		if err == nil {
			return x, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		x.warn("the index cannot be stored, so all runs were read again: %v", err)
	}
	if err := x.open(ctx, "", runs); err != nil {
		return nil, err
	}
	return x, nil
}

func (x *Index) warn(format string, args ...any) {
	x.warnings = append(x.warnings, fmt.Sprintf(format, args...))
}

// openCache opens the index in a file and brings it up to date. If it is broken or has another version, it is made
// again.
func (x *Index) openCache(ctx context.Context, cache string, runs []found, rebuild bool) (err error) {
	if x.lock, err = takeLock(ctx, cache); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, x.lock.Close())
			x.lock = nil
		}
	}()
	if !rebuild {
		_, missing := os.Stat(cache)
		err := x.open(ctx, cache, runs)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if missing == nil {
			x.warn("the index could not be used and was made again: %v", err)
		}
	}
	if err := removeIndex(cache); err != nil {
		return err
	}
	return x.open(ctx, cache, runs)
}

// open opens the index, in memory if the path is empty, and brings it up to date.
func (x *Index) open(ctx context.Context, path string, runs []found) error {
	s, err := openSQLite(ctx, path)
	if err != nil {
		return err
	}
	x.store = s
	kept := len(x.warnings)
	if err := x.update(ctx, runs); err != nil {
		x.store, x.warnings = nil, x.warnings[:kept]
		return errors.Join(err, s.db.Close())
	}
	return nil
}

// update reads new and changed runs, and deletes runs that are no longer in the directory.
func (x *Index) update(ctx context.Context, runs []found) error {
	there, err := x.store.stamps(ctx)
	if err != nil {
		return err
	}
	var changed []found
	for _, run := range runs {
		name := text(run.name)
		if stamp, known := there[name]; !known || stamp != run.stamp {
			changed = append(changed, run)
		}
		delete(there, name)
	}
	return x.store.transaction(ctx, func(tx *sql.Tx) error {
		for run, read := range summaries(changed) {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := x.store.forget(ctx, tx, text(run.name)); err != nil {
				return err
			}
			if read.err != nil {
				x.warn("left out: %v", read.err)
				continue
			}
			if err := x.store.put(ctx, tx, read.record); err != nil {
				return fmt.Errorf("%s: %w", run.path, err)
			}
		}
		for name := range there {
			if err := x.store.forget(ctx, tx, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// Ask gives the series that match a query. The error is a NothingError if no figure matches.
func (x *Index) Ask(ctx context.Context, q Query) (Document, error) {
	d := Document{
		Nearfar: "v1", Source: x.source, Series: []Series{}, Level: FamilyLevel, PerYear: FalseAlarmsPerYear,
		Warnings: append([]string{}, x.warnings...),
	}
	rows, err := x.store.figures(ctx, q)
	if err != nil {
		return Document{}, err
	}
	if len(rows) == 0 {
		return d, x.nothing(ctx, q)
	}
	if q.Metric == "" {
		failed, err := x.failures(ctx, q)
		if err != nil {
			return Document{}, err
		}
		rows = append(rows, failed...)
	}
	if q.Limit <= 0 {
		q.Limit = len(rows)
	}
	all := seriesOf(rows, q.Limit)
	if d.LeftOut = max(len(all)-MaxSeries, 0); d.LeftOut > 0 {
		all = all[:MaxSeries]
	}
	folder, err := x.store.countSeries(ctx, longEnough(FamilyLevel))
	if err != nil {
		return Document{}, err
	}
	mark(all, folder)
	d.Series = all
	return d, x.differences(ctx, rows, all)
}

// failures gives the shares of failed attempts of the arms and workloads of a query that failed in any run.
func (x *Index) failures(ctx context.Context, q Query) ([]row, error) {
	q.Metric = result.Failures
	rows, err := x.store.figures(ctx, q)
	if err != nil {
		return nil, err
	}
	failed := map[Meaning]bool{}
	for _, r := range rows {
		failed[r.meaning] = failed[r.meaning] || r.point.Median > 0
	}
	return slices.DeleteFunc(rows, func(r row) bool { return !failed[r.meaning] }), nil
}

// differences fills in Differs of all points: the conditions that differ from the run before.
func (x *Index) differences(ctx context.Context, rows []row, all []Series) error {
	type place struct {
		meaning Meaning
		run     string
	}
	ids, sorted := map[place]int64{}, []int64{}
	shown := map[Meaning]bool{}
	for _, s := range all {
		shown[s.Meaning] = true
	}
	for _, r := range rows {
		if shown[r.meaning] {
			ids[place{r.meaning, r.point.Run}] = r.runID
			sorted = append(sorted, r.runID)
		}
	}
	slices.Sort(sorted)
	conditions, err := x.store.conditionsOf(ctx, slices.Compact(sorted))
	if err != nil {
		return err
	}
	for _, s := range all {
		for i := 1; i < len(s.Points); i++ {
			before, now := ids[place{s.Meaning, s.Points[i-1].Run}], ids[place{s.Meaning, s.Points[i].Run}]
			s.Points[i].Differs = compareConditions(conditions[before], conditions[now], s.Meaning)
		}
	}
	return nil
}

// Close closes the database and releases the lock.
func (x *Index) Close() error {
	err := x.store.db.Close()
	if x.lock != nil {
		err = errors.Join(err, x.lock.Close())
	}
	return err
}
