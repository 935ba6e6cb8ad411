package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/provision"
)

func (a *app) lsCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the machines that nearfar up has made, and until when they are meant to exist",
		Long: `Ls lists the machines that "nearfar up" has made and "nearfar down" has not deleted: those of the
current directory, and all others of this user on this machine. It reads nearfar's own records and asks no provider.

Exit codes: 0 the list is printed; 1 a record cannot be read; 2 wrong usage.`,
		Example: `  nearfar ls
  nearfar ls -f json | jq -r '.machines[] | select(.overdue) | .file'`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			if !slices.Contains(resultFormats(), format) {
				return usagef("--format %s: use one of %s", format, strings.Join(resultFormats(), ", "))
			}
			return a.list(format)
		},
	}
	cmd.Flags().StringVarP(&format, "format", "f", "terminal", "form of the result: "+strings.Join(resultFormats(), ", "))
	return cmd
}

// listed is what ls prints as JSON; its keys are stable.
type listed struct {
	Nearfar  string          `json:"nearfar"`
	Machines []listedMachine `json:"machines"`
}

// listedMachine is the machines of one experiment file.
type listedMachine struct {
	*provision.Record
	// Overdue says that the machines are past their time.
	Overdue bool `json:"overdue"`
}

func (a *app) list(format string) error {
	records, problems := provision.List(".")
	all := listed{Nearfar: "v1", Machines: []listedMachine{}}
	for _, r := range records {
		all.Machines = append(all.Machines, listedMachine{r, time.Now().After(r.Until)})
	}
	if format == "json" {
		return errors.Join(append(problems, a.writeJSON(all))...)
	}
	if len(records) == 0 {
		fmt.Fprintln(a.stdout, "Nothing is up.")
		return errors.Join(problems...)
	}
	table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tRESOURCES\tSINCE\tUNTIL\tCOST SO FAR\tFILE")
	for _, m := range all.Machines {
		until := m.Until.UTC().Format(time.RFC3339) + textIf(m.Overdue, " (past)")
		resources := "?"
		if m.Resources > 0 {
			resources = fmt.Sprint(m.Resources)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", clean.Line(m.Name), clean.Line(m.State), resources,
			m.Since.UTC().Format(time.RFC3339), until, spent(m.Record, time.Now()), clean.Line(m.File))
	}
	err := table.Flush()
	printPriceDates(a.stdout, all.Machines, time.Now())
	return errors.Join(append(problems, err)...)
}
