package cli

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/show/export"
	"nearfar/internal/show/page"
	"nearfar/internal/show/report"
)

// reportOptions are the flags of verbs that print an answer.
type reportOptions struct {
	format string
	file   string
	// resolve is the text of --resolve. aim is its value.
	resolve string
	aim     *figures.Aim
	// push is the address of a Pushgateway and its group; only report has it.
	push string
}

// flags adds the flags. page is chartsPage or sidesPage.
func (o *reportOptions) flags(f *pflag.FlagSet, page string) {
	f.StringVarP(&o.format, "format", "f", "terminal",
		"form of the answer: "+strings.Join(report.Formats(), ", ")+page)
	f.StringVarP(&o.file, "output", "o", "", "write the answer to this `FILE` instead of standard output")
}

// resolveFlag adds the flag --resolve.
func (o *reportOptions) resolveFlag(f *pflag.FlagSet) {
	f.StringVar(&o.resolve, "resolve", "",
		"say for each comparison how many blocks find this `DIFFERENCE`: 5%, 2us, 10Mbit/s or 100/s")
}

// readAim reads the flag --resolve into aim, which stays nil without it.
func (o *reportOptions) readAim() (err error) {
	if o.resolve == "" {
		return nil
	}
	if o.aim, err = figures.ParseAim(o.resolve); err != nil {
		return usagef("--resolve: %w", err)
	}
	return nil
}

// check refuses an unknown format and an output that cannot be written, before anything is measured.
func (o *reportOptions) check() error {
	if err := checkOutput("-o", &o.file); err != nil {
		return err
	}
	if o.format == formatHTML {
		return page.Built()
	}
	if slices.Contains(export.Formats(), o.format) {
		return usagef("--format %s: only `nearfar report` has it, see `nearfar report --help`", o.format)
	}
	if !slices.Contains(report.Formats(), o.format) {
		return usagef("--format %s: use one of %s", o.format,
			strings.Join(append(report.Formats(), formatHTML), ", "))
	}
	return nil
}

// reportGC makes the garbage of a large run be collected earlier: it costs little time, and a third of the memory.
const reportGC = 40

func (a *app) reportCommand() *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "report [RUN...]",
		Short: "Print the answer of a run again",
		Long: `Report prints the answer of each RUN, a run directory. Without RUN it takes the newest run in runs/.

Exit codes: 0 printed; 1 a failure; 2 wrong usage, or RUN is not a run directory.`,
		Example: `  nearfar report
  nearfar report runs/20261121T192200Z-overlay
  nearfar report -f markdown -o answer.md runs/20261121T192200Z-overlay
  nearfar report -f html -o answer.html runs/20261121T192200Z-overlay
  nearfar report -f csv runs/20261121T192200Z-overlay
  nearfar report --resolve 5% runs/20261121T192200Z-overlay
  nearfar report -f parquet -o trials.parquet runs/*
  nearfar report -f prometheus --push http://pushgateway:9091/metrics/job/nearfar`,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			debug.SetGCPercent(reportGC)
			if err := checkPush(o); err != nil {
				return err
			}
			if len(args) == 0 {
				if args, err = a.newest(1, "a run"); err != nil {
					return err
				}
			}
			if slices.Contains(export.Formats(), o.format) {
				if err := checkOutput("-o", &o.file); err != nil {
					return err
				}
				return a.export(cmd.Context(), args, o)
			}
			if err := errors.Join(o.check(), o.readAim()); err != nil {
				return err
			}
			if len(args) > 1 && (o.format == "json" || o.format == formatHTML || o.file != "") {
				return usagef("%d runs with -f json, -f html or -o: give one run at a time", len(args))
			}
			for i, path := range args {
				ans, err := readReport(path, o.aim)
				if err != nil {
					return &usageError{err}
				}
				if i > 0 {
					fmt.Fprintln(a.stdout)
				}
				if err := a.writeReport(ans, o); err != nil {
					return err
				}
			}
			return nil
		},
	}
	o.flags(cmd.Flags(), chartsPage)
	o.resolveFlag(cmd.Flags())
	cmd.Flags().StringVar(&o.push, "push", "", "with -f prometheus: send the figures to this `ADDRESS`, a Pushgateway's "+
		"with the group that they replace")
	cmd.Flags().Lookup("format").Usage += "; for other programs: " + strings.Join(export.Formats(), ", ")
	return cmd
}
