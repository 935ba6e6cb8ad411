package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
)

// Index holds the figures of runs and answers questions about them.
type Index struct {
	store  *store
	source string
	lock   *os.File // nil for a database that needs none
	// warnings are what was noticed and did not keep the index from being made.
	warnings []string
}

// OpenDirectory gives an up-to-date index of the runs in a directory. It is kept in the file cache; where cache is empty, or
// cannot be used, it is made anew in memory. Rebuild makes it anew in any case. Runs that cannot be read are left out, with a
// warning.
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
		x.warn("the index cannot be kept, so every run was read anew: %v", err)
	}
	if err := x.open(ctx, "", runs); err != nil {
		return nil, err
	}
	return x, nil
}

func (x *Index) warn(format string, args ...any) {
	x.warnings = append(x.warnings, fmt.Sprintf(format, args...))
}

// openCache opens the index in a file and brings it up to date. One that is broken or of another version is made again.
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
			x.warn("the index could not be used and was made anew: %v", err)
		}
	}
	if err := removeIndex(cache); err != nil {
		return err
	}
	return x.open(ctx, cache, runs)
}

// open opens the index, in memory where the path is empty, and brings it up to date.
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

// update reads the runs that are new or have changed since, and forgets those that are gone.
func (x *Index) update(ctx context.Context, runs []found) error {
	stamps, err := x.store.stamps(ctx)
	if err != nil {
		return err
	}
	there := map[string]string{}
	for key, stamp := range stamps {
		there[key[1]] = stamp
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

// OpenDatabase connects to a team's PostgreSQL. Push fills it.
func OpenDatabase(ctx context.Context, address string) (*Index, error) {
	s, shown, err := openPostgres(ctx, address)
	if err != nil {
		return nil, err
	}
	return &Index{store: s, source: shown}, nil
}

// Push copies the runs of a directory's index into the team's database: those that are not there, or have changed. Runs that
// do not say which machine measured them get the given name. It returns how many were copied and how many are there in all.
// What was pushed stays in the database when a run is removed from the directory.
func (x *Index) Push(ctx context.Context, to *Index, machine string) (copied, all int, err error) {
	stamps, err := to.store.stamps(ctx)
	if err != nil {
		return 0, 0, err
	}
	records, err := x.store.records(ctx)
	if err != nil {
		return 0, 0, err
	}
	for _, r := range records {
		if r.machine == "" {
			r.machine = text(machine)
		}
		if stamp, ok := stamps[[2]string{r.machine, r.name}]; ok && stamp == r.stamp {
			continue
		}
		if err := x.store.fill(ctx, &r); err != nil {
			return copied, len(records), err
		}
		if err := to.store.transaction(ctx, func(tx *sql.Tx) error { return to.store.put(ctx, tx, r) }); err != nil {
			return copied, len(records), fmt.Errorf("%s: %w", r.name, err)
		}
		copied++
	}
	return copied, len(records), nil
}

// Ask answers a question.
func (x *Index) Ask(ctx context.Context, q Query) (Document, error) {
	d := Document{Nearfar: "v1", Source: x.source, Series: []Series{}, Level: FamilyLevel, Warnings: append([]string{}, x.warnings...)}
	rows, err := x.store.figures(ctx, q)
	if err != nil {
		return Document{}, err
	}
	if len(rows) == 0 {
		return d, x.nothing(ctx, q)
	}
	if q.Limit <= 0 {
		q.Limit = len(rows)
	}
	all := seriesOf(rows, q.Limit)
	if d.LeftOut = max(len(all)-MaxSeries, 0); d.LeftOut > 0 {
		all = all[:MaxSeries]
	}
	mark(all)
	d.Series = all
	return d, x.differences(ctx, rows, all)
}

// differences fills in what was not as in the run before.
func (x *Index) differences(ctx context.Context, rows []row, all []Series) error {
	type place struct {
		meaning Meaning
		run     string
	}
	wanted, ids := map[place]int64{}, []int64{}
	shown := map[Meaning]bool{}
	for _, s := range all {
		shown[s.Meaning] = true
	}
	for _, r := range rows {
		if shown[r.meaning] {
			wanted[place{r.meaning, r.point.Run}] = r.runID
			ids = append(ids, r.runID)
		}
	}
	slices.Sort(ids)
	conditions, err := x.store.conditionsOf(ctx, slices.Compact(ids))
	if err != nil {
		return err
	}
	for _, s := range all {
		for i := 1; i < len(s.Points); i++ {
			before, now := wanted[place{s.Meaning, s.Points[i-1].Run}], wanted[place{s.Meaning, s.Points[i].Run}]
			s.Points[i].Differs = compareConditions(conditions[before], conditions[now], s.Meaning)
		}
	}
	return nil
}

// Warnings are what was noticed while the index was brought up to date, such as runs that cannot be read.
func (x *Index) Warnings() []string { return x.warnings }

// Close gives the index up.
func (x *Index) Close() error {
	err := x.store.db.Close()
	if x.lock != nil {
		err = errors.Join(err, x.lock.Close())
	}
	return err
}
