package cli

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/inside"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/show/report"
)

func (a *app) insideCommand() *cobra.Command {
	o := runOptions{watch: &watcher{}, inside: true}
	cmd := &cobra.Command{
		Use:   "inside FILE|RUN[:ARM]",
		Short: "Say where the time of a round trip goes, element by element",
		Long: `Inside prints the time at every element of the path, in both directions, of a run that was watched, or of one
of its arms.

Of an experiment FILE it makes such a run first: as "nearfar run", with "inside: true" on the first workload that takes
it, unless one has it already. Watching costs time, so the other figures come from trials that are not watched.

Exit codes: 0 printed; 1 a failure; 2 wrong usage, a mistake in the file, or the run was not watched; else as run.`,
		Example: `  nearfar inside experiment.yaml
  nearfar inside --dry-run experiment.yaml
  nearfar inside runs/20261121T192200Z-overlay
  nearfar inside -f markdown runs/20261121T192200Z-overlay:vxlan`,
		Args: usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if run, arm, ok := runAndArm(args[0]); ok {
				return a.printInside(run, arm, o.report)
			}
			o.blocksGiven, o.seedGiven = cmd.Flags().Changed("blocks"), cmd.Flags().Changed("seed")
			if err := watchNeedsPage(o, cmd); err != nil {
				return err
			}
			return a.run(cmd.Context(), args[0], o)
		},
	}
	cmd.Flags().IntVar(&o.blocks, "blocks", 0, "how many times each workload is run in each arm (default: as in the file)")
	o.commonFlags(cmd.Flags())
	return cmd
}

// runAndArm divides RUN:ARM, or RUN; it is false for what is no directory.
func runAndArm(source string) (run, arm string, ok bool) {
	isFolder := func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	}
	if isFolder(source) {
		return source, "", true
	}
	at := strings.LastIndex(source, ":")
	if at < 0 || !isFolder(source[:at]) {
		return "", "", false
	}
	return source[:at], source[at+1:], true
}

// printInside prints the inside of a run, or of one of its arms; "" for all.
func (a *app) printInside(run, arm string, o reportOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	if o.format == formatHTML || o.format == "csv" {
		return usagef("-f %s: nearfar report has it", o.format)
	}
	ans, err := readReport(run, nil)
	if err != nil {
		return &usageError{err}
	}
	if len(ans.Inside) == 0 {
		return usagef("%s was not watched: give a workload of its file inside: true", clean.Line(run))
	}
	if arm != "" {
		if ans, err = onlyInside(ans, arm); err != nil {
			return err
		}
	}
	return a.writeTo(o.file, func(w io.Writer) error {
		return report.WriteInside(w, ans, reportScreen(o.format, w))
	})
}

// onlyInside leaves one arm.
func onlyInside(ans answer.Answer, arm string) (answer.Answer, error) {
	var names []string
	for i := range ans.Inside {
		in := &ans.Inside[i]
		for _, one := range in.Arms {
			if !slices.Contains(names, one.Arm) {
				names = append(names, one.Arm)
			}
		}
		in.Arms = slices.DeleteFunc(in.Arms, func(one inside.Arm) bool { return one.Arm != arm })
		in.Against = slices.DeleteFunc(in.Against, func(one inside.Against) bool { return one.Arm != arm })
	}
	if !slices.Contains(names, arm) {
		return ans, usagef("no arm %s: %s", clean.Line(arm), experiment.Suggest(arm, names))
	}
	ans.Warnings = slices.DeleteFunc(ans.Warnings, func(w answer.Warning) bool { return w.Arm != arm })
	return ans, nil
}
