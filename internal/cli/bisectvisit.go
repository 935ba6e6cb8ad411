package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/bisect"
	"nearfar/internal/declare/bisection"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/result"
	"nearfar/internal/hosts/ssh"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/measure/execution"
	"nearfar/internal/measure/steps"
)

// visit puts a step in place and measures it. What the step itself is to blame for is in the visit; the error is for
// what ends the bisection.
func (b *bisecting) visit(ctx context.Context, at int, log *os.File) (bisection.Visit, error) {
	step := b.plan.Steps[at]
	began := time.Now()
	v := bisection.Visit{Step: at, Started: began.UTC()}
	if len(b.plan.Place) > 0 {
		err := steps.Place(ctx, bisection.PlaceWords(b.plan.Place, step.Name), b.plan.PlaceLimit, log)
		v.PlaceSeconds = time.Since(began).Seconds()
		if skip, ok := errors.AsType[*steps.SkipError](err); ok {
			v.Skip = skip.Why
			return v, nil
		}
		if err != nil {
			return v, err
		}
	}
	e, err := b.only(ctx, step)
	if err != nil {
		return v, err
	}
	measuring := time.Now()
	run, trials, err := steps.Measure(ctx, e, b.dir.Runs(), execution.Options{Hosts: deploy.Options{
		SSHConfig: b.o.sshConfig, Kubeconfig: b.o.kubeconfig, Terminal: ssh.NewTerminal(b.stderr),
	}})
	if ctx.Err() != nil {
		return v, ctx.Err()
	}
	v.MeasureSeconds, v.Trials = time.Since(measuring).Seconds(), len(trials)
	b.trials += len(trials)
	if run != "" {
		v.Run = b.dir.Relative(run)
	}
	if err != nil {
		v.Error = err.Error()
		return v, nil
	}
	return v, b.figure(&v, trials)
}

// figure gives a visit the median of its trials' figures, or says why it has none. The figure of a plan that names none
// is the first of the first trials.
func (b *bisecting) figure(v *bisection.Visit, trials []result.Trial) error {
	good := slices.DeleteFunc(slices.Clone(trials), func(t result.Trial) bool { return t.Error != "" })
	if len(good) == 0 {
		v.Error = "no trial"
		if len(trials) > 0 {
			v.Error = trials[0].Error
		}
		return nil
	}
	if b.quantity.Unit == "" {
		if err := b.choose(good); err != nil {
			return err
		}
	}
	var values []float64
	for _, t := range good {
		if j := slices.IndexFunc(t.Expect, func(j check.Judgement) bool { return j.Outcome == check.Refuted }); j >= 0 {
			v.Error = fmt.Sprintf("the arm is not what it claims: %s: %s", t.Expect[j].Text(), t.Expect[j].Evidence)
			return nil
		}
		if value, ok := b.quantity.Of(t); ok {
			values = append(values, value)
		}
	}
	median, _, _ := stats.Rank(values)
	if !median.Known {
		v.Error = fmt.Sprintf("%d trials have no %s", len(good), b.quantity.Name())
		return nil
	}
	v.Value = median.Value
	v.Metric, v.Stat, v.Unit, v.BetterIf = b.quantity.Metric, b.quantity.Stat, b.quantity.Unit, b.quantity.BetterIf
	return nil
}

// choose takes the first figure of the trials.
func (b *bisecting) choose(trials []result.Trial) error {
	all := figures.Quantities(trials)
	if len(all) == 0 {
		return errors.New("the trials have no figure that can be compared")
	}
	b.quantity = all[0]
	_, err := b.options()
	return err
}

// tell prints a line about a visit.
func (b *bisecting) tell(round int, v bisection.Visit) {
	what := b.quantity.Name() + " " + result.Amount(v.Value, v.Unit)
	switch {
	case v.Skip != "":
		what = "skipped: " + clean.Line(v.Skip)
	case v.Error != "":
		what = "failed: " + clean.Line(clean.Cut(v.Error, 300))
	}
	b.note("round %d  %s: %s  (%v to put in place, %v to measure)", round, bisect.Text(b.plan.Steps[v.Step]), what,
		tookText(v.PlaceSeconds), tookText(v.MeasureSeconds))
}

// tookText is a time for people.
func tookText(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(100 * time.Millisecond)
}

// tellNews prints a line if the search knows more than before.
func (b *bisecting) tellNews(phase bisect.Phase, good, bad int) {
	low, high := b.search.Between()
	now := b.search.Phase()
	switch {
	case phase == bisect.Apart && now == bisect.Halving, low != good, high != bad:
		b.note("%s is good and %s is bad: the first bad step is one of %d", bisect.Text(b.plan.Steps[low]),
			bisect.Text(b.plan.Steps[high]), high-low)
	case phase == bisect.Halving && now == bisect.Checking:
		b.note("looking for a change back, or a further one")
	}
}
