package hostverbs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/engine"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/samples"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

func (v *Verbs) engineLoad() *cobra.Command {
	c := v.newEngineRun(wire.ModeLoad)
	cmd := c.command("load HOST:PORT", "Open-loop load: requests at an offered rate, whatever the replies do",
		`Sends requests at their intended times, over one connection or many, and never waits for a reply before it
sends the next. Response time is reply minus intended send, service time reply minus actual send.

With --sweep it measures at one rate after the other, and prints the curve of latency against load; with --objective it
then finds the highest rate that keeps the objective.`)
	c.protocolFlag(cmd)
	c.messageFlags(cmd)
	cmd.Flags().IntVar(&c.params.Connections, "connections", 1, "connections (over UDP: sockets) that take turns")
	c.load.flags(cmd)
	c.load.fileFlags(cmd)
	c.waitFlag(cmd)
	return cmd
}

// loadFlags are the flags that only load has, and the files that rr and crr write too.
type loadFlags struct {
	rate, arrivals, steps string
	sweep, objective      string
	trials                int
	seed                  uint64
	spin                  time.Duration
	samples, histogram    string
	duration              *cobra.Command
	// offered, rates and wanted are the parsed values of the flags.
	offered session.Load
	rates   []float64
	wanted  *engine.Objective
}

func (l *loadFlags) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.rate, "rate", "", "requests per second over all connections, such as 10000/s")
	f.StringVar(&l.arrivals, "arrivals", timing.ConstantArrivals, "constant, or poisson")
	f.StringVar(&l.steps, "steps", "", "successive rates, in place of --rate and --duration: "+
		"1000/s:1s,5000/s:2s")
	f.Uint64Var(&l.seed, "seed", 1, "seed of the random times of --arrivals poisson")
	f.DurationVar(&l.spin, "spin", timing.DefaultSpin, "how long before a request is due the sender stops sleeping "+
		"and spins; 0 to never spin")
	l.sweepFlags(cmd)
	l.duration = cmd
}

// sweepFlags are the flags of a sweep, which http has too.
func (l *loadFlags) sweepFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.sweep, "sweep", "", "rates to measure one after the other: 1000/s..64000/s (doubling), or "+
		"1000/s,2000/s,3000/s")
	f.StringVar(&l.objective, "objective", "", "with --sweep: find the highest rate that keeps this `OBJECTIVE`, "+
		"such as 'response_time.p99 < 500us' or 'loss < 0.1%'")
	f.IntVar(&l.trials, "trials", 1, "with --objective: how many measurements decide a rate, by their majority")
}

func (l *loadFlags) fileFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&l.samples, "samples", "", "write every observation to this `FILE` (see nearfar engine samples)")
	f.StringVar(&l.histogram, "histogram", "",
		"write the histograms of the intervals to this `FILE`, in HdrHistogram's log format")
}

// read reads the flags of a load into its schedule; of other modes there are none.
func (l *loadFlags) read(p *wire.Params) error {
	if p.Mode != wire.ModeLoad {
		return nil
	}
	l.offered = session.Load{Schedule: timing.Schedule{Arrivals: l.arrivals, Seed: l.seed}, Spin: l.spin}
	given := 0
	for _, text := range []string{l.rate, l.steps, l.sweep} {
		if text != "" {
			given++
		}
	}
	switch {
	case given != 1:
		return errors.New("give one of --rate, --steps and --sweep: what is to be offered")
	case l.objective != "" && l.sweep == "":
		return errors.New("--objective needs --sweep, which measures at several rates")
	case l.trials != 1 && l.objective == "":
		return errors.New("--trials needs --objective: they decide whether a rate keeps it")
	case l.sweep != "" && (l.samples != "" || l.histogram != ""):
		return errors.New("--samples and --histogram record one load: leave them out, or give --rate in place of " +
			"--sweep")
	case l.steps != "" && l.duration.Flags().Changed("duration"):
		return errors.New("--steps say how long each rate is offered: leave --duration out")
	}
	var err error
	switch {
	case l.sweep != "":
		return l.readSweep(*p)
	case l.steps != "":
		if l.offered.Schedule.Steps, err = parseSteps(l.steps); err != nil {
			return fmt.Errorf("--steps: %w", err)
		}
		p.Duration = l.offered.Schedule.Length()
	default:
		rate, err := experiment.ParsePerSecond(l.rate)
		if err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
		l.offered.Schedule.Steps = []timing.Step{{Rate: rate, Length: p.Duration}}
	}
	return l.offered.Validate(*p)
}

func (l *loadFlags) readSweep(p wire.Params) error {
	var err error
	if l.rates, err = parseRates(l.sweep); err != nil {
		return fmt.Errorf("--sweep: %w", err)
	}
	if l.objective != "" {
		o, err := engine.ParseObjective(l.objective)
		if err != nil {
			return fmt.Errorf("--objective: %w", err)
		}
		l.wanted = &o
	}
	return l.options(session.RunOptions{Params: p, Load: l.offered}).Validate()
}

func (l *loadFlags) sweeps() bool { return len(l.rates) > 0 }

func (l *loadFlags) options(o session.RunOptions) engine.SweepOptions {
	return engine.SweepOptions{Run: o, Rates: l.rates, Objective: l.wanted, Trials: l.trials}
}

// parseRates reads a range of rates, or a list.
func parseRates(text string) ([]float64, error) {
	low, high, isRange := strings.Cut(text, "..")
	if isRange {
		from, err := experiment.ParsePerSecond(low)
		if err != nil {
			return nil, err
		}
		to, err := experiment.ParsePerSecond(high)
		if err != nil {
			return nil, err
		}
		if to < from {
			return nil, fmt.Errorf("%q: the lower rate comes first", text)
		}
		return engine.GeometricRates(from, to), nil
	}
	var rates []float64
	for part := range strings.SplitSeq(text, ",") {
		rate, err := experiment.ParsePerSecond(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		rates = append(rates, rate)
	}
	return rates, nil
}

// parseSteps reads a list of rates with how long each is offered.
func parseSteps(text string) ([]timing.Step, error) {
	var steps []timing.Step
	for part := range strings.SplitSeq(text, ",") {
		rateText, length, found := strings.Cut(strings.TrimSpace(part), ":")
		if !found {
			return nil, fmt.Errorf("%q: want RATE:DURATION, such as 1000/s:1s", part)
		}
		rate, err := experiment.ParsePerSecond(rateText)
		if err != nil {
			return nil, err
		}
		d, err := experiment.ParseDuration(length)
		if err != nil {
			return nil, err
		}
		steps = append(steps, timing.Step{Rate: rate, Length: d})
	}
	return steps, nil
}

// parseStall reads how long a server stalls in each period.
func parseStall(text string) (timing.Stall, error) {
	if text == "" {
		return timing.Stall{}, nil
	}
	length, period, found := strings.Cut(text, "/")
	if !found {
		return timing.Stall{}, fmt.Errorf("--stall %q: want LENGTH/PERIOD, such as 200ms/1s", text)
	}
	var s timing.Stall
	var err error
	if s.Length, err = experiment.ParseDuration(length); err == nil {
		s.Period, err = experiment.ParseDuration(period)
	}
	if err == nil {
		err = s.Validate()
	}
	if err == nil && s == (timing.Stall{}) {
		err = errors.New("leave it out for none")
	}
	if err != nil {
		return timing.Stall{}, fmt.Errorf("--stall: %w", err)
	}
	return s, nil
}

// open creates the files that were asked for. The function that it returns closes them.
func (l *loadFlags) open(o *session.RunOptions) (func() error, error) {
	var files []*os.File
	done := func() error {
		var errs []error
		for _, f := range files {
			errs = append(errs, f.Close())
		}
		return errors.Join(errs...)
	}
	for _, file := range []struct {
		name string
		into *io.Writer
	}{{l.samples, &o.Samples}, {l.histogram, &o.Histograms}} {
		if file.name == "" {
			continue
		}
		f, err := os.Create(file.name)
		if err != nil {
			return nil, errors.Join(err, done())
		}
		files = append(files, f)
		*file.into = f
	}
	return done, nil
}

// afterEach frees a load's memory before its point is printed: a sweep has many loads.
func afterEach(point func(record.Point) error) func(record.Point) error {
	return func(p record.Point) error {
		process.FreeMemory()
		return point(p)
	}
}

// sweep sweeps a load.
func (c *engineRun) sweep(ctx context.Context, o session.RunOptions) error {
	return c.verbs.printSweep(ctx, c.format, c.load.options(o))
}

// printSweep measures the curve and prints each point as soon as it is there.
func (v *Verbs) printSweep(ctx context.Context, format string, options engine.SweepOptions) error {
	if format == "json" {
		w := record.NewWriter(v.Data)
		s, err := engine.Sweep(ctx, options, afterEach(w.Point))
		if err != nil {
			return errors.Join(err, w.Failure(err.Error()))
		}
		return w.Sweep(s)
	}
	p := sweepPrinter{out: v.Stdout}
	if err := p.head(); err != nil {
		return err
	}
	s, err := engine.Sweep(ctx, options, afterEach(p.point))
	if err != nil {
		return err
	}
	return p.end(s)
}

// sweepPrinter shows a sweep to a reader: a line for each rate.
type sweepPrinter struct{ out io.Writer }

func (p sweepPrinter) head() error {
	_, err := fmt.Fprintf(p.out, "%12s %12s | %-38s | %-38s | %10s\n"+
		"%12s %12s | %12s %12s %12s | %12s %12s %12s | %10s\n",
		"offered", "achieved", "response time", "service time", "unanswered",
		"1/s", "1/s", "p50", "p99", "p99.9", "p50", "p99", "p99.9", "")
	return err
}

func (p sweepPrinter) point(at record.Point) error {
	end := ""
	if at.Loss != nil {
		end += fmt.Sprintf("  loss %.3g%%", *at.Loss*100)
	}
	if at.Kept != nil {
		end += map[bool]string{true: "  kept", false: "  not kept"}[*at.Kept]
	}
	r, s := at.Response, at.Service
	_, err := fmt.Fprintf(p.out, "%12.0f %12.0f | %12s %12s %12s | %12s %12s %12s | %10.0f%s\n",
		at.Offered, at.Achieved,
		maybe(r.P50), maybe(r.P99), maybe(r.P999), maybe(s.P50), maybe(s.P99), maybe(s.P999), at.Unanswered, end)
	return err
}

func maybe(seconds *float64) string {
	if seconds == nil {
		return "-"
	}
	return micros(*seconds)
}

func (p sweepPrinter) end(s record.Sweep) error {
	lines := s.Notes
	if s.Verdict != "" {
		lines = append(lines, s.Verdict)
	}
	for _, line := range lines {
		if _, err := fmt.Fprintln(p.out, line); err != nil {
			return err
		}
	}
	return nil
}

func (v *Verbs) engineSamples() *cobra.Command {
	var csv bool
	cmd := &cobra.Command{
		Use:   "samples FILE --csv",
		Short: "Convert a file of observations that --samples wrote",
		Long: `Writes the observations as CSV to standard output: intended and actual time of sending and time of the
reply, in nanoseconds since the start of the window.`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &UsageError{errors.New("name the file that --samples wrote")}
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if !csv {
				return &UsageError{errors.New("say what to convert to: --csv")}
			}
			f, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer func() { _ = f.Close() }()
			dropped, err := samples.WriteCSV(v.Data, bufio.NewReader(f))
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			if dropped > 0 {
				fmt.Fprintf(v.Stderr, "%d observations are missing: their writing did not keep up with the "+
					"measurement\n", dropped)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&csv, "csv", false, "comma-separated values")
	return cmd
}
