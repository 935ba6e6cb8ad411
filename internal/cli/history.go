package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/clean"
	"nearfar/internal/history"
	"nearfar/internal/report"
	"nearfar/internal/result"
)

// historyOptions are the flags of history.
type historyOptions struct {
	machine, experiment, workload, arm string
	metric, since                      string
	limit                              int
	rebuild                            bool
	database                           string
	push                               bool
	format, file                       string
}

const (
	// defaultRuns and maxHistory are the default and the greatest value of --limit.
	defaultRuns = 100
	maxHistory  = 10_000
)

func (a *app) historyCommand() *cobra.Command {
	var o historyOptions
	cmd := &cobra.Command{
		Use:   "history [DIR]",
		Short: "Show a figure over all runs of a directory, with changes marked",
		Long: `History prints one figure of each run, the oldest first, and marks changes of its level. Without --metric
it takes the figure that a report shows first for each workload. A series contains only comparable runs: same machine,
tool, mode, protocol, message size and definition. Other differences from the previous run, such as a tool's version,
are listed.

Without DIR it takes the directory runs in the current directory. It keeps an index of the runs in your cache directory,
and updates it each time. --rebuild makes a new index.

With --db the runs come from a team's PostgreSQL database; --push copies the runs of DIR into it first. The password
comes from PGPASSWORD, ~/.pgpass or a service file, as with psql.`,
		Example: `  nearfar history
  nearfar history --workload rr-1k --arm vxlan --metric rtt.p99 runs
  nearfar history --since 2026-11-01 -f csv -o history.csv
  nearfar history --db postgres://nearfar@db.example/nearfar --push runs
  nearfar history --db postgres://nearfar@db.example/nearfar --experiment overlay`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := o.query()
			if err != nil {
				return &usageError{err}
			}
			switch {
			case o.push && o.database == "":
				return usagef("--push needs --db, which names the database")
			case o.database != "" && !o.push && len(args) > 0:
				return usagef("with --db the runs come from the database: omit %s, or copy its runs with --push",
					clean.Line(args[0]))
			case o.database != "" && !o.push && o.rebuild:
				return usagef("--rebuild makes the index of a directory, and --db needs none: give one of them")
			}
			dir := runsFolder
			if len(args) > 0 {
				dir = args[0]
			}
			return a.history(cmd.Context(), dir, o, q)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.metric, "metric", "",
		"the figure, as `METRIC.STAT` such as rtt.p99 or goodput (default: the one that a report shows first)")
	f.StringVar(&o.workload, "workload", "", "only this `WORKLOAD`")
	f.StringVar(&o.arm, "arm", "", "only this `ARM`")
	f.StringVar(&o.experiment, "experiment", "", "only the experiment of this `NAME`")
	f.StringVar(&o.machine, "machine", "", "only runs that this `MACHINE` measured")
	f.StringVar(&o.since, "since", "",
		"only runs that began on this `DATE` or later (2026-11-21, or 2026-11-21T19:22:00Z)")
	f.IntVar(&o.limit, "limit", defaultRuns, "how many of the latest runs to show")
	f.BoolVar(&o.rebuild, "rebuild", false, "make a new index: read every run again")
	f.StringVar(&o.database, "db", "", "take the runs from this database: `postgres://USER@HOST/DATABASE`")
	f.BoolVar(&o.push, "push", false, "copy the runs of DIR into the database first")
	f.StringVarP(&o.format, "format", "f", "terminal",
		"form of the answer: "+strings.Join(report.HistoryFormats(), ", "))
	f.StringVarP(&o.file, "output", "o", "", "write the answer to this `FILE` instead of standard output")
	return cmd
}

// query checks the flags and makes the query of them.
func (o *historyOptions) query() (q history.Query, err error) {
	if !slices.Contains(report.HistoryFormats(), o.format) {
		return q, fmt.Errorf("--format %s: use one of %s", o.format, strings.Join(report.HistoryFormats(), ", "))
	}
	if o.limit < 1 || o.limit > maxHistory {
		return q, fmt.Errorf("--limit %d: must be from 1 to %d", o.limit, maxHistory)
	}
	q = history.Query{Machine: o.machine, Experiment: o.experiment, Workload: o.workload, Arm: o.arm, Limit: o.limit}
	if o.metric != "" {
		q.Metric, q.Stat, _ = strings.Cut(o.metric, ".")
		if _, known := result.UnitOf(q.Metric); !known {
			return q, fmt.Errorf("--metric %q: write a metric, and its statistic if it has any: "+
				"rtt.p50, response_time.p99, goodput, loss", o.metric)
		}
	}
	if o.since != "" {
		since, err := time.Parse(time.DateOnly, o.since)
		if err != nil {
			since, err = time.Parse(time.RFC3339, o.since)
		}
		if err != nil {
			return q, fmt.Errorf("--since %q: write a date such as 2026-11-21, or a time such as 2026-11-21T19:22:00Z",
				o.since)
		}
		q.Since = since
	}
	return q, nil
}

// history prints the answer from a directory's index or from a database.
func (a *app) history(ctx context.Context, dir string, o historyOptions, q history.Query) (err error) {
	if err := checkOutput("-o", &o.file); err != nil {
		return err
	}
	if o.database == "" {
		index, err := openHistory(ctx, dir, o.rebuild)
		if err != nil {
			return err
		}
		return errors.Join(a.answerHistory(ctx, index, o, q), index.Close())
	}
	database, err := history.OpenDatabase(ctx, o.database)
	var address *history.AddressError
	if errors.As(err, &address) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, database.Close()) }()
	if o.push {
		if err := a.pushHistory(ctx, dir, o.rebuild, database); err != nil {
			return err
		}
	}
	return a.answerHistory(ctx, database, o, q)
}

// openHistory opens the index of a directory of runs.
func openHistory(ctx context.Context, dir string, rebuild bool) (*history.Index, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, usagef("no directory of runs: %w", err)
	} else if !info.IsDir() {
		return nil, usagef("%s is not a directory: name the one that contains the runs", clean.Line(dir))
	}
	// Without a cache directory, as in some containers, every run is read each time.
	cache, err := history.CachePath(dir)
	if err != nil {
		cache = ""
	}
	index, err := history.OpenDirectory(ctx, dir, cache, rebuild)
	var single *history.SingleRunError
	if errors.As(err, &single) {
		return nil, &usageError{err}
	}
	return index, err
}

func (a *app) pushHistory(ctx context.Context, dir string, rebuild bool, database *history.Index) (err error) {
	index, err := openHistory(ctx, dir, rebuild)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	machine, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("the runs are stored under the machine's name, which cannot be read: %w", err)
	}
	copied, all, err := index.Push(ctx, database, machine)
	if err != nil {
		return err
	}
	for _, warning := range index.Warnings() {
		fmt.Fprintln(a.stderr, "nearfar:", clean.Line(warning))
	}
	fmt.Fprintf(a.stderr, "nearfar: copied %d of %d runs; the database has the others already\n", copied, all)
	return nil
}

// answerHistory queries the index and prints the answer.
func (a *app) answerHistory(ctx context.Context, index *history.Index, o historyOptions, q history.Query) (err error) {
	d, err := index.Ask(ctx, q)
	var nothing *history.NothingError
	if errors.As(err, &nothing) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	return a.writeTo(o.file, func(w io.Writer) error { return report.WriteHistory(w, d, reportScreen(o.format, w)) })
}
