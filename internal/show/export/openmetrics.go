package export

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// Answered is a run with its answer.
type Answered struct {
	// Run is the run's name, see RunName.
	Run string
	// Experiment is the experiment's name.
	Experiment string
	Started    time.Time
	Answer     answer.Answer
}

// OpenMetrics writes the figures of the answers as OpenMetrics 1.0 text: gauges, with the base unit in their names. The
// samples have no time stamps, because text file collectors refuse them.
//
// Two runs with the same name are an error, because a reader could not distinguish their samples.
func OpenMetrics(w io.Writer, runs []Answered) error {
	return expose(w, runs, (*exposition).text)
}

// PrometheusType is the media type of what Prometheus writes.
const PrometheusType = "text/plain; version=0.0.4; charset=utf-8"

// Prometheus writes the same samples as OpenMetrics, in the older text format of Prometheus (version 0.0.4), which
// Pushgateways and text file collectors read: it has no units, and no type info.
func Prometheus(w io.Writer, runs []Answered) error {
	return expose(w, runs, (*exposition).classic)
}

func expose(w io.Writer, runs []Answered, written func(*exposition) string) error {
	seen := map[string]bool{}
	for _, run := range runs {
		if seen[run.Run] {
			return fmt.Errorf("two runs are called %s, and their samples could not be distinguished: "+
				"export them separately", run.Run)
		}
		seen[run.Run] = true
	}
	e := exposition{families: map[string]*family{}}
	for _, run := range runs {
		e.run(run)
	}
	_, err := io.WriteString(w, written(&e))
	return err
}

// label is a name and its value; an empty value is the same as no label.
type label struct{ name, value string }

// family is all samples with one name. The format requires them to be together.
type family struct {
	name, kind, unit, help string
	samples                []string
}

// exposition collects families in the order of their first samples.
type exposition struct {
	order    []*family
	families map[string]*family
}

// sample adds a sample to its family. kind is "gauge" or "info". The unit becomes the end of the name; "" for none.
func (e *exposition) sample(kind, name, unit, help string, value float64, labels ...label) {
	if unit != "" {
		name += "_" + unit
	}
	f, ok := e.families[name]
	if !ok {
		f = &family{name: name, kind: kind, unit: unit, help: help}
		e.families[name] = f
		e.order = append(e.order, f)
	}
	if kind == "info" {
		name += "_info"
	}
	var set []string
	for _, l := range labels {
		if l.value != "" {
			set = append(set, l.name+`="`+escapeLabel(l.value)+`"`)
		}
	}
	f.samples = append(f.samples, name+"{"+strings.Join(set, ",")+"} "+strconv.FormatFloat(value, 'g', -1, 64))
}

func (e *exposition) text() string {
	var b strings.Builder
	for _, f := range e.order {
		fmt.Fprintf(&b, "# TYPE %s %s\n", f.name, f.kind)
		if f.unit != "" {
			fmt.Fprintf(&b, "# UNIT %s %s\n", f.name, f.unit)
		}
		fmt.Fprintf(&b, "# HELP %s %s\n", f.name, f.help)
		for _, sample := range f.samples {
			b.WriteString(sample + "\n")
		}
	}
	b.WriteString("# EOF\n")
	return b.String()
}

// classic is the text in the older format, in which a type is that of the samples' own name.
func (e *exposition) classic() string {
	var b strings.Builder
	for _, f := range e.order {
		name, kind := f.name, f.kind
		if kind == "info" {
			name, kind = name+"_info", "gauge"
		}
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s %s\n", name, f.help, name, kind)
		for _, sample := range f.samples {
			b.WriteString(sample + "\n")
		}
	}
	return b.String()
}

// escapeLabel writes the value of a label: valid UTF-8, with backslash, quote and new line escaped. The format allows
// other control characters, but they are replaced: terminals act on them, and some readers end a line at a carriage
// return.
func escapeLabel(s string) string {
	s = strings.Map(harmless, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s)
}

// harmless replaces control characters other than the new line.
func harmless(r rune) rune {
	if r != '\n' && unicode.IsControl(r) {
		return '\uFFFD'
	}
	return r
}

// run adds the samples of a run.
func (e *exposition) run(r Answered) {
	a := r.Answer
	of := []label{{"run", r.Run}, {"experiment", r.Experiment}}
	e.sample("info", "nearfar_run", "", "A run that nearfar measured.", 1,
		append(of[:2:2], label{"state", a.State}, label{"baseline", a.Baseline})...)
	if !r.Started.IsZero() {
		e.sample("gauge", "nearfar_run_started_timestamp", "seconds", "When the run began, in seconds since 1970.",
			float64(r.Started.UnixMilli())/1e3, of...)
	}
	e.sample("gauge", "nearfar_run_trials", "", "Trials that ran.", float64(a.Trials), of...)
	e.sample("gauge", "nearfar_run_failed_trials", "", "Trials that ran and have no result.", float64(a.Failed), of...)
	for _, f := range a.Arms {
		labels := append(of[:2:2], label{"workload", f.Workload}, label{"arm", f.Arm}, label{"stat", f.Stat},
			label{"scope", f.Scope})
		e.interval(f.Quantity, "", "Median over an arm's trials of "+described(f.Quantity), f.Median, f.Interval,
			labels)
		e.sample("gauge", metricName(f.Quantity)+"_trials", "", "Trials of the median.", float64(f.Trials), labels...)
	}
	for _, c := range a.Comparisons {
		if c.Difference == nil {
			continue
		}
		labels := append(of[:2:2], label{"workload", c.Workload}, label{"arm", c.Arm}, label{"baseline", c.Baseline},
			label{"stat", c.Stat}, label{"scope", c.Scope})
		help := "Median paired difference of an arm from the baseline in " + described(c.Quantity)
		e.interval(c.Quantity, "_difference", help, *c.Difference, c.Interval, labels)
		if c.PValue != nil {
			e.sample("gauge", metricName(c.Quantity)+"_difference_p_value", "",
				"P-value of the difference, corrected for the comparisons of its workload and quantity (Holm).",
				*c.PValue, labels...)
		}
	}
	for _, l := range a.Layers {
		labels := append(of[:2:2], label{"workload", l.Workload}, label{"layer", l.Layer}, label{"stat", l.Stat},
			label{"scope", l.Scope})
		e.interval(l.Quantity, "_layer", "What one layer adds to "+described(l.Quantity), l.Cost, l.Interval, labels)
	}
}

// interval adds a value, and its 95 % interval if it has one.
func (e *exposition) interval(q figures.Quantity, part, help string, value float64, i figures.Interval,
	labels []label) {
	name, unit := metricName(q)+part, unitName(q)
	e.sample("gauge", name, unit, help+".", value, labels...)
	if i != nil {
		e.sample("gauge", name+"_low", unit, help+": lower end of the 95 % interval.", i[0], labels...)
		e.sample("gauge", name+"_high", unit, help+": upper end of the 95 % interval.", i[1], labels...)
	}
}

// metricName is the name of a quantity without its unit: nearfar_rtt. Characters that a name cannot have become "_".
func metricName(q figures.Quantity) string {
	return "nearfar_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, q.Metric)
}

// unitName is the unit of a quantity as it is in names; "" for plain counts.
func unitName(q figures.Quantity) string {
	switch q.Unit {
	case result.Seconds:
		return "seconds"
	case result.PerSecond:
		return "per_second"
	case result.BitsPerSecond:
		return "bits_per_second"
	case result.SecondsPerBit:
		return "seconds_per_bit"
	case result.Bytes:
		return "bytes"
	}
	switch q.Metric {
	case result.Loss:
		return "ratio"
	case result.CPU:
		return "cores"
	}
	return ""
}

// described names a quantity in a help text. It is made from metricName, so that it has no characters to escape.
func described(q figures.Quantity) string {
	return strings.ReplaceAll(strings.TrimPrefix(metricName(q), "nearfar_"), "_", " ")
}
