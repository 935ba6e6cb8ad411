package main

import (
	"fmt"
	"strconv"
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// A check is one line of the second table: a figure that has bounds of its own and is not compared with another tool's.
type check struct {
	// What is checked, and With which measurement. Both are shown in the table.
	What, With string
	// Workload is the name of the workload that the figure comes from.
	Workload string
	// Value reads the figure from a trial of the workload; false if the trial lacks it.
	Value func(result.Trial) (float64, bool)
	// Unit is the figure's unit.
	Unit string
	// Bound is the range in which the figure must lie; nil if the line is only for information.
	Bound *bound
	// Limit is the line of the same group that says what the machine itself allows; nil if there is none. It does not
	// change the verdict.
	Limit *check
}

// needs lists the workloads that have to be measured for the check.
func (c check) needs() []string {
	if c.Limit == nil {
		return []string{c.Workload}
	}
	return append(c.Limit.needs(), c.Workload)
}

// ratioUnit is the unit of ratios near 1, which are written with four digits. result.One is the unit of counts.
const ratioUnit = "ratio"

// figure writes a value of the check.
func (c check) figure(v float64) string {
	if c.Unit == ratioUnit {
		return strconv.FormatFloat(v, 'f', 4, 64)
	}
	return result.Amount(v, c.Unit)
}

// bound writes the range in which the figure must lie.
func (c check) bound() string {
	if c.Bound == nil {
		return "-"
	}
	return c.Bound.text(c.figure)
}

// pacing checks how well the sender keeps to its schedule, sleeping between requests and spinning. Beside it stands how
// well the machine lets any thread keep to that schedule.
func pacing(whole time.Duration) group {
	w := experiment.Workload{Name: "pacing", Tool: "native", Mode: experiment.Load, Protocol: experiment.TCP,
		Request: 64, Response: 64, Connections: 1, OfferedRate: 10_000, Arrivals: experiment.ConstantArrivals,
		Duration: whole, Warmup: sockperfWarmup, Placement: split}
	spin, clock := w, w
	spin.Name, spin.Wait = "pacing-spin", experiment.WaitSpin
	clock.Name, clock.Tool = "pacing-clock", clockName
	lateness := func(t result.Trial) (float64, bool) { return t.Value(result.SendLateness, result.P99) }
	achieved := func(t result.Trial) (float64, bool) {
		rate, ok := t.Value(result.TransactionRate, "")
		offered, known := t.Value(result.OfferedRate, "")
		return rate / offered, ok && known && offered > 0
	}
	alone := check{What: "10,000 due times/s: p99 of how late a thread that only reads the clock sees them",
		With: "the clock alone", Workload: clock.Name, Value: lateness, Unit: result.Seconds}
	g := group{Workloads: []experiment.Workload{w, spin, clock}}
	for _, one := range []struct{ workload, with string }{
		{w.Name, "native load"}, {spin.Name, "native load, spinning"},
	} {
		const what = "10,000 requests/s: "
		g.Checks = append(g.Checks,
			check{What: what + "p99 of actual minus intended send", With: one.with, Workload: one.workload,
				Value: lateness, Unit: result.Seconds, Bound: atMost(20e-6), Limit: &alone},
			check{What: what + "achieved rate over offered rate", With: one.with, Workload: one.workload,
				Value: achieved, Unit: ratioUnit, Bound: near(1, 0.001)})
	}
	g.Checks = append(g.Checks, alone)
	return g
}

// A checked is the result of a check.
type checked struct {
	Check check
	// Values summarizes the figures of the blocks.
	Values stats.Summary
	// Limit is the result of the check's limit, with the bound of the check; nil if it has none.
	Limit *checked
}

// evaluate reads the check's figure from every block that has it.
func evaluate(c check, t trials) checked {
	var values []float64
	for _, trial := range t[c.Workload] {
		if v, ok := c.Value(trial); ok && trial.Error == "" {
			values = append(values, v)
		}
	}
	came := checked{Check: c, Values: stats.Summarize(values)}
	if c.Limit != nil {
		same := *c.Limit
		same.Bound = c.Bound
		limit := evaluate(same, t)
		came.Limit = &limit
	}
	return came
}

// beyond says, at the end of a shortfall, that the limit lies outside the bound too; "" if it does not.
func (c checked) beyond() string {
	if c.verdict() != short || c.Limit == nil || c.Limit.verdict() != short {
		return ""
	}
	return fmt.Sprintf("; %s: %s; this machine does not allow it", c.Limit.Check.With, c.Limit.value())
}

// verdict says whether the median keeps the bound, or that the check was not measured.
func (c checked) verdict() string {
	if c.Values.Count == 0 {
		return "not measured: no block has it"
	}
	return c.Check.Bound.verdict(c.Values)
}

// within says where the interval lies relative to the bound.
func (c checked) within() string { return c.Check.Bound.within(c.Values.Interval) }

// value writes the median and its interval.
func (c checked) value() string {
	if c.Values.Count == 0 {
		return ""
	}
	text := c.Check.figure(c.Values.Median.Value)
	if i := c.Values.Interval; i.Known {
		text += fmt.Sprintf(" [%s, %s]", c.Check.figure(i.Low), c.Check.figure(i.High))
	}
	return text
}
