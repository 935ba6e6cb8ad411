// Package result defines the results of measurements: metrics under their canonical names, and the records of trials.
//
// Every value is in base units: seconds, bits per second, plain ratios and counts. docs/results.md lists names, units
// and directions.
package result

import (
	"math"
	"strconv"
	"strings"
)

// The canonical metric names.
const (
	RTT             = "rtt"
	ResponseTime    = "response_time"
	ServiceTime     = "service_time"
	ConnectTime     = "connect_time"
	TransactionRate = "transaction_rate"
	MessageRate     = "message_rate"
	// OfferedRate, SendLateness and Unanswered are of open-loop load: the rate at which requests were due, how long
	// after their due time they left, and how many had no reply when waiting ended.
	OfferedRate  = "offered_rate"
	SendLateness = "send_lateness"
	Unanswered   = "unanswered"
	Goodput      = "goodput"
	Retransmits  = "retransmits"
	Sent         = "sent"
	Received     = "received"
	Duplicates   = "duplicates"
	OutOfOrder   = "out_of_order"
	Loss         = "loss"
	Lost         = "lost"
	Late         = "late"
	IPDV         = "ipdv"
	CPU          = "cpu"
	// LookupTime, TLSTime, FirstByteTime and RestTime are of http, beside ConnectTime: looking up the name, the handshake
	// of TLS, from when the request is sent until the first byte of the answer, and from then until its last.
	LookupTime    = "lookup_time"
	TLSTime       = "tls_time"
	FirstByteTime = "first_byte_time"
	RestTime      = "rest_time"
	// Errors counts requests that failed (http), with the kind as scope. ErrorShare is their share of all.
	Errors     = "errors"
	ErrorShare = "error_share"
	// PageQueryTime is of app: how long a page waited for its queries. PageQueries is how many a page had.
	PageQueryTime = "page_query_time"
	PageQueries   = "page_queries"
	// Failures is the share of an arm's first attempts that failed. It is no metric of a trial.
	Failures = "failures"
	// CPUPerBit is the CPU time spent for each bit delivered.
	CPUPerBit = "cpu_per_bit"
)

// The statistics that a metric of observations can carry. Percentiles are written by PercentileStat.
const (
	Mean   = "mean"
	Stddev = "stddev"
	Min    = "min"
	Max    = "max"
	P50    = "p50"
	P90    = "p90"
	P99    = "p99"
	P999   = "p99.9"
	P9999  = "p99.99"
	P99999 = "p99.999"
)

// Background is the scope of the metrics of a workload's background. It also marks the names of its facts and files.
const Background = "background"

// The units.
const (
	Seconds       = "s"
	PerSecond     = "1/s"
	BitsPerSecond = "bit/s"
	SecondsPerBit = "s/bit"
	Bytes         = "B"
	One           = "1"
)

// Metric is one value of a trial.
type Metric struct {
	// Name is one of the canonical names above, or one that an experiment gave a figure of its own (IsOwnName).
	Name string `json:"name"`
	// Stat is the statistic of the observations; empty for counts and rates.
	Stat string `json:"stat"`
	// Unit is a base unit: s, 1/s, bit/s, s/bit, B or 1.
	Unit string `json:"unit"`
	// Value is the value in Unit.
	Value float64 `json:"value"`
	// Scope is the part of the trial that the value belongs to: "client", "server", "sender", "receiver", "stream 5",
	// "thread 0", "background", "background upload". Empty for the trial as a whole.
	Scope string `json:"scope,omitempty"`
	// BetterIf says which values of an own name are better. It is left out for canonical names, whose direction is known.
	BetterIf BetterIf `json:"better_if,omitempty"`
}

// BetterIf is "", BetterLower or BetterHigher in one byte: runs have millions of metrics.
type BetterIf uint8

// BetterIfOf makes a BetterIf of a text; other texts are "".
func BetterIfOf(text string) BetterIf {
	switch text {
	case BetterLower:
		return 1
	case BetterHigher:
		return 2
	}
	return 0
}

func (b BetterIf) String() string {
	switch b {
	case 1:
		return BetterLower
	case 2:
		return BetterHigher
	}
	return ""
}

// MarshalText gives the text, for JSON.
func (b BetterIf) MarshalText() ([]byte, error) { return []byte(b.String()), nil }

// UnmarshalText reads the text.
func (b *BetterIf) UnmarshalText(text []byte) error {
	*b = BetterIfOf(string(text))
	return nil
}

// The values of BetterIf.
const (
	BetterLower  = "lower"
	BetterHigher = "higher"
)

// maxOwnName is the length of the longest name of an own figure.
const maxOwnName = 40

// IsOwnName says whether an experiment can give a figure of its own this name: lower-case letters, digits and _, of
// which the first is a letter. Canonical names are taken, and those of statistics.
func IsOwnName(name string) bool {
	if _, canonical := UnitOf(name); canonical || name == "" || len(name) > maxOwnName || isStat(name) {
		return false
	}
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return true
}

// isStat says whether a word is the name of a statistic.
func isStat(word string) bool {
	switch word {
	case Mean, Stddev, Min, Max:
		return true
	}
	digits, percentile := strings.CutPrefix(word, "p")
	return percentile && digits != "" && strings.Trim(digits, "0123456789.") == ""
}

// Direction is the better direction of a metric.
type Direction int

// The directions. Counts that have no better side, such as sent, have Neither.
const (
	Neither Direction = iota
	LowerIsBetter
	HigherIsBetter
)

// UnitOf gives the base unit of a canonical metric name, and false for other names.
func UnitOf(name string) (string, bool) {
	switch name {
	case RTT, ResponseTime, ServiceTime, ConnectTime, IPDV, SendLateness, LookupTime, TLSTime, FirstByteTime, RestTime,
		PageQueryTime:
		return Seconds, true
	case TransactionRate, MessageRate, OfferedRate:
		return PerSecond, true
	case Goodput:
		return BitsPerSecond, true
	case CPUPerBit:
		return SecondsPerBit, true
	case Retransmits, Sent, Received, Duplicates, OutOfOrder, Loss, Lost, Late, CPU, Unanswered, Failures, Errors,
		ErrorShare, PageQueries:
		return One, true
	}
	return "", false
}

// Better is the better direction of the metric with the given name. betterIf is the metric's BetterIf.
func Better(name, betterIf string) Direction {
	switch betterIf {
	case BetterLower:
		return LowerIsBetter
	case BetterHigher:
		return HigherIsBetter
	}
	switch name {
	case Sent, Received, OfferedRate, PageQueries:
		return Neither
	case TransactionRate, MessageRate, Goodput:
		return HigherIsBetter
	}
	return LowerIsBetter
}

// Worst is the value that ranks a trial without the metric behind all others: +Inf if lower is better, -Inf if higher
// is better. It is false for a metric that has no better side.
func Worst(name, betterIf string) (float64, bool) {
	switch Better(name, betterIf) {
	case LowerIsBetter:
		return math.Inf(1), true
	case HigherIsBetter:
		return math.Inf(-1), true
	}
	return 0, false
}

// PercentileStat writes a percentile as a stat: 99.9 becomes "p99.9".
func PercentileStat(percentile float64) string {
	return "p" + strconv.FormatFloat(percentile, 'f', -1, 64)
}

// MinBeyond is the fewest observations that must be beyond a percentile for it to be printed.
const MinBeyond = 10

// SupportsPercentile says whether count observations support the percentile: at least MinBeyond of them are beyond
// it.
func SupportsPercentile(count int64, percentile float64) bool {
	// The 1e-9 makes 1000 observations enough for p99 in spite of rounding.
	return float64(count)*(100-percentile)/100+1e-9 >= MinBeyond
}
