package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/clean"
	"nearfar/internal/experiment"
	"nearfar/internal/gate"
	"nearfar/internal/host"
	"nearfar/internal/result"
	"nearfar/internal/rundir"
	"nearfar/internal/tool"
)

// runOptions are the flags of run.
type runOptions struct {
	// blocks and seed replace the values in the file if blocksGiven and seedGiven are true.
	blocks      int
	seed        uint64
	blocksGiven bool
	seedGiven   bool
	out         string
	resume      string
	dryRun      bool
	// retryFailed repeats the failed trials of a resumed run.
	retryFailed bool
	// force measures also with too few blocks to show any difference.
	force bool
	// from is the earlier run whose scatter the forecast is made from.
	from   string
	inputs inputFlags
	// sshConfig is the configuration file for ssh; empty for the user's own.
	sshConfig string
	report    reportOptions
	watch     *watcher
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
connects to none of them.

Exit codes: 0 the answer is printed; 1 a failure, or too many trials failed; 2 wrong usage, or a mistake in the file;
130 interrupted. An interrupted run prints the answer of its trials so far, and how to continue it.`,
		Example: `  nearfar run labs/overlay/experiment.yaml
  nearfar run --dry-run experiment.yaml
  nearfar run --blocks 20 --seed 7 --out /tmp/runs experiment.yaml
  nearfar run --set CLIENT=vm-a --set SERVER=vm-b labs/byo-ssh/experiment.yaml
  nearfar run --hosts hosts.yaml experiment.yaml
  nearfar run --resume runs/20261121T192200Z-overlay
  nearfar run --resume runs/20261121T192200Z-overlay --retry-failed
  nearfar run --dry-run --resolve 5% --from runs/20261121T192200Z-overlay experiment.yaml
  nearfar run --progress plain experiment.yaml
  nearfar run --watch experiment.yaml
  nearfar run -f json experiment.yaml | jq .comparisons`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.blocksGiven, o.seedGiven = cmd.Flags().Changed("blocks"), cmd.Flags().Changed("seed")
			if o.resume != "" && (len(args) > 0 || o.blocksGiven || o.seedGiven || cmd.Flags().Changed("out")) {
				return usagef("--resume continues the run as it was declared: " +
					"give it no FILE, --blocks, --seed or --out")
			}
			if !o.watch.on && cmd.Flags().Changed("listen") {
				return usagef("--listen says where --watch serves its page: give both")
			}
			file := defaultExperiment
			if len(args) > 0 {
				file = args[0]
			}
			return a.run(cmd.Context(), file, o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.blocks, "blocks", 0, "how many times each workload is run in each arm (default: as in the file)")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the order of trials; 0 draws one (default: as in the file)")
	f.StringVar(&o.out, "out", runsFolder, "directory in which the run directory is made")
	f.StringVar(&o.resume, "resume", "", "continue the run in this `DIRECTORY`")
	f.BoolVar(&o.retryFailed, "retry-failed", false, "with --resume: repeat each failed trial once, after all others")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the schedule, each command line and the duration; measure nothing")
	f.BoolVar(&o.force, "force", false, "measure also if the blocks are too few to show any difference")
	f.StringVar(&o.from, "from", "", "the earlier `RUN` whose scatter says which differences can be found "+
		"(default: the newest of this experiment in --out)")
	sshConfigFlag(f, &o.sshConfig)
	f.StringVar(&o.progress, "progress", progressAuto, "how to show progress: "+strings.Join(progressModes(), ", "))
	o.inputs.flags(f)
	o.report.flags(f)
	o.report.resolveFlag(f)
	o.report.pages(f)
	o.watch.flags(f)
	return cmd
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
	if o.retryFailed {
		return usagef("--retry-failed goes with --resume: it repeats the failed trials of an earlier run")
	}
	e, err := a.experimentToRun(ctx, file, o)
	if err != nil {
		return err
	}
	if err := refuseTooFewBlocks(e, o); err != nil {
		return err
	}
	return a.start(ctx, e, o)
}

// experimentToRun reads the experiment file and applies the flags that replace values of it.
func (a *app) experimentToRun(ctx context.Context, file string, o runOptions) (e *experiment.Experiment, err error) {
	// Opening a pipe blocks until its other end is opened.
	if err := abandon(ctx, 0, func() (err error) {
		if e, err = a.readExperiment(file, &o.inputs); err != nil {
			return err
		}
		return o.inputs.unused(file)
	}); err != nil {
		return nil, err
	}
	if o.blocksGiven {
		if o.blocks < 1 || o.blocks > experiment.MaxBlocks {
			return nil, usagef("--blocks %d: must be from 1 to %d", o.blocks, experiment.MaxBlocks)
		}
		e.Schedule.Blocks = o.blocks
	}
	if o.seedGiven {
		e.Schedule.Seed = o.seed
	}
	if e.Schedule.Seed == 0 {
		e.Schedule.Seed = drawSeed()
	}
	return e, nil
}

// defaultExperiment is the experiment file of verbs that are called without one.
const defaultExperiment = "experiment.yaml"

// readExperiment reads and checks an experiment file; "-" is standard input.
func (a *app) readExperiment(file string, inputs *inputFlags) (*experiment.Experiment, error) {
	data, err := a.readFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usagef("%w: name an experiment file, or write one with `nearfar init`", err)
	}
	if err != nil {
		return nil, &usageError{err}
	}
	in, err := inputs.read(a, file == "-")
	if err != nil {
		return nil, err
	}
	e, err := experiment.ParseWith(file, data, tool.Declared(), in)
	if err == nil {
		_, err = gate.Objectives(e)
	}
	if err != nil {
		return nil, &usageError{err}
	}
	return e, nil
}

// start makes a new run.
func (a *app) start(ctx context.Context, e *experiment.Experiment, o runOptions) error {
	expected, err := makeForecast(e, o)
	if err != nil {
		return err
	}
	if o.dryRun && len(e.Hosts) > 0 {
		return a.printPlan(planOnly(e), o.report.aim, expected)
	}
	s, err := a.setUp(ctx, e, o)
	if err != nil {
		return err
	}
	defer s.close(a.stderr)
	if o.dryRun {
		return a.printPlan(s, o.report.aim, expected)
	}
	s.progress.expect(e, expected)
	dir, err := rundir.Create(o.out, rundir.Manifest{
		Nearfar: "v1", Experiment: e, Seed: e.Schedule.Seed, Versions: s.versions(),
		HostVersions: s.runner.HostVersions(), Skipped: s.runner.Skipped(), Hosts: s.hosts.Facts(ctx), Machine: machineName(),
		State: rundir.Running, Started: time.Now().UTC(),
	})
	if err != nil {
		return fmt.Errorf("the run directory cannot be made: %w", err)
	}
	return a.measure(ctx, s, dir, nil, o)
}

// resume continues a run that was interrupted or killed.
func (a *app) resume(ctx context.Context, o runOptions) error {
	if err := refuseImported(o.resume); err != nil {
		return &usageError{err}
	}
	dir, err := rundir.Resume(o.resume, tool.Declared())
	if err != nil {
		return &usageError{err}
	}
	m := dir.Manifest()
	e := m.Experiment
	e.Schedule.Seed = m.Seed
	if err := a.rejoin(e, o); err != nil {
		return errors.Join(&usageError{err}, dir.Close())
	}
	trials, err := dir.Trials()
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	if o.dryRun && len(e.Hosts) > 0 {
		return errors.Join(a.printPlan(planOnly(e), nil, forecast{}), dir.Close())
	}
	s, err := a.setUp(ctx, e, o)
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	defer s.close(a.stderr)
	if o.dryRun {
		return errors.Join(a.printPlan(s, nil, forecast{}), dir.Close())
	}
	s.hosts.Resume(m.Hosts, len(e.Slots())-len(trials))
	s.progress.before(trials)
	if o.retryFailed {
		s.runner.RetryFailed()
	}
	if err := dir.Update(func(m *rundir.Manifest) { m.State = rundir.Running }); err != nil {
		return withResumeHint(dir, errors.Join(err, dir.Close()))
	}
	return a.measure(ctx, s, dir, trials, o)
}

// rejoin gives the hosts of a run their join strings, which its record does not have. A dry run needs none.
func (a *app) rejoin(e *experiment.Experiment, o runOptions) error {
	in, err := o.inputs.read(a, false)
	if err != nil || o.dryRun {
		return err
	}
	return e.Rejoin(tool.Declared(), in)
}

// refuseImported returns an error if the run was imported: such a run cannot be continued.
func refuseImported(path string) error {
	dir, err := rundir.Open(path)
	if err != nil {
		return err
	}
	if dir.Manifest().Experiment.Imported {
		return fmt.Errorf("%s was imported: its results were recorded elsewhere, so it cannot be continued", path)
	}
	return nil
}

// measure runs the rest of the schedule, closes the run and prints the answer, also after an interrupt.
func (a *app) measure(ctx context.Context, s *setup, dir *rundir.Dir, before []result.Trial, o runOptions) error {
	o.watch.begin(s, dir, len(before))
	defer o.watch.end(ctx, a.stderr, dir)
	defer s.progress.end() // after a panic too
	runErr := s.runner.Run(ctx, dir, before)
	s.progress.end()
	if err := closeRun(ctx, s, dir, runErr); err != nil {
		return withResumeHint(dir, errors.Join(runErr, err))
	}
	if runErr != nil && !errors.Is(runErr, context.Canceled) {
		return withResumeHint(dir, runErr)
	}
	ans, err := readReport(dir.Path, o.report.aim)
	if err != nil {
		return err
	}
	if err := a.writeReport(ans, o.report); err != nil {
		return err
	}
	if runErr != nil {
		fmt.Fprintf(a.stderr, "nearfar: continue with: nearfar run --resume %s\n", clean.Line(dir.Path))
		return errInterrupted
	}
	if ans.Trials > 0 && ans.Failed == ans.Trials {
		return fmt.Errorf("every trial failed; the first: %s", firstFailure(dir))
	}
	if ans.Failing != "" {
		return fmt.Errorf("%s The first: %s\nRepeat the failed trials with: nearfar run --resume %s --retry-failed",
			ans.Failing, firstFailure(dir), clean.Line(dir.Path))
	}
	return nil
}

// closeRun writes the run's final state and the facts of its hosts into run.json, and closes the run directory. runErr
// is the error with which the trials ended.
func closeRun(ctx context.Context, s *setup, dir *rundir.Dir, runErr error) error {
	err := dir.Update(func(m *rundir.Manifest) {
		m.State, m.Ended = rundir.Complete, time.Now().UTC()
		if runErr != nil {
			m.State = rundir.Interrupted
		}
		if !errors.Is(runErr, host.ErrLost) { // lost hosts cannot be read: their earlier facts stay
			m.Hosts = s.hosts.Facts(context.WithoutCancel(ctx))
		}
	})
	return errors.Join(err, dir.Close())
}

// withResumeHint adds to the error of a run how to continue the run.
func withResumeHint(dir *rundir.Dir, err error) error {
	path := clean.Line(dir.Path)
	return fmt.Errorf("%w\nThe finished trials are in %s; continue with: nearfar run --resume %s", err, path, path)
}

func firstFailure(dir *rundir.Dir) string {
	trials, err := dir.Trials()
	if i := slices.IndexFunc(trials, func(t result.Trial) bool { return t.Error != "" }); err == nil && i >= 0 {
		return clean.Line(trials[i].Error)
	}
	return "unknown"
}
