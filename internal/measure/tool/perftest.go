package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"strconv"
	"strings"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const perftestName = "perftest"

// perftestProgram declares the programs of perftest (github.com/linux-rdma/perftest): ib_write_lat, ib_send_bw and the
// like. The format is what ctx_print_test_info, print_report_lat, print_report_lat_duration and print_full_bw_report of
// src/perftest_parameters.c print, with the headers RESULT_FMT of perftest_parameters.h; as JSON, what
// write_test_info_to_file writes (`--out_json`).
func perftestProgram() program {
	p := readOnly(perftestName, "half round trips in us (of reads and atomics full ones); MiB/s or Gbit/s", "3 to 25 read")
	p.mark, p.parseAll = perftestMark, parsePerftest
	p.documents = func() documentReader {
		return &eachDocument{name: perftestName, keys: []string{`"test_info"`, `"n_iterations"`},
			is: isPerftest, parse: parsePerftestJSON}
	}
	return p
}

var (
	perftestCommand = lazyregexp.New(`(?:^|[$#>%/\s])((?:ib_(?:write|read|send|atomic)|raw_ethernet)_(?:lat|bw))` +
		`(?:\s+-|\s+[0-9a-z]|$)`)
	perftestBanner = lazyregexp.New(`^(Send|Send_imm|RDMA_Write|RDMA_Write_imm|RDMA_Read|Atomic)[ _]` +
		`(?:\w+[ _]|[\w ]+ )?(Latency|BW)(?: [\w ]+)?[ _]Test$`)
	// perftestColumn are the columns of the tables; older versions write MB for MiB.
	perftestColumn = lazyregexp.New(`#bytes|#sl|#iterations|t_(?:min|max|typical|avg|stdev)\[\w+\]|` +
		`99(?:\.9)?% percentile\[\w+\]|tps average|BW[ _](?:peak|average|Port\d)\[[\w/]+\]|` +
		`MsgRate(?: Port\d)?\[Mpps\]|CPU_Util\[%+\]`)
	perftestInfo    = lazyregexp.New(`(?:Device|Number of qps|Connection type|Link type|Mtu|TX depth)\s*: [\w.-]+`)
	perftestFailure = lazyregexp.New(`^(?:Couldn't |Unable to |Failed |Completion with error|Can't |Cannot |.* does not |` +
		`Segmentation).*`)
)

// perftestMark recognises lines of the programs.
func perftestMark(line string) mark {
	switch {
	case !containsAny(line, "ib_", "raw_ethernet", " Test", "#bytes", "Number of qps"):
		return markNone
	case strings.HasPrefix(line, "#bytes") && strings.Contains(line, "#iterations"):
		return markHeader
	case perftestBanner.MatchString(line):
		return markBanner
	case strings.HasPrefix(line, "Number of qps"):
		return markWeak
	case perftestCommand.MatchString(line) && !strings.Contains(line, "|"):
		return markCommand
	}
	return markNone
}

// perftestTest is what the output says of a test before its results.
type perftestTest struct {
	// verb is send, write, read or atomic, empty if it is not said; latency says that it is about times.
	verb          string
	latency       bool
	bidirectional bool
	facts         map[string]string
	warned        bool
	failure       string
}

// name sets the kind of a test by its title: "RDMA_Write Latency Test".
func (t *perftestTest) name(title string) bool {
	s := perftestBanner.FindStringSubmatch(title)
	if s == nil {
		return false
	}
	t.verb = strings.TrimSuffix(strings.TrimPrefix(strings.ToLower(s[1]), "rdma_"), "_imm")
	t.latency, t.bidirectional = s[2] == "Latency", strings.Contains(title, "Bidirectional")
	return true
}

// line reads a line that is not of a table.
func (t *perftestTest) line(line string) {
	for _, pair := range perftestInfo.FindAllString(line, -1) {
		name, value, _ := strings.Cut(pair, ":")
		t.facts[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	if program := find(perftestCommand, line); program != "" && t.verb == "" {
		words := strings.Split(program, "_")
		t.verb, t.latency = strings.Replace(words[1], "ethernet", "send", 1), words[2] == "lat"
	}
	t.warned = t.warned || strings.Contains(line, "CPU frequency values detected")
	if t.failure == "" && perftestFailure.MatchString(line) {
		t.failure = excerpt(line)
	}
}

// parsePerftest reads the tables of one execution. Each row is a run: with -a there is one for each size.
func parsePerftest(text string) (found []foundRun) {
	t := perftestTest{facts: map[string]string{}}
	var columns []string
	var head uint32 // a sum of what stands before the rows
	for line := range strings.SplitSeq(text, "\n") {
		if len(found) > MaxRuns {
			break
		}
		line = strings.TrimSpace(line)
		fields := strings.Fields(line)
		switch {
		case t.name(line):
		case strings.HasPrefix(line, "#bytes"):
			columns = perftestColumn.FindAllString(line, -1)
		case len(columns) > 0 && len(fields) > 1 && strings.Trim(line, "0123456789.- \t") == "" && line[0] != '-':
			m, err := t.row(columns, fields)
			found = append(found, foundRun{fmt.Sprintf("%08x %s", head, line), m, err})
			continue
		default:
			t.line(line)
		}
		head = crc32.Update(head, crc32.IEEETable, []byte(line))
	}
	if t.warned {
		for i := range found {
			found[i].m.Notes = append(found[i].m.Notes,
				"perftest warned that the frequencies of CPUs differ, by which it counts time.")
		}
	}
	if len(found) == 0 {
		err := errors.New("perftest printed no result: it was ended before, or the output is cut off")
		if t.failure != "" {
			err = errors.New("perftest: " + t.failure)
		}
		found = append(found, foundRun{text, t.start().Measurement, err})
	}
	return found
}

// start makes a measurement of what is said before the results.
func (t *perftestTest) start() *measured {
	m := newMeasured(perftestName)
	m.Mode = experiment.Stream
	if t.latency {
		m.Mode = experiment.RR
	}
	if t.verb != "" {
		m.Protocol = "rdma-" + t.verb
	}
	setting := strings.ToLower(t.facts["Connection type"])
	if setting == "raweth" {
		m.Protocol, setting = "raw-ethernet", ""
	}
	if t.bidirectional {
		setting = strings.TrimSpace(setting + " bidirectional")
	}
	m.fact(result.FactSetting, setting)
	m.fact("connections", t.facts["Number of qps"])
	for name, fact := range map[string]string{
		"Device": "device", "Link type": "link", "Mtu": "mtu", "TX depth": "tx_depth",
	} {
		m.fact(fact, t.facts[name])
	}
	return m
}

// row reads a row below the names of its columns.
func (t *perftestTest) row(columns, fields []string) (result.Measurement, error) {
	if len(fields) < len(columns) {
		return t.start().Measurement, errors.New("perftest: a row of its table is cut off")
	}
	values, bandwidth := map[string]float64{}, 0.0
	for i, column := range columns {
		name, unit, _ := strings.Cut(strings.TrimSuffix(column, "]"), "[")
		v, ok := number(fields[i])
		switch {
		case !ok:
			continue
		case strings.HasPrefix(name, "t_") && unit != "usec", strings.HasPrefix(name, "99") && unit != "usec":
			return t.start().Measurement, fmt.Errorf("perftest: times in %s are not read", unit)
		case strings.HasPrefix(name, "t_"):
			t.latency = true
		case strings.HasPrefix(name, "BW"):
			t.latency = false
			bandwidth = mebibyte
			if strings.HasPrefix(unit, "Gb") {
				bandwidth = 1e9
			}
		}
		values[strings.Replace(name, "BW_", "BW ", 1)] = v
	}
	return t.results(values, bandwidth)
}

// results makes metrics of the values by the names of the table. bandwidth is their unit of rates, in bit/s.
func (t *perftestTest) results(values map[string]float64, bandwidth float64) (result.Measurement, error) {
	m := t.start()
	if size := values["#bytes"]; size >= 1 && size < 1<<40 {
		m.MessageBytes = int(size)
	}
	count := int64(min(max(values["#iterations"], 0), 1<<60))
	if count > 0 {
		m.fact("iterations", strconv.FormatInt(count, 10))
	}
	if !t.latency {
		m.define(result.DefinitionRate, result.DefinitionRate)
		if values["BW average"] <= 0 {
			return m.Measurement, errors.New("perftest: its bandwidth is 0: nothing arrived")
		}
		m.add(result.Goodput, "", values["BW average"]*bandwidth, "")
		if v, ok := values["MsgRate"]; ok {
			m.add(result.MessageRate, "", v*1e6, "")
		}
		if t.bidirectional {
			m.note("The rates are of both directions together.")
		}
		return m.Measurement, nil
	}
	return t.times(m, values, count)
}

// times reads the times of a round trip. perftest prints half of what it measured, but of reads and atomics, which the
// other side's network card answers.
func (t *perftestTest) times(m *measured, values map[string]float64, count int64) (result.Measurement, error) {
	scale, reported := 2*microsecond, result.DefinitionHalfRTT
	switch t.verb {
	case "":
		return m.Measurement, errors.New("perftest: the output does not say which program printed it: of ib_read_lat " +
			"and ib_atomic_lat times are full round trips, of others halves; put the command line or the title into " +
			"the file")
	case "read", "atomic":
		scale, reported = microsecond, result.DefinitionRTT
	}
	for _, s := range [][2]string{{result.Min, "t_min"}, {result.Max, "t_max"}, {result.Mean, "t_avg"}} {
		if v, ok := values[s[1]]; ok && v > 0 {
			m.add(result.RTT, s[0], v*scale, "")
		}
	}
	for _, s := range []struct {
		column     string
		percentile float64
	}{{"t_typical", 50}, {"99% percentile", 99}, {"99.9% percentile", 99.9}} {
		if v, ok := values[s.column]; ok && v > 0 {
			m.percentile(result.RTT, s.percentile, v*scale, count)
		}
	}
	if tps, ok := values["tps average"]; ok {
		m.add(result.TransactionRate, "", tps, "")
	}
	if !m.has(result.RTT) {
		return m.Measurement, errors.New("perftest: the row has no times")
	}
	m.define(reported, result.DefinitionRTT)
	if reported == result.DefinitionHalfRTT {
		m.note("perftest printed half round trips; they are doubled here.")
	}
	return m.Measurement, nil
}

// perftestResult is the document of --out_json.
type perftestResult struct {
	Info struct {
		Test           string
		Device         string
		QueuePairs     int    `json:"Number_of_qps"`
		ConnectionType string `json:"Connection_type"`
		LinkType       string `json:"Link_type"`
		MTU            int    `json:"Mtu"`
	} `json:"test_info"`
	Results map[string]any `json:"results"`
}

func isPerftest(d document) bool {
	return !d.truncated && strings.Contains(d.body, `"test_info"`) && strings.Contains(d.body, `"n_iterations"`)
}

func parsePerftestJSON(d document) []foundRun {
	var r perftestResult
	t := perftestTest{facts: map[string]string{}}
	if err := json.Unmarshal([]byte(d.body), &r); err != nil {
		err = fmt.Errorf("perftest: its JSON is not as it writes it: %w", err)
		return []foundRun{{d.body, t.start().Measurement, err}}
	}
	t.name(r.Info.Test)
	for name, value := range map[string]string{"Device": r.Info.Device, "Connection type": r.Info.ConnectionType,
		"Link type": r.Info.LinkType, "Number of qps": strconv.Itoa(r.Info.QueuePairs), "Mtu": strconv.Itoa(r.Info.MTU)} {
		if value != "0" {
			t.facts[name] = value
		}
	}
	values := map[string]float64{}
	for name, key := range map[string]string{"#bytes": "MsgSize", "#iterations": "n_iterations", "t_min": "t_min",
		"t_max": "t_max", "t_typical": "t_typical", "t_avg": "t_avg", "99% percentile": "percentile_99",
		"99.9% percentile": "percentile_99.9", "tps average": "tps_average", "BW average": "BW_average",
		"MsgRate": "MsgRate"} {
		if v, ok := r.Results[key].(float64); ok {
			values[name] = v
		}
	}
	_, t.latency = values["t_avg"]
	m, err := t.results(values, perftestUnit(values))
	return []foundRun{{d.body, m, err}}
}

// perftestUnit finds the unit of a bandwidth in JSON, which does not say it: size and rate of messages give the same
// bandwidth in bit/s.
func perftestUnit(values map[string]float64) float64 {
	rate := values["#bytes"] * values["MsgRate"] * 8e6
	if math.Abs(values["BW average"]*1e9-rate) < math.Abs(values["BW average"]*mebibyte-rate) {
		return 1e9
	}
	return mebibyte
}
