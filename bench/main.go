// Bench measures the native engine against sockperf, netperf, iperf3 and the shortest C loop, in one run inside a lab,
// and writes the ratios: `go run ./bench`, or `make bench`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/rundir"
	"nearfar/internal/measure/deploy"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/engine/process"
)

// fewestBlocks is how many blocks an interval needs.
func fewestBlocks() int { return stats.MinBlocks(1, stats.Alpha) }

// options are the flags.
type options struct {
	blocks  int
	seconds int
	seed    uint64
	only    string
	out     string
	results string
	// newest is the folder of scripts/newest-tools.sh; empty for none.
	newest string
}

func main() { os.Exit(start(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// start runs the benchmark, or one of the verbs under which the benchmark starts this program on a host of its lab.
func start(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	switch {
	case len(args) > 0 && args[0] == watchVerb:
		return watch(args[1:], stdin, stdout, stderr)
	case len(args) > 0 && args[0] == clockVerb:
		return readClock(args[1:], stdout, stderr)
	}
	o, match, err := readOptions(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := measureAll(ctx, o, match, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

func readOptions(args []string, stderr io.Writer) (options, *regexp.Regexp, error) {
	var o options
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&o.blocks, "blocks", 10,
		fmt.Sprintf("how many times each row is measured; an interval, and the results file, need %d", fewestBlocks()))
	f.IntVar(&o.seconds, "seconds", 1, "length of each trial in whole `seconds`: the tools take no others")
	f.Uint64Var(&o.seed, "seed", 1, "seed of the order")
	f.StringVar(&o.only, "only", "",
		"measure only the rows and checks whose words match this `REGEX`, and leave the results file unchanged")
	f.StringVar(&o.out, "out", "bench/out", "`directory` for the records and the raw output of all trials")
	f.StringVar(&o.results, "results", "bench/RESULTS.md", "`file` to which the results are written")
	f.StringVar(&o.newest, "newest", "",
		"measure also against the iperf3 in this `folder`, which scripts/newest-tools.sh makes")
	if err := f.Parse(args); err != nil {
		return o, nil, err
	}
	match, err := regexp.Compile(o.only)
	switch {
	case err != nil:
		return o, nil, fmt.Errorf("--only: %w", err)
	case f.NArg() > 0:
		return o, nil, fmt.Errorf("%q: bench takes flags only", f.Arg(0))
	case o.blocks < 1 || o.blocks > experiment.MaxBlocks:
		return o, nil, fmt.Errorf("--blocks %d: must be from 1 to %d", o.blocks, experiment.MaxBlocks)
	case o.seconds < 1 || o.seconds > 3600:
		return o, nil, fmt.Errorf("--seconds %d: must be from 1 to 3600", o.seconds)
	}
	return o, match, nil
}

// measureAll measures, prints the tables and writes the results. An error says what could not be measured.
func measureAll(ctx context.Context, o options, match *regexp.Regexp, stdout, stderr io.Writer) (err error) {
	progress := func(format string, args ...any) { fmt.Fprintf(stderr, "bench: "+format+"\n", args...) }
	rows, newest := groups(o.seconds), tool.Tool(nil)
	if o.newest != "" {
		found, err := findNewest(o.newest)
		if err != nil {
			return err
		}
		rows, newest = withNewest(rows, o.seconds), metered{found}
	}
	rows = only(rows, match)
	if len(rows) == 0 {
		return fmt.Errorf("--only %s: matches no row", o.only)
	}
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return err
	}
	nearfar, err := buildNearfar(ctx, o.out)
	if err != nil {
		return err
	}
	helper, err := os.Executable()
	if err != nil {
		return err
	}
	floor, floorErr := buildFloor(ctx, o.out)
	if floorErr != nil {
		progress("the rows against the C loop are left out: %v", floorErr)
		rows = withoutFloor(rows, floorErr)
	}
	programs := map[string]string{nearfarPath: nearfar, helperPath: helper}
	if floor != "" {
		programs[floorPath] = floor
	}
	b := &bench{options: o, groups: rows, progress: progress, newest: newest}
	hosts, err := deploy.Up(ctx, b.all(), deploy.Options{Program: nearfar, Files: programs})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, hosts.Close()) }()
	r := report{Machine: readMachine(hosts.Hosts()[armName].Machines), Options: o, Command: command(o)}
	if err := b.prepare(ctx, hosts.Hosts()); err != nil {
		return err
	}
	b.versions["nearfar"] = process.Version()
	dir, err := rundir.Create(o.out, rundir.Manifest{Nearfar: "v1", Experiment: b.all(), Seed: o.seed,
		Versions: b.versions, State: rundir.Running, Started: time.Now().UTC()})
	if err != nil {
		return fmt.Errorf("the trials cannot be recorded: %w", err)
	}
	b.record = &record{Dir: dir, trials: trials{}}
	runErr := b.run(ctx)
	state := rundir.Complete
	if runErr != nil {
		state = rundir.Interrupted
	}
	err = dir.Update(func(m *rundir.Manifest) { m.State, m.Ended = state, time.Now().UTC() })
	if err = errors.Join(runErr, err, dir.Close()); err != nil {
		return err
	}
	r.Machine.LoadAfter, r.Machine.Versions = loadAverage(readText("/proc/loadavg")), b.versions
	r.Machine.Moves, r.Failed = b.moves, b.record.failed
	for _, g := range rows {
		for _, one := range g.Rows {
			r.Outcomes = append(r.Outcomes, judge(one, b.record.trials))
		}
		for _, one := range g.Checks {
			r.Checks = append(r.Checks, evaluate(one, b.record.trials))
		}
	}
	return present(r, dir.Path, stdout, progress)
}

// present prints the tables and writes the results file.
func present(r report, dir string, stdout io.Writer, progress func(string, ...any)) error {
	fmt.Fprint(stdout, r.tables())
	if list := r.shortfalls(); len(list) > 0 {
		fmt.Fprintf(stdout, "\nWhat falls short:\n- %s\n", strings.Join(list, "\n- "))
	}
	if len(r.Failed) > 0 {
		fmt.Fprintf(stdout, "\nTrials that failed:\n- %s\n", strings.Join(r.Failed, "\n- "))
	}
	if busy := r.Machine.busy(); busy != "" {
		fmt.Fprintf(stdout, "\n%s\n", busy)
	}
	progress("the output of every trial is in %s", dir)
	if list := r.unmeasured(); len(list) > 0 {
		return fmt.Errorf("%s is unchanged, because these were not measured: %s", r.Options.results,
			strings.Join(list, "; "))
	}
	if r.Options.only != "" || r.Options.blocks < fewestBlocks() {
		progress("%s is unchanged: it takes all rows and checks, and at least %d blocks", r.Options.results,
			fewestBlocks())
		return nil
	}
	if err := replaceFile(r.Options.results, r.markdown()); err != nil {
		return fmt.Errorf("%s cannot be written: %w", r.Options.results, err)
	}
	progress("the results are in %s", r.Options.results)
	return nil
}

// withoutFloor marks the rows that need the C program as not measured.
func withoutFloor(all []group, reason error) []group {
	for i, g := range all {
		for j, row := range g.Rows {
			if strings.HasSuffix(row.Theirs, "-"+floorName) {
				all[i].Rows[j].Missing = reason.Error()
			}
		}
		all[i].Workloads = slices.DeleteFunc(g.Workloads, func(w experiment.Workload) bool { return w.Tool == floorName })
	}
	return all
}

// command is the command line that repeats the run.
func command(o options) string {
	words := fmt.Sprintf("go run ./bench --blocks %d --seconds %d --seed %d", o.blocks, o.seconds, o.seed)
	if o.newest != "" {
		words += ` --newest "$(scripts/newest-tools.sh)"`
	}
	return words
}
