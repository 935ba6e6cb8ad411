package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"nearfar/internal/clean"
	"nearfar/internal/result"
	"nearfar/internal/tool"
)

// importOptions are the flags of import.
type importOptions struct {
	arms []string
	tool string
	json bool
	run  importRunOptions
}

// importCommand reads outputs that were recorded elsewhere.
func (a *app) importCommand() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Read outputs recorded elsewhere, as trials or as a run",
		Long: `Read what sockperf, netperf, iperf3, ping, ntttcp, latte or nearfar's own engine (-f json) printed elsewhere,
normalised: full round trips, base units.
A file may hold a whole terminal session with several runs. "-" reads standard input, and a directory stands for its files.
A run that failed is a trial with an error. The exit code is 1 if a file holds nothing that is recognised.

With --run the trials become a run directory, of which report, compare and gate make the same as of a run that was
measured here. Nothing says in which order the trials ran, so they are not paired; with one trial a side there is a
difference, and no interval. Where the arms were measured in turn, --paired pairs them: the first file of each arm, then
the second. The files of a directory are taken by name, with numbers in the order of their values.`,
		Example: `  nearfar import --json netperf.txt
  nearfar import --run zones --arm one-set=set.txt --arm across=zones.txt
  nearfar import --run zones --baseline one-set --arm across=results/across/ --arm one-set=results/set/ -f markdown
  nearfar import --run turns --paired --arm near=near/ --arm far=far/
  nearfar engine rr 10.0.0.4 -f json | nearfar import --arm near -
  ssh host sockperf ping-pong -i 10.0.0.4 --tcp --full-rtt | nearfar import --arm near -`,
		RunE: func(cmd *cobra.Command, files []string) error {
			if o.tool != "" && !knownFormat(o.tool) {
				return &usageError{fmt.Errorf("--tool %q is not known; known are %s", o.tool, strings.Join(tool.Formats(), ", "))}
			}
			if err := o.together(cmd); err != nil {
				return &usageError{err}
			}
			arms, err := parseArms(o.arms)
			if err != nil {
				return &usageError{err}
			}
			named, err := sources(arms, files)
			if err != nil {
				return &usageError{err}
			}
			if o.run.name == "" {
				trials, failed := a.importFiles(cmd.Context(), named, o.tool)
				err := a.printTrials(trials, o.json)
				return errors.Join(append([]error{err}, failed...)...)
			}
			names, err := armsOfRun(arms, named)
			if err != nil {
				return &usageError{err}
			}
			return a.importRun(cmd.Context(), named, names, o.tool, o.run)
		},
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.arms, "arm", nil, "the arm that the trials of the FILE arguments belong to, or `NAME=FILE`; can be repeated. FILE may be a directory")
	f.StringVar(&o.tool, "tool", "", "whose output it is, where that is not recognised: "+strings.Join(tool.Formats(), ", "))
	f.BoolVar(&o.json, "json", false, "print the trials as JSON")
	f.StringVar(&o.run.name, "run", "", "make a run directory of this `NAME`, and print its answer")
	f.StringVar(&o.run.baseline, "baseline", "", "with --run: the `ARM` that the others are compared with (default: the first)")
	f.StringVar(&o.run.question, "question", "", "with --run: the `TEXT` that heads the report")
	f.StringVar(&o.run.workload, "workload", "", "with --run: one `NAME` for all that was measured (default: by tool, mode, protocol and message size)")
	f.BoolVar(&o.run.paired, "paired", false,
		"with --run: the order of the files is that of blocks, so that the first trials of the arms are a pair, then the second ones")
	f.StringVar(&o.run.out, "out", "runs", "with --run: directory in which the run directory is made")
	o.run.report.flags(f)
	o.run.report.pages(f)
	return cmd
}

// together refuses flags that mean nothing beside each other.
func (o *importOptions) together(cmd *cobra.Command) error {
	run := cmd.Flags().Changed("run")
	if run && o.run.name == "" {
		return errors.New("--run needs a name")
	}
	if run && o.json {
		return errors.New("--json prints trials, and --run the answer: with --run write -f json")
	}
	for _, name := range []string{"baseline", "question", "workload", "paired", "out", "format", "output"} {
		if !run && cmd.Flags().Changed(name) {
			return fmt.Errorf("--%s goes with --run", name)
		}
	}
	return nil
}

// armsOfRun lists the arms of a run: all files must belong to one.
func armsOfRun(arms []armFlag, named []recording) ([]string, error) {
	for _, r := range named {
		if r.arm == "" {
			return nil, fmt.Errorf("%s belongs to no arm: with --run write --arm NAME=%s", r.file, r.file)
		}
	}
	var names []string
	for _, arm := range arms {
		names = append(names, arm.name)
	}
	return names, nil
}

func knownFormat(name string) bool {
	for _, known := range tool.Formats() {
		if name == known {
			return true
		}
	}
	return false
}

func (a *app) printTrials(trials []result.Trial, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(a.data())
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"trials": trials})
	}
	if len(trials) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TRIAL\tARM\tTOOL\tPROTOCOL\tBYTES\tMETRIC\tVALUE\tUNIT\tREPORTED AS")
	for _, t := range trials {
		size := "-"
		if t.MessageBytes != nil {
			size = fmt.Sprint(*t.MessageBytes)
		}
		head := fmt.Sprintf("%d\t%s\t%s\t%s\t%s", t.Trial, cell(t.Arm), cell(strings.TrimSpace(t.Tool.Name+" "+t.Tool.Version)), cell(t.Protocol), size)
		for _, m := range t.Metrics {
			name := m.Name
			if m.Stat != "" {
				name += "." + m.Stat
			}
			if m.Scope != "" {
				name += " (" + m.Scope + ")"
			}
			fmt.Fprintf(table, "%s\t%s\t%.6g\t%s\t%s\n", head, cell(name), m.Value, m.Unit, cell(t.ReportedAs))
		}
		if t.Error != "" {
			fmt.Fprintf(table, "%s\t%s\t\t\t\n", head, cell("failed: "+t.Error))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return a.printNotes(trials)
}

// printNotes prints below the table what a reader of the numbers must know.
func (a *app) printNotes(trials []result.Trial) error {
	for _, t := range trials {
		for _, note := range t.Notes {
			if _, err := fmt.Fprintf(a.stdout, "trial %d: %s\n", t.Trial, cell(note)); err != nil {
				return err
			}
		}
	}
	return nil
}

// cell makes text from elsewhere fit for a cell of a table, or a part of a line: "-" for nothing.
func cell(s string) string {
	if s == "" {
		return "-"
	}
	return clean.Line(s)
}
