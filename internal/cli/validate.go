package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/experiment"
)

// validateFormats lists the forms of what validate says, the default first.
func validateFormats() []string { return []string{"terminal", "json"} }

func (a *app) validateCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "validate [FILE...]",
		Short: "Check experiment files without hosts, and say what they declare",
		Long: `Validate reads experiment files and reports everything that is wrong in them, each mistake with its place. Of a file that is
right it says what it declares: arms, workloads, comparisons, trials, and about how long they take. It needs no hosts, no lab and
none of the measuring programs, and works on every system.

Without FILE it takes experiment.yaml in the current directory; "-" reads standard input. The exit code is 2 where a file is
wrong.`,
		Example: `  nearfar validate experiment.yaml
  nearfar validate labs/*/experiment.yaml
  nearfar init load - | nearfar validate -
  nearfar validate -f json experiment.yaml | jq .files[0].experiment.trials`,
		Args: usageArgs(cobra.ArbitraryArgs),
		RunE: func(_ *cobra.Command, files []string) error {
			if !slices.Contains(validateFormats(), format) {
				return &usageError{fmt.Errorf("--format %s: use one of %s", format, strings.Join(validateFormats(), ", "))}
			}
			if len(files) == 0 {
				files = []string{"experiment.yaml"}
			}
			return a.validate(files, format)
		},
	}
	cmd.Flags().StringVarP(&format, "format", "f", "terminal", "form of the result: "+strings.Join(validateFormats(), ", "))
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
	// Mistakes are all that is wrong; empty where the file is valid.
	Mistakes []validateMistake `json:"mistakes"`
	// Experiment is nil where the file is not valid.
	Experiment *declared `json:"experiment"`
}

// validateMistake has no line and column (0) where the file could not be read, and where a tool refuses a workload.
type validateMistake struct {
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
	Hint    string `json:"hint"`
}

// validate checks the files and prints what each declares. All mistakes of all files are in the error.
func (a *app) validate(files []string, format string) error {
	all := validated{Nearfar: "v1", Valid: true, Files: []validatedFile{}}
	var mistakes []error
	read := false
	for _, file := range files {
		f := validatedFile{File: file, Mistakes: []validateMistake{}}
		var err error
		if file == "-" && read {
			err = errors.New("standard input can be read once only")
		} else {
			f.Experiment, err = a.declared(file)
		}
		read = read || file == "-"
		f.Valid = err == nil
		if err != nil {
			all.Valid = false
			f.Mistakes = mistakesOf(err)
			mistakes = append(mistakes, err)
		} else if format != "json" {
			if len(files) > 1 {
				fmt.Fprintf(a.stdout, "%s\n", cell(file))
			}
			fmt.Fprint(a.stdout, f.Experiment.text())
		}
		all.Files = append(all.Files, f)
	}
	if format == "json" {
		e := json.NewEncoder(a.data())
		e.SetIndent("", "  ")
		if err := e.Encode(all); err != nil {
			return err
		}
	}
	if len(mistakes) > 0 {
		return &usageError{errors.Join(mistakes...)}
	}
	return nil
}

// declared reads an experiment file and says what it declares. The error holds everything that is wrong.
func (a *app) declared(file string) (*declared, error) {
	e, err := a.readExperiment(file)
	if err != nil {
		return nil, err
	}
	d, err := declare(e, newTools(""))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", cell(file), err)
	}
	return d, nil
}

// mistakesOf gives the places of mistakes where there are any.
func mistakesOf(err error) []validateMistake {
	var in *experiment.Mistakes
	if !errors.As(err, &in) {
		return []validateMistake{{Message: err.Error()}}
	}
	var out []validateMistake
	for _, m := range *in {
		out = append(out, validateMistake{m.Line, m.Column, m.Message, m.Hint})
	}
	return out
}
