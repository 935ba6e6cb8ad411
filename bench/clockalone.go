package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"
	_ "unsafe" // for go:linkname

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/engine/observe"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/host"
)

const clockName = "clock-alone"

// clockAlone is a thread that only reads the clock. How late it sees the due times of a schedule is a bound on what any
// sender can do on this machine. It uses the engine's code, so the engine's probe gives its version.
type clockAlone struct{ tool.Tool }

// Name is what the workloads call it.
func (clockAlone) Name() string { return clockName }

// Plan gives the command line. There is no server.
func (clockAlone) Plan(w experiment.Workload, _ host.Pair) (tool.Plan, error) {
	if w.Mode != experiment.Load || w.Arrivals != experiment.ConstantArrivals || len(w.Steps) > 0 {
		return tool.Plan{}, fmt.Errorf("workload %s: the clock alone takes load at one rate with constant arrivals",
			w.Name)
	}
	rate := strconv.FormatFloat(w.OfferedRate, 'f', -1, 64)
	return tool.Plan{
		Client: tool.Command{
			Argv: []string{helperPath, clockVerb, rate, w.Warmup.String(), w.Duration.String()},
			Env:  []string{process.Environment()},
		},
		Expected: w.Warmup + w.Duration + 100*time.Millisecond,
	}, nil
}

var clockLine = regexp.MustCompile(`(?m)^` + clockName + `: due=(\d{1,12}) window_ns=(\d{1,15}) ` +
	`p50_ns=(\d{1,12}) p99_ns=(\d{1,12}) p99\.9_ns=(\d{1,12})$`)

// clockPercentiles are the percentiles of the line, in its order.
func clockPercentiles() []float64 { return []float64{50, 99, 99.9} }

// Parse reads the line that the verb printed. It leaves out percentiles for which there are too few due times.
func (clockAlone) Parse(out tool.Output) (result.Measurement, error) {
	m := result.Measurement{Tool: result.ToolVersion{Name: clockName, Version: process.Version()}}
	found := clockLine.FindSubmatch(out.Stdout)
	if out.ExitCode != 0 || found == nil {
		return m, fmt.Errorf("the clock alone printed no result and ended with exit status %d: %s", out.ExitCode,
			end(out.Stderr))
	}
	var v [5]int64
	for i := range v {
		n, err := strconv.ParseInt(string(found[i+1]), 10, 64)
		if err != nil {
			return m, err
		}
		v[i] = n
	}
	due, window, late := v[0], v[1], v[2:]
	if due == 0 || window == 0 || late[0] > late[1] || late[1] > late[2] {
		return m, fmt.Errorf("the clock alone printed an impossible figure: %s", found[0])
	}
	m.Mode, m.Duration = experiment.Load, time.Duration(window)
	m.ReportedAs, m.Definition = result.DefinitionNone, result.DefinitionNone // nothing is sent
	m.Metrics = []result.Metric{
		{Name: result.OfferedRate, Unit: result.PerSecond, Value: float64(due) / float64(window) * 1e9},
	}
	for i, p := range clockPercentiles() {
		if result.SupportsPercentile(due, p) {
			m.Metrics = append(m.Metrics, result.Metric{Name: result.SendLateness, Stat: result.PercentileStat(p),
				Unit: result.Seconds, Value: float64(late[i]) / 1e9})
		}
	}
	return m, nil
}

// clockVerb is the verb under which this program is the clock alone.
const clockVerb = "bench-clock"

// readClock waits for the due times of a schedule and prints how late it saw them. The arguments are RATE, in 1/s,
// WARMUP and DURATION.
func readClock(args []string, stdout, stderr io.Writer) int {
	schedule, warmup, err := readSchedule(args)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", clockVerb, err)
		return 2
	}
	late, pacer := observe.NewHistogram(), schedule.Pacer()
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	recordLateness(nanotime, &pacer, int64(warmup), late)
	fmt.Fprintf(stdout, "%s: due=%d window_ns=%d", clockName, late.Count(), int64(schedule.Length()-warmup))
	for _, p := range clockPercentiles() {
		fmt.Fprintf(stdout, " %s_ns=%d", result.PercentileStat(p), late.Percentile(p))
	}
	fmt.Fprintln(stdout)
	return 0
}

// readSchedule parses the arguments. The schedule includes the warm-up.
func readSchedule(args []string) (s timing.Schedule, warmup time.Duration, err error) {
	if len(args) != 3 {
		return s, 0, errors.New("want RATE WARMUP DURATION")
	}
	rate, err1 := strconv.ParseFloat(args[0], 64)
	warmup, err2 := time.ParseDuration(args[1])
	window, err3 := time.ParseDuration(args[2])
	if err := errors.Join(err1, err2, err3); err != nil {
		return s, 0, err
	}
	s = timing.Schedule{Arrivals: timing.ConstantArrivals, Steps: []timing.Step{{Rate: rate, Length: window}}}
	if warmup != 0 {
		s.Steps = slices.Insert(s.Steps, 0, timing.Step{Rate: rate, Length: warmup})
	}
	return s, warmup, s.Validate()
}

// recordLateness reads the clock until the last due time has passed. For each due time at or after from, in nanoseconds
// since the start of the schedule, it records by how much the next reading is later. If the thread is held up, every
// due time that passed meanwhile counts with its own lateness.
//
// Nothing that it calls checks the stack, because Go's scheduler may interrupt at such a check.
//
//go:nosplit
func recordLateness(clock func() int64, p *timing.Pacer, from int64, late *observe.Histogram) {
	zero := clock()
	due, more := p.Next()
	for more {
		for now := clock() - zero; more && due <= now; due, more = p.Next() {
			if due >= from {
				late.Record(now - due)
			}
		}
	}
}

// nanotime is the runtime's monotonic clock in nanoseconds. time.Since reads the same one, but checks the stack.
//
//go:linkname nanotime runtime.nanotime
func nanotime() int64
