package cli

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/answer"
	"nearfar/internal/clean"
	"nearfar/internal/contrast"
	"nearfar/internal/engine"
	"nearfar/internal/experiment"
	"nearfar/internal/gate"
	"nearfar/internal/hdr"
	"nearfar/internal/host"
	"nearfar/internal/host/lab"
	"nearfar/internal/report"
	"nearfar/internal/result"
	"nearfar/internal/rundir"
	"nearfar/internal/runner"
)

// runOptions are the flags of run.
type runOptions struct {
	blocks int
	seed   uint64
	out    string
	resume string
	dryRun bool
	// retryFailed repeats the failed trials of a run that is resumed.
	retryFailed bool
	// force measures also where no difference could be shown; from is the run by whose scatter it is said what can be
	// found.
	force  bool
	from   string
	report reportOptions
	watch  *watcher
	// progress is one of progressModes.
	progress string
}

func (a *app) runCommand() *cobra.Command {
	o := runOptions{watch: &watcher{}}
	cmd := &cobra.Command{
		Use:   "run [FILE]",
		Short: "Measure what an experiment file declares, and print the answer",
		Long: `Run stands the arms of the experiment up side by side, measures every workload in every arm once a block in a random
order, prints the answer and leaves a run directory.

Without FILE it takes experiment.yaml in the current directory.`,
		Example: `  nearfar run labs/overlay/experiment.yaml
  nearfar run --dry-run experiment.yaml
  nearfar run --blocks 20 --seed 7 --out /tmp/runs experiment.yaml
  nearfar run --resume runs/20261121T192200Z-overlay
  nearfar run --resume runs/20261121T192200Z-overlay --retry-failed
  nearfar run --dry-run --resolve 5% --from runs/20261121T192200Z-overlay experiment.yaml
  nearfar run --progress plain experiment.yaml
  nearfar run --watch experiment.yaml
  nearfar run -f json experiment.yaml | jq .comparisons`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if err := errors.Join(o.report.check(), o.report.readAim()); err != nil {
				return err
			}
			if o.progress, err = progressMode(a.stderr, o.progress); err != nil {
				return err
			}
			if err := o.watch.open(cmd.Context(), cmd.Flags(), o.dryRun); err != nil {
				return err
			}
			defer func() { err = errors.Join(err, o.watch.close()) }()
			if o.resume != "" {
				if len(args) > 0 || cmd.Flags().Changed("blocks") || cmd.Flags().Changed("seed") || cmd.Flags().Changed("out") {
					return &usageError{errors.New("--resume goes on with the run as it was declared: give it no FILE, --blocks, --seed or --out")}
				}
				return a.resume(cmd.Context(), o)
			}
			if o.retryFailed {
				return &usageError{errors.New("--retry-failed goes with --resume: it repeats trials of a run that there is")}
			}
			file := "experiment.yaml"
			if len(args) > 0 {
				file = args[0]
			}
			var e *experiment.Experiment
			// To open a pipe waits for its other end.
			if err := abandon(cmd.Context(), 0, func() (err error) {
				e, err = a.readExperiment(file)
				return err
			}); err != nil {
				return err
			}
			if cmd.Flags().Changed("blocks") {
				if o.blocks < 1 || o.blocks > experiment.MaxBlocks {
					return &usageError{fmt.Errorf("--blocks %d: must be from 1 to %d", o.blocks, experiment.MaxBlocks)}
				}
				e.Schedule.Blocks = o.blocks
			}
			if cmd.Flags().Changed("seed") {
				e.Schedule.Seed = o.seed
			}
			if e.Schedule.Seed == 0 {
				e.Schedule.Seed = drawSeed()
			}
			if err := refuseDoomed(e, o); err != nil {
				return err
			}
			return a.start(cmd.Context(), e, o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.blocks, "blocks", 0, "how many times each workload is run in each arm (default: as the file says)")
	f.Uint64Var(&o.seed, "seed", 0, "seed of the order; 0 draws one (default: as the file says)")
	f.StringVar(&o.out, "out", "runs", "directory in which the run directory is made")
	f.StringVar(&o.resume, "resume", "", "go on with the run in this `DIRECTORY`")
	f.BoolVar(&o.retryFailed, "retry-failed", false, "with --resume: repeat the trials that failed, once each, after all others")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the schedule, each command line and how long it will take; measure nothing")
	f.BoolVar(&o.force, "force", false, "measure also where the blocks are too few to show any difference")
	f.StringVar(&o.from, "from", "", "the earlier `RUN` by whose scatter to say what can be found (default: the newest of this experiment in --out)")
	f.StringVar(&o.progress, "progress", progressAuto, "how to tell how far the run is: "+strings.Join(progressModes(), ", "))
	o.report.flags(f)
	o.report.resolveFlag(f)
	o.report.pages(f)
	o.watch.flags(f)
	return cmd
}

// readExperiment reads and checks an experiment file; "-" is standard input.
func (a *app) readExperiment(file string) (*experiment.Experiment, error) {
	data, err := a.readFile(file)
	if err != nil {
		return nil, &usageError{err}
	}
	e, err := experiment.Parse(file, data)
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
	expected, err := foresee(e, o)
	if err != nil {
		return err
	}
	s, err := a.setUp(ctx, e, o.progress)
	if err != nil {
		return err
	}
	defer s.close(a.stderr)
	if o.dryRun {
		return a.printPlan(s, o.report.aim, expected)
	}
	s.progress.expect(e, expected)
	dir, err := rundir.Create(o.out, rundir.Manifest{
		Nearfar: "v1", Experiment: e, Seed: e.Schedule.Seed, Versions: s.versions(), Skipped: s.runner.Skipped(),
		Hosts: labFacts(ctx, e, s.lab, s.load), Machine: machineName(), State: rundir.Running, Started: time.Now().UTC(),
	})
	if err != nil {
		return fmt.Errorf("the run directory cannot be made: %w", err)
	}
	return a.measure(ctx, s, dir, nil, o)
}

// machineName is what the machine calls itself, "" where it has no name.
func machineName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// resume goes on with a run that was interrupted.
func (a *app) resume(ctx context.Context, o runOptions) error {
	if err := refuseImported(o.resume); err != nil {
		return &usageError{err}
	}
	dir, err := rundir.Resume(o.resume)
	if err != nil {
		return &usageError{err}
	}
	m := dir.Manifest()
	e := m.Experiment
	e.Schedule.Seed = m.Seed
	trials, err := dir.Trials()
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	s, err := a.setUp(ctx, e, o.progress)
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	defer s.close(a.stderr)
	if o.dryRun {
		return errors.Join(a.printPlan(s, nil, foresight{}), dir.Close())
	}
	s.load = loadBefore(m.Hosts, s.load, max(len(e.Slots())-len(trials), 0))
	s.progress.before(trials)
	if o.retryFailed {
		s.runner.RetryFailed()
	}
	if err := dir.Update(func(m *rundir.Manifest) { m.State = rundir.Running }); err != nil {
		return goOn(dir, errors.Join(err, dir.Close()))
	}
	return a.measure(ctx, s, dir, trials, o)
}

// setup is what a run needs: the lab and the runner, with the hosts made and the tools found.
type setup struct {
	experiment *experiment.Experiment
	lab        *lab.Lab
	runner     *runner.Runner
	progress   *progress
	watch      *watcher // nil where nobody watches
	// load is how busy the machine was before the lab was made; nil where that is not known.
	load *lab.Load
}

func (a *app) setUp(ctx context.Context, e *experiment.Experiment, progress string) (*setup, error) {
	tools := newTools(newSecret())
	p := newProgress(a.stderr, e, progress)
	load := machineLoad(ctx, p)
	p.step("making the hosts of %d arms", len(e.Arms))
	l, err := lab.Open(ctx, lab.Options{RateOnly: wiresOnlyShape(e)})
	if err != nil {
		return nil, err
	}
	s := &setup{experiment: e, lab: l, progress: p, load: load}
	s.runner = runner.New(e, tools, labStage{l}, runner.DefaultLimits(), s.event)
	if err := s.runner.Prepare(ctx); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	for workload, reason := range s.runner.Skipped() {
		p.note("workload %s is left out: %s", workload, reason)
	}
	return s, nil
}

// event follows the runner.
func (s *setup) event(e runner.Event) {
	s.watch.event(e) // first: it only wakes the pages, whose work then falls into the pause as well
	s.progress.event(e)
}

func (s *setup) close(stderr interface{ Write([]byte) (int, error) }) {
	if err := s.lab.Close(); err != nil {
		fmt.Fprintln(stderr, "nearfar: the lab did not end cleanly:", err)
	}
}

func (s *setup) versions() map[string]string {
	versions := map[string]string{"nearfar": engine.Version()}
	maps.Copy(versions, s.runner.Versions())
	return versions
}

// measure runs what is left of the schedule, closes the run and prints the answer, also after an interrupt.
func (a *app) measure(ctx context.Context, s *setup, dir *rundir.Dir, before []result.Trial, o runOptions) error {
	o.watch.begin(s, dir, len(before))
	defer o.watch.end(ctx, a.stderr, dir)
	defer s.progress.end() // after a panic too
	runErr := s.runner.Run(ctx, dir, before)
	s.progress.end()
	state := rundir.Complete
	if runErr != nil {
		state = rundir.Interrupted
	}
	err := dir.Update(func(m *rundir.Manifest) {
		m.State, m.Ended = state, time.Now().UTC()
		if !errors.Is(runErr, host.ErrLost) { // of a lab that is gone only what it said before is known
			m.Hosts = labFacts(context.WithoutCancel(ctx), s.experiment, s.lab, s.load)
		}
	})
	err = errors.Join(err, dir.Close())
	if err != nil {
		return goOn(dir, errors.Join(runErr, err))
	}
	if runErr != nil && !errors.Is(runErr, context.Canceled) {
		return goOn(dir, runErr)
	}
	ans, err := readReport(dir.Path, o.report.aim)
	if err != nil {
		return err
	}
	if err := a.writeReport(ans, o.report); err != nil {
		return err
	}
	if runErr != nil {
		fmt.Fprintf(a.stderr, "nearfar: go on with: nearfar run --resume %s\n", dir.Path)
		return errInterrupted
	}
	if ans.Trials > 0 && ans.Failed == ans.Trials {
		return fmt.Errorf("every trial failed; the first: %s", firstFailure(dir))
	}
	if ans.Failing != "" {
		return fmt.Errorf("%s The first: %s\nRepeat those that failed with: nearfar run --resume %s --retry-failed",
			ans.Failing, firstFailure(dir), dir.Path)
	}
	return nil
}

// goOn adds to why a run ended how to go on with it.
func goOn(dir *rundir.Dir, err error) error {
	return fmt.Errorf("%w\nWhat was measured is in %s; go on with: nearfar run --resume %s", err, cell(dir.Path), cell(dir.Path))
}

func firstFailure(dir *rundir.Dir) string {
	trials, err := dir.Trials()
	if i := slices.IndexFunc(trials, func(t result.Trial) bool { return t.Error != "" }); err == nil && i >= 0 {
		return clean.Line(trials[i].Error)
	}
	return "unknown"
}

// readAnswer makes the answer of a run directory.
func readAnswer(path string) (answer.Answer, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return answer.Answer{}, err
	}
	trials, err := dir.Trials()
	if err != nil {
		return answer.Answer{}, err
	}
	return answerOf(dir, path, trials, nil)
}

// readReport makes the answer of a run directory with the pooled quantiles, for which all histograms are read. It says also how
// many blocks find the difference that aim names; nil for none.
func readReport(path string, aim *answer.Aim) (answer.Answer, error) {
	dir, err := rundir.Open(path)
	if err != nil {
		return answer.Answer{}, err
	}
	trials, err := dir.Trials()
	if err != nil {
		return answer.Answer{}, err
	}
	ans, err := answerOf(dir, path, trials, aim)
	if err != nil {
		return answer.Answer{}, err
	}
	contrast.Pool(&ans, trials, func(name string) (io.ReadCloser, error) { return dir.OpenFile(name, hdr.MaxFile) })
	return ans, nil
}

func answerOf(dir *rundir.Dir, path string, trials []result.Trial, aim *answer.Aim) (answer.Answer, error) {
	m := dir.Manifest()
	ans := answer.Make(answer.Input{
		Experiment: m.Experiment, Trials: trials, Run: path, State: m.State, Seed: m.Seed, Skipped: m.Skipped,
		Hosts: m.Hosts, Warnings: labWarnings(m.Hosts, trials), Resolve: aim,
	})
	// Judged from what the run holds, so that a report says it again.
	var err error
	ans.Objectives, err = gate.Judge(&contrast.Side{Source: path, Kind: contrast.Run, ID: path, Experiment: m.Experiment, State: m.State, Trials: trials})
	return ans, err
}

// writeReport prints the answer to where the options say.
func (a *app) writeReport(ans answer.Answer, o reportOptions) (err error) {
	if o.format == formatHTML {
		return a.writePage(ans, o)
	}
	w := a.data()
	if o.file != "" {
		f, createErr := os.Create(o.file)
		if createErr != nil {
			return createErr
		}
		defer func() { err = errors.Join(err, f.Close()) }()
		w = f
	}
	return report.Write(w, ans, reportScreen(o.format, w))
}

// drawSeed draws a seed that is never 0.
func drawSeed() uint64 {
	var b [8]byte
	rand.Read(b[:]) // never fails
	// 53 bits survive every JSON reader.
	return binary.LittleEndian.Uint64(b[:])>>11 | 1
}
