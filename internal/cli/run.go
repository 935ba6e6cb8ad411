package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/forecast"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/measure/execution"
	"nearfar/internal/measure/redeploy"
	"nearfar/internal/measure/runner"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/hostverbs"
)

// runOptions are the flags of run.
type runOptions struct {
	// blocks and seed replace the values in the file if blocksGiven and seedGiven are true.
	blocks      int
	seed        uint64
	blocksGiven bool
	seedGiven   bool
	// text is the experiment if it does not come from a file; nil if it does.
	text []byte
	// data is the content of the experiment file after it was read; see content.
	data   []byte
	out    string
	resume string
	dryRun bool
	// retryFailed repeats the failed trials of a resumed run.
	retryFailed bool
	// addWorkloads also measures workloads that the resumed run left out.
	addWorkloads bool
	// force measures also with too few blocks to show any difference.
	force bool
	// allowUnverified accepts arms that are not proved to be what they claim.
	allowUnverified bool
	// until is the resolution at which the run ends by itself; empty for a fixed number of blocks.
	until string
	// from is the earlier run whose scatter the forecast is made from.
	from   string
	inputs inputFlags
	// sshConfig is the configuration file for ssh; empty for the user's own.
	sshConfig string
	// kubeconfig is the file that says how clusters are reached; empty for those that kubectl reads.
	kubeconfig string
	report     reportOptions
	// up makes the machines of the file before, down deletes them afterwards.
	up, down bool
	make     makeFlags
	// redeploy makes the machines anew between deployments; nil if they are made once.
	redeploy *redeploy.Machines
	watch    *watcher
	// baseline makes the run the comparison of an arm with itself; nil for others.
	baseline *baselineOptions
	// inside makes a workload watched if none is.
	inside bool
	// progress is one of progressModes.
	progress string
}

func (a *app) runCommand() *cobra.Command {
	o := runOptions{watch: &watcher{}}
	cmd := &cobra.Command{
		Use:   "run [FILE]",
		Short: "Measure what an experiment file declares, and print the answer",
		Long: `Run makes the hosts of all arms of an experiment, measures every workload in every arm once a block in
random order, prints the answer and leaves a run directory.

Without FILE it takes experiment.yaml in the current directory. "-" reads standard input. --dry-run of a file with hosts
connects to none of them. --dry-run of a file with pods prints the objects that a run would make in the cluster, and the
rights that it needs, as YAML.

--up makes the machines of a file with "provision" before ("nearfar up"), and --down deletes them afterwards, however
the run ends. If the schedule has several deployments, run shows what it deletes and makes again between them, and asks
once, unless --yes is given.

--until 2% ends the run as soon as every difference in the first quantity of a workload has been found, or is known
within 2 % of the baseline: its interval ends at most so far above and below it. --until 1us does so within 1 us. The
intervals of such a run hold at any time of stopping. --blocks is then the most that it may take (default: 100).

Exit codes: 0 the answer is printed; 1 a failure, or too many trials failed; 2 wrong usage, or a mistake in the file;
4 an expectation of an arm (expect) is refuted or unknown in a good trial, unless --allow-unverified is given; 130
interrupted. If several apply: 130, then 1, then 4. An interrupted run prints the answer of its trials so far, and how
to continue it.`,
		Example: `  nearfar run labs/overlay/experiment.yaml
  nearfar run --dry-run experiment.yaml
  nearfar run --blocks 20 --seed 7 --out /tmp/runs experiment.yaml
  nearfar run --set CLIENT=vm-a --set SERVER=vm-b labs/byo-ssh/experiment.yaml
  nearfar run --hosts hosts.yaml experiment.yaml
  nearfar run --up --down --yes experiment.yaml
  nearfar run --resume runs/20261121T192200Z-overlay
  nearfar run --resume runs/20261121T192200Z-overlay --retry-failed
  nearfar run --dry-run --resolve 5% --from runs/20261121T192200Z-overlay experiment.yaml
  nearfar run --until 2% --blocks 60 experiment.yaml
  nearfar run --progress plain experiment.yaml
  nearfar run --watch experiment.yaml
  nearfar run -f json experiment.yaml | jq .comparisons`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.blocksGiven, o.seedGiven = cmd.Flags().Changed("blocks"), cmd.Flags().Changed("seed")
			if o.resume != "" && (len(args) > 0 || o.blocksGiven || o.seedGiven || cmd.Flags().Changed("out") ||
				o.until != "") {
				return usagef("--resume continues the run as it was declared: " +
					"give it no FILE, --blocks, --seed, --until or --out")
			}
			if err := o.checkMachines(cmd.Flags().Changed); err != nil {
				return err
			}
			if err := watchNeedsPage(o, cmd); err != nil {
				return err
			}
			return a.run(cmd.Context(), argumentOr(args, defaultExperiment), o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.blocks, "blocks", 0, "how many times each workload is run in each arm (default: as in the file)")
	f.StringVar(&o.until, "until", "", "end as soon as every difference is found, or known within `RESOLUTION`: 2%, 1us, "+
		"10Mbit/s or 100/s")
	f.StringVar(&o.resume, "resume", "", "continue the run in this `DIRECTORY`")
	f.BoolVar(&o.retryFailed, "retry-failed", false, "with --resume: repeat each failed trial once, after all others")
	f.BoolVar(&o.addWorkloads, "add-workloads", false,
		"with --resume: also measure the workloads that the run left out because they could not run")
	f.StringVar(&o.from, "from", "", "the earlier `RUN` whose scatter predicts which differences can be found "+
		"(default: the newest of this experiment in --out)")
	f.BoolVar(&o.up, "up", false, "make the machines of the file before")
	f.BoolVar(&o.down, "down", false, "delete the machines of the file afterwards")
	o.make.flags(f)
	o.commonFlags(f)
	o.report.resolveFlag(f)
	return cmd
}

// commonFlags adds the flags that every verb has that measures an experiment file.
func (o *runOptions) commonFlags(f *pflag.FlagSet) {
	f.Uint64Var(&o.seed, "seed", 0, "seed of the order of trials; 0 draws one (default: as in the file)")
	f.StringVar(&o.out, "out", runsFolder, "`DIRECTORY` in which the run directory is made")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the schedule, each command line and the duration; measure nothing")
	f.BoolVar(&o.force, "force", false, "measure also if the blocks are too few to show any difference, "+
		"or if the machines expire before the end of the run")
	f.BoolVar(&o.allowUnverified, "allow-unverified", false, "accept arms that are not proved to be what they claim: "+
		"the first line of the answer says so, and the exit code is 0")
	sshConfigFlag(f, &o.sshConfig)
	kubeconfigFlag(f, &o.kubeconfig)
	f.StringVar(&o.progress, "progress", progressAuto,
		"how to show progress, as `MODE`: "+strings.Join(progressModes(), ", "))
	o.inputs.flags(f)
	o.report.flags(f, chartsPage)
	o.watch.flags(f)
}

// run checks the flags, and starts a new run of the file or continues the run that --resume names.
func (a *app) run(ctx context.Context, file string, o runOptions) (err error) {
	if err := errors.Join(o.report.check(), o.report.readAim()); err != nil {
		return err
	}
	if o.progress, err = progressMode(a.stderr, o.progress); err != nil {
		return err
	}
	if err := o.watch.open(ctx, o.dryRun); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.watch.close()) }()
	if o.resume != "" {
		return a.resume(ctx, o)
	}
	if !o.dryRun {
		if err := checkFolder("--out", o.out); err != nil {
			return err
		}
	}
	if o.addWorkloads {
		return usagef("--add-workloads goes with --resume: it measures what an earlier run left out")
	}
	if o.retryFailed {
		return usagef("--retry-failed goes with --resume: it repeats the failed trials of an earlier run")
	}
	if o.make.yes && !o.up {
		if err := a.checkYes(ctx, file, &o); err != nil {
			return err
		}
	}
	if o.up || o.down {
		return a.runBetween(ctx, file, o)
	}
	return a.runFile(ctx, file, o)
}

// runFile starts a new run of the file.
func (a *app) runFile(ctx context.Context, file string, o runOptions) error {
	e, err := a.experimentToRun(ctx, file, o)
	if err != nil {
		return err
	}
	if err := refuseTooFewBlocks(e, o); err != nil {
		return err
	}
	if !o.dryRun && len(e.Made()) > 0 {
		if e.Provision.File, err = filepath.Abs(file); err != nil {
			return err
		}
		if err := a.refuseExpiring(e, nil, o.force); err != nil {
			return err
		}
	}
	if e.Redeploys() && !o.dryRun {
		if o.redeploy, err = a.openAnew(file, e, o); err != nil {
			return err
		}
		if err := a.agree(ctx, o.redeploy, e, o.make.yes); err != nil {
			return err
		}
	}
	return a.start(ctx, e, o)
}

// experimentToRun reads the experiment file and applies the flags that replace values of it.
func (a *app) experimentToRun(ctx context.Context, file string, o runOptions) (e *experiment.Experiment, err error) {
	if o.text == nil {
		if err := a.content(ctx, file, &o); err != nil {
			return nil, err
		}
	}
	if err := abandon(ctx, 0, func() (err error) {
		switch {
		case o.text != nil:
			e, err = parseExperiment(file, o.text, experimentfile.Inputs{})
			return err
		case o.dryRun:
			e, err = a.parseFile(file, o.data, &o.inputs)
		default:
			e, err = a.parseMade(ctx, file, o.data, &o.inputs)
		}
		if err != nil {
			return err
		}
		return o.inputs.unused(file)
	}); err != nil {
		return nil, err
	}
	if o.baseline != nil {
		if e, err = o.baseline.apply(e, o.blocks); err != nil {
			return nil, err
		}
	}
	if o.inside {
		if e, err = e.WatchFirst(tool.Declared()); err != nil {
			return nil, usagef("%s: %w", clean.Line(file), err)
		}
	}
	if o.blocksGiven {
		if o.blocks < 1 || o.blocks > experiment.MaxBlocks {
			return nil, usagef("--blocks %d: must be from 1 to %d", o.blocks, experiment.MaxBlocks)
		}
		e.Schedule.Blocks = o.blocks
	}
	if err := o.endsBySelf(e); err != nil {
		return nil, err
	}
	if o.seedGiven {
		e.Schedule.Seed = o.seed
	}
	if e.Schedule.Seed == 0 {
		e.Schedule.Seed = execution.DrawSeed()
	}
	return e, nil
}

// defaultExperiment is the experiment file of verbs that are called without one.
const defaultExperiment = "experiment.yaml"

// watchNeedsPage refuses --listen without --watch.
func watchNeedsPage(o runOptions, cmd *cobra.Command) error {
	if !o.watch.on && cmd.Flags().Changed("listen") {
		return usagef("--listen says where --watch serves its page: give both")
	}
	return nil
}

// start makes a new run.
func (a *app) start(ctx context.Context, e *experiment.Experiment, o runOptions) error {
	expected, err := o.forecast(e)
	if err != nil {
		return err
	}
	if !o.dryRun {
		if err := refuseCongestion(e, hostverbs.HasCongestion); err != nil {
			return err
		}
	}
	expected.Earlier = a.earlierBaseline(o.out, e)
	r := execution.New(e)
	if o.dryRun && connects(e) {
		return errors.Join(a.printPlan(r, o.report.aim, expected), a.printPods(e, o))
	}
	defer a.free(r)
	p, err := a.prepare(ctx, r, o)
	if err != nil {
		return err
	}
	if o.dryRun {
		return a.printPlan(r, o.report.aim, expected)
	}
	for _, line := range expected.Lines(e) {
		p.step("%s", line)
	}
	if err := r.Create(ctx, o.out, earlierRecord(expected.Earlier)); err != nil {
		return err
	}
	return a.measure(ctx, r, p, o)
}

// forecast uses the run that --from names, or the newest run of the same experiment in the folder of runs. Without one,
// the forecast is empty.
func (o *runOptions) forecast(e *experiment.Experiment) (forecast.Forecast, error) {
	switch {
	case e.Schedule.Until != "": // forecasts are for a number of blocks that is chosen before
		return forecast.Forecast{}, nil
	case o.from == "":
		return forecast.Newest(o.out, e, o.report.aim), nil
	}
	f, err := forecast.From(o.from, e, o.report.aim)
	if err != nil {
		return f, usagef("--from: %w", err)
	}
	if f.Empty() {
		return f, usagef(
			"--from %s: that run has no comparison of this experiment with 6 or more blocks", clean.Line(o.from))
	}
	return f, nil
}

// refuseTooFewBlocks refuses to measure a schedule that cannot show any difference, except with --force.
func refuseTooFewBlocks(e *experiment.Experiment, o runOptions) error {
	ok, text := figures.Enough(e)
	if ok || o.dryRun || o.force {
		return nil
	}
	return &usageError{errors.New(text + ": no difference could be shown, whatever its size\n" +
		"Give it more blocks (schedule: {blocks: N}, or --blocks N), or measure anyway with --force")}
}

// resume continues a run that was interrupted or killed.
func (a *app) resume(ctx context.Context, o runOptions) error {
	r, err := execution.Open(o.resume)
	if err != nil {
		return &usageError{err}
	}
	defer a.free(r)
	m, e := r.Manifest(), r.Experiment()
	trials, err := r.Before()
	if err != nil {
		return err
	}
	if err := refuseToAdd(m, o); err != nil {
		return err
	}
	if o.make.yes && !e.Redeploys() {
		return yesWithoutUp()
	}
	if !o.dryRun {
		if err := a.refuseExpiring(e, trials, o.force); err != nil {
			return err
		}
	}
	if e.Redeploys() && !o.dryRun {
		if o.redeploy, err = a.resumeRedeploying(ctx, e, m.Hosts, trials, &o); err != nil {
			return err
		}
	}
	if err := a.rejoin(e, o); err != nil {
		return &usageError{err}
	}
	if o.dryRun && connects(e) {
		return errors.Join(a.printPlan(r, nil, forecast.Forecast{}), a.printPods(e, o))
	}
	if o.retryFailed && e.Schedule.DeploymentCount() > 1 {
		return usagef("--retry-failed cannot repeat trials of a run with several deployments: " +
			"the hosts on which they failed are gone")
	}
	p, err := a.prepare(ctx, r, o)
	if err != nil {
		return err
	}
	if o.dryRun {
		return a.printPlan(r, nil, forecast.Forecast{})
	}
	p.before(trials)
	again := execution.ResumeOptions{AddWorkloads: o.addWorkloads, RetryFailed: o.retryFailed}
	if o.redeploy != nil {
		again.Kept = o.redeploy.Kept
	}
	if err := r.Resume(again); err != nil {
		return withResumeHint(r, err)
	}
	return a.measure(ctx, r, p, o)
}

// refuseToAdd refuses to continue a complete run only because it left workloads out: that measures something else than
// the user remembers.
func refuseToAdd(m rundir.Manifest, o runOptions) error {
	if m.State != rundir.Complete || len(m.Skipped) == 0 || o.addWorkloads || o.retryFailed || o.dryRun {
		return nil
	}
	var out []string
	for _, workload := range slices.Sorted(maps.Keys(m.Skipped)) {
		out = append(out, fmt.Sprintf("workload %s (%s)", workload, clean.Line(m.Skipped[workload])))
	}
	return usagef("the run is complete, except for what it left out: %s\n"+
		"To measure that now, add --add-workloads. To see the answer: nearfar report %s",
		strings.Join(out, ", "), clean.Line(o.resume))
}

// printPods prints what a run would make in clusters, and the rights that it needs.
func (a *app) printPods(e *experiment.Experiment, o runOptions) error {
	if !e.HasPods() {
		return nil
	}
	fmt.Fprintln(a.stdout, "\nKubernetes (names and ports of a run differ: they have the run's id)")
	return deploy.PrintPods(a.stdout, e, o.kubeconfig)
}

// rejoin gives the hosts of a run their join strings, which its record does not have. A dry run needs none.
func (a *app) rejoin(e *experiment.Experiment, o runOptions) error {
	in, err := o.inputs.read(a, false)
	if err != nil || o.dryRun {
		return err
	}
	return experimentfile.Rejoin(e, tool.Declared(), in)
}

// measure runs the rest of the schedule, ends the run and prints the answer, also after an interrupt.
func (a *app) measure(ctx context.Context, r *execution.Run, p *progress, o runOptions) error {
	p.step("the run directory is %s", clean.Line(r.Path()))
	a.last.set(func() { a.abandonRun(r, o) })
	o.watch.begin(p, r)
	defer o.watch.end(ctx, a.stderr, r)
	defer p.end() // after a panic too
	if err := untilKnown(r); err != nil {
		return err
	}
	runErr := r.Measure(ctx)
	p.end()
	if err := r.Finish(ctx); err != nil {
		return withResumeHint(r, errors.Join(runErr, err))
	}
	defer a.last.take()()
	failed := runErr != nil && !errors.Is(runErr, context.Canceled)
	lost := errors.Is(runErr, host.ErrLost)
	if failed && !lost && !errors.As(runErr, new(*runner.NotMadeError)) {
		return withResumeHint(r, runErr)
	}
	ans, err := readReport(r.Path(), o.report.aim)
	switch {
	case lost && (err != nil || ans.Trials == 0): // the answer says nothing
		return withResumeHint(r, runErr)
	case err != nil:
		return withReportHint(r, err)
	}
	if o.allowUnverified {
		ans.AllowUnverified()
	}
	if err := a.writeReport(ans, o.report); err != nil {
		return withReportHint(r, err)
	}
	if failed {
		return withResumeHint(r, runErr)
	}
	if runErr != nil {
		a.sayResume(r)
		return errInterrupted
	}
	if ans.Trials > 0 && ans.Failed == ans.Trials {
		return fmt.Errorf("every trial failed; the first: %s", firstFailure(r))
	}
	if ans.Failing != "" {
		return fmt.Errorf("%s The first: %s\nRepeat the failed trials with: nearfar run --resume %s --retry-failed",
			ans.Failing, firstFailure(r), clean.Line(r.Path()))
	}
	if ans.Unproved != "" && !o.allowUnverified {
		return &unprovedError{clean.Line(ans.Unproved), allowHint}
	}
	return nil
}

// abandonRun is what a run does after a second Ctrl-C: it writes its state, prints the answer of its trials so far, and
// how to continue it.
func (a *app) abandonRun(r *execution.Run, o runOptions) {
	b, flush := a.besides()
	defer flush()
	err := r.Interrupted()
	if err == nil {
		var ans answer.Answer
		if ans, err = readReport(r.Path(), o.report.aim); err == nil {
			if o.allowUnverified {
				ans.AllowUnverified()
			}
			// Not closed by the interrupt: the file is to be written.
			b.done = make(chan struct{})
			err = b.writeReport(ans, o.report)
		}
	}
	if err != nil {
		fmt.Fprintln(b.stderr, "nearfar:", err)
	}
	b.sayResume(r)
	fmt.Fprintln(b.stderr, "nearfar: interrupted")
}

func (a *app) sayResume(r *execution.Run) {
	fmt.Fprintf(a.stderr, "nearfar: continue with: %s %s\n", a.typed("nearfar run --resume"), clean.Line(r.Path()))
}

// withReportHint adds to an error of the answer where the trials are.
func withReportHint(r *execution.Run, err error) error {
	path := clean.Line(r.Path())
	return fmt.Errorf("%w\nThe trials are in %s; print the answer with: nearfar report %s", err, path, path)
}

// withResumeHint adds to the error of a run how to continue the run.
func withResumeHint(r *execution.Run, err error) error {
	path := clean.Line(r.Path())
	return fmt.Errorf("%w\nThe finished trials are in %s; continue with: nearfar run --resume %s", err, path, path)
}

func firstFailure(r *execution.Run) string {
	trials, err := r.Trials()
	if i := slices.IndexFunc(trials, func(t result.Trial) bool { return t.Error != "" }); err == nil && i >= 0 {
		return clean.Line(trials[i].Error)
	}
	return "unknown"
}
