package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/base/clean"
	"nearfar/internal/base/hdr"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// figures is the output of a program of the experiment's own, from which figures are read.
type figures struct {
	out            Output
	stdout, stderr string
	// document is the JSON of standard output, once a pointer asked for it.
	document any
	decoded  bool
	wrong    error
}

func newFigures(out Output) *figures {
	return &figures{out: out, stdout: plain(out.Stdout), stderr: plain(out.Stderr)}
}

// maxMatches is how often an expression can match where one match counts.
const maxMatches = 10_000

// figure reads a figure, and adds it. The error names the figure.
func (m *measured) figure(metric experiment.CommandMetric, read *figures) error {
	unit, _ := metric.Scale()
	base := result.Metric{Name: metric.Name, Unit: unit, BetterIf: result.BetterIfOf(metric.BetterIf())}
	var err error
	switch {
	case metric.HDR:
		err = m.histogramLog(base, metric, read.stdout)
	case metric.Lines:
		var all []float64
		if all, err = read.observations(metric); err == nil {
			err = m.observed(base, all)
		}
	default:
		base.Value, err = read.single(metric)
		m.Metrics = append(m.Metrics, base)
	}
	if err != nil {
		return fmt.Errorf("no figure %s: %w", metric.Name, err)
	}
	return nil
}

// single reads a figure that has one value a trial, in its base unit.
func (f *figures) single(metric experiment.CommandMetric) (float64, error) {
	if metric.ExitTime {
		if f.out.Ran <= 0 {
			return 0, errors.New("the host does not say how long the program ran")
		}
		return f.out.Ran.Seconds(), nil
	}
	if metric.JSON != "" {
		text, err := f.at(metric.JSON)
		if err != nil {
			return 0, err
		}
		return amount(text, metric)
	}
	re, err := regexp.Compile(metric.Regex)
	if err != nil || re.NumSubexp() != 1 {
		return 0, fmt.Errorf("%s is no expression with one group", clean.Quote(metric.Regex))
	}
	for _, text := range []string{f.stdout, f.stderr} {
		all := re.FindAllStringSubmatch(text, maxMatches)
		switch {
		case len(all) == maxMatches:
			return 0, fmt.Errorf("%s matches too often; write an expression that matches once, or add lines: true",
				clean.Quote(metric.Regex))
		case len(all) > 0:
			return amount(all[len(all)-1][1], metric)
		}
	}
	return 0, fmt.Errorf("%s matches nothing of what the program printed", clean.Quote(metric.Regex))
}

// amount reads a number, and converts it to the figure's base unit. A unit behind the number goes before the one that
// the file names, since some programs choose it by the size.
func amount(text string, metric experiment.CommandMetric) (float64, error) {
	text = strings.TrimSpace(text)
	digits := strings.TrimRight(strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/%"), " ")
	own := strings.TrimSpace(text[len(digits):])
	base, scale := metric.Scale()
	if own != "" {
		printed := metric
		printed.Unit = own
		unit, its := printed.Scale()
		if !slices.Contains(experiment.CommandUnits(), own) || unit != base {
			return 0, fmt.Errorf("%s is no number in %s", clean.Quote(excerpt(text)), metric.Unit)
		}
		scale = its
	}
	v, ok := number(digits)
	v *= scale
	switch {
	case !ok || math.IsNaN(v) || math.IsInf(v, 0):
		return 0, fmt.Errorf("%s is no number", clean.Quote(excerpt(text)))
	case v < 0:
		return 0, fmt.Errorf("%s is below zero", clean.Quote(excerpt(text)))
	}
	return v, nil
}

// observations reads one value a line of standard output; with an expression, of each line that it matches.
func (f *figures) observations(metric experiment.CommandMetric) ([]float64, error) {
	var re *regexp.Regexp
	if metric.Regex != "" {
		var err error
		if re, err = regexp.Compile(metric.Regex); err != nil || re.NumSubexp() != 1 {
			return nil, fmt.Errorf("%s is no expression with one group", clean.Quote(metric.Regex))
		}
	}
	var all []float64
	for line := range strings.SplitSeq(f.stdout, "\n") {
		text := strings.TrimSpace(line)
		if re != nil {
			s := re.FindStringSubmatch(line)
			if s == nil {
				continue
			}
			text = s[1]
		}
		if text == "" {
			continue
		}
		v, err := amount(text, metric)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		return nil, errors.New("no line of standard output has one")
	}
	return all, nil
}

// observed adds the statistics of observations, and how many these are.
func (m *measured) observed(base result.Metric, all []float64) error {
	err := m.keepHistogram(base, func(yield func(float64, int64) bool) {
		for _, v := range all {
			if !yield(v, 1) {
				return
			}
		}
	})
	slices.Sort(all)
	count := len(all)
	sum, squares := 0.0, 0.0
	for _, v := range all {
		sum += v
	}
	mean := sum / float64(count)
	for _, v := range all {
		squares += (v - mean) * (v - mean)
	}
	m.summary(base, summary{
		count: int64(count), mean: mean, stddev: math.Sqrt(squares / float64(count)), least: all[0],
		greatest: all[count-1],
		quantile: func(percentile float64) float64 {
			return all[max(0, int(math.Ceil(percentile/100*float64(count)))-1)]
		},
	})
	return err
}

// summary is what is kept of observations.
type summary struct {
	count                         int64
	mean, stddev, least, greatest float64
	quantile                      func(percentile float64) float64
}

// keepHistogram makes the trial's histogram of the observations of a figure: values in its base unit with their counts.
// A trial has one, of its first figure that is a time. Times beyond what a histogram holds leave it out.
func (m *measured) keepHistogram(base result.Metric, observations iter.Seq2[float64, int64]) error {
	earlier := func(other result.Metric) bool { return other.Unit == result.Seconds && other.Stat == result.Mean }
	if base.Unit != result.Seconds || slices.ContainsFunc(m.Metrics, earlier) {
		return nil
	}
	counts := make([]int64, hdr.Slots)
	for value, count := range observations {
		nanoseconds := math.Round(value / nanosecond)
		if nanoseconds > hdr.Highest {
			return nil
		}
		counts[hdr.SlotOf(int64(nanoseconds))] += count
	}
	var e hdr.Encoder
	encoded, err := e.Encode(counts)
	m.Histogram = encoded
	return err
}

// nanosecond is in seconds.
const nanosecond = 1e-9

// summary adds statistics, with the percentiles that the number of observations supports.
func (m *measured) summary(base result.Metric, s summary) {
	add := func(stat string, value float64) {
		one := base
		one.Stat, one.Value = stat, value
		m.Metrics = append(m.Metrics, one)
	}
	add(result.Mean, s.mean)
	add(result.Stddev, s.stddev)
	add(result.Min, s.least)
	for _, p := range []float64{50, 90, 99, 99.9, 99.99, 99.999} {
		if !result.SupportsPercentile(s.count, p) {
			break
		}
		add(result.PercentileStat(p), s.quantile(p))
	}
	add(result.Max, s.greatest)
	m.fact(base.Name+".count", strconv.FormatInt(s.count, 10))
}

// histogramLog reads a log of HdrHistogram: lines of comma-separated values, of which the last is a histogram of an
// interval. All of them together are the figure.
func (m *measured) histogramLog(base result.Metric, metric experiment.CommandMetric, text string) error {
	var pool hdr.Pool
	var decoder hdr.Decoder
	for line := range strings.SplitSeq(text, "\n") {
		encoded := line[strings.LastIndexByte(line, ',')+1:]
		if !strings.HasPrefix(encoded, "HIST") {
			continue
		}
		var one hdr.Histogram
		if err := decoder.Decode([]byte(strings.TrimSpace(encoded)), &one); err != nil {
			return fmt.Errorf("a histogram cannot be read: %w", err)
		}
		if err := pool.Add(&one); err != nil {
			return fmt.Errorf("histograms cannot be added: %w", err)
		}
	}
	all := pool.Histogram()
	if all.Total() == 0 {
		return errors.New("standard output has no histogram log with values")
	}
	_, scale := metric.Scale()
	// The largest value of a slot, as in the percentiles.
	err := m.keepHistogram(base, func(yield func(float64, int64) bool) {
		for b := range all.Buckets() {
			if !yield(float64(b.To)*scale, b.Count) {
				return
			}
		}
	})
	m.summary(base, summarised(all, scale))
	return err
}

// summarised is the summary of a histogram whose values count units of this many base units.
func summarised(all *hdr.Histogram, scale float64) summary {
	s := summary{count: all.Total(), quantile: func(p float64) float64 { return float64(all.Quantile(p)) * scale }}
	sum, squares := 0.0, 0.0
	first := true
	for b := range all.Buckets() {
		middle, count := (float64(b.From)+float64(b.To))/2, float64(b.Count)
		sum += middle * count
		squares += middle * middle * count
		if first {
			s.least, first = float64(b.From)*scale, false
		}
		s.greatest = float64(b.To) * scale
	}
	n := float64(s.count)
	s.mean = sum / n * scale
	s.stddev = math.Sqrt(max(0, squares/n-sum/n*(sum/n))) * scale
	return s
}

// at finds the text of a number in the JSON of standard output by a pointer (RFC 6901).
func (f *figures) at(pointer string) (string, error) {
	if !f.decoded {
		f.decoded = true
		f.document, f.wrong = onlyDocument(f.stdout)
	}
	if f.wrong != nil {
		return "", f.wrong
	}
	value, err := pointed(f.document, pointer)
	if err != nil {
		return "", err
	}
	switch v := value.(type) {
	case json.Number:
		return v.String(), nil
	case string:
		return v, nil
	}
	return "", fmt.Errorf("%s is no number in the program's JSON", clean.Quote(pointer))
}

// pointed follows a pointer.
func pointed(value any, pointer string) (any, error) {
	for _, token := range strings.Split(pointer, "/")[1:] {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		var next any
		found := false
		switch in := value.(type) {
		case map[string]any:
			next, found = in[token]
		case []any:
			// RFC 6901 has no leading zeros.
			if i, err := strconv.Atoi(token); err == nil && i >= 0 && i < len(in) && strconv.Itoa(i) == token {
				next, found = in[i], true
			}
		}
		if !found {
			return nil, fmt.Errorf("the program's JSON has no %s", clean.Quote(pointer))
		}
		value = next
	}
	return value, nil
}

// onlyDocument reads the JSON of standard output: all of it, or else its last line.
func onlyDocument(text string) (any, error) {
	text = strings.TrimSpace(text)
	value, err := decodedJSON([]byte(text))
	if err != nil {
		last := strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
		if value, err = decodedJSON([]byte(last)); err != nil {
			return nil, errors.New("neither standard output nor its last line is JSON")
		}
	}
	return value, nil
}

func decodedJSON(data []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err = decoder.Decode(&value); err == nil && decoder.More() {
		err = errors.New("more than one value")
	}
	return value, err
}
