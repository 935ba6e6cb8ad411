package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// definitionFortio is the time from the sending of a request until its whole response. fortio does not count the time
// that a request waited for its turn.
const definitionFortio = "http response time as printed by fortio"

// definitionFortioGRPC is the same for a call of gRPC.
const definitionFortioGRPC = "grpc response time as printed by fortio"

// fortioDocuments reads fortio's JSON (`fortio load -json`). The format is the structs RunnerResults of its packages
// periodic, fhttp, fgrpc, tcprunner and udprunner, and HistogramData of stats (github.com/fortio/fortio).
func fortioDocuments() documentReader {
	return &eachDocument{name: fortioName, keys: []string{`"RunType"`, `"RequestedQPS"`}, is: isFortio,
		parse: parseFortio}
}

// fortioResult is the part of fortio's JSON that is read. Histograms of times are in seconds, durations in nanoseconds.
type fortioResult struct {
	RunType           string
	StartTime         time.Time
	RequestedQPS      string
	ActualQPS         *float64
	ActualDuration    float64
	NumThreads        int
	Version           string
	DurationHistogram *fortioHistogram
	// ErrorsDurationHistogram is missing in versions before 1.39.
	ErrorsDurationHistogram *fortioHistogram
	ConnectionStats         *fortioHistogram
	RetCodes                map[string]int64
	URL                     string
	Sizes                   *fortioHistogram
	HTTP10, H2              bool
	DisableKeepAlive        bool
	// Streams are the calls of gRPC at the same time over each connection.
	Streams   int
	BytesSent float64
	// Failed and Message are of a run that did not begin.
	Failed  json.RawMessage `json:"error"`
	Message string          `json:"message"`
}

type fortioHistogram struct {
	Count                 int64
	Min, Max, Avg, StdDev float64
	Percentiles           []struct{ Percentile, Value float64 }
}

func isFortio(d document) bool {
	if !strings.Contains(d.body, `"RunType"`) {
		return false
	}
	if d.truncated {
		return true
	}
	var keys struct{ RunType, RequestedQPS json.RawMessage }
	return json.Unmarshal([]byte(d.body), &keys) == nil && keys.RunType != nil && keys.RequestedQPS != nil
}

func parseFortio(d document) []foundRun {
	m, err := readFortio(d)
	return []foundRun{{d.body, m, err}}
}

func readFortio(d document) (result.Measurement, error) {
	m := newMeasured(fortioName)
	var r fortioResult
	if d.truncated {
		return m.Measurement, errors.New("fortio: its JSON is cut off")
	}
	if err := json.Unmarshal([]byte(d.body), &r); err != nil {
		return m.Measurement, fmt.Errorf("fortio: its JSON is not as fortio writes it: %w", err)
	}
	m.Tool.Version = excerpt(r.Version)
	m.started(r.StartTime)
	m.seconds(r.ActualDuration / float64(time.Second))
	metric := fortioKind(m, &r)
	if r.NumThreads > 0 && r.NumThreads < 1<<30 {
		m.fact("connections", strconv.Itoa(max(r.NumThreads, 1)*max(r.Streams, 1)))
	}
	m.fact("schedule", fortioSchedule(r.RequestedQPS))
	if s := r.Sizes; s != nil && s.Avg > 0 {
		m.fact("response_bytes", strconv.FormatFloat(s.Avg, 'f', -1, 64))
	}
	h := r.DurationHistogram
	switch {
	case r.Message != "":
		return m.Measurement, errors.New("fortio: " + excerpt(r.Message))
	case h == nil || h.Count <= 0:
		return m.Measurement, errors.New("fortio: it made no request")
	}
	if r.BytesSent > 0 {
		m.MessageBytes = int(min(r.BytesSent/float64(h.Count), 1<<30))
	}
	failed := r.failed()
	m.fact("errors", strconv.FormatInt(failed, 10))
	if failed >= h.Count {
		return m.Measurement, fmt.Errorf("fortio: all of its %d requests failed (%s)", h.Count, fortioCodes(r.RetCodes))
	}
	if failed > 0 {
		m.note("%d of %d requests failed (%s); their times are in the figures.", failed, h.Count, fortioCodes(r.RetCodes))
	}
	fortioTimes(m, metric, h)
	m.addKnown(result.TransactionRate, "", r.ActualQPS, 1, "")
	m.add(result.Sent, "", float64(h.Count), "")
	m.add(result.Received, "", float64(h.Count-failed), "")
	if c := r.ConnectionStats; c != nil && c.Count > 0 {
		m.add(result.ConnectTime, result.Mean, c.Avg, "")
	}
	return m.Measurement, nil
}

// fortioKind sets mode, protocol and definition by the type of the run, and gives the metric of its times. Over TCP and
// UDP fortio waits for the echo of what it sent, which is a round trip.
func fortioKind(m *measured, r *fortioResult) (metric string) {
	m.Mode = experiment.RR
	switch kind := lower(r.RunType); kind {
	case experiment.TCP, experiment.UDP:
		m.Protocol = kind
		m.define(result.DefinitionRTT, result.DefinitionRTT)
		return result.RTT
	case "http":
		m.Protocol = "http"
		if strings.HasPrefix(strings.ToLower(r.URL), "https:") {
			m.Protocol = "https"
		}
		if r.H2 {
			m.Protocol += "/2"
		}
		if r.DisableKeepAlive || r.HTTP10 {
			m.Mode = experiment.CRR
		}
		m.define(definitionFortio, definitionFortio)
	default:
		m.Protocol = "grpc"
		m.define(definitionFortioGRPC, definitionFortioGRPC)
	}
	return result.ResponseTime
}

// fortioSchedule is the load that was asked for.
func fortioSchedule(qps string) string {
	if _, ok := number(qps); ok {
		return "constant " + qps + "/s"
	}
	return qps // max
}

// failed counts the requests without a good response. Versions that do not count them say the codes of all responses.
func (r *fortioResult) failed() int64 {
	if e := r.ErrorsDurationHistogram; e != nil {
		return max(e.Count, 0)
	}
	var failed int64
	for code, n := range r.RetCodes {
		status, err := strconv.Atoi(code)
		good := err != nil && (code == "SERVING" || code == "OK") || status >= 200 && status < 300 || status == 418
		if !good && n > 0 {
			failed += n
		}
	}
	return failed
}

// fortioCodes lists the codes of responses with their counts.
func fortioCodes(codes map[string]int64) string {
	var list []string
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		if list = append(list, fmt.Sprintf("%s: %d", excerpt(code), codes[code])); len(list) == 10 {
			break
		}
	}
	if len(list) == 0 {
		return "no codes"
	}
	return strings.Join(list, ", ")
}

// fortioBuckets is a note on results whose options are not known.
const fortioBuckets = "fortio interpolates percentiles within the buckets of its histogram (1 ms wide unless -r says " +
	"otherwise)."

// fortioTimes adds the figures of a histogram of times.
func fortioTimes(m *measured, metric string, h *fortioHistogram) {
	m.add(metric, result.Mean, h.Avg, "")
	if h.Count > 1 {
		m.add(metric, result.Stddev, h.StdDev, "")
	}
	m.add(metric, result.Min, h.Min, "")
	m.add(metric, result.Max, h.Max, "")
	for i, p := range h.Percentiles {
		if i == 100 {
			break
		}
		m.percentile(metric, p.Percentile, p.Value, h.Count)
	}
	if len(h.Percentiles) > 0 {
		m.note(fortioBuckets)
	}
}
