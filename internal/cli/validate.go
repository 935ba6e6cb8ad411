package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/measure/tool"
)

func (a *app) validateCommand() *cobra.Command {
	var format string
	var inputs inputFlags
	cmd := &cobra.Command{
		Use:   "validate [FILE...]",
		Short: "Check experiment files, and say what they declare",
		Long: `Validate reads experiment files and reports all mistakes in them, with their places. For a valid file it
prints what the file declares: arms, workloads, comparisons, trials and their approximate duration. It warns if the
schedule has too few blocks to show any difference. It needs no lab, no hosts and none of the measuring programs, and
works on every system.

Without FILE it takes experiment.yaml in the current directory; "-" reads standard input.

Exit codes: 0 all files are valid; 2 a file has mistakes, or wrong usage.`,
		Example: `  nearfar validate experiment.yaml
  nearfar validate labs/overlay/experiment.yaml labs/load/experiment.yaml
  nearfar validate --set CLIENT=vm-a --set SERVER=vm-b labs/byo-ssh/experiment.yaml
  nearfar init load - | nearfar validate -
  nearfar validate -f json experiment.yaml | jq .files[0].experiment.trials`,
		Args: usageArgs(cobra.ArbitraryArgs),
		RunE: func(_ *cobra.Command, files []string) error {
			if !slices.Contains(resultFormats(), format) {
				return usagef("--format %s: use one of %s", format, strings.Join(resultFormats(), ", "))
			}
			if len(files) == 0 {
				files = []string{defaultExperiment}
			}
			return a.validate(files, &inputs, format)
		},
	}
	inputs.flags(cmd.Flags())
	cmd.Flags().StringVarP(&format, "format", "f", "terminal",
		"form of the result: "+strings.Join(resultFormats(), ", "))
	return cmd
}

// validated is what validate prints as JSON; its keys are stable.
type validated struct {
	Nearfar string          `json:"nearfar"`
	Valid   bool            `json:"valid"`
	Files   []validatedFile `json:"files"`
}

type validatedFile struct {
	File  string `json:"file"`
	Valid bool   `json:"valid"`
	// Mistakes are all mistakes in the file; empty if it is valid.
	Mistakes []validateMistake `json:"mistakes"`
	// Experiment is nil if the file is not valid.
	Experiment *declared `json:"experiment"`
}

// validateMistake has line and column 0 if the file cannot be read, or if a tool refuses a workload.
type validateMistake struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// validate checks the files and prints what each declares. The error has the mistakes of all files.
func (a *app) validate(files []string, inputs *inputFlags, format string) error {
	all := validated{Nearfar: "v1", Valid: true, Files: []validatedFile{}}
	var mistakes []error
	read := false
	for _, file := range files {
		f := validatedFile{File: file, Mistakes: []validateMistake{}}
		var err error
		if file == "-" && read {
			err = errors.New("standard input can be read only once")
		} else {
			f.Experiment, err = a.declared(file, inputs)
		}
		read = read || file == "-"
		f.Valid = err == nil
		if err != nil {
			all.Valid = false
			f.Mistakes = mistakesOf(err)
			mistakes = append(mistakes, err)
		} else if format != "json" {
			if len(files) > 1 {
				fmt.Fprintf(a.stdout, "%s\n", clean.Line(file))
			}
			fmt.Fprint(a.stdout, f.Experiment.text())
		}
		all.Files = append(all.Files, f)
	}
	if format == "json" {
		if err := a.writeJSON(all); err != nil {
			return err
		}
	}
	if len(mistakes) > 0 {
		return &usageError{errors.Join(mistakes...)}
	}
	return inputs.unused(files...)
}

// declared reads an experiment file and makes its summary. The error has all mistakes of the file.
func (a *app) declared(file string, inputs *inputFlags) (*declared, error) {
	e, err := a.readExperiment(file, inputs)
	if err != nil {
		return nil, err
	}
	d, err := declare(e, tool.All(""))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", clean.Line(file), err)
	}
	return d, nil
}

// mistakesOf lists the mistakes in an error, with their places if they have any.
func mistakesOf(err error) []validateMistake {
	var in *experimentfile.Mistakes
	if !errors.As(err, &in) {
		return []validateMistake{{Message: err.Error()}}
	}
	var out []validateMistake
	for _, m := range *in {
		out = append(out, validateMistake{m.Line, m.Column, m.Message, m.Hint})
	}
	return out
}
