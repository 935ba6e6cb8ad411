package cli

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/contrast"
	"nearfar/internal/gate"
)

// gateError says that the gate failed.
type gateError struct{ summary string }

func (e *gateError) Error() string { return "the gate failed: " + e.summary }

// gateOptions are the flags of gate.
type gateOptions struct {
	rules        []string
	inconclusive string
	report       reportOptions
}

func (a *app) gateCommand() *cobra.Command {
	var o gateOptions
	cmd := &cobra.Command{
		Use:   "gate BASE NEW --fail-if RULE...",
		Short: "Fail where a run is worse than another by more than rules allow",
		Long: `Gate fails where NEW breaks a rule, and only where that is sure: the interval must lie wholly beyond the bound. Where it
reaches over the bound, or the trials are too few for one, the answer is "inconclusive": neither worse nor not worse.

A rule is [ARM] WORKLOAD METRIC[.STAT] > BOUND, or < BOUND; * is every arm or workload, and so is no ARM.
  +5%  -5%                relative change of NEW against BASE
  +20us  +1ms  -1Gbit/s   absolute change
  500us  900Mbit/s  1%    NEW alone (% of a ratio such as loss)

` + sidesHelp + `

Exit codes: 0 passed, or inconclusive (unless --inconclusive fail); 1 a rule names what is not there or cannot be
compared; 2 wrong usage; 3 failed.`,
		Example: `  nearfar gate runs/main runs/branch --fail-if 'rr-1k rtt.p99 > +5%'
  nearfar gate runs/main runs/branch --fail-if 'vxlan rr-1k rtt.p50 > +2us' --fail-if 'bulk goodput < -3%'
  nearfar gate runs/main runs/branch --fail-if '* rtt.p50 > 500us' --inconclusive fail -f junit -o gate.xml`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error { return a.gate(args[0], args[1], o) },
	}
	f := cmd.Flags()
	f.StringArrayVar(&o.rules, "fail-if", nil, "what must not be, as a `RULE`; can be repeated")
	f.StringVar(&o.inconclusive, "inconclusive", "pass", "what is inconclusive counts as: pass, fail")
	f.StringVarP(&o.report.format, "format", "f", "terminal", "form of the result: "+strings.Join(gate.Formats(), ", "))
	f.StringVarP(&o.report.file, "output", "o", "", "write the result to this `FILE` instead of standard output")
	return cmd
}

func (a *app) gate(base, other string, o gateOptions) error {
	switch {
	case !slices.Contains(gate.Formats(), o.report.format):
		return &usageError{fmt.Errorf("--format %s: use one of %s", o.report.format, strings.Join(gate.Formats(), ", "))}
	case o.inconclusive != "pass" && o.inconclusive != "fail":
		return &usageError{fmt.Errorf("--inconclusive %s: use pass or fail", o.inconclusive)}
	case len(o.rules) == 0:
		return &usageError{errors.New("--fail-if is missing: say what must not be, for example --fail-if 'rr-1k rtt.p99 > +5%'")}
	}
	rules, err := gate.Parse(o.rules)
	if err != nil {
		return &usageError{err}
	}
	c, err := a.contrast(base, "BASE", other, "NEW")
	if err != nil {
		return err
	}
	r := gate.Evaluate(c, rules, o.inconclusive == "fail")
	if err := a.writeGate(r, o.report); err != nil {
		return err
	}
	switch r.Verdict {
	case gate.Fail:
		return &gateError{r.Summary}
	case gate.Error:
		return fmt.Errorf("the gate could not be carried out: %s", r.Summary)
	case gate.Inconclusive:
		if r.InconclusiveFails {
			return &gateError{r.Summary}
		}
		fmt.Fprintln(a.stderr, "nearfar: the gate is inconclusive:", r.Summary)
	case gate.Pass:
	}
	return nil
}

func (a *app) writeGate(r gate.Result, o reportOptions) (err error) {
	w := a.stdout
	if o.file != "" {
		f, createErr := os.Create(o.file)
		if createErr != nil {
			return createErr
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		w = f
	}
	return gate.Write(w, r, o.format, o.file == "" && wantsColor(a.stdout))
}

// printableError writes an error that quotes names from runs without what a terminal would act on.
type printableError struct{ err error }

func (e *printableError) Error() string {
	lines := strings.Split(e.err.Error(), "\n")
	for i := range lines {
		lines[i] = cell(lines[i])
	}
	return strings.Join(lines, "\n")
}

func (e *printableError) Unwrap() error { return e.err }

// harmless makes an error printable, and one that is about the arguments a usage error.
func harmless(err error) error {
	if err == nil {
		return nil
	}
	if err = (&printableError{err}); errors.Is(err, contrast.ErrNothing) {
		return err
	}
	return &usageError{err}
}
