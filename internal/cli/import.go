package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"nearfar/internal/result"
	"nearfar/internal/tool"
)

// importCommand reads outputs that were recorded elsewhere.
func (a *app) importCommand() *cobra.Command {
	var arm, toolName string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Read outputs recorded elsewhere, as trials",
		Long: `Read what sockperf, netperf, iperf3, ping, ntttcp or latte printed elsewhere, normalised: full round trips, base units.
A file may hold a whole terminal session with several runs. "-" reads standard input.
A run that failed is a trial with an error. The exit code is 1 if a file holds nothing that is recognised.`,
		Args: usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, files []string) error {
			if toolName != "" && !knownFormat(toolName) {
				return &usageError{fmt.Errorf("--tool %q is not known; known are %s", toolName, strings.Join(tool.Formats(), ", "))}
			}
			trials, failed := a.importFiles(files, arm, toolName)
			err := a.printTrials(trials, asJSON)
			return errors.Join(append([]error{err}, failed...)...)
		},
	}
	cmd.Flags().StringVar(&arm, "arm", "", "the arm that the trials belong to")
	cmd.Flags().StringVar(&toolName, "tool", "", "whose output it is, where that is not recognised: "+strings.Join(tool.Formats(), ", "))
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the trials as JSON")
	return cmd
}

func knownFormat(name string) bool {
	for _, known := range tool.Formats() {
		if name == known {
			return true
		}
	}
	return false
}

// importFiles reads the files into trials, counted over all of them, and says which files it could not read.
func (a *app) importFiles(files []string, arm, toolName string) ([]result.Trial, []error) {
	trials, failed := []result.Trial{}, []error(nil)
	for _, name := range files {
		data, err := a.readFile(name)
		if err != nil {
			failed = append(failed, err)
			continue
		}
		found, err := tool.Import(data, toolName)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", name, err))
			continue
		}
		for _, f := range found {
			trial := result.Trial{Trial: len(trials) + 1, Arm: arm, Raw: []string{name}, Treatment: map[string]string{}}
			trial.Record(f.Measurement)
			if f.Err != nil {
				trial.Error = f.Err.Error()
			}
			trials = append(trials, trial)
		}
	}
	return trials, failed
}

func (a *app) printTrials(trials []result.Trial, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(a.stdout)
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

// cell makes text that a host printed fit for a terminal and a table: no control characters, "-" for nothing.
func cell(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
			return '?'
		}
		return r
	}, s)
	if s == "" {
		return "-"
	}
	return s
}
