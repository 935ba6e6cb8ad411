package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/contrast"
	"nearfar/internal/conclude/gate"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/show/page"
)

// gateError says that the gate failed.
type gateError struct{ summary string }

func (e *gateError) Error() string { return "the gate failed: " + e.summary }

// errNoRule is the error for two sides without a rule.
var errNoRule = errors.New("--fail-if is missing: say what must not be, for example " +
	"--fail-if 'rr-1k rtt.p99 > +5%', or with --require what must hold")

// gateOptions are the flags of gate.
type gateOptions struct {
	rules, required []string
	inconclusive    string
	allowUnverified bool
	report          reportOptions
}

func (a *app) gateCommand() *cobra.Command {
	var o gateOptions
	var newSide *sideFlag
	cmd := &cobra.Command{
		Use:   "gate [RUN | BASE NEW | BASE... --new NEW...]",
		Short: "Fail if a run breaks rules about changes and limits, or misses its objectives",
		Long: `Gate fails if NEW breaks a rule with certainty: the whole interval must lie beyond the bound. If the
interval contains the bound, or if there are too few trials for an interval, the check is inconclusive. Each check says
from which change on it would have failed.

With one RUN, its arms are compared with its baseline arm, or with limits. Without rules, the objectives of its
experiment file are judged. Without names, the newest run in runs/ is judged, or the newest two if a rule is about a
change.

With several runs a side (3 or more), the run is the unit, so that ordinary variation from run to run fails nothing.
With one run a side, the verdict is about these two runs only, and a rule without a margin, such as "> +0%", cannot
fail.

A rule is [ARM] WORKLOAD METRIC[.STAT] > BOUND, or < BOUND. * stands for every arm or every workload; without ARM, every
arm is checked. The gate fails if a --fail-if rule is true, or a --require rule is false. A BOUND is one of these:
  +5%  -5%                relative change of NEW against BASE
  +20us  +1ms  -1Gbit/s   absolute change
  500us  900Mbit/s  1%    limit for NEW (or RUN) alone (% for a ratio such as loss)

failures is the share of the first attempts that failed: "rr-1k failures > 0", "* failures > 5%", "rr-1k failures >
+0.1" (ten percentage points more than BASE). With two sides the gate also fails, without any rule, if NEW surely fails
more often than BASE.

` + sidesHelp + `

Exit codes: 0 passed, or inconclusive (unless --inconclusive fail); 1 a rule names something that does not exist or
cannot be compared, or a failure; 2 wrong usage; 3 failed; 4 as 0, but an arm of a check is not proved to be what it
claims, unless --allow-unverified is given.`,
		Example: `  nearfar gate
  nearfar gate runs/20261121T192200Z-overlay --require 'l2 rr-1k rtt.p99 < 200us'
  nearfar gate runs/old-1 runs/old-2 runs/old-3 --new runs/new-1 runs/new-2 runs/new-3 --fail-if 'rr-1k rtt.p50 > +5%'
  nearfar gate runs/main runs/branch --fail-if 'rr-1k rtt.p99 > +5%'
  nearfar gate runs/main runs/branch --fail-if 'vxlan rr-1k rtt.p50 > +2us' --fail-if 'bulk goodput < -3%'
  nearfar gate runs/main runs/branch --fail-if '* rtt.p50 > 500us' --inconclusive fail -f junit -o gate.xml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			base, other, err := newSide.sides(args, "new")
			if err != nil {
				return err
			}
			return a.gate(cmd.Context(), base, other, o)
		},
	}
	f := cmd.Flags()
	newSide = newSideFlag(f, "new", "the new side is this `RUN` and all names after it; for several runs a side")
	f.StringArrayVar(&o.rules, "fail-if", nil, "fail if this `RULE` is true; can be repeated")
	f.StringArrayVar(&o.required, "require", nil, "fail if this `RULE` is false; can be repeated")
	f.StringVar(&o.inconclusive, "inconclusive", "pass", "what an inconclusive check counts as: pass, fail")
	f.BoolVar(&o.allowUnverified, "allow-unverified", false, "accept arms that are not proved to be what they claim: "+
		"the first line of the result says so, and the exit code is 0")
	f.StringVarP(&o.report.format, "format", "f", "terminal",
		"form of the result: "+strings.Join(gate.Formats(), ", ")+sidesPage)
	f.StringVarP(&o.report.file, "output", "o", "", "write the result to this `FILE` instead of standard output")
	return cmd
}

func (a *app) gate(ctx context.Context, base, other []string, o gateOptions) error {
	if err := checkOutput("-o", &o.report.file); err != nil {
		return err
	}
	switch {
	case o.report.format == formatHTML && page.Built() != nil:
		return page.Built()
	case o.report.format != formatHTML && !slices.Contains(gate.Formats(), o.report.format):
		return usagef("--format %s: use one of %s", o.report.format,
			strings.Join(append(gate.Formats(), formatHTML), ", "))
	case o.inconclusive != "pass" && o.inconclusive != "fail":
		return usagef("--inconclusive %s: use pass or fail", o.inconclusive)
	case len(other) > 0 && len(o.rules)+len(o.required) == 0:
		return &usageError{errNoRule}
	}
	rules, err := gateRules(o, nil)
	if err != nil { // a rule can name figures of a run's own
		rules, err = gateRules(o, ownFigures(slices.Concat(base, other)))
	}
	if err != nil {
		return &usageError{err}
	}
	if len(base) == 0 {
		if base, other, err = a.newestForGate(rules); err != nil {
			return err
		}
	}
	var c *contrast.Contrast
	done := func() {}
	if len(other) == 0 {
		c, rules, err = a.oneRun(ctx, base[0], rules)
	} else {
		c, done, err = a.contrast(ctx, base, "BASE", other, "NEW")
	}
	if err != nil {
		return err
	}
	defer done()
	r := gate.Evaluate(c, rules, o.inconclusive == "fail")
	if o.allowUnverified {
		r.AllowUnverified()
	}
	if o.report.format == formatHTML {
		err = a.writeGatePage(r, c.Answer(), o.report)
	} else {
		err = a.writeGate(r, o.report)
	}
	if err != nil {
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
	if r.Unverifiable() {
		return &unprovedError{clean.Line(r.Unproved), allowHint}
	}
	return nil
}

// gateRules reads the rules of --fail-if and --require.
func gateRules(o gateOptions, own []experiment.CommandMetric) ([]gate.Rule, error) {
	var written []gate.Written
	for i, text := range o.rules {
		written = append(written, gate.Written{Text: text, File: "--fail-if", Line: i + 1, Own: own})
	}
	for i, text := range o.required {
		written = append(written, gate.Written{Text: text, File: "--require", Line: i + 1, Required: true,
			Own: own})
	}
	return gate.ParseAll(written)
}

// ownFigures lists the figures of the programs of the runs' own; of the newest run if none is named. Recorded outputs
// have none, nor has a run that cannot be read: what is wrong with it is said when it is judged.
func ownFigures(sources []string) (all []experiment.CommandMetric) {
	if len(sources) == 0 {
		runs, _ := runsByAge(runsFolder)
		for _, run := range runs[:min(1, len(runs))] {
			sources = append(sources, run.path)
		}
	}
	for _, source := range sources {
		if !rundir.Is(source) {
			source = source[:max(strings.LastIndex(source, ":"), 0)]
		}
		if dir, err := rundir.Open(source); err == nil {
			all = append(all, dir.Manifest().Experiment.OwnFigures()...)
		}
	}
	return all
}

// newestForGate takes the newest run, or the newest two if a rule is about a change.
func (a *app) newestForGate(rules []gate.Rule) (base, other []string, err error) {
	if !slices.ContainsFunc(rules, gate.Rule.NeedsBase) {
		base, err = a.newest(1, "a run")
		return base, nil, err
	}
	taken, err := a.newest(2, "a run, or two sides")
	if err != nil {
		return nil, nil, err
	}
	return taken[:1], taken[1:], nil
}

// oneRun reads one run. If there are no rules, it takes the objectives of the run's experiment file.
func (a *app) oneRun(ctx context.Context, source string, rules []gate.Rule) (*contrast.Contrast, []gate.Rule, error) {
	run, err := a.readSide(ctx, source, "the run")
	if err != nil {
		return nil, nil, err
	}
	if len(rules) == 0 {
		if run.Experiment == nil || len(run.Experiment.Objectives) == 0 {
			return nil, nil, usagef("no rule: %s has no objectives, so write --fail-if or --require, "+
				"for example --require 'rr-1k rtt.p99 < 200us'", clean.Line(source))
		}
		if rules, err = gate.Objectives(run.Experiment); err != nil {
			return nil, nil, &usageError{err}
		}
	}
	return contrast.Alone(run), rules, nil
}

func (a *app) writeGate(r gate.Result, o reportOptions) error {
	color := o.file == "" && wantsColor(a.stdout)
	return a.writeTo(o.file, func(w io.Writer) error { return gate.Write(w, r, o.format, color) })
}
