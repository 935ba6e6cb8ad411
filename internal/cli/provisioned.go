package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/term"

	"nearfar/internal/base/clean"
	"nearfar/internal/cloud/audit"
	"nearfar/internal/cloud/provision"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/onhost/agent/binaries"
)

// What to do with the machines of an up that failed or was interrupted.
const (
	failureAsk     = "ask" // on a terminal; elsewhere they are kept
	failureKeep    = "keep"
	failureDestroy = "destroy"
)

// makeFlags are the flags of verbs that make machines.
type makeFlags struct {
	yes       bool
	onFailure string
	// extend renews the time until which the machines are meant to exist.
	extend bool
}

func (m *makeFlags) flags(f *pflag.FlagSet) {
	f.BoolVar(&m.yes, "yes", false, "make the machines without asking")
	f.StringVar(&m.onFailure, "on-failure", failureAsk,
		"what to do with the machines of an up that fails or is interrupted: "+strings.Join(failureWords(), ", "))
}

func failureWords() []string { return []string{failureAsk, failureKeep, failureDestroy} }

func (m *makeFlags) check() error {
	if !slices.Contains(failureWords(), m.onFailure) {
		return usagef("--on-failure %s: use one of %s", m.onFailure, strings.Join(failureWords(), ", "))
	}
	return nil
}

// project opens the machines of an experiment. extend renews their time when they are made.
func (a *app) project(file string, e *experiment.Experiment, extend bool) (*provision.Project, error) {
	return a.openProject(file, e, provision.Options{Extend: extend})
}

// openProject opens the machines of an experiment. Options that are not set have their defaults: notes go to standard
// error, and an audit waits for defaultAuditWait. The texts of notes are safe for a terminal.
func (a *app) openProject(file string, e *experiment.Experiment, o provision.Options) (*provision.Project, error) {
	if file == "-" {
		return nil, usagef("provision: machines belong to a file: write the experiment into one")
	}
	note := o.Note
	if note == nil {
		note = func(text string) { fmt.Fprintln(a.stderr, text) }
	}
	o.Owner, o.Note = deploy.PodOwner(), func(text string) { note(clean.Line(text)) }
	if o.Audit.Auditor == nil {
		o.Audit = provision.Auditing{Auditor: audit.Auditor{}, Wait: defaultAuditWait}
	}
	p, err := provision.Open(file, e, o)
	if err != nil {
		return nil, &usageError{fmt.Errorf("%s: %w", clean.Line(file), err)}
	}
	return p, nil
}

// readMade reads an experiment file. Its provisioned hosts are those that nearfar up has made.
func (a *app) readMade(ctx context.Context, file string, inputs *inputFlags) (*experiment.Experiment, error) {
	data, err := a.readData(file)
	if err != nil {
		return nil, err
	}
	return a.parseMade(ctx, file, data, inputs)
}

// parseMade is readMade for the content of a file.
func (a *app) parseMade(
	ctx context.Context, file string, data []byte, inputs *inputFlags,
) (*experiment.Experiment, error) {
	e, err := a.parseFile(file, data, inputs)
	if err != nil || len(e.Provisioned()) == 0 {
		return e, err
	}
	if inputs.hosts != "" {
		return nil, usagef("--hosts %s does not say how the provisioned hosts %s are reached: "+
			"with --hosts it must say it for all of them", clean.Line(inputs.hosts),
			strings.Join(e.Provisioned(), ", "))
	}
	p, err := a.project(file, e, false)
	if err != nil {
		return nil, err
	}
	made, err := p.Hosts(ctx)
	if errors.As(err, new(*provision.NotUpError)) {
		return nil, fmt.Errorf("%s: %w; make them with: nearfar up %s", clean.Line(file), err, clean.Line(file))
	}
	if err != nil {
		return nil, err
	}
	in, err := inputs.read(a, false)
	if err != nil {
		return nil, err
	}
	in.HostsName, in.Hosts, in.Made = made.HostsName, made.Hosts, made.Made
	return parseExperiment(file, data, in)
}

// make makes the machines of an experiment. After a failure or an interrupt it does with them as onFailure says.
func (a *app) make(ctx context.Context, file string, e *experiment.Experiment, o makeFlags) error {
	p, err := a.project(file, e, o.extend)
	if err != nil {
		return err
	}
	if missing := binaries.LinuxMissing(); missing != nil && len(e.Provisioned()) > 0 {
		fmt.Fprintf(a.stderr, "note: nearfar can only reach machines with an agent of their own: %v\n", missing)
	}
	err = p.Up(ctx, func(plan provision.Plan) error { return a.confirm(plan, e.Provision.TTL, o.yes) })
	if err == nil {
		return nil
	}
	if record, readErr := p.Record(); readErr != nil || record == nil || record.State == provision.StateUp {
		return err // nothing was made, or it was made before
	}
	if errors.As(err, new(*provision.BusyError)) || errors.As(err, new(*usageError)) || errors.Is(err, errDeclined) {
		return err
	}
	if o.onFailure == failureAsk && a.asks() {
		fmt.Fprintln(a.stderr, "nearfar:", clean.Line(err.Error()))
		fmt.Fprint(a.stderr, "Delete what was made? [Y/n] ")
		if answer, readErr := line(a.plain); readErr == nil && answer != "n" && answer != "no" {
			o.onFailure = failureDestroy
		}
	}
	if o.onFailure == failureDestroy {
		// Another interrupt ends nearfar at once; the program then continues.
		if downErr := a.destroy(context.WithoutCancel(ctx), a.stderr, file, p); downErr != nil {
			fmt.Fprintln(a.stderr, "nearfar:", downErr)
		}
		return err
	}
	fmt.Fprintf(a.stderr, "What was made is kept. Delete it with: nearfar down %s\n", clean.Line(file))
	return err
}

// asks says that a person can answer questions.
func (a *app) asks() bool {
	in, ok := a.plain.(*os.File)
	_, shown := terminalFile(a.stderr)
	return ok && shown && term.IsTerminal(int(in.Fd()))
}

// errDeclined says that a person did not want the machines.
var errDeclined = errors.New("nothing was made")

// line reads an answer, without its line end and in small letters.
func line(r io.Reader) (string, error) {
	text, err := bufio.NewReader(io.LimitReader(r, 1000)).ReadString('\n')
	return strings.ToLower(strings.TrimSpace(text)), err
}

// confirm shows a plan and asks whether to carry it out.
func (a *app) confirm(plan provision.Plan, ttl time.Duration, yes bool) error {
	a.printChanges(a.stderr, plan, ttl)
	if yes || plan.Empty() {
		return nil
	}
	return a.askFor("make this", "--yes, or look at it with --dry-run", "Make this?", errDeclined)
}

// askFor asks a person for a yes, who may decline. Where nobody can be asked, the error says about what, and what to
// give instead.
func (a *app) askFor(what, instead, question string, declined error) error {
	if !a.asks() {
		return usagef("nobody can be asked here whether to %s: give %s", what, instead)
	}
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	answer, err := line(a.stdin)
	if err == nil && answer != "y" && answer != "yes" {
		err = declined
	}
	return err
}

// printChanges prints a plan.
func (a *app) printChanges(w io.Writer, plan provision.Plan, ttl time.Duration) {
	a.printRetirements(plan.Wants.Warnings(time.Now()))
	for _, c := range plan.Changes {
		fmt.Fprintf(w, "  %s %s\n", clean.Line(c.Action), clean.Line(c.Resource))
	}
	if plan.Script != "" {
		fmt.Fprintf(w, "  run %s\n", clean.Line(plan.Script))
		if len(plan.Variables) > 0 {
			fmt.Fprintf(w, "  with the variables %s\n", clean.Line(strings.Join(plan.Variables, ", ")))
		}
		fmt.Fprintln(w, "What a script makes is not known before it runs.")
		return
	}
	if plan.Empty() {
		fmt.Fprintln(w, "Nothing to do: everything is there.")
		return
	}
	fmt.Fprintf(w, "%d to make, %d to change, %d to delete.\n", plan.Add, plan.Change, plan.Remove)
	printCost(w, plan.Cost, ttl, time.Now())
	if clusters := plan.Clusters(); len(clusters) > 0 {
		fmt.Fprintf(w, "ttl does not end %s: a cluster and its nodes stay, and cost, until nearfar down, or until "+
			"cron runs nearfar down --expired.\n", clean.Line(strings.Join(clusters, ", ")))
	}
}

// destroy deletes machines. It writes to w whether anything was left, and what.
func (a *app) destroy(ctx context.Context, w io.Writer, file string, p *provision.Project) error {
	did, err := p.Down(ctx)
	unknown := printAnswers(w, p.Name(), p.Answers())
	if left, ok := errors.AsType[*provision.LeftError](err); ok {
		printLeftResources(w, left.Resources)
		return fmt.Errorf("%w\nTry again with: nearfar down %s", err, clean.Line(file))
	}
	switch {
	case err != nil && ctx.Err() != nil:
		fmt.Fprintf(a.stderr, "Not everything was deleted. Go on with: nearfar down %s\n", clean.Line(file))
		return err
	case err != nil:
		return err
	case !did:
		fmt.Fprintf(w, "%s: nothing was made.\n", clean.Line(file))
	default:
		fmt.Fprintf(w, "%s: all is deleted, and %s.\n", clean.Line(file), p.Gone())
		if unknown {
			fmt.Fprintf(w, "Ask the providers again with: nearfar down --audit %s\n", clean.Line(file))
		}
	}
	return nil
}

// printLeftResources prints the remaining resources, one in a line.
func printLeftResources(w io.Writer, left []string) {
	for _, address := range left {
		fmt.Fprintf(w, "left: %s\n", clean.Line(address))
	}
}

// checkMachines checks the flags of run that make and delete machines.
func (o *runOptions) checkMachines(changed func(flag string) bool) error {
	switch {
	case o.resume != "" && (o.up || o.down):
		return usagef("--resume goes on with the machines as they are: give no --up and no --down")
	case o.dryRun && (o.up || o.down):
		return usagef("--dry-run makes and deletes nothing: see nearfar up --dry-run")
	case !o.up && changed("on-failure"):
		return yesWithoutUp()
	}
	return o.make.check()
}

// yesWithoutUp is the error for --yes if nothing is made, and for --on-failure without --up.
func yesWithoutUp() error {
	return usagef("--yes and --on-failure go with --up; " +
		"--yes also with machines that are made anew between deployments")
}

// runBetween runs a file, makes its machines before if --up is given, and deletes them afterwards if --down is given.
func (a *app) runBetween(ctx context.Context, file string, o runOptions) (err error) {
	if err := a.content(ctx, file, &o); err != nil {
		return err
	}
	e, err := a.parseFile(file, o.data, &o.inputs)
	if err != nil {
		return err
	}
	if err := errors.Join(o.inputs.unused(file), refuseTooFewBlocks(e, o)); err != nil {
		return &usageError{err}
	}
	p, err := a.project(file, e, false)
	if err != nil {
		return err
	}
	if o.up {
		if o.down && o.make.onFailure == failureAsk {
			o.make.onFailure = failureDestroy
		}
		if err := a.make(ctx, file, e, o.make); err != nil {
			return err
		}
	}
	if o.down {
		defer func() {
			downErr := a.destroy(context.WithoutCancel(ctx), a.stderr, file, p)
			if err == nil {
				err = downErr
			} else if downErr != nil {
				fmt.Fprintln(a.stderr, "nearfar:", downErr)
			}
		}()
	}
	return a.runFile(ctx, file, o)
}
