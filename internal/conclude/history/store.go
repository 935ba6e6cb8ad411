package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"nearfar/internal/conclude/answer/figures"
)

// store is the SQLite database of an index.
type store struct{ db *sql.DB }

// schema makes the tables of an index.
const schema = `
create table nearfar_runs (
  id integer primary key,
  machine text not null,
  name text not null unique,
  experiment text not null,
  state text not null,
  started_microseconds bigint not null,
  stamp text not null,
  trials bigint not null,
  failed bigint not null
);
create table nearfar_figures (
  run_id bigint not null references nearfar_runs (id) on delete cascade,
  workload text not null,
  arm text not null,
  metric text not null,
  stat text not null,
  scope text not null,
  unit text not null,
  better_if text not null,
  definition text not null,
  tool text not null,
  mode text not null,
  protocol text not null,
  offered text not null,
  message_bytes bigint,
  headline bigint not null,
  median double precision not null,
  low double precision,
  high double precision,
  trials bigint not null
);
create index nearfar_figures_run on nearfar_figures (run_id);
create index nearfar_figures_what on nearfar_figures (metric, stat, workload, arm);
create table nearfar_conditions (
  run_id bigint not null references nearfar_runs (id) on delete cascade,
  subject text not null,
  name text not null,
  value text not null
);
create index nearfar_conditions_run on nearfar_conditions (run_id);
`

// transaction runs a change of the database in a transaction, for one process at a time.
func (s *store) transaction(ctx context.Context, change func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := change(tx); err != nil {
		if rollback := tx.Rollback(); rollback != nil && !errors.Is(rollback, sql.ErrTxDone) {
			err = errors.Join(err, rollback)
		}
		return err
	}
	return tx.Commit()
}

// stamps gives the stamp of each run, by its name.
func (s *store) stamps(ctx context.Context) (map[string]string, error) {
	rows, err := s.db.QueryContext(ctx, "select name, stamp from nearfar_runs")
	if err != nil {
		return nil, err
	}
	stamps := map[string]string{}
	err = each(rows, func() error {
		var name, stamp string
		if err := rows.Scan(&name, &stamp); err != nil {
			return err
		}
		stamps[name] = stamp
		return nil
	})
	return stamps, err
}

// each calls visit for each row, and closes the rows.
func each(rows *sql.Rows, visit func() error) error {
	for rows.Next() {
		if err := visit(); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

// put stores a run whose name is not in the database.
func (s *store) put(ctx context.Context, tx *sql.Tx, r record) error {
	var id int64
	err := tx.QueryRowContext(ctx, `insert into nearfar_runs (machine, name, experiment, state, started_microseconds,
stamp, trials, failed) values ($1, $2, $3, $4, $5, $6, $7, $8) returning id`,
		r.machine, r.name, r.experiment, r.state, r.started.UnixMicro(), r.stamp, r.trials, r.failed).Scan(&id)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, f := range r.figures {
		var bytes, low, high any
		if f.bytes >= 0 {
			bytes = f.bytes
		}
		if f.interval != nil {
			low, high = f.interval[0], f.interval[1]
		}
		q := f.quantity
		rows = append(rows, []any{id, f.workload, f.arm, q.Metric, q.Stat, q.Scope, q.Unit, q.BetterIf, f.definition,
			f.tool, f.mode, f.protocol, f.load, bytes, f.rank, f.median, low, high, f.trials})
	}
	err = insert(ctx, tx, `insert into nearfar_figures (run_id, workload, arm, metric, stat, scope, unit, better_if, definition,
tool, mode, protocol, offered, message_bytes, headline, median, low, high, trials) values `, rows)
	if err != nil {
		return err
	}
	var conditions [][]any
	for _, c := range r.conditions {
		conditions = append(conditions, []any{id, c.subject, c.name, c.value})
	}
	return insert(ctx, tx, "insert into nearfar_conditions (run_id, subject, name, value) values ", conditions)
}

// forget deletes a run with its figures and conditions.
func (s *store) forget(ctx context.Context, tx *sql.Tx, name string) error {
	_, err := tx.ExecContext(ctx, "delete from nearfar_runs where name = $1", name)
	return err
}

// rowsPerInsert is how many rows one statement inserts. Too many are slow in SQLite, which looks up parameters one by
// one.
const rowsPerInsert = 40

// insert adds rows, several with each statement.
func insert(ctx context.Context, tx *sql.Tx, statement string, rows [][]any) error {
	for len(rows) > 0 {
		part := rows[:min(rowsPerInsert, len(rows))]
		rows = rows[len(part):]
		var b strings.Builder
		b.WriteString(statement)
		var values []any
		for i, row := range part {
			if i > 0 {
				b.WriteString(", ")
			}
			for j := range row {
				sign := ", "
				if j == 0 {
					sign = "("
				}
				fmt.Fprintf(&b, "%s$%d", sign, len(values)+j+1)
			}
			b.WriteString(")")
			values = append(values, row...)
		}
		if _, err := tx.ExecContext(ctx, b.String(), values...); err != nil {
			return err
		}
	}
	return nil
}

// Query selects figures. An empty field matches everything.
type Query struct {
	Machine, Experiment, Workload, Arm string
	// Metric and Stat name the figure: rtt, p99. Without a metric, it is the first figure of each workload in a report.
	Metric, Stat string
	// Since leaves out runs that began earlier.
	Since time.Time
	// Limit is the largest number of runs in a series; the latest are kept. 0 for all.
	Limit int
}

// where gives the SQL condition of a query, and the values of its parameters.
func (q Query) where() (string, []any) {
	var parts []string
	var values []any
	add := func(part string, value any) {
		values = append(values, value)
		parts = append(parts, fmt.Sprintf(part, len(values)))
	}
	for _, c := range []struct{ column, value string }{
		{"r.machine", q.Machine}, {"r.experiment", q.Experiment}, {"f.workload", q.Workload}, {"f.arm", q.Arm},
	} {
		if c.value != "" {
			add(c.column+" = $%d", c.value)
		}
	}
	if q.Metric == "" {
		parts = append(parts, "f.headline = 1")
	} else {
		add("f.metric = $%d", q.Metric)
		add("f.stat = $%d", q.Stat)
	}
	if !q.Since.IsZero() {
		add("r.started_microseconds >= $%d", q.Since.UnixMicro())
	}
	return strings.Join(parts, " and "), values
}

// maxRows is the largest number of figures that are read for one query.
const maxRows = 200_000

// figures gives the figures that match a query, the oldest first.
func (s *store) figures(ctx context.Context, q Query) ([]row, error) {
	where, values := q.where()
	rows, err := s.db.QueryContext(ctx, `select r.id, r.machine, r.experiment, r.name, r.state, r.started_microseconds,
f.workload, f.arm, f.metric, f.stat, f.scope, f.unit, f.better_if, f.definition, f.tool, f.mode, f.protocol, f.offered,
f.message_bytes, f.headline, f.median, f.low, f.high, f.trials
from nearfar_figures f join nearfar_runs r on r.id = f.run_id
where `+where+` order by r.started_microseconds, r.machine, r.name`+fmt.Sprintf(" limit %d", maxRows+1), values...)
	if err != nil {
		return nil, err
	}
	var all []row
	err = each(rows, func() error {
		var r row
		var started int64
		var bytes *int
		var low, high *float64
		m := &r.meaning
		if err := rows.Scan(&r.runID, &m.Machine, &m.Experiment, &r.point.Run, &r.point.State, &started,
			&m.Workload, &m.Arm, &m.Metric, &m.Stat, &m.Scope, &m.Unit, &m.BetterIf, &m.Definition, &m.Tool, &m.Mode,
			&m.Protocol,
			&m.Offered,
			&bytes, &r.rank, &r.point.Median, &low, &high, &r.point.Trials); err != nil {
			return err
		}
		if m.MessageBytes = -1; bytes != nil {
			m.MessageBytes = *bytes
		}
		if low != nil && high != nil {
			r.point.Interval = &figures.Bounds{*low, *high}
		}
		r.point.Started, r.point.Differs = time.UnixMicro(started).UTC(), []string{}
		if len(all) == maxRows {
			return fmt.Errorf("more than %d figures match: ask for fewer with --experiment, --workload, --arm or "+
				"--since", maxRows)
		}
		all = append(all, r)
		return nil
	})
	return all, err
}

// countSeries counts the series of the first figures of all workloads that have at least so many runs.
func (s *store) countSeries(ctx context.Context, runs int) (n int, err error) {
	where, values := Query{}.where()
	err = s.db.QueryRowContext(ctx, `select count(*) from (select 1 as one
from nearfar_figures f join nearfar_runs r on r.id = f.run_id
where `+where+` group by r.machine, r.experiment, f.workload, f.arm, f.metric, f.stat, f.scope, f.unit, f.better_if,
f.definition, f.tool, f.mode, f.protocol, f.offered, f.message_bytes having count(*) >= `+fmt.Sprint(runs)+`) as long`,
		values...).Scan(&n)
	return n, err
}

// conditionsOf gives the conditions of runs, by the runs' ids.
func (s *store) conditionsOf(ctx context.Context, ids []int64) (map[int64][]condition, error) {
	all := map[int64][]condition{}
	for len(ids) > 0 {
		part := ids[:min(rowsPerInsert, len(ids))]
		ids = ids[len(part):]
		var places []string
		var values []any
		for i, id := range part {
			places = append(places, fmt.Sprintf("$%d", i+1))
			values = append(values, id)
		}
		rows, err := s.db.QueryContext(ctx, `select run_id, subject, name, value from nearfar_conditions
where run_id in (`+strings.Join(places, ", ")+")", values...)
		if err != nil {
			return nil, err
		}
		err = each(rows, func() error {
			var id int64
			var c condition
			if err := rows.Scan(&id, &c.subject, &c.name, &c.value); err != nil {
				return err
			}
			all[id] = append(all[id], c)
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// known lists up to 40 values of a column, for messages about names that do not exist.
func (s *store) known(ctx context.Context, column string) ([]string, error) {
	rows, err := s.db.QueryContext(ctx, "select distinct "+column+
		" from nearfar_figures f join nearfar_runs r on r.id = f.run_id order by 1 limit 40")
	if err != nil {
		return nil, err
	}
	var all []string
	err = each(rows, func() error {
		var value string
		if err := rows.Scan(&value); err != nil {
			return err
		}
		all = append(all, value)
		return nil
	})
	return all, err
}
