package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/provision"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/execution"
)

// refuseExpiring refuses a run on machines that are past their time, or will be before its trials can have ended: a
// shutdown that their module has scheduled would end the run. before are the trials of a resumed run. With force it
// only says so.
func (a *app) refuseExpiring(e *experiment.Experiment, before []result.Trial, force bool) error {
	if e.Provision == nil || e.Provision.File == "" || len(e.Made()) == 0 {
		return nil
	}
	p, err := a.project(e.Provision.File, e, false)
	if err != nil {
		return err
	}
	record, err := p.Record()
	if err != nil || record == nil || record.Until.IsZero() {
		return nil // who made them, and until when, is not known
	}
	left, err := timeLeft(e, before)
	if err != nil {
		return nil // the run says what is wrong with its plans
	}
	text := expiring(record.Until, time.Now(), left)
	switch {
	case text == "":
		return nil
	case force:
		fmt.Fprintf(a.stderr, "nearfar: %s\n", text)
		return nil
	}
	return fmt.Errorf("%s\nRenew their time with: nearfar up --extend %s; or measure anyway with --force", text,
		clean.Line(e.Provision.File))
}

// expiring says that machines are past their time, or will be before the end of a run that takes at least this long;
// empty if neither.
func expiring(until, now time.Time, takes time.Duration) string {
	at := until.UTC().Format(time.RFC3339)
	switch {
	case now.After(until):
		return fmt.Sprintf("the machines were meant to exist until %s, which is past", at)
	case now.Add(takes).After(until):
		return fmt.Sprintf("the trials take at least %v more, and the machines are meant to exist until %s, "+
			"which is in %v", takes.Round(time.Second), at, until.Sub(now).Round(time.Second))
	}
	return ""
}

// timeLeft estimates how long the remaining trials take, without the time for making new machines.
func timeLeft(e *experiment.Experiment, before []result.Trial) (time.Duration, error) {
	plans, err := execution.New(e).Plans()
	if err != nil {
		return 0, err
	}
	type cell struct{ arm, workload string }
	ran := map[cell]int{}
	for _, t := range before {
		if t.Replaces == 0 {
			ran[cell{t.Arm, t.Workload}]++
		}
	}
	var left time.Duration
	for _, p := range plans {
		left += p.Takes * time.Duration(max(0, p.Trials-ran[cell{p.Arm, p.Workload}]))
	}
	return left, nil
}

// printPast says that machines that are up are past their time.
func (a *app) printPast(file string, e *experiment.Experiment) {
	p, err := a.project(file, e, false)
	if err != nil {
		return
	}
	if record, err := p.Record(); err == nil && record != nil && time.Now().After(record.Until) {
		fmt.Fprintf(a.stderr, "nearfar: %s. Renew it with: nearfar up --extend %s\n",
			expiring(record.Until, time.Now(), 0), clean.Line(file))
	}
}

// downExpired deletes, or with check only lists, the machines of all files that are past their time. An error with one
// file does not stop the others.
func (a *app) downExpired(ctx context.Context, o *downOptions) error {
	records, problems := provision.Expired(time.Now())
	for _, r := range records {
		fmt.Fprintf(a.stdout, "%s: past its time since %s\n", clean.Line(r.File), r.Until.UTC().Format(time.RFC3339))
		if o.check {
			problems = append(problems, fmt.Errorf("%s: its machines are past their time", clean.Line(r.File)))
			continue
		}
		if err := a.downRecord(ctx, r, o); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", clean.Line(r.File), err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(records) == 0 && len(problems) == 0 {
		fmt.Fprintln(a.stdout, "No machines are past their time.")
	}
	return errors.Join(problems...)
}

// downRecord deletes the machines of a record.
func (a *app) downRecord(ctx context.Context, r *provision.Record, o *downOptions) error {
	e, err := a.readExperiment(r.File, &o.inputs)
	if err != nil {
		return err
	}
	p, err := a.project(r.File, e, false)
	if err != nil {
		return err
	}
	if p.Folder() != r.Folder {
		return fmt.Errorf("it is now about %s, and the machines are those of %s: their state is in %s",
			clean.Line(e.Name), clean.Line(r.Name), clean.Line(r.Folder))
	}
	return a.destroy(ctx, a.stdout, r.File, p)
}
