package tool

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const k8sNetperfName = "k8s-netperf"

// k8sNetperfProgram declares k8s-netperf (github.com/cloud-bulldozer/k8s-netperf), which runs netperf, iperf3, uperf
// and ib_write_bw between pods. The format is what pkg/archive/archive.go writes: the struct Doc as JSON (`-json`), and
// commonCsvHeaderFields with WriteCSVResult (`-csv`); what the numbers are, pkg/drivers says. Columns were added over
// time, and are read by their names.
func k8sNetperfProgram() program {
	p := readOnly(k8sNetperfName, "CSV and JSON: means over samples of Mbit/s, transactions/s, and p99 in us",
		"2022 to 2026 read")
	p.mark, p.parseAll = k8sNetperfMark, parseK8sNetperfCSV
	p.documents = func() documentReader {
		return &eachDocument{name: k8sNetperfName, keys: []string{`"tputMetric"`, `"ltcyMetric"`},
			is: isK8sNetperf, parse: parseK8sNetperfJSON}
	}
	return p
}

var k8sNetperfRow = lazyregexp.New(`^(?:\d+,)?(?:[\w-]*,)?(?:TCP|UDP|SCTP)_[A-Z_]+,(?:true|false),(?:true|false),`)

// k8sNetperfMark recognises the header and the rows of the CSV.
func k8sNetperfMark(line string) mark {
	switch {
	case strings.Contains(line, "Profile,Same node,Host Network,") && strings.Contains(line, ",Avg Throughput,"):
		return markBanner
	case k8sNetperfRow.MatchString(line):
		return markWeak
	}
	return markNone
}

// k8sNetperfResult is one row of the CSV, or one document. Throughput and latency are means over the samples; the
// latency is the 99th percentile that the driver printed, in microseconds.
type k8sNetperfResult struct {
	Driver         string  `json:"driver"`
	Profile        string  `json:"profile"`
	Parallelism    float64 `json:"parallelism"`
	Duration       float64 `json:"duration"`
	Samples        float64 `json:"samples"`
	MessageSize    float64 `json:"messageSize"`
	Burst          float64 `json:"burst"`
	Throughput     float64 `json:"throughput"`
	Latency        float64 `json:"latency"`
	TputMetric     string  `json:"tputMetric"`
	HostNetwork    bool    `json:"hostNetwork"`
	Service        bool    `json:"service"`
	Local          bool    `json:"local"`
	Virt           bool    `json:"virt"`
	AcrossAZ       bool    `json:"acrossAZ"`
	ExternalServer bool    `json:"externalServer"`
	Udn            string  `json:"udnInfo"`
	Bridge         string  `json:"bridgeInfo"`
	Sriov          string  `json:"sriovInfo"`
	Macvlan        string  `json:"macvlanInfo"`
	Localnet       string  `json:"localnetInfo"`
	// The following are in the JSON alone.
	Timestamp   time.Time `json:"timestamp"`
	ToolVersion string    `json:"toolVersion"`
	Retransmits *float64  `json:"tcpRetransmits"`
	LossPercent *float64  `json:"udpLossPercent"`
}

func isK8sNetperf(d document) bool {
	if d.truncated || !strings.Contains(d.body, `"tputMetric"`) {
		return false
	}
	var keys struct{ Profile, TputMetric, LtcyMetric *string }
	return json.Unmarshal([]byte(d.body), &keys) == nil && keys.Profile != nil && keys.TputMetric != nil &&
		keys.LtcyMetric != nil
}

func parseK8sNetperfJSON(d document) []foundRun {
	var r k8sNetperfResult
	if err := json.Unmarshal([]byte(d.body), &r); err != nil {
		err = fmt.Errorf("k8s-netperf: its JSON is not as it writes it: %w", err)
		return []foundRun{{d.body, newMeasured(k8sNetperfName).Measurement, err}}
	}
	m, err := r.measurement()
	return []foundRun{{d.body, m, err}}
}

// parseK8sNetperfCSV reads the rows below a header.
func parseK8sNetperfCSV(text string) (found []foundRun) {
	var columns []string
	for line := range strings.SplitSeq(text, "\n") {
		if len(found) > MaxRuns {
			break
		}
		line = strings.TrimSpace(line)
		reader := csv.NewReader(strings.NewReader(line))
		reader.LazyQuotes = true
		fields, err := reader.Read()
		switch {
		case err != nil:
		case slices.Contains(fields, "Avg Throughput"):
			columns = fields
		case columns == nil || !k8sNetperfRow.MatchString(line):
		case len(fields) < len(columns):
			err := errors.New("k8s-netperf: the row is cut off")
			found = append(found, foundRun{line, newMeasured(k8sNetperfName).Measurement, err})
		default:
			r := k8sNetperfFields(columns, fields)
			m, err := r.measurement()
			found = append(found, foundRun{line, m, err})
		}
	}
	if len(found) == 0 {
		found = append(found, foundRun{text, newMeasured(k8sNetperfName).Measurement,
			errors.New("k8s-netperf: no row of results is in the CSV")})
	}
	return found
}

// k8sNetperfFields gives the fields of a row by the names of their columns.
func k8sNetperfFields(columns, fields []string) (r k8sNetperfResult) {
	texts := map[string]*string{"Driver": &r.Driver, "Profile": &r.Profile, "Throughput Metric": &r.TputMetric,
		"UDN Info": &r.Udn, "Bridge Info": &r.Bridge, "SR-IOV Info": &r.Sriov, "Macvlan Info": &r.Macvlan,
		"Localnet Info": &r.Localnet}
	flags := map[string]*bool{"Same node": &r.Local, "Host Network": &r.HostNetwork, "VM mode": &r.Virt,
		"Service": &r.Service, "External Server": &r.ExternalServer}
	numbers := map[string]*float64{"Duration": &r.Duration, "Parallelism": &r.Parallelism, "# of Samples": &r.Samples,
		"Message Size": &r.MessageSize, "Burst": &r.Burst, "Avg Throughput": &r.Throughput,
		"99%tile Observed Latency": &r.Latency}
	for i, name := range columns {
		field := strings.TrimSpace(fields[i])
		if text := texts[name]; text != nil {
			*text = field
		}
		if flag := flags[name]; flag != nil {
			*flag = field == "true"
		}
		if v, ok := number(field); ok && numbers[name] != nil {
			*numbers[name] = v
		}
	}
	return r
}

// setting says in which setting the pods ran. The driver belongs to it, because each measures in its own way.
func (r *k8sNetperfResult) setting() string {
	words := []string{lower(r.Driver)}
	for _, s := range []struct {
		on   bool
		word string
	}{
		{r.HostNetwork, "hostnet"}, {r.Local, "samenode"}, {r.AcrossAZ, "az"}, {r.Service, "svc"}, {r.Virt, "vm"},
		{r.ExternalServer, "ext"}, {r.Burst > 0, "burst" + strconv.Itoa(int(min(r.Burst, 1e9)))},
	} {
		if s.on {
			words = append(words, s.word)
		}
	}
	for _, s := range [][2]string{
		{"udn", r.Udn}, {"bridge", r.Bridge}, {"sriov", r.Sriov}, {"macvlan", r.Macvlan}, {"localnet", r.Localnet},
	} {
		if name := strings.ReplaceAll(lower(s[1]), " ", "_"); name != "" && name != "false" {
			words = append(words, s[0]+"="+name)
		}
	}
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), " ")
}

// measurement makes a measurement of the result.
func (r *k8sNetperfResult) measurement() (result.Measurement, error) {
	m := newMeasured(k8sNetperfName)
	m.Tool.Version = excerpt(r.ToolVersion)
	m.started(r.Timestamp)
	m.seconds(r.Duration)
	protocol, kind, _ := strings.Cut(lower(r.Profile), "_")
	m.Protocol = protocol
	if driver := lower(r.Driver); strings.HasPrefix(driver, "ib_") || strings.HasPrefix(driver, "ibwrite") {
		m.Protocol = "rdma-write"
	}
	m.Mode = map[string]string{"rr": experiment.RR, "crr": experiment.CRR}[kind]
	if m.Mode == "" {
		m.Mode = experiment.Stream
	}
	if r.MessageSize >= 1 && r.MessageSize < 1<<40 {
		m.MessageBytes = int(r.MessageSize)
	}
	for fact, value := range map[string]float64{"connections": r.Parallelism, "samples": r.Samples} {
		if value >= 1 && value < 1<<30 {
			m.fact(fact, strconv.Itoa(int(value)))
		}
	}
	m.fact(result.FactSetting, r.setting())
	if r.Throughput <= 0 {
		return m.Measurement, errors.New("k8s-netperf: it has no throughput: all samples failed")
	}
	if r.Samples > 1 {
		m.note("k8s-netperf gives the mean over its samples (%v here): one trial is one row, and how the samples differ "+
			"is not in it.", r.Samples)
	}
	if m.Mode == experiment.Stream {
		return r.stream(m)
	}
	return r.transactions(m)
}

// stream reads a throughput. The times of a stream are not of round trips.
func (r *k8sNetperfResult) stream(m *measured) (result.Measurement, error) {
	scale, known := map[string]float64{"": 1e6, "mb/s": 1e6, "mbps": 1e6, "mbit/s": 1e6, "10^6bits/s": 1e6, "gb/s": 1e9,
		"mib/s": mebibyte}[lower(r.TputMetric)]
	if !known {
		return m.Measurement, fmt.Errorf("k8s-netperf: the unit %q of its throughput is not known", excerpt(r.TputMetric))
	}
	m.define(result.DefinitionRate, result.DefinitionRate)
	m.add(result.Goodput, "", r.Throughput*scale, "")
	switch m.Protocol {
	case experiment.TCP:
		m.addKnown(result.Retransmits, "", r.Retransmits, 1, "")
	case experiment.UDP:
		m.note("k8s-netperf does not say whether a throughput over UDP is the sender's or the receiver's.")
		if loss := r.LossPercent; loss != nil && *loss <= 100 {
			m.add(result.Loss, "", *loss/100, "")
		}
	}
	return m.Measurement, nil
}

// transactions reads a rate of transactions and a 99th percentile.
func (r *k8sNetperfResult) transactions(m *measured) (result.Measurement, error) {
	m.define(result.DefinitionRate, result.DefinitionRate)
	m.add(result.TransactionRate, "", r.Throughput, "")
	if lower(r.Driver) == "uperf" {
		m.note("The latency of driver uperf is a percentile of means over intervals, and is not read.")
		return m.Measurement, nil
	}
	if r.Latency > 0 {
		m.define(result.DefinitionRTT, result.DefinitionRTT)
		m.add(result.RTT, result.P99, r.Latency*microsecond, "")
		m.note("p99 is the mean of the 99th percentiles of samples and of parallel processes.")
	}
	if r.Parallelism <= 1 && r.Burst == 0 {
		// One transaction at a time was in flight.
		m.define(result.DefinitionRate, result.DefinitionRTT)
		m.add(result.RTT, result.Mean, 1/r.Throughput, "")
	}
	return m.Measurement, nil
}
