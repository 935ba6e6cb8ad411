package experiment

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// maxRateWord is the value of rate for "as fast as possible".
const maxRateWord = "max"

// Limits and defaults of offered rates.
const (
	maxSteps     = 100
	defaultBatch = 32
)

func arrivalWords() []string { return []string{ConstantArrivals, PoissonArrivals} }

func directionWords() []string { return []string{Upload, Download, Both} }

func stepKeys() []string { return []string{"rate", "for"} }

// offered reads the offered rate, and the steps.
func (r *reader) offered(w *Workload, f fields, can capability) {
	switch {
	case can.Mode == Load:
		r.load(w, f, can)
	case can.Mode == Messages:
		r.messages(w, f, can)
	case can.Rate.Unit == BitRate:
		r.bitRate(w, f, can)
	}
}

// bitRate reads an offered rate in bits per second.
func (r *reader) bitRate(w *Workload, f fields, can capability) {
	w.Rate = defaultDatagrams
	at := f.named["connections"].value // with the default rate, only many connections can be too many
	if v, ok := r.optional(f, "rate"); ok {
		w.Rate, ok = quantity(r, v.value, "rate", "100Mbit/s", ParseRate)
		if at = v.value; !ok {
			return
		}
	}
	if each := w.Rate / float64(max(1, w.Connections)); each < can.Rate.MinEach {
		r.wrong(at, fmt.Sprintf("at least %s for each connection", FormatRate(can.Rate.MinEach)),
			"a rate of %s is too low for %d connections", FormatRate(w.Rate), w.Connections)
	}
}

// load reads the offered rate, or the steps instead of it.
func (r *reader) load(w *Workload, f fields, can capability) {
	steps, stepped := r.optional(f, "steps")
	if stepped {
		w.Steps = r.steps(steps, can)
		if rate, both := f.named["rate"]; both {
			r.wrong(rate.key, "keep one of them", "rate and steps both set the offered load")
		}
		return
	}
	if _, empty := f.named["steps"]; empty {
		return // it is already reported
	}
	if v, ok := r.required(f, "rate", "rate: 10000/s"); ok {
		if w.OfferedRate, ok = quantity(r, v.value, "rate", "10000/s", ParsePerSecond); ok {
			r.eventRate(v.value, w.OfferedRate, can)
		}
	}
}

// eventRate checks a rate of requests or messages against the limits of the tool.
func (r *reader) eventRate(n *yaml.Node, rate float64, can capability) {
	limits := can.Rate
	switch {
	case limits.Unit != EventRate:
	case rate < limits.Min:
		r.wrong(n, "at least "+FormatPerSecond(limits.Min), "rate %s is too low", FormatPerSecond(rate))
	case rate > limits.Max:
		r.wrong(n, "at most "+FormatPerSecond(limits.Max), "rate %s is too high", FormatPerSecond(rate))
	case !limits.steps(rate):
		r.wrong(n, "write, for example, "+FormatPerSecond(math.Ceil(rate/limits.Step)*limits.Step),
			"rate %s: %s counts in steps of %s", FormatPerSecond(rate), can.tool, FormatPerSecond(limits.Step))
	}
}

// messages reads the rate of messages.
func (r *reader) messages(w *Workload, f fields, can capability) {
	v, ok := r.optional(f, "rate")
	if !ok || v.value.Kind == yaml.ScalarNode && v.value.Value == maxRateWord {
		return
	}
	rate, ok := quantity(r, v.value, "rate", "10000/s, or max", ParsePerSecond)
	if ok {
		r.eventRate(v.value, rate, can)
	}
	w.OfferedRate = rate
}

// steps reads the list of rates that follow each other.
func (r *reader) steps(v field, can capability) []Step {
	const example = "steps: [{rate: 1000/s, for: 1s}]"
	if !r.isSequence(v.value, "steps", example) {
		return nil
	}
	switch n := len(v.value.Content); {
	case n == 0:
		r.wrong(v.value, "write, for example, "+example, "there are no steps")
	case n > maxSteps:
		r.wrong(v.key, "at most "+strconv.Itoa(maxSteps), "there are %d steps", n)
		return nil
	}
	var steps []Step
	for _, n := range v.value.Content {
		if f, ok := r.fields(n, n, "the step", stepKeys()); ok {
			steps = append(steps, r.step(f, can))
		}
	}
	return steps
}

func (r *reader) step(f fields, can capability) Step {
	var s Step
	if v, ok := r.required(f, "rate", "rate: 1000/s"); ok {
		s.Rate, _ = quantity(r, v.value, "rate", "1000/s", ParsePerSecond)
	}
	if v, ok := r.required(f, "for", "for: 1s"); ok {
		limits := can.Duration
		limits.Default = time.Second
		s.For = r.period(v.value, "for", can, limits)
	}
	return s
}

// stepsDuration is how long the steps take together.
func (r *reader) stepsDuration(w Workload, f fields, longest time.Duration) time.Duration {
	var sum time.Duration
	for _, s := range w.Steps {
		if s.For == 0 {
			return defaultWindow // the step is already reported
		}
		sum += s.For
	}
	if sum > longest {
		r.wrong(f.named["steps"].key, "at most "+FormatDuration(longest), "the steps take %s together",
			FormatDuration(sum))
	}
	return sum
}

// String writes the step in the form that the engine's flag takes: 1000/s:1s.
func (s Step) String() string {
	return fmt.Sprintf("%s:%s", FormatPerSecond(s.Rate), FormatDuration(s.For))
}
