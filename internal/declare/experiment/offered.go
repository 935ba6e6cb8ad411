package experiment

import (
	"fmt"
	"time"
)

// MaxRateWord is the value of rate for "as fast as possible".
const MaxRateWord = "max"

// Limits and defaults of offered rates.
const (
	maxSteps     = 100
	defaultBatch = 32
)

func arrivalWords() []string { return []string{ConstantArrivals, PoissonArrivals} }

func directionWords() []string { return []string{Upload, Download, Both} }

// checkRate checks the offered rate.
func checkRate(c *Checker, can ToolCapability, w Workload) {
	rate, limits := w.OfferedRate+w.Rate, can.Rate
	if w.Rate != 0 && limits.Unit != BitRate || w.OfferedRate != 0 && limits.Unit != EventRate {
		c.wrong(AtValue("rate"), "", "%s takes no such rate", can)
		return
	}
	if rate != 0 {
		limits.check(c, AtValue("rate"), rate, can.Tool)
	}
	each := rate / float64(max(1, w.Connections))
	if rate != 0 && each < limits.MinEach && c.sound("rate", "connections") {
		// With the default rate, only many connections can be too many.
		c.wrong(c.firstGiven("rate", "connections"),
			fmt.Sprintf("at least %s for each connection", limits.text(limits.MinEach)),
			"a rate of %s is too low for %d connections", limits.text(rate), w.Connections)
	}
	if can.Mode == Load {
		one, other := rate != 0 || c.given("rate"), len(w.Steps) > 0 || c.given("steps")
		switch {
		case one && other:
			c.wrong(AtKey("rate"), "keep one of them", "rate and steps both set the offered load")
		case !one && !other:
			c.wrong(AtValue("rate"), "write a rate, or steps", "the load has no rate")
		}
	}
}

// StepsDuration adds the times of the steps. If a step has no time, the result is the duration that a workload has by
// default.
func StepsDuration(steps []Step) time.Duration {
	var sum time.Duration
	for _, s := range steps {
		if s.For <= 0 {
			return DefaultWindow
		}
		sum += s.For
	}
	return sum
}

// checkSteps checks each step, and how long they take together.
func checkSteps(c *Checker, can ToolCapability, w Workload) {
	if len(w.Steps) == 0 && c.given("steps") && can.Mode == Load {
		c.wrong(AtValue("steps"), "write, for example, "+StepsExample, "there are no steps")
	}
	if len(w.Steps) > maxSteps {
		return // Workload.bounds reports them
	}
	before := c.count()
	for i, s := range w.Steps {
		step := c.In("steps", Item(i))
		can.Rate.check(step, AtValue("rate"), s.Rate, can.Tool)
		can.Duration.check(step, AtValue("for"), "for", s.For, time.Second, can.Tool)
	}
	if len(w.Steps) == 0 || c.count() > before {
		return
	}
	switch sum := StepsDuration(w.Steps); {
	case sum > can.Duration.Max:
		c.wrong(AtKey("steps"), "at most "+FormatDuration(can.Duration.Max), "the steps take %s together",
			FormatDuration(sum))
	case sum != w.Duration:
		c.wrong(AtValue("duration"), "leave it out", "the steps say how long the workload takes")
	}
}

// String writes the step in the form that the engine's flag takes: 1000/s:1s.
func (s Step) String() string {
	return fmt.Sprintf("%s:%s", FormatPerSecond(s.Rate), FormatDuration(s.For))
}
