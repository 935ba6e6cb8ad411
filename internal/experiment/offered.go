package experiment

import (
	"fmt"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// maxRateWord is what stands in the place of a rate for "as fast as it goes".
const maxRateWord = "max"

// The bounds and defaults of what is offered.
const (
	maxSteps     = 100
	maxBatch     = 1024
	defaultBatch = 32
	// minMessageRate is the lowest rate of messages, in 1/s.
	minMessageRate = 1
)

func arrivalWords() []string { return []string{ConstantArrivals, PoissonArrivals} }

func directionWords() []string { return []string{Upload, Download, Both} }

func stepKeys() []string { return []string{"rate", "for"} }

// offered reads at which rate things are sent, and how they are spread in time.
func (r *reader) offered(w *Workload, f fields, can capability) {
	switch {
	case can.mode == Load:
		r.load(w, f)
	case can.mode == Messages:
		r.messages(w, f)
	case can.rate:
		w.Rate = defaultDatagrams
		if v, ok := r.optional(f, "rate"); ok {
			w.Rate, _ = quantity(r, v.value, "rate", "100Mbit/s", ParseRate)
		}
	}
}

// load reads the offered rate, or the steps in its place.
func (r *reader) load(w *Workload, f fields) {
	w.Arrivals = ConstantArrivals
	if v, ok := r.optional(f, "arrivals"); ok {
		w.Arrivals, _ = r.word(v.value, "arrivals", arrivalWords())
	}
	steps, stepped := r.optional(f, "steps")
	if stepped {
		w.Steps = r.steps(steps)
		if rate, both := f.named["rate"]; both {
			r.wrong(rate.key, "keep one of them", "rate and steps both say what is offered")
		}
		return
	}
	if _, empty := f.named["steps"]; empty {
		return // which has been noted
	}
	if v, ok := r.required(f, "rate", "rate: 10000/s"); ok {
		w.OfferedRate, _ = quantity(r, v.value, "rate", "10000/s", ParsePerSecond)
	}
}

// messages reads how many messages are handed over at once, and how often.
func (r *reader) messages(w *Workload, f fields) {
	w.Batch = defaultBatch
	if v, ok := r.optional(f, "batch"); ok {
		if n, ok := r.integer(v.value, "batch", 1, maxBatch); ok {
			w.Batch = int(n)
		}
	}
	if together := w.Message * w.Batch; together > maxMessage {
		at := f.at
		for _, key := range []string{"message", "batch"} {
			if v, given := f.named[key]; given {
				at = v.value
			}
		}
		r.wrong(at, "at most "+FormatSize(maxMessage), "a batch of %d messages of %s has %s", w.Batch, FormatSize(w.Message), FormatSize(together))
	}
	v, ok := r.optional(f, "rate")
	if !ok || v.value.Kind == yaml.ScalarNode && v.value.Value == maxRateWord {
		return
	}
	rate, ok := quantity(r, v.value, "rate", "10000/s, or max", ParsePerSecond)
	if ok && rate < minMessageRate {
		r.wrong(v.value, "at least "+FormatPerSecond(minMessageRate), "rate %s is too low", FormatPerSecond(rate))
	}
	w.OfferedRate = rate
}

// steps reads the list of rates that follow each other.
func (r *reader) steps(v field) []Step {
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
			steps = append(steps, r.step(f))
		}
	}
	return steps
}

func (r *reader) step(f fields) Step {
	var s Step
	if v, ok := r.required(f, "rate", "rate: 1000/s"); ok {
		s.Rate, _ = quantity(r, v.value, "rate", "1000/s", ParsePerSecond)
	}
	if v, ok := r.required(f, "for", "for: 1s"); ok {
		engine := capability{tool: "native", step: time.Millisecond}
		s.For = r.period(v.value, "for", engine, time.Second, minNativeWindow, maxWindow)
	}
	return s
}

// stepsDuration is how long the steps take together.
func (r *reader) stepsDuration(w Workload, f fields) time.Duration {
	var sum time.Duration
	for _, s := range w.Steps {
		if s.For == 0 {
			return defaultWindow // wrong itself
		}
		sum += s.For
	}
	if sum > maxWindow {
		r.wrong(f.named["steps"].key, "at most "+FormatDuration(maxWindow), "the steps take %s together", FormatDuration(sum))
	}
	return sum
}

// flow reads which way a stream goes, and how it is sent.
func (r *reader) flow(w *Workload, f fields, can capability) {
	if can.takes("direction") {
		w.Direction = Upload
	}
	if v, ok := r.optional(f, "direction"); ok {
		if word, ok := r.word(v.value, "direction", directionWords()); ok {
			w.Direction = word
		}
	}
	if v, ok := r.optional(f, "zerocopy"); ok {
		w.ZeroCopy = r.truth(v.value, "zerocopy")
	}
}

// String writes the step as the engine reads it: 1000/s:1s.
func (s Step) String() string {
	return fmt.Sprintf("%s:%s", FormatPerSecond(s.Rate), FormatDuration(s.For))
}
