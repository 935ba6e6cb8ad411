// Package gate decides whether a run is worse than another by more than rules allow.
//
// A rule is a line such as
//
//	rr-1k rtt.p99 > +5%
//	vxlan rr-1k rtt.p50 > +2us
//	bulk goodput < 900Mbit/s
//
// It states what must not happen: the check fails only if the whole interval of the figure is beyond the bound.
package gate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"nearfar/internal/base/clean"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/result"
)

// Kind is the kind of figure that a bound limits.
type Kind string

// The kinds of bounds.
const (
	// Relative is the change of the new side against the base, as a ratio: +5% is 0.05.
	Relative Kind = "relative"
	// Change is the same in the metric's unit.
	Change Kind = "change"
	// Value is the figure of the new side alone.
	Value Kind = "value"
)

// Any stands for every arm, or every workload.
const Any = "*"

// Rule is a line of --fail-if or --require, or an objective.
type Rule struct {
	// Text is the rule as it was written, without the space around it.
	Text string
	// Arm and Workload are names, or Any.
	Arm, Workload string
	Quantity      figures.Quantity
	// Above says that values above the bound fail; otherwise values below do.
	Above bool
	Kind  Kind
	// Bound is a ratio, or in the base unit of the metric.
	Bound float64
	// Required says that the rule states what must hold: `< 200us` fails above.
	Required bool
}

// The limits of the input.
const (
	maxRule  = 500 // bytes
	maxRules = 1000
)

// example is an example of the kind of rule that was meant.
func (p *parser) example() string {
	if p.Required {
		return "write, for example, rr-1k rtt.p99 < 200us"
	}
	return "write, for example, rr-1k rtt.p99 > +5%"
}

// parser reads one rule.
type parser struct {
	Written
	text     string
	mistakes experimentfile.Mistakes
}

// wrong records a mistake at a byte offset of the text.
func (p *parser) wrong(at int, hint, format string, args ...any) {
	m := experimentfile.Mistake{
		File: p.File, Line: p.Line, Column: utf8.RuneCountInString(p.text[:at]) + 1,
		Message: fmt.Sprintf(format, args...), Hint: hint, Source: p.text,
	}
	if p.Source != "" {
		m.Column, m.Source = m.Column+p.Column-1, p.Source
	}
	p.mistakes = append(p.mistakes, m)
}

// word is a word of the text and its byte offset.
type word struct {
	text string
	at   int
}

func (p *parser) words(from, to int) []word {
	var words []word
	for at := from; at < to; {
		if isSpace(p.text[at]) {
			at++
			continue
		}
		end := at
		for end < to && !isSpace(p.text[end]) {
			end++
		}
		words = append(words, word{p.text[at:end], at})
		at = end
	}
	return words
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' }

func (p *parser) rule() Rule {
	r := Rule{Text: strings.TrimSpace(p.text), Arm: Any, Required: p.Required}
	if len(p.text) > maxRule {
		p.text = strings.ToValidUTF8(p.text[:maxRule], "?")
		p.wrong(0, fmt.Sprintf("at most %d", maxRule), "the rule is too long")
		return r
	}
	if !utf8.ValidString(p.text) {
		p.text = strings.ToValidUTF8(p.text, "?")
		p.wrong(0, p.example(), "the rule is not UTF-8")
		return r
	}
	operator := strings.IndexAny(p.text, "<>")
	if operator < 0 {
		p.wrong(len(strings.TrimRight(p.text, " \t")), p.example(), "the rule has no > or <")
		return r
	}
	r.Above = (p.text[operator] == '>') != p.Required
	known := p.subject(&r, p.words(0, operator), operator)
	p.bound(&r, operator+1, known)
	return r
}

// subject reads arm, workload and metric. It returns whether the metric, and thus the bound's unit, is known.
func (p *parser) subject(r *Rule, words []word, end int) bool {
	switch {
	case len(words) == 0:
		p.wrong(0, p.example(), "the rule names no workload and no metric")
		return false
	case len(words) == 1:
		p.wrong(words[0].at, "write WORKLOAD METRIC, for example rr-1k rtt.p99; * is every workload",
			"%s is a single word", quote(words[0].text))
		return false
	case len(words) > 3:
		p.wrong(words[3].at, "write [ARM] WORKLOAD METRIC before the "+p.text[end:end+1],
			"%s is one word too many", quote(words[3].text))
		return false
	case len(words) == 3:
		r.Arm = words[0].text
		p.known(words[0], "arm", p.Arms)
		words = words[1:]
	}
	r.Workload = words[0].text
	p.known(words[0], "workload", p.Workloads)
	return p.metric(r, words[1])
}

// metric reads METRIC or METRIC.STAT.
func (p *parser) metric(r *Rule, w word) bool {
	name, stat, dotted := strings.Cut(w.text, ".")
	unit, ok := result.UnitOf(name)
	r.Quantity = figures.Quantity{Metric: name, Stat: stat, Unit: unit}
	several := unit == result.Seconds
	if !ok {
		own := slices.IndexFunc(p.Own, func(m experiment.CommandMetric) bool { return m.Name == name })
		if own < 0 {
			p.wrong(w.at, experiment.Suggest(name, p.metrics()), "unknown metric %s", quote(name))
			return false
		}
		r.Quantity.Unit, _ = p.Own[own].Scale()
		r.Quantity.BetterIf, several = p.Own[own].BetterIf(), p.Own[own].Observations()
	}
	at := w.at + len(name)
	switch {
	case !several && dotted:
		p.wrong(at, "write "+name, "%s has one value a trial, and no statistic", name)
	case several && !dotted:
		p.wrong(at, fmt.Sprintf("write %s.p50, %s.p99 or %s.mean", name, name, name), "%s has several statistics", name)
	case several && !p.stat(r):
		p.wrong(at+1, experiment.Suggest(stat, statistics()), "unknown statistic %s", quote(stat))
	}
	return true
}

// stat checks the statistic, and writes a percentile as in results.
func (p *parser) stat(r *Rule) bool {
	if slices.Contains(statistics(), r.Quantity.Stat) {
		return true
	}
	digits, isPercentile := strings.CutPrefix(r.Quantity.Stat, "p")
	percentile, ok := decimal(digits)
	if !isPercentile || !ok || percentile <= 0 || percentile >= 100 {
		return false
	}
	r.Quantity.Stat = result.PercentileStat(percentile)
	return true
}

// bound reads the part after the operator.
func (p *parser) bound(r *Rule, from int, known bool) {
	words := p.words(from, len(p.text))
	if len(words) == 0 {
		p.wrong(len(strings.TrimRight(p.text, " \t")), "write +5%, +20us, or an absolute value", "there is no bound")
		return
	}
	at := words[0].at
	text := strings.TrimRight(p.text[at:], " \t")
	if strings.HasPrefix(text, "=") || strings.HasPrefix(text, ">") || strings.HasPrefix(text, "<") {
		p.wrong(at, "write > or <", "%s is not an operator", quote(strings.TrimSpace(p.text[from-1:at+1])))
		return
	}
	sign := 0.0
	switch text[0] {
	case '+':
		sign = 1
	case '-':
		sign = -1
	}
	if sign != 0 {
		text = text[1:]
		if rest := strings.TrimLeft(text, " \t"); len(rest) < len(text) {
			p.wrong(at, "write "+p.text[at:at+1]+rest, "there is a space after the sign")
			return
		}
		at++
	}
	number, percent := strings.CutSuffix(text, "%")
	if !percent {
		p.absolute(r, text, at, sign, known)
		return
	}
	ratio, ok := decimal(strings.TrimRight(number, " "))
	switch {
	case !ok:
		p.wrong(at, "write, for example, +5%", "%s is not a percentage", quote(text))
	case sign == 0 && r.Quantity.Unit == result.One:
		r.Kind, r.Bound = Value, ratio/100
	case sign == 0:
		p.wrong(at, fmt.Sprintf("write +%s for a rise, or -%s for a fall, against the base", text, text),
			"%s has no sign", quote(text))
	case sign < 0 && ratio >= 100:
		p.wrong(at-1, "a fall is less than 100%", "%s: nothing falls by so much", quote("-"+text))
	case ratio > 1e6:
		p.wrong(at-1, "at most 1000000%", "%s is too large a change", quote(text))
	default:
		r.Kind, r.Bound = Relative, sign*ratio/100
	}
}

// absolute reads a bound in the unit of the metric.
func (p *parser) absolute(r *Rule, text string, at int, sign float64, known bool) {
	if !known {
		return // its unit is unknown
	}
	if _, bare := decimal(text); bare && sign != 0 && r.Quantity.Unit != result.One {
		p.wrong(at, "write "+p.text[at-1:at]+text+"% for a relative change, or a unit behind the number",
			"%s has no unit", quote(text))
		return
	}
	value, err := quantity(text, r.Quantity.Unit)
	if err != nil {
		message, hint := err.Error(), ""
		var q *experiment.QuantityError
		if errors.As(err, &q) {
			message, hint = q.Message, q.Hint
		}
		p.wrong(at, hint, "%s", message)
		return
	}
	r.Kind, r.Bound = Value, value
	if sign != 0 {
		r.Kind, r.Bound = Change, sign*value
	}
}

// quantity reads a number in the unit of a metric and converts it to the base unit.
func quantity(text, unit string) (float64, error) {
	switch unit {
	case result.Seconds:
		d, err := experiment.ParseDuration(text)
		return d.Seconds(), err
	case result.BitsPerSecond:
		return experiment.ParseRate(text)
	case result.PerSecond:
		return experiment.ParsePerSecond(text)
	case result.Bytes:
		bytes, err := experiment.ParseSize(text)
		return float64(bytes), err
	case result.SecondsPerBit:
		number, found := strings.CutSuffix(text, "s/Gbit")
		if value, ok := decimal(strings.TrimRight(number, " ")); found && ok {
			return value * 1e-9, nil
		}
		return 0, &experiment.QuantityError{Message: quote(text) + " is not a CPU time per bit",
			Hint: "write, for example, 0.5s/Gbit"}
	}
	if value, ok := decimal(text); ok {
		return value, nil
	}
	return 0, &experiment.QuantityError{Message: quote(text) + " is not a number",
		Hint: "write, for example, 10 or 0.01"}
}

// decimal reads a plain decimal number: digits, with an optional point between them.
func decimal(text string) (float64, bool) {
	whole, fraction, point := strings.Cut(text, ".")
	if whole == "" || point && fraction == "" || len(text) > 40 || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// metrics lists the metric names that the rule can have.
func (p *parser) metrics() []string {
	names := metrics()
	for _, own := range p.Own {
		names = append(names, own.Name)
	}
	return names
}

// metrics lists the canonical metric names of rules.
func metrics() []string {
	return []string{
		result.RTT, result.ResponseTime, result.ServiceTime, result.ConnectTime,
		result.TransactionRate, result.MessageRate,
		result.Goodput, result.Loss, result.Retransmits, result.IPDV, result.SendLateness,
		result.OfferedRate, result.Unanswered,
		result.Sent, result.Received, result.Duplicates, result.OutOfOrder, result.Lost, result.Late,
		result.CPU, result.CPUPerBit, result.Failures,
		result.LookupTime, result.TLSTime, result.FirstByteTime, result.RestTime, result.Errors, result.ErrorShare,
		result.PageQueryTime, result.PageQueries,
	}
}

// statistics lists the statistics, with two of the percentiles.
func statistics() []string {
	return []string{result.Mean, result.Stddev, result.Min, result.Max, result.P50, result.P99}
}

// quote quotes a word of a rule for a message.
func quote(s string) string { return clean.Quote(s) }
