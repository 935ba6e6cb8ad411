package cli

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/result"
)

// printTrials prints trials as a table or as JSON.
func (a *app) printTrials(trials []result.Trial, asJSON bool) error {
	if asJSON {
		return a.writeJSON(map[string]any{"trials": trials})
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
		program := strings.TrimSpace(t.Tool.Name + " " + t.Tool.Version)
		head := fmt.Sprintf("%d\t%s\t%s\t%s\t%s", t.Trial, orDash(t.Arm), orDash(program), orDash(t.Protocol), size)
		for _, m := range t.Metrics {
			name := m.Name + textIf(m.Stat != "", "."+m.Stat) + textIf(m.Scope != "", " ("+m.Scope+")")
			scale := result.ScaleOf(m.Unit, m.Value)
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", head, clean.Line(name), sixDigits(m.Value/scale.Factor),
				orDash(scale.Unit), orDash(t.ReportedAs))
		}
		if t.Error != "" {
			fmt.Fprintf(table, "%s\t%s\t\t\t\n", head, clean.Line("failed: "+t.Error))
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return a.printNotes(trials)
}

// printNotes prints the trials' notes below the table.
func (a *app) printNotes(trials []result.Trial) error {
	for _, t := range trials {
		for _, note := range t.Notes {
			if _, err := fmt.Fprintf(a.stdout, "trial %d: %s\n", t.Trial, clean.Line(note)); err != nil {
				return err
			}
		}
	}
	return nil
}

// orDash returns a text from a file as one line, or "-" if it is empty.
func orDash(s string) string {
	return clean.Line(cmp.Or(s, "-"))
}

// sixDigits writes a value with at most six significant digits: more than most tools print.
func sixDigits(v float64) string {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	if err != nil {
		rounded = v
	}
	return result.Decimal(rounded, -1)
}
