package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const pkbName = "pkb"

// pkbProgram declares the samples of PerfKitBenchmarker (github.com/GoogleCloudPlatform/PerfKitBenchmarker): one JSON
// object a line. The format is the fields of perfkitbenchmarker/sample.py, with the labels of GetLabelsFromDict and the
// keys that perfkitbenchmarker/publisher.py adds; the names of the metrics are those of
// linux_benchmarks/netperf_benchmark.py, iperf_benchmark.py and ping_benchmark.py.
func pkbProgram() program {
	p := readOnly(pkbName, "newline JSON: samples of its benchmarks netperf, iperf and ping", "1.0 to 1.15 read")
	p.documents = func() documentReader { return &pkbReader{} }
	return p
}

// pkbSample is one sample: one figure.
type pkbSample struct {
	Test      string         `json:"test"`
	Metric    string         `json:"metric"`
	Value     *float64       `json:"value"`
	Unit      string         `json:"unit"`
	Timestamp float64        `json:"timestamp"`
	RunURI    string         `json:"run_uri"`
	Labels    *string        `json:"labels"`
	Metadata  map[string]any `json:"metadata"`
}

var (
	pkbNetperf = lazyregexp.New(`^(?:TCP|UDP|SCTP)_(?:RR|CRR|STREAM)_`)
	pkbLabel   = lazyregexp.New(`\|[^|:]+:[^|]*\|`)
)

// pkbReader collects samples. Those of one execution of a benchmark follow each other.
type pkbReader struct {
	found []foundRun
	// group is of the current execution; nil for none.
	group *pkbGroup
	// begin and end are of the execution whose samples come next.
	begin, end float64
	// others are samples of benchmarks that are not read.
	others    int
	firstTest string
}

// pkbGroup holds the samples of one execution.
type pkbGroup struct {
	key, test, kind string
	labels          map[string]string
	values          map[string]pkbSample
	names           []string
	first           string
	begin, end      float64
}

// maxPkbSample bounds one sample, in bytes.
const maxPkbSample = 1 << 20

func (r *pkbReader) take(d document) bool {
	if d.truncated || len(d.body) > maxPkbSample || !strings.Contains(d.body, `"metric"`) ||
		!strings.Contains(d.body, `"test"`) {
		return false
	}
	var s pkbSample
	if json.Unmarshal([]byte(d.body), &s) != nil || s.Test == "" || s.Metric == "" || s.Value == nil ||
		s.Labels == nil && s.Metadata == nil {
		return false
	}
	r.add(d.body, s)
	return true
}

// add adds a sample to the execution that it belongs to.
func (r *pkbReader) add(body string, s pkbSample) {
	switch s.Metric {
	case "start_time":
		r.begin, r.end = *s.Value, 0
		return
	case "end_time":
		r.end = *s.Value
		return
	}
	kind := pkbKind(s)
	if kind == "" {
		if r.others++; r.firstTest == "" {
			r.firstTest = s.Test
		}
		return
	}
	labels := s.labels()
	key := strings.Join([]string{s.RunURI, s.Test, kind, labels["ip_type"], labels["sending_zone"],
		labels["receiving_zone"], labels["sending_thread_count"]}, "|")
	if g := r.group; g != nil {
		if _, again := g.values[s.Metric]; again || g.key != key || r.begin > 0 {
			r.endGroup()
		}
	}
	g := r.group
	if g == nil {
		g = &pkbGroup{key: key, test: s.Test, kind: kind, labels: labels, values: map[string]pkbSample{}, first: body,
			begin: r.begin, end: r.end}
		r.group, r.begin, r.end = g, 0, 0
	}
	g.values[s.Metric] = s
	g.names = append(g.names, s.Metric)
}

// endGroup makes a run of the samples of the current execution.
func (r *pkbReader) endGroup() {
	if r.group != nil && len(r.found) <= MaxRuns {
		m, err := r.group.measurement()
		r.found = append(r.found, foundRun{r.group.first, m, err})
	}
	r.group = nil
}

// pkbKind is the kind of measurement that a sample belongs to, such as TCP_RR; empty for one that is not read.
func pkbKind(s pkbSample) string {
	switch prefix := strings.TrimSuffix(pkbNetperf.FindString(s.Metric), "_"); {
	case prefix != "":
		return prefix
	case s.Test == "ping" && strings.Contains(s.Metric, "Latency"):
		return "PING"
	case strings.HasPrefix(s.Test, "iperf") && s.Metric == "Throughput":
		return "TCP_STREAM"
	case strings.HasPrefix(s.Test, "iperf") && s.Metric == "UDP Throughput":
		return "UDP_STREAM"
	}
	return ""
}

// labels are the metadata, which are an object or one text of |key:value| pairs.
func (s pkbSample) labels() map[string]string {
	labels := map[string]string{}
	for key, value := range s.Metadata {
		labels[key] = excerpt(fmt.Sprint(value))
	}
	if s.Labels != nil {
		for _, pair := range pkbLabel.FindAllString(*s.Labels, 1000) {
			key, value, _ := strings.Cut(strings.Trim(pair, "|"), ":")
			labels[key] = excerpt(value)
		}
	}
	return labels
}

func (r *pkbReader) runs() []foundRun {
	r.endGroup()
	if len(r.found) == 0 && r.others > 0 {
		err := fmt.Errorf("pkb: none of its %d samples is of netperf, iperf or ping; the first is of %s", r.others,
			excerpt(r.firstTest))
		r.found = append(r.found, foundRun{r.firstTest, newMeasured(pkbName).Measurement, err})
	}
	return r.found
}

// measurement makes a measurement of the samples of one execution.
func (g *pkbGroup) measurement() (result.Measurement, error) {
	m := newMeasured(pkbName)
	m.Tool.Version = g.labels["perfkitbenchmarker_version"]
	protocol, kind, _ := strings.Cut(strings.ToLower(g.kind), "_")
	m.Protocol = protocol
	m.Mode = map[string]string{"rr": experiment.RR, "crr": experiment.CRR, "stream": experiment.Stream}[kind]
	if g.kind == "PING" {
		m.Mode, m.Protocol = experiment.Ping, experiment.ICMP
	}
	m.fact(result.FactSetting, strings.TrimSpace(lower(g.test)+" "+lower(g.labels["ip_type"])))
	m.fact("connections", g.labels["sending_thread_count"])
	for _, key := range []string{"sending_zone", "receiving_zone", "sending_machine_type", "receiving_machine_type",
		"cloud"} {
		m.fact(key, g.labels[key])
	}
	m.MessageBytes = integer(g.labels["netperf_send_size_in_bytes"])
	m.seconds(g.end - g.begin)
	if at := g.begin; at > 0 {
		m.started(time.UnixMilli(int64(min(at*1000, 1e15))))
	} else {
		m.started(time.UnixMilli(int64(min(g.values[g.names[0]].Timestamp*1000, 1e15))))
	}
	for _, name := range g.names {
		if err := g.figure(m, g.values[name]); err != nil {
			return m.Measurement, err
		}
	}
	return g.judge(m)
}

// figure adds one sample. Multiple streams have statistics of their throughputs beside the total; they are left out.
func (g *pkbGroup) figure(m *measured, s pkbSample) error {
	name := strings.TrimPrefix(s.Metric, g.kind+"_")
	switch stat, latency := strings.CutPrefix(name, "Latency_"); {
	case latency:
		return g.latency(m, stat, s)
	case g.kind == "PING":
		stats := map[string]string{"Min Latency": result.Min, "Average Latency": result.Mean, "Max Latency": result.Max,
			"Latency Std Dev": result.Stddev}
		if stats[name] != "" {
			return g.latency(m, stats[name], s)
		}
	case name == "Transaction_Rate", name == "Throughput_total" && s.Unit == "transactions_per_second":
		m.add(result.TransactionRate, "", *s.Value, "")
	case name == "Throughput", name == "UDP Throughput", name == "Throughput_total":
		if s.Unit != "Mbits/sec" && s.Unit != "Mbps" {
			return fmt.Errorf("pkb: the unit %q of %s is not known", excerpt(s.Unit), excerpt(s.Metric))
		}
		if !m.has(result.Goodput) {
			m.add(result.Goodput, "", *s.Value*1e6, "")
		}
	}
	return nil
}

// latency adds a statistic of full round trips.
func (g *pkbGroup) latency(m *measured, stat string, s pkbSample) error {
	if stat == "Histogram" {
		return nil
	}
	scale, known := map[string]float64{"us": microsecond, "ms": millisecond, "s": 1, "sec": 1}[s.Unit]
	if !known {
		return fmt.Errorf("pkb: the unit %q of %s is not known", excerpt(s.Unit), excerpt(s.Metric))
	}
	for _, old := range m.Metrics {
		if old.Name == result.RTT && old.Stat == stat {
			return nil
		}
	}
	percentile, isPercentile := number(strings.TrimPrefix(stat, "p"))
	switch {
	case stat == result.Min, stat == result.Max, stat == result.Mean, stat == result.Stddev:
		m.add(result.RTT, stat, *s.Value*scale, "")
	case isPercentile && strings.HasPrefix(stat, "p"):
		m.percentile(result.RTT, percentile, *s.Value*scale, g.count())
	}
	return nil
}

// count is how many transactions there were, if rate and length are known.
func (g *pkbGroup) count() int64 {
	rate, ok := g.values[g.kind+"_Transaction_Rate"]
	if !ok || g.end <= g.begin || g.begin == 0 {
		return 0
	}
	return int64(math.Min(*rate.Value*(g.end-g.begin), 1<<60))
}

// judge sets the definition of the figures.
func (g *pkbGroup) judge(m *measured) (result.Measurement, error) {
	if m.hasZero(result.TransactionRate) || m.hasZero(result.Goodput) {
		m.Metrics = m.Metrics[:0]
		return m.Measurement, errors.New("pkb: the rate is 0: the benchmark failed")
	}
	if m.Mode == experiment.Stream {
		m.drop(result.RTT)
	}
	if len(m.Metrics) == 0 {
		return m.Measurement, errors.New("pkb: its samples of " + g.kind + " have no figure that is read")
	}
	m.define(result.DefinitionRate, result.DefinitionRate)
	if m.has(result.RTT) {
		m.define(result.DefinitionRTT, result.DefinitionRTT)
	}
	rate, single := g.values[g.kind+"_Transaction_Rate"]
	mean := false
	for _, metric := range m.Metrics {
		mean = mean || metric.Name == result.RTT && metric.Stat == result.Mean
	}
	if single && !mean && m.Mode != experiment.Stream {
		// netperf has one transaction at a time in flight.
		m.define(result.DefinitionRate, result.DefinitionRTT)
		m.add(result.RTT, result.Mean, 1 / *rate.Value, "")
	}
	return m.Measurement, nil
}
