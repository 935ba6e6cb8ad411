package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/bisect"
	"nearfar/internal/conclude/gate"
	"nearfar/internal/declare/bisection"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/execution"
	"nearfar/internal/measure/runner"
	"nearfar/internal/measure/steps"
)

// declare makes the plan of a new bisection from flags and file.
func (b *bisecting) declare(ctx context.Context) (err error) {
	o := b.o
	b.plan = bisection.Plan{
		Trials: o.trials, Checks: o.checks, PlaceLimit: o.placeLimit, By: o.by, Seed: o.seed, Started: time.Now().UTC(),
	}
	if b.plan.File, err = absolute(b.file); err != nil {
		return err
	}
	if b.plan.Alpha, err = experiment.ParseRatio(o.alpha); err != nil || !(b.plan.Alpha > 0 && b.plan.Alpha <= mostAlpha) {
		return usagef("--alpha %s: write a chance of more than 0%% and at most 50%%, such as 5%%", clean.Quote(o.alpha))
	}
	switch {
	case o.trials < 1 || o.trials > maxPerVisit:
		return usagef("--trials %d: must be from 1 to %d", o.trials, maxPerVisit)
	case o.checks < 0 || o.checks > maxChecked:
		return usagef("--checks %d: must be from 0 to %d", o.checks, maxChecked)
	case o.placeLimit <= 0:
		return usagef("--place-limit %v: must be more than 0", o.placeLimit)
	}
	if b.plan.Seed == 0 {
		b.plan.Seed = execution.DrawSeed()
	}
	if o.place != "" {
		if b.plan.Place, err = bisection.Words(o.place); err != nil {
			return usagef("--place %s: %w", clean.Quote(o.place), err)
		}
	}
	if b.text, err = b.readData(b.file); err != nil {
		return err
	}
	if b.plan.Steps, err = b.readSteps(ctx); err != nil {
		return err
	}
	return b.declareMeasured(ctx)
}

// declareMeasured says what is measured at each step.
func (b *bisecting) declareMeasured(ctx context.Context) error {
	e, uses, err := b.experimentAt(ctx, b.plan.Steps[0].Name)
	if err != nil {
		return err
	}
	if len(b.plan.Place) == 0 && !uses {
		return usagef("nothing puts a step in place: give --place, or use ${%s} in %s", stepVariable, clean.Line(b.file))
	}
	b.plan.Name, b.plan.Arm = e.Name, b.o.arm
	if b.plan.Arm == "" {
		if b.plan.Arm = e.Baseline; b.plan.Arm == "" {
			b.plan.Arm = e.Arms[0].Name
		}
	}
	if _, ok := e.Arm(b.plan.Arm); !ok {
		return usagef("--arm %s: the arms are %s", clean.Line(b.plan.Arm), strings.Join(e.ArmNames(), ", "))
	}
	if b.plan.Workload, b.quantity, err = measured(b.o.metric, e); err != nil {
		return err
	}
	b.plan.Metric, b.plan.Stat = b.quantity.Metric, b.quantity.Stat
	if _, err := e.Only(b.plan.Arm, b.plan.Workload, b.plan.Trials); err != nil {
		return &usageError{err}
	}
	_, err = b.options()
	return err
}

// measured reads --metric: the workload, and the figure, which is empty for the first one of the workload.
func measured(text string, e *experiment.Experiment) (workload string, q figures.Quantity, err error) {
	var workloads []string
	for _, w := range e.Unwatched().Workloads {
		workloads = append(workloads, w.Name)
	}
	words := strings.Fields(text)
	if len(words) == 0 {
		if len(workloads) > 1 {
			return "", q, usagef("--metric: say which workload is measured, for example --metric %s: there are %s", workloads[0],
				strings.Join(workloads, ", "))
		}
		return workloads[0], q, nil
	}
	if len(words) == 1 && slices.Contains(workloads, words[0]) {
		return words[0], q, nil
	}
	if len(words) == 1 && len(workloads) == 1 {
		words = []string{workloads[0], words[0]}
	}
	if len(words) != 2 {
		return "", q, usagef("--metric %s: write WORKLOAD METRIC, for example '%s rtt.p50'", clean.Quote(text), workloads[0])
	}
	// A rule of a gate names a figure in the same way.
	rules, err := gate.ParseAll([]gate.Written{{
		Text: words[0] + " " + words[1] + " > +0%", File: "--metric", Line: 1, Workloads: workloads, Own: e.OwnFigures(),
	}})
	if err != nil {
		return "", q, &usageError{err}
	}
	if words[0] == gate.Any {
		return "", q, usagef("--metric %s: name one workload", clean.Quote(text))
	}
	return words[0], rules[0].Quantity, nil
}

// readSteps reads the steps, and cuts the list to those from good to bad.
func (b *bisecting) readSteps(ctx context.Context) ([]bisection.Step, error) {
	o := b.o
	switch {
	case (o.steps == "") == (o.git == ""):
		return nil, usagef("give the steps with --steps FILE, or with --git FOLDER")
	case o.git != "" && (o.good == "" || o.bad == ""):
		return nil, usagef("--git takes the commits from --good to --bad: give both")
	case o.git != "":
		all, err := steps.Commits(ctx, o.git, o.good, o.bad)
		if err == nil {
			err = bisection.CheckSteps(all)
		}
		if err != nil && ctx.Err() == nil {
			return nil, &usageError{fmt.Errorf("--git: %w", err)}
		}
		return all, err
	case o.steps == "-" && (b.file == "-" || o.inputs.hosts == "-"), o.steps == "-" && o.inputs.hosts == "-":
		return nil, usagef("--steps -: standard input is read already")
	}
	text, err := b.readFile(o.steps)
	if err != nil {
		return nil, &usageError{fmt.Errorf("--steps: %w", err)}
	}
	var all []bisection.Step
	for line := range strings.Lines(string(text)) {
		if name := strings.TrimSpace(line); name != "" {
			all = append(all, bisection.Step{Name: name})
		}
	}
	from, err := placeOf(all, "--good", o.good, 0)
	if err != nil {
		return nil, err
	}
	to, err := placeOf(all, "--bad", o.bad, len(all)-1)
	if err != nil {
		return nil, err
	}
	if from >= to && o.good+o.bad != "" {
		return nil, usagef("--steps: good stands at place %d and bad at place %d: list the steps from good to bad",
			from+1, to+1)
	}
	all = all[max(from, 0) : to+1]
	if err := bisection.CheckSteps(all); err != nil {
		return nil, &usageError{fmt.Errorf("--steps: %w", err)}
	}
	return all, nil
}

// placeOf finds a step of a flag; without the flag it is the one of otherwise.
func placeOf(all []bisection.Step, flag, name string, otherwise int) (int, error) {
	if name == "" {
		return otherwise, nil
	}
	at := slices.IndexFunc(all, func(s bisection.Step) bool { return s.Name == name })
	if at < 0 {
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		message := fmt.Sprintf("%s %s is none of the steps", flag, clean.Quote(name))
		if near := experiment.Nearest(name, names); near != "" {
			message += fmt.Sprintf(": did you mean %s?", clean.Quote(near))
		}
		return 0, usagef("%s", message)
	}
	return at, nil
}

// What a bisection without wrong responses takes: rounds of two visits until good and bad differ, and then rounds of
// three for each halving.
const (
	roundsApart   = 7
	roundsHalving = 3
)

// print says what would be done.
func (b *bisecting) print() error {
	n := len(b.plan.Steps)
	halvings := int(math.Ceil(math.Log2(float64(n - 1))))
	visits := 2*roundsApart + 3*roundsHalving*(halvings+b.plan.Checks)
	fmt.Fprintf(b.stdout, "%d steps: %v is good, %v is bad, and the change is at one of %d.\n", n,
		bisect.Text(b.plan.Steps[0]), bisect.Text(b.plan.Steps[n-1]), n-1)
	figure := "its first figure"
	if b.quantity.Metric != "" {
		figure = b.quantity.Name()
	}
	trials := "1 trial"
	if b.plan.Trials > 1 {
		trials = fmt.Sprintf("the median of %d trials", b.plan.Trials)
	}
	fmt.Fprintf(b.stdout, "Each visit to a step measures %s of workload %s in arm %s: %s.\n", figure, b.plan.Workload,
		b.plan.Arm, trials)
	if len(b.plan.Place) > 0 {
		fmt.Fprintf(b.stdout, "A step is put in place by: %s\n", clean.Line(runner.CommandLine(bisection.PlaceWords(
			b.plan.Place, b.plan.Steps[0].Name))))
	} else {
		fmt.Fprintf(b.stdout, "A step is the variable ${%s} of %s.\n", stepVariable, clean.Line(b.file))
	}
	fmt.Fprintf(b.stdout, "If figures scatter little, it takes about %d visits; more if they scatter.\n", visits)
	return nil
}
