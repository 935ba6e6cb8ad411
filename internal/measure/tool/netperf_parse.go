package tool

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// netperfRun holds the values of one output in any layout, by netperf's names (THROUGHPUT, P50_LATENCY, ...).
type netperfRun struct {
	banner string // the text between "MIGRATED" and "TEST"
	whole  string // the whole line of the banner
	// classic says that the layout is one of the fixed tables, which have no latency.
	classic bool
	values  map[string]string
}

// parseNetperf reads one run in any of netperf's layouts: KEY=value lines (-k), comma-separated (-o), columns (-O and
// the omni test), and the fixed tables of the classic tests.
func parseNetperf(text string) (result.Measurement, error) {
	m := newMeasured(netperfName)
	m.Tool.Version = find(netperfVersion, text)
	run := &netperfRun{values: map[string]string{}}
	var body []string
	failure := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimRight(line, " \t")
		switch {
		case netperfInterim.MatchString(line), netperfCommand.MatchString(line):
		case netperfFailure.MatchString(line):
			if failure == "" {
				failure = strings.TrimPrefix(excerpt(line), "netperf: ")
			}
		case strings.HasPrefix(line, "!!!"):
			if strings.Contains(line, "onfidence") {
				m.note("netperf says that the confidence asked for was not reached.")
			}
		case netperfBanner.MatchString(line) && run.banner == "":
			run.banner, run.whole = find(netperfBanner, line), line
		default:
			body = append(body, line)
		}
	}
	for _, read := range []func(*netperfRun, []string) bool{readNetperfPairs, readNetperfCSV, readNetperfTable,
		readNetperfColumns} {
		if read(run, body) {
			break
		}
	}
	if _, ok := number(run.values["THROUGHPUT"]); !ok && run.values["TRANSACTION_RATE"] == "" {
		if failure != "" {
			return m.Measurement, errors.New("netperf: " + failure)
		}
		return m.Measurement, errors.New(
			"netperf printed no result: it was ended before, or the output is cut off or of an unknown layout")
	}
	run.measure(m)
	if !m.has(result.TransactionRate) && !m.has(result.Goodput) {
		m.Metrics = m.Metrics[:0]
		m.define(result.DefinitionNone, result.DefinitionNone)
		return m.Measurement, errors.New("netperf printed neither a transaction rate nor a throughput that can be read")
	}
	if failure != "" {
		return m.Measurement, errors.New("netperf: " + failure)
	}
	return m.Measurement, nil
}

// kind gives mode and protocol.
func (run *netperfRun) kind() (mode, protocol string) {
	banner, direction := run.banner, run.values["DIRECTION"]
	upper := strings.ToUpper(banner + " " + direction)
	units := run.values["THROUGHPUT_UNITS"]
	switch {
	case strings.Contains(upper, "CONNECT"):
		mode = experiment.CRR
	case strings.Contains(upper, "REQUEST/RESPONSE"), strings.Contains(upper, "SEND|RECV"),
		strings.HasPrefix(units, "Trans"):
		mode = experiment.RR
	case strings.Contains(upper, "STREAM"), strings.Contains(upper, "MAERTS"), strings.Contains(upper, "SENDFILE"),
		strings.Contains(upper, "SEND"), strings.Contains(upper, "REC"),
		strings.Contains(units, "its/s"), strings.Contains(units, "ytes/s"):
		mode = experiment.Stream
	}
	protocol = strings.ToLower(run.values["PROTOCOL"])
	if first, _, _ := strings.Cut(banner, " "); protocol == "" && first != "OMNI" {
		protocol = strings.ToLower(first)
	}
	return mode, strings.Trim(protocol, `" `)
}

// closedLoop reports whether one transaction at a time was in flight, so that the round trip is 1/rate. A build that
// can have several in flight says so in its banner; the omni test says it only if asked.
func (run *netperfRun) closedLoop(mode string) bool {
	if mode == experiment.CRR {
		return true
	}
	burst := cmp.Or(find(netperfBurst, run.whole), run.values["BURST_SIZE"])
	if burst == "" {
		return run.classic && run.banner != ""
	}
	return burst == "0"
}

func (run *netperfRun) measure(m *measured) {
	v := run.values
	m.Mode, m.Protocol = run.kind()
	m.printedSeconds(v["ELAPSED_TIME"])
	rate := v["TRANSACTION_RATE"]
	if bits, isRate := netperfUnit(v["THROUGHPUT_UNITS"]); isRate && rate == "" {
		rate = v["THROUGHPUT"]
	} else if bits > 0 && m.Mode == experiment.Stream {
		m.addPrinted(result.Goodput, "", v["THROUGHPUT"], bits, "")
		m.define(result.DefinitionRate, result.DefinitionRate)
		m.MessageBytes = cmp.Or(integer(v["LOCAL_SEND_SIZE"]), integer(v["REMOTE_SEND_SIZE"]))
	}
	if m.Mode == experiment.RR || m.Mode == experiment.CRR {
		run.measureRR(m, rate)
	} else if v["P50_LATENCY"] != "" || v["MEAN_LATENCY"] != "" {
		m.note("The latencies that netperf prints for a stream are times of its send calls, not of the network, " +
			"and are left out.")
	}
	m.addPrinted(result.Retransmits, "", v["LOCAL_TRANSPORT_RETRANS"], 1, "")
	m.addPrinted(result.Retransmits, "", v["REMOTE_TRANSPORT_RETRANS"], 1, "server")
	run.measureDatagrams(m)
	for _, end := range [][2]string{{"client", "LOCAL"}, {"server", "REMOTE"}} {
		side, key := end[0], end[1]
		util, ok := number(v[key+"_CPU_UTIL"])
		if count := integer(v[key+"_CPU_COUNT"]); ok && util >= 0 && count > 0 {
			m.add(result.CPU, side, util/100*float64(count), "")
		} else if ok && util >= 0 {
			m.fact("cpu_percent_"+side, v[key+"_CPU_UTIL"])
		}
	}
	if f := netperfFamily.FindStringSubmatch(run.whole); f != nil {
		m.fact(factIP, cmp.Or(f[1], "4"))
	}
	m.fact("congestion_control", v["LOCAL_CONG_CONTROL"])
	m.fact("server.congestion_control", v["REMOTE_CONG_CONTROL"])
	if mss := integer(v["TRANSPORT_MSS"]); mss > 0 {
		m.fact("mss", strconv.Itoa(mss))
	}
	if width, ok := number(v["CONFIDENCE_WIDTH"]); ok && width > 0 {
		m.fact("confidence_width_percent", v["CONFIDENCE_WIDTH"])
	}
}

// measureRR reads the figures of a request/response test. Its latencies are full round trips in microseconds.
func (run *netperfRun) measureRR(m *measured, rate string) {
	v := run.values
	m.addPrinted(result.TransactionRate, "", rate, 1, "")
	m.MessageBytes = integer(v["REQUEST_SIZE"])
	m.define(result.DefinitionRate, result.DefinitionRate)
	stats := map[string]string{
		"MEAN_LATENCY": result.Mean, "MIN_LATENCY": result.Min, "MAX_LATENCY": result.Max,
		"STDDEV_LATENCY": result.Stddev,
	}
	for _, key := range slices.Sorted(maps.Keys(v)) {
		stat := stats[key]
		if p := find(netperfPercentileKey, key); p != "" {
			stat = "p" + p
		}
		if stat != "" && m.addPrinted(result.RTT, stat, v[key], microsecond, "") {
			m.define(result.DefinitionRTT, result.DefinitionRTT)
		}
	}
	if m.Mode == experiment.CRR {
		m.note("Each transaction opens a connection: its time holds the handshake, the request and the response.")
	}
	if m.has(result.RTT) {
		run.noteStall(m, rate)
		return
	}
	if perSecond, ok := number(rate); ok && perSecond > 0 && run.closedLoop(m.Mode) {
		if m.add(result.RTT, result.Mean, 1/perSecond, "") {
			m.define(result.DefinitionRate, result.DefinitionRTT)
			m.note("The round trip is 1 / transaction rate: one transaction at a time was in flight.")
		}
	}
}

// noteStall adds a note if one transaction at a time was in flight and their times do not fill the window: netperf
// waits for a lost datagram until the end of the test.
func (run *netperfRun) noteStall(m *measured, rate string) {
	mean, ok1 := number(run.values["MEAN_LATENCY"])
	perSecond, ok2 := number(rate)
	if share := mean * microsecond * perSecond; ok1 && ok2 && run.closedLoop(m.Mode) && share >= 0 && share < 0.8 {
		m.note("The transactions fill only %.0f %% of the window: netperf waited, as it does after a lost datagram.",
			100*share)
	}
}

// measureDatagrams reads the counts of a UDP stream.
func (run *netperfRun) measureDatagrams(m *measured) {
	sent, ok1 := number(run.values["SENT"])
	received, ok2 := number(run.values["RECEIVED"])
	if !ok1 || !ok2 {
		return
	}
	m.add(result.Sent, "", sent, "")
	m.add(result.Received, "", received, "")
	if sent > 0 && received <= sent {
		m.add(result.Loss, "", (sent-received)/sent, "")
	}
}

var (
	netperfPercentileKey = lazyregexp.New(`^P(\d{1,2})_LATENCY$`)
	netperfBits          = lazyregexp.New(`(?i)^10\^(3|6|9)bits/s`)
	netperfBytes         = lazyregexp.New(`(?i)^([KMG])?Bytes(?:/s|$)`)
)

// netperfUnit gives the bits per second of one of netperf's units (bytes have powers of 1024), or reports that the unit
// is transactions per second.
func netperfUnit(unit string) (bits float64, isRate bool) {
	if strings.HasPrefix(unit, "Trans") {
		return 0, true
	}
	if s := netperfBytes.FindStringSubmatch(unit); s != nil {
		return 8 * power(1024, strings.ToUpper(s[1])), false
	}
	return map[string]float64{"3": 1e3, "6": 1e6, "9": 1e9}[find(netperfBits, unit)], false
}
