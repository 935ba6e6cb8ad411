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

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/history"
	"nearfar/internal/declare/result"
	"nearfar/internal/show/report"
)

// historyOptions are the flags of history.
type historyOptions struct {
	machine, experiment, workload, arm string
	metric, since                      string
	limit                              int
	rebuild                            bool
	format, file                       string
}

const (
	// defaultRuns and maxHistory are the default and the greatest value of --limit.
	defaultRuns = 100
	maxHistory  = 10_000
)

// databaseFlag and pushFlag named a PostgreSQL database, and copied runs into it. They are still read, to say what to
// do instead.
const (
	databaseFlag = "db"
	pushFlag     = "push"
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
and updates it each time. --rebuild makes a new index. A team's runs are in a folder that all can read: DIR is that
folder.`,
		Example: `  nearfar history
  nearfar history --workload rr-1k --arm vxlan --metric rtt.p99 runs
  nearfar history --since 2026-11-01 -f csv -o history.csv
  nearfar history --experiment overlay --machine bench-1 /srv/runs`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if gone := given(cmd.Flags().Changed, databaseFlag, pushFlag); gone != "" {
				return usagef("--%s is gone, nearfar has no database: copy the runs of all machines into one "+
					"folder, and name it: nearfar history FOLDER; -f csv and -f json are for other programs", gone)
			}
			q, err := o.query()
			if err != nil {
				return &usageError{err}
			}
			return a.history(cmd.Context(), argumentOr(args, runsFolder), o, q)
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
	f.StringVarP(&o.format, "format", "f", "terminal",
		"form of the answer: "+strings.Join(report.HistoryFormats(), ", "))
	f.StringVarP(&o.file, "output", "o", "", "write the answer to this `FILE` instead of standard output")
	f.String(databaseFlag, "", "gone")
	f.Bool(pushFlag, false, "gone")
	for _, name := range []string{databaseFlag, pushFlag} {
		f.Lookup(name).Hidden = true
	}
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
		// Runs have figures of their own names too: then the index knows which.
		if _, known := result.UnitOf(q.Metric); !known && !result.IsOwnName(q.Metric) {
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

// history prints the answer from a directory's index.
func (a *app) history(ctx context.Context, dir string, o historyOptions, q history.Query) error {
	if err := checkOutput("-o", &o.file); err != nil {
		return err
	}
	index, err := openHistory(ctx, dir, o.rebuild)
	if err != nil {
		return err
	}
	return errors.Join(a.answerHistory(ctx, index, o, q), index.Close())
}

// openHistory opens the index of a directory of runs.
func openHistory(ctx context.Context, dir string, rebuild bool) (*history.Index, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, usagef("no directory of runs: %w", err)
	} else if !info.IsDir() {
		return nil, usagef("%s is not a directory: name the one that contains the runs", clean.Line(dir))
	}
	// It is empty without a cache directory, as in some containers: every run is then read each time.
	cache, _ := history.CachePath(dir)
	index, err := history.OpenDirectory(ctx, dir, cache, rebuild)
	if errors.As(err, new(*history.SingleRunError)) {
		return nil, &usageError{err}
	}
	return index, err
}

// answerHistory queries the index and prints the answer.
func (a *app) answerHistory(ctx context.Context, index *history.Index, o historyOptions, q history.Query) (err error) {
	d, err := index.Ask(ctx, q)
	if errors.As(err, new(*history.NothingError)) {
		return &usageError{err}
	}
	if err != nil {
		return err
	}
	return a.writeTo(o.file, func(w io.Writer) error { return report.WriteHistory(w, d, reportScreen(o.format, w)) })
}
