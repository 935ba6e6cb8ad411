package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	"nearfar/internal/measure/recordings"
	"nearfar/internal/measure/tool"
)

// importOptions are the flags of import.
type importOptions struct {
	arms   []string
	points []string
	server string
	tool   string
	json   bool
	run    importRunOptions
}

func (a *app) importCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Read outputs recorded elsewhere, as trials or as a run",
		Long: `Import reads recorded outputs of sockperf, netperf, iperf3, ping, qperf, ntttcp, latte or nearfar's own
engine (-f json), and of programs that nearfar does not run (--tool lists all). It prints them as trials with full round
trips and base units. A FILE may contain a whole terminal session with several runs of a program. "-" reads standard
input, and a directory stands for its files. A failed run becomes a trial with an error.

With --run the trials become a run directory, which report, compare and gate read in the same way as a measured run. The
order in which the trials ran is not known, so they are not paired; with one trial a side there is a difference and no
interval. If the arms were measured in turn, use --paired: the first files of all arms are one block, the second files
the next. The files of a directory are sorted by name, with numbers in numeric order.

With --point the files are captures of packets, pcap or pcapng, each taken at one point of the way, in the order from
the client to the server. Transactions are matched across the points, plain or in a tunnel, and the time between
neighbouring points is printed: there and back together, and apart where the points have one clock. Clocks of different
files need not agree. To give several captures, give each point several times.

Exit codes: 0 all files were read; 1 a file contains no known output, every trial of the run failed, or no transaction
was seen at every point; 2 wrong usage.`,
		Example: `  nearfar import --json netperf.txt
  nearfar import --run zones --arm one-set=set.txt --arm across=zones.txt
  nearfar import --run zones --baseline one-set --arm across=results/across/ --arm one-set=results/set/ -f markdown
  nearfar import --run turns --paired --arm near=near/ --arm far=far/
  nearfar import --point client=a.pcap --point vtep-a=a.pcapng:eth0 --point vtep-b=b.pcapng:eth0 --server 10.0.0.4:5000
  nearfar engine rr 10.0.0.4 -f json | nearfar import --arm near -
  ssh host sockperf ping-pong -i 10.0.0.4 --tcp --full-rtt | nearfar import --arm near -`,
		RunE: func(cmd *cobra.Command, files []string) error {
			debug.SetGCPercent(reportGC)
			if o.tool != "" && !slices.Contains(tool.Formats(), o.tool) {
				return usagef("--tool %s: use one of %s",
					clean.Quote(o.tool), strings.Join(tool.Formats(), ", "))
			}
			if err := o.checkTogether(cmd); err != nil {
				return &usageError{err}
			}
			if len(o.points) > 0 {
				if len(files) > 0 {
					return usagef("%s belongs to no point: write --point NAME=%s", clean.Line(files[0]), clean.Line(files[0]))
				}
				return a.importPoints(cmd.Context(), o)
			}
			arms, err := parseArms(o.arms)
			if err != nil {
				return &usageError{err}
			}
			named, err := sources(arms, files)
			if err != nil {
				return &usageError{err}
			}
			reader := recordings.Reader{ReadFile: a.readFile, Tool: o.tool}
			if o.run.Name == "" {
				trials, failed := reader.Trials(cmd.Context(), named)
				return errors.Join(a.printTrials(trials, o.json), failed)
			}
			if o.run.Arms, err = armsOfRun(arms, named); err != nil {
				return &usageError{err}
			}
			return a.importRun(cmd.Context(), named, reader, o.run)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.arms, "arm", nil,
		"`NAME` of the arm of the FILE arguments, or NAME=FILE; can be repeated. FILE may be a directory")
	f.StringArrayVar(&o.points, "point", nil, "a capture of packets at one point of the way, as `NAME=FILE[:INTERFACE]`, "+
		"with ,clock=NAME for points of one clock; can be repeated")
	f.StringVar(&o.server, "server", "", "with --point: the server whose conversation is meant, as `ADDRESS[:PORT]` "+
		"(default: the one with the most transactions)")
	f.StringVar(&o.tool, "tool", "",
		"the program that printed the output, if it is not recognised: "+strings.Join(tool.Formats(), ", "))
	f.BoolVar(&o.json, "json", false, "print the trials or the segments as JSON")
	f.StringVar(&o.run.Name, "run", "", "make a run directory of this `NAME`, and print its answer")
	f.StringVar(&o.run.Baseline, "baseline", "",
		"with --run: the `ARM` that the others are compared with (default: the first)")
	f.StringVar(&o.run.Question, "question", "", "with --run: the report's title, as `TEXT`")
	f.StringVar(&o.run.Workload, "workload", "",
		"with --run: one `NAME` for all trials (default: by tool, mode, protocol and message size)")
	f.BoolVar(&o.run.Paired, "paired", false,
		"with --run: pair the first trials of all arms, then the second ones, and so on")
	f.StringVar(&o.run.out, "out", runsFolder, "with --run: directory in which the run directory is made")
	o.run.report.flags(f, chartsPage)
	return cmd
}

// checkTogether refuses flags that contradict each other or need --run.
func (o *importOptions) checkTogether(cmd *cobra.Command) error {
	run := cmd.Flags().Changed("run")
	if run && o.run.Name == "" {
		return errors.New("--run needs a name for the experiment, for example --run zones")
	}
	if run && o.json {
		return errors.New("--json prints trials, and --run prints the answer: with --run write -f json")
	}
	points := cmd.Flags().Changed("point")
	if flag := given(cmd.Flags().Changed, "arm", "run", "tool"); points && flag != "" {
		return fmt.Errorf("--%s is about outputs of programs, and --point about captures: use one of them", flag)
	}
	if cmd.Flags().Changed("server") && !points {
		return errors.New("--server goes with --point")
	}
	flag := given(cmd.Flags().Changed, "baseline", "question", "workload", "paired", "out", "format", "output")
	if flag != "" && !run {
		return fmt.Errorf("--%s goes with --run", flag)
	}
	return nil
}

// importRunOptions are the flags of import that make a run.
type importRunOptions struct {
	recordings.Plan
	out    string
	report reportOptions
}

// importRun makes a run directory of the files, and prints its answer. After an error in the flags or files it leaves
// no run directory.
func (a *app) importRun(
	ctx context.Context, named []recordings.Recording, reader recordings.Reader, o importRunOptions,
) error {
	if err := o.report.check(); err != nil {
		return err
	}
	if err := checkFolder("--out", o.out); err != nil {
		return err
	}
	if err := o.Check(); err != nil {
		return &usageError{err}
	}
	files, err := reader.Files(ctx, named)
	if err != nil {
		return err
	}
	run, err := o.Run(reader, files)
	if err != nil {
		return &usageError{err}
	}
	path, err := run.Write(ctx, o.out)
	if err != nil {
		return err
	}
	ans, err := readAnswer(path)
	if err != nil {
		return err
	}
	if err := a.writeReport(ans, o.report); err != nil {
		return err
	}
	if ans.Failed == ans.Trials {
		return fmt.Errorf("every trial failed; the first: %s", clean.Line(run.Trials[0].Error))
	}
	return nil
}

// armsOfRun lists the arms of a run. Every file must belong to an arm.
func armsOfRun(arms []armFlag, named []recordings.Recording) ([]string, error) {
	for _, r := range named {
		if r.Arm == "" {
			return nil, fmt.Errorf("%s belongs to no arm: with --run write --arm NAME=%s",
				clean.Line(r.File), clean.Line(r.File))
		}
	}
	var names []string
	for _, arm := range arms {
		names = append(names, arm.name)
	}
	return names, nil
}
