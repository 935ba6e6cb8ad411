package tool

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// wrk2Name is the tool of runs of wrk2, which nearfar only reads.
const wrk2Name = "wrk2"

const (
	// definitionWrk is the time from the sending of a request until its whole response.
	definitionWrk = "http response time as printed by wrk"
	// definitionWrk2 begins when the request was due by the constant rate.
	definitionWrk2 = "http response time as printed by wrk2"
)

// The format is what main and the functions print_stats, print_stats_latency and print_hdr_latency of src/wrk.c print,
// in wrk (github.com/wg/wrk) and wrk2 (github.com/giltene/wrk2), with the units of src/units.c.
var (
	wrkCommand    = lazyregexp.New(`(?:^|[$#>%]\s*)(?:sudo\s+)?(?:\.{0,2}/\S*)?wrk(2?)\s+(-.*|http.*)`)
	wrkRate       = lazyregexp.New(`\s(?:-R ?|--rate[= ])([0-9.]+[kKMG]?)\b`)
	wrkRunning    = lazyregexp.New(`^Running \S+ test @ (\S+)`)
	wrkThreads    = lazyregexp.New(`^\d+ threads and (\d+) connections$`)
	wrkLatency    = lazyregexp.New(`^Latency +(\S+) +(\S+) +(\S+) +\S+%$`)
	wrkPercentile = lazyregexp.New(`^(\d+(?:\.\d+)?)% +(\S+)$`)
	wrkRequests   = lazyregexp.New(`^([\d,]+) requests in (\S+), \S+ read$`)
	wrkTotal      = lazyregexp.New(`^#\[Max .*Total count *= *(\d+)\]$`)
	wrkPerSecond  = lazyregexp.New(`^Requests/sec: +([\d.,]+)$`)
	wrkErrors     = lazyregexp.New(`^Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)$`)
	wrkStatus     = lazyregexp.New(`^Non-2xx or 3xx responses: (\d+)$`)
	wrkFailure    = lazyregexp.New(`^(?:unable to (?:connect|create|resolve|initialize).*|invalid URL.*|\S*wrk2?: .*)`)
	wrkTime       = lazyregexp.New(`^([\d.]+)(us|ms|s|m|h)$`)
)

// wrkMark recognises lines of wrk's output.
func wrkMark(line string) mark {
	switch {
	case !containsAny(line, "wrk", "Running", "Thread Stats", "Latency ", "Requests/sec", "requests in"):
		return markNone
	case wrkCommand.MatchString(line):
		return markCommand
	case wrkRunning.MatchString(line):
		return markBanner
	case strings.HasPrefix(line, "Thread Stats ") && strings.Contains(line, "+/- Stdev"):
		return markHeader
	case wrkLatency.MatchString(line):
		return markResult
	case wrkRequests.MatchString(line):
		return markWeak
	case wrkPerSecond.MatchString(line):
		return markTail
	}
	return markNone
}

// wrkRun is what one run printed.
type wrkRun struct {
	wrk2 bool
	// latency are mean, standard deviation and maximum. percentiles are in seconds, in the order in which they stand.
	latency     []string
	percentiles [][2]float64
	// requests were answered; recorded is how many times are in wrk2's histogram, which leaves out the first ten seconds.
	requests, recorded, refused int64
	errors                      [4]int64
	failure                     string
}

// parseWrk reads one run of wrk or wrk2, which print the same lines: wrk2 has more percentiles, and calibrates first.
func parseWrk(text string) (result.Measurement, error) {
	m := newMeasured(wrkName)
	m.Mode, m.Protocol = experiment.RR, ""
	var r wrkRun
	corrected := true
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "Latency Distribution") {
			r.wrk2 = r.wrk2 || strings.Contains(line, "HdrHistogram")
			corrected = !strings.Contains(line, "Uncorrected")
		}
		if corrected {
			r.times(line)
		}
		r.line(m, line)
	}
	definition := definitionWrk
	if r.wrk2 {
		m.Tool.Name, m.Mode, definition = wrk2Name, experiment.Load, definitionWrk2
	}
	m.seconds(m.secondsOf(r.requests))
	return r.judge(m, definition)
}

// secondsOf is how long so many transactions took at the rate.
func (m *measured) secondsOf(transactions int64) float64 {
	for _, metric := range m.Metrics {
		if metric.Name == result.TransactionRate && metric.Value > 0 {
			return float64(transactions) / metric.Value
		}
	}
	return 0
}

// times reads a line with times.
func (r *wrkRun) times(line string) {
	switch {
	case strings.HasPrefix(line, "Latency ") && r.latency == nil:
		if s := wrkLatency.FindStringSubmatch(line); s != nil {
			r.latency = s[1:]
		}
	case strings.HasPrefix(line, "#["):
		if s := find(wrkTotal, line); s != "" {
			r.recorded = int64(integer(s))
		}
	case strings.Contains(line, "%") && len(r.percentiles) < 100:
		if s := wrkPercentile.FindStringSubmatch(line); s != nil {
			p, known := number(s[1])
			if v, ok := wrkSeconds(s[2]); ok && known {
				r.percentiles = append(r.percentiles, [2]float64{p, v})
			}
		}
	}
}

// line reads a line of another kind.
func (r *wrkRun) line(m *measured, line string) {
	if !containsAny(line, "wrk", "Running", "connections", "requests", "Requests", "Thread", "responses:", "errors:",
		"unable", "invalid") {
		return
	}
	if s := wrkCommand.FindStringSubmatch(line); s != nil {
		rate := find(wrkRate, s[2])
		if rate != "" {
			m.fact("schedule", "constant "+rate+"/s")
		}
		r.wrk2 = r.wrk2 || s[1] != "" || rate != ""
		return
	}
	switch {
	case strings.HasPrefix(line, "Thread calibration:"):
		r.wrk2 = true
	case wrkRunning.MatchString(line):
		scheme, _, _ := strings.Cut(find(wrkRunning, line), ":")
		if scheme == "http" || scheme == "https" {
			m.Protocol = scheme
		}
	case wrkThreads.MatchString(line):
		m.fact("connections", find(wrkThreads, line))
	case wrkRequests.MatchString(line):
		r.requests = int64(integer(strings.ReplaceAll(find(wrkRequests, line), ",", "")))
	case wrkPerSecond.MatchString(line):
		m.addPrinted(result.TransactionRate, "", strings.ReplaceAll(find(wrkPerSecond, line), ",", ""), 1, "")
	case wrkStatus.MatchString(line):
		r.refused = int64(integer(find(wrkStatus, line)))
	case wrkErrors.MatchString(line):
		for i, printed := range wrkErrors.FindStringSubmatch(line)[1:] {
			r.errors[i] = int64(integer(printed))
		}
	case r.failure == "" && wrkFailure.MatchString(line):
		r.failure = excerpt(line)
	}
}

// wrkSeconds reads a time in us to h.
func wrkSeconds(printed string) (float64, bool) {
	s := wrkTime.FindStringSubmatch(printed)
	if s == nil {
		return 0, false
	}
	v, ok := number(s[1])
	return v * map[string]float64{"us": microsecond, "ms": millisecond, "s": 1, "m": 60, "h": 3600}[s[2]], ok
}

// judge makes metrics of what was printed. The error says why there are none.
func (r *wrkRun) judge(m *measured, definition string) (result.Measurement, error) {
	name := m.Tool.Name
	socket := r.errors[0] + r.errors[1] + r.errors[2] + r.errors[3]
	m.fact("errors", strconv.FormatInt(socket+r.refused, 10))
	switch {
	case r.failure != "" && !m.has(result.TransactionRate):
		return m.Measurement, errors.New("wrk: " + strings.TrimPrefix(r.failure, "wrk: "))
	case !m.has(result.TransactionRate):
		m.Metrics = m.Metrics[:0]
		return m.Measurement, fmt.Errorf("%s printed no rate: it was ended before its end, or the output is cut off", name)
	case r.requests == 0:
		m.Metrics = m.Metrics[:0]
		return m.Measurement, fmt.Errorf("%s: no request was answered (%d errors of sockets)", name, socket)
	case r.refused >= r.requests:
		m.Metrics = m.Metrics[:0]
		return m.Measurement, fmt.Errorf("%s: all %d responses had a status other than 2xx and 3xx", name, r.requests)
	}
	count := r.requests
	if r.recorded > 0 {
		count = r.recorded
	}
	for i, stat := range []string{result.Mean, result.Stddev, result.Max} {
		if i < len(r.latency) {
			if v, ok := wrkSeconds(r.latency[i]); ok && (i != 1 || count > 1) {
				m.add(result.ResponseTime, stat, v, "")
			}
		}
	}
	for _, p := range r.percentiles {
		m.percentile(result.ResponseTime, p[0], p[1], count)
	}
	m.add(result.Received, "", float64(r.requests), "")
	m.define(result.DefinitionRate, result.DefinitionRate)
	if m.has(result.ResponseTime) {
		m.define(definition, definition)
	}
	if r.refused > 0 {
		m.note("%d of %d responses had a status other than 2xx and 3xx; their times are in the figures.",
			r.refused, r.requests)
	}
	if socket > 0 {
		m.note("%d errors of sockets, %d of them timeouts: requests without a response have no time in the figures.", socket,
			r.errors[3])
	}
	return m.Measurement, nil
}
