package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/bisect"
	"nearfar/internal/declare/bisection"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/execution"
)

// bisectionsFolder is where the directories of bisections are made.
const bisectionsFolder = "bisections"

// stepVariable is the variable of an experiment file that has the name of the step.
const stepVariable = "STEP"

// The default of --place-limit, and the greatest --alpha.
const (
	placeLimit   = time.Hour
	mostAlpha    = 0.5
	maxPerVisit  = 100
	maxChecked   = 20
	bisectChecks = 2
)

// bisectOptions are the flags of bisect.
type bisectOptions struct {
	good, bad string
	// steps is a file with a step a line, git a folder of a repository.
	steps, git string
	place      string
	placeLimit time.Duration
	arm        string
	metric     string
	by, alpha  string
	trials     int
	checks     int
	maxTrials  int
	maxTime    time.Duration
	seed       uint64
	out        string
	resume     string
	dryRun     bool
	format     string
	inputs     inputFlags
	sshConfig  string
	kubeconfig string
}

func (a *app) bisectCommand() *cobra.Command {
	var o bisectOptions
	cmd := &cobra.Command{
		Use:   "bisect [FILE]",
		Short: "Find the step at which a figure changed: a commit, an image, a kernel",
		Long: `Bisect takes an ordered list of steps of which the first is good and the last is bad, puts them in place one
after the other, measures one workload in one arm of an experiment, and finds the first bad step, with a stated chance
of error. No step is judged by a single run: good and bad are measured again beside each step, in random order, so that
a machine that drifts does not mislead, and as often as it takes to be sure.

--steps has a step a line; --git takes the commits from --good to --bad of a repository, a merge as one step. --place is
the command that puts a step in place, on this machine. It is run without a shell: {step} stands for the step, which
else is the last word. A command that fails skips the step; one that ends with 126 or more ends the search, as with
"git bisect run". Instead of a command, the file may have the variable ${STEP}, for example as the tag of an image.

A step is bad if its figure is more than half of the way from good to bad, or with --by more than that from good.
Whether the figure changed back, or several times, is looked for at --checks more steps.

It leaves a directory, which --resume goes on with after an interrupt, or after --max-trials or --max-time.

Exit codes: 0 one step was found; 1 good and bad do not surely differ, steps could not be told apart, the search is not
at its end, or a failure; 2 wrong usage, or a mistake in the file; 130 interrupted.`,
		Example: `  nearfar bisect service.yaml --git ~/src/service --good v1.8 --bad main --place './deploy.sh {step}'
  nearfar bisect pods.yaml --steps tags.txt --metric 'get rtt.p99'
  nearfar bisect kernels.yaml --steps kernels.txt --place './boot.sh {step}' --place-limit 20m --max-time 10h
  nearfar bisect service.yaml --steps - --place 'sh -c "make -C {step} install"' --by 5% --alpha 1%
  nearfar bisect --dry-run service.yaml --steps tags.txt --place './deploy.sh {step}'
  nearfar bisect --resume bisections/20261121T192200Z-service`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !slices.Contains(resultFormats(), o.format) {
				return usagef("--format %s: use one of %s", clean.Line(o.format), strings.Join(resultFormats(), ", "))
			}
			if o.maxTrials < 0 || o.maxTime < 0 {
				return usagef("--max-trials and --max-time are bounds: write numbers of 0 or more")
			}
			if o.resume != "" {
				if flag := given(cmd.Flags().Changed, "good", "bad", "steps", "git", "place", "place-limit", "arm", "metric",
					"by", "alpha", "trials", "checks", "seed", "out", "dry-run"); flag != "" || len(args) > 0 {
					return usagef("--resume goes on with what was begun: give it no FILE%s", textIf(flag != "", " and no --"+flag))
				}
				return a.resumeBisection(cmd.Context(), o)
			}
			return a.bisect(cmd.Context(), argumentOr(args, defaultExperiment), o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.good, "good", "", "the good `STEP` (default: the first of --steps)")
	f.StringVar(&o.bad, "bad", "", "the bad `STEP` (default: the last of --steps)")
	f.StringVar(&o.steps, "steps", "", "a `FILE` with the steps from good to bad, one a line; - is standard input")
	f.StringVar(&o.git, "git", "", "take the commits from --good to --bad of the repository in this `FOLDER`")
	f.StringVar(&o.place, "place", "", "the `COMMAND` that puts {step} in place")
	f.DurationVar(&o.placeLimit, "place-limit", placeLimit, "how long the command may take")
	f.StringVar(&o.arm, "arm", "", "the `NAME` of the arm that is measured (default: the file's baseline)")
	f.StringVar(&o.metric, "metric", "", "the `FIGURE`: the workload if there are several, and METRIC or "+
		"METRIC.STAT (default: its first figure)")
	f.StringVar(&o.by, "by", "", "how far from good a step is bad, as `DIFFERENCE`: 5%, 2us, 10Mbit/s or 100/s "+
		"(default: half of the difference between good and bad)")
	f.StringVar(&o.alpha, "alpha", "5%", "the chance of a wrong step, at most, as `SHARE`")
	f.IntVar(&o.trials, "trials", 1, "trials each time that a step is in place; their median counts")
	f.IntVar(&o.checks, "checks", bisectChecks, "how many more steps are looked at for a change back, or a further one")
	f.IntVar(&o.maxTrials, "max-trials", 0, "end after so many trials, with those before --resume; 0 for no limit")
	f.DurationVar(&o.maxTime, "max-time", 0, "end after this time; 0 for no limit")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the order in which steps are put in place; 0 draws one")
	f.StringVar(&o.out, "out", bisectionsFolder, "`DIRECTORY` in which the bisection's directory is made")
	f.StringVar(&o.resume, "resume", "", "go on with the bisection in this `DIRECTORY`")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what would be done, and measure nothing")
	f.StringVarP(&o.format, "format", "f", "terminal", "form of the result: "+strings.Join(resultFormats(), ", "))
	sshConfigFlag(f, &o.sshConfig)
	kubeconfigFlag(f, &o.kubeconfig)
	o.inputs.flags(f)
	return cmd
}

// A bisecting is a bisection that is carried out.
type bisecting struct {
	*app
	o    bisectOptions
	plan bisection.Plan
	// file is the name of the experiment file, for messages, and text its content.
	file   string
	text   []byte
	dir    *bisection.Dir
	search *bisect.Search
	// quantity is the figure; its metric is empty until the first figure of a plan that names none.
	quantity figures.Quantity
	trials   int
}

// bisect begins a bisection.
func (a *app) bisect(ctx context.Context, file string, o bisectOptions) error {
	b := &bisecting{app: a, o: o, file: file}
	if err := b.declare(ctx); err != nil {
		return err
	}
	if o.dryRun {
		return b.print()
	}
	if err := checkFolder("--out", o.out); err != nil {
		return err
	}
	dir, err := bisection.Create(o.out, b.plan, b.text)
	if err != nil {
		return err
	}
	b.dir = dir
	return b.run(ctx)
}

// resumeBisection goes on with a bisection.
func (a *app) resumeBisection(ctx context.Context, o bisectOptions) error {
	dir, err := bisection.Open(o.resume)
	if err != nil {
		return &usageError{err}
	}
	b := &bisecting{app: a, o: o, dir: dir, plan: dir.Plan(), text: dir.Text()}
	b.file = b.plan.File
	b.o.by = b.plan.By
	if err := b.readPlan(ctx); err != nil {
		return errors.Join(err, dir.Close())
	}
	return b.run(ctx)
}

// readPlan checks the plan of a bisection that goes on, as strictly as the flags of a new one.
func (b *bisecting) readPlan(ctx context.Context) error {
	e, uses, err := b.experimentAt(ctx, b.plan.Steps[0].Name)
	if err != nil {
		return err
	}
	if len(b.plan.Place) == 0 && !uses {
		return usagef("the plan has no command, and its file no ${%s}", stepVariable)
	}
	if _, err := e.Only(b.plan.Arm, b.plan.Workload, b.plan.Trials); err != nil {
		return &usageError{err}
	}
	if b.plan.Metric != "" {
		figure := strings.TrimSuffix(b.plan.Metric+"."+b.plan.Stat, ".")
		if _, b.quantity, err = measured(b.plan.Workload+" "+figure, e); err != nil {
			return err
		}
	}
	for _, v := range b.dir.Visits() {
		b.trials += v.Trials
		if v.Unit != "" {
			b.quantity = figures.Quantity{Metric: v.Metric, Stat: v.Stat, Unit: v.Unit, BetterIf: v.BetterIf}
		}
	}
	return nil
}

// options are those of the search.
func (b *bisecting) options() (bisect.Options, error) {
	o := bisect.Options{
		Steps: len(b.plan.Steps), Alpha: b.plan.Alpha, Checks: b.plan.Checks, Seed: b.plan.Seed,
	}
	if b.o.maxTrials > 0 {
		o.MostVisits = max(1, b.o.maxTrials/b.plan.Trials)
	}
	if b.plan.By == "" {
		return o, nil
	}
	aim, err := figures.ParseAim(b.plan.By)
	if err != nil {
		return o, usagef("--by: %w", err)
	}
	o.By, o.ByShare = aim.Value, strings.HasSuffix(aim.Text, "%")
	if !o.ByShare && b.quantity.Unit != "" && aim.Unit != b.quantity.Unit {
		return o, usagef("--by %s: %s is in another unit", clean.Line(b.plan.By), b.quantity.Name())
	}
	return o, nil
}

// run searches, and prints what was found, also after an interrupt.
func (b *bisecting) run(ctx context.Context) (err error) {
	defer func() { err = errors.Join(err, b.dir.Close()) }()
	o, err := b.options()
	if err != nil {
		return err
	}
	b.search = bisect.New(o)
	if err := b.search.Replay(b.dir.Visits()); err != nil {
		return &usageError{fmt.Errorf("%s: %w", clean.Line(b.dir.Path), err)}
	}
	b.note("the directory is %s", clean.Line(b.dir.Path))
	resume := b.typed("nearfar bisect --resume") + " " + clean.Line(b.dir.Path)
	b.last.set(func() {
		b.note("go on with: %s", resume)
	})
	ended := b.visits(ctx)
	defer b.last.take()()
	r := b.search.Of(b.plan.Steps, b.quantity, b.trials)
	r.Directory = b.dir.Path
	if len(b.dir.Visits()) > 0 {
		if b.o.format == "json" {
			err = b.writeJSON(r)
		} else {
			err = r.Write(b.stdout)
		}
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		b.note("go on with: %s", resume)
		return errInterrupted
	case ended != nil:
		return fmt.Errorf("%w\nGo on with: %s", ended, resume)
	}
	switch r.Outcome {
	case bisect.Found:
		return nil
	case bisect.Same:
		return errors.New("good and bad do not surely differ")
	case bisect.Several:
		return errors.New("the steps could not be told apart")
	case bisect.Broken:
		return errors.New("good or bad cannot be measured")
	case bisect.Unfinished:
	}
	return fmt.Errorf("the search is not at its end\nGo on with: %s", resume)
}

// visits makes visits until the search is at its end. The error says why it ends before.
func (b *bisecting) visits(ctx context.Context) error {
	log, err := b.dir.OpenLog()
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // what was printed is there
	began := time.Now()
	for {
		next, more := b.search.Next()
		if !more || b.o.maxTime > 0 && time.Since(began) >= b.o.maxTime {
			return nil
		}
		v, err := b.visit(ctx, next, log)
		if err != nil {
			return err
		}
		if v.Error != "" && len(b.dir.Visits()) == 0 {
			return fmt.Errorf("the first visit, to %v, failed: %s", b.plan.Steps[next], clean.Line(v.Error))
		}
		if err := b.dir.Append(v); err != nil {
			return err
		}
		round := b.search.Round()
		good, bad := b.search.Between()
		phase := b.search.Phase()
		b.search.Add(v)
		b.tell(round, v)
		b.tellNews(phase, good, bad)
	}
}

// only is what is measured while a step is in place.
func (b *bisecting) only(ctx context.Context, step bisection.Step) (*experiment.Experiment, error) {
	e, _, err := b.experimentAt(ctx, step.Name)
	if err != nil {
		return nil, err
	}
	e, err = e.Only(b.plan.Arm, b.plan.Workload, b.plan.Trials)
	if err != nil {
		return nil, err
	}
	e.Schedule.Seed = execution.DrawSeed()
	return e, nil
}

// experimentAt reads the experiment file with a step as the variable STEP, and says whether the file has it.
func (b *bisecting) experimentAt(ctx context.Context, step string) (*experiment.Experiment, bool, error) {
	in := b.o.inputs
	in.set, in.asked = append(slices.Clone(in.set), stepVariable+"="+step), nil
	e, err := b.parseMade(ctx, b.file, b.text, &in)
	b.o.inputs.hostsText = in.hostsText
	if err != nil {
		return nil, false, err
	}
	uses := in.asked[stepVariable]
	in.set = b.o.inputs.set
	return e, uses, in.unused(b.file)
}

// absolute is the name of a file from anywhere; "-" stays.
func absolute(file string) (string, error) {
	if file == "-" {
		return file, nil
	}
	return filepath.Abs(file)
}
