package answer

import (
	"cmp"
	"slices"
	"strings"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// The quantities of an answer in plain words. This file is the only place that names them.

// thing is what a metric is about: one of many that are timed, or a single quantity.
type thing struct {
	metric string
	// modes are the modes of workloads for which the row holds; nil for all.
	modes []string
	// one and many name what is timed: "round trip", "round trips".
	one, many string
	// middle is the median in words, if it is not "the median" and one.
	middle string
	// noun names a quantity without statistics, such as a rate.
	noun string
}

// things lists the words of the metrics; the first row that fits holds.
func things() []thing {
	crr, stream := []string{experiment.CRR}, []string{experiment.Stream}
	messages := []string{experiment.Messages}
	return []thing{
		{metric: result.RTT, modes: crr, one: "new connection", many: "new connections", middle: "a new connection"},
		{metric: result.RTT, one: "round trip", many: "round trips"},
		{metric: result.ResponseTime, modes: []string{experiment.App}, one: "page", many: "pages"},
		{metric: result.ResponseTime, one: "response", many: "responses"},
		{metric: result.ServiceTime, one: "service", many: "services"},
		{metric: result.ConnectTime, one: "connect", many: "connects"},
		{metric: result.LookupTime, one: "look-up of a name", many: "look-ups of names"},
		{metric: result.TLSTime, one: "TLS handshake", many: "TLS handshakes"},
		{metric: result.FirstByteTime, one: "first byte", many: "first bytes"},
		{metric: result.RestTime, one: "rest of an answer", many: "rests of answers"},
		{metric: result.PageQueryTime, one: "page's time in queries", many: "pages' times in queries"},
		{metric: result.PageQueries, noun: "the number of queries a page"},
		{metric: result.Errors, noun: "the number of failed requests"},
		{metric: result.ErrorShare, noun: "the share of failed requests"},
		{metric: result.Goodput, noun: "goodput"},
		{metric: result.Loss, modes: stream, noun: "the share of lost datagrams"},
		{metric: result.Loss, modes: messages, noun: "the share of lost messages"},
		{metric: result.Loss, noun: "the share of lost requests"},
		{metric: result.TransactionRate, modes: crr, noun: "the rate of new connections"},
		{metric: result.TransactionRate, modes: []string{experiment.App}, noun: "the rate of pages"},
		{metric: result.TransactionRate, modes: []string{experiment.Load, experiment.HTTP},
			noun: "the rate of answered requests"},
		{metric: result.TransactionRate, noun: "the rate of round trips"},
		{metric: result.MessageRate, noun: "the rate of messages"},
		{metric: result.IPDV, noun: "the variation of the delay"},
		{metric: result.CPU, noun: "the use of CPUs"},
		{metric: result.CPUPerBit, noun: "the CPU time of a bit"},
		{metric: result.Retransmits, noun: "the number of retransmits"},
		{metric: result.Unanswered, noun: "the number of unanswered requests"},
		{metric: MetricFailures, noun: "the share of failed trials"},
	}
}

// MetricFailures is the metric of findings OfFailures.
const MetricFailures = "failures"

// lostOf names what is lost in a mode: "requests".
func lostOf(mode string) string {
	for _, t := range things() {
		if t.metric == result.Loss && t.holds(mode) {
			return strings.TrimPrefix(t.noun, "the share of lost ")
		}
	}
	return "messages"
}

func (t thing) holds(mode string) bool {
	if t.modes == nil {
		return true
	}
	return slices.Contains(t.modes, mode)
}

// words are a quantity in a sentence.
type words struct {
	// noun is its subject: "the slowest 1 % of round trips".
	noun   string
	plural bool
	// takes says that it takes time; others are higher or lower.
	takes bool
}

// wordsOf gives the words of a quantity in a workload of this mode.
func wordsOf(q figures.Quantity, mode string) words {
	for _, t := range things() {
		if t.metric != q.Metric || !t.holds(mode) {
			continue
		}
		if t.noun != "" {
			return words{noun: scoped(t.noun, q.Scope)}
		}
		return t.statistic(q)
	}
	return words{noun: scoped(strings.TrimSpace(q.Metric+" "+q.Stat), q.Scope)}
}

// statistic gives the words of a statistic of times.
func (t thing) statistic(q figures.Quantity) words {
	w := words{takes: true}
	switch q.Stat {
	case result.P50:
		w.noun = cmp.Or(t.middle, "the median "+t.one)
	case result.Mean, "":
		w.noun = "the average " + t.one
	case result.Min:
		w.noun = "the fastest " + t.one
	case result.Max:
		w.noun = "the slowest " + t.one
	case result.Stddev:
		w = words{noun: "the scatter of " + t.many}
	default:
		slowest, ok := map[string]string{
			result.P90: "10 %", result.P99: "1 %", result.P999: "0.1 %", result.P9999: "0.01 %", result.P99999: "0.001 %",
		}[q.Stat]
		if !ok {
			w.noun = "the " + q.Stat + " of " + t.many
			break
		}
		w.noun, w.plural = "the slowest "+slowest+" of "+t.many, true
	}
	w.noun = scoped(w.noun, q.Scope)
	return w
}

// scoped adds the part of the trial: "goodput of the background".
func scoped(noun, scope string) string {
	if scope == "" {
		return noun
	}
	return noun + " of the " + scope
}

// where names the quantity with its workload: "the median round trip of rr". over is the protocol, if that must be
// said.
func (w words) where(workload, over string) string {
	text := w.noun
	if workload != "" {
		link := " of "
		if strings.Contains(text, " of ") || strings.HasPrefix(text, "a ") {
			link = " in "
		}
		text += link + workload
	}
	if over != "" {
		text += " over " + over
	}
	return text
}

// verb is the verb and the word that follows the amount: "takes", "longer".
func (w words) verb(more bool) (verb, direction string) {
	switch {
	case w.takes && w.plural:
		verb = "take"
	case w.takes:
		verb = "takes"
	case w.plural:
		verb = "are"
	default:
		verb = "is"
	}
	switch {
	case w.takes && more:
		return verb, "longer"
	case w.takes:
		return verb, "less"
	case more:
		return verb, "higher"
	}
	return verb, "lower"
}

// times is a ratio in words: "3.0 times as long".
func (w words) times(ratio string) string {
	if w.takes {
		return ratio + " times as long"
	}
	return ratio + " times as high"
}

// inside is the preposition of "no difference in the median round trip".
func (w words) inside() string {
	if strings.HasPrefix(w.noun, "a ") {
		return " for "
	}
	return " in "
}
