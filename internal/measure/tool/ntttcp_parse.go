package tool

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const mebibyte = 8 << 20 // bits: ntttcp's MB is 1024*1024 bytes

var (
	ntttcpCommand = lazyregexp.New(`(?:^|[$#>%]\s*)(?:sudo\s+)?(?:\.[/\\]|\S+[/\\])?ntttcp(?:\.exe)?\s+-\w`)
	ntttcpWindows = lazyregexp.New(`^Copyright Version (\S+)`)
	ntttcpLinux   = lazyregexp.New(`^NTTTCP for Linux (\S+)`)
	ntttcpStamp   = lazyregexp.New(`^\d\d:\d\d:\d\d (INFO|ERR|ERROR|DBG|DEBUG|WARN\w*):? ?(.*)$`)
	ntttcpWords   = lazyregexp.New(`Network activity|Totals:|throughput|Throughput|test duration|total bytes|connections (?:tested|created)|^\S+ ERR`)
	ntttcpLine    = lazyregexp.New(`^\s*([a-zA-Z][a-zA-Z /_()-]*?)\s*:\s*([0-9.]+) ?(\S*)`)
	ntttcpSize    = lazyregexp.New(`\s-[bl] ?(\d+)([KkMm]?)`)
)

// ntttcpMark recognises lines of ntttcp's text output.
func ntttcpMark(line string) mark {
	switch {
	case !containsAny(line, "ntttcp", "NTTTCP", "Copyright", "#####", "INFO", "ERR", "Throughput", "Bytes(MEG)"):
		return markNone
	case ntttcpCommand.MatchString(line):
		return markCommand
	case ntttcpWindows.MatchString(line), ntttcpLinux.MatchString(line):
		return markBanner
	case strings.HasPrefix(line, "#####  Totals"):
		return markResult
	case ntttcpStamp.MatchString(line) && ntttcpWords.MatchString(line),
		strings.HasPrefix(line, "Throughput(Buffers/s)"), strings.HasPrefix(line, "Bytes(MEG)"):
		return markWeak
	}
	return markNone
}

// parseNtttcpText reads one run of ntttcp for Windows (tables) or for Linux (name : value).
func parseNtttcpText(text string) (result.Measurement, error) {
	m := newMeasured(ntttcpName)
	m.Mode, m.Protocol = experiment.Stream, ""
	failure := ""
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		trimmed := strings.TrimSpace(line)
		if v := find(ntttcpWindows, trimmed) + find(ntttcpLinux, trimmed); v != "" {
			m.Tool.Version = v
		}
		if ntttcpCommand.MatchString(trimmed) {
			readNtttcpCommand(m, trimmed)
		}
		if stamp := ntttcpStamp.FindStringSubmatch(trimmed); stamp != nil {
			trimmed = stamp[2]
			if strings.HasPrefix(stamp[1], "ERR") && failure == "" {
				failure = excerpt(stamp[2])
			}
		} else if strings.HasPrefix(trimmed, "ERROR") && failure == "" {
			failure = excerpt(trimmed)
		}
		if strings.HasPrefix(trimmed, "====") && i > 0 && i+1 < len(lines) {
			readNtttcpTable(m, lines[i-1], line, lines[i+1])
		}
		if s := ntttcpLine.FindStringSubmatch(trimmed); s != nil {
			readNtttcpLine(m, s[1], s[2], s[3])
		}
	}
	return judgeNtttcp(m, failure)
}

func readNtttcpCommand(m *measured, line string) {
	m.Protocol = experiment.TCP
	if strings.Contains(line+" ", " -u ") {
		m.Protocol = experiment.UDP
	}
	if s := ntttcpSize.FindStringSubmatch(line); s != nil && m.MessageBytes == 0 {
		m.MessageBytes = integer(s[1]) * int(power(1024, strings.ToUpper(s[2])))
	}
}

// readNtttcpTable reads one row below a line of names and a rule, whose pieces give the widths of the columns.
func readNtttcpTable(m *measured, names, rule, values string) {
	totals := map[string]string{ // their names in ntttcp's XML
		"Throughput(MB/s)": "throughput", "realtime(s)": "realtime", "Retransmits": "packets_retransmitted",
		"Errors": "errors", "Avg. CPU %": "cpu",
	}
	row := strings.Fields(values)
	end := 0
	for column, piece := range strings.FieldsFunc(rule, func(r rune) bool { return r != '=' }) {
		begin := end + strings.Index(rule[end:], piece)
		end = begin + len(piece)
		if column >= len(row) || begin >= len(names) {
			break
		}
		name := strings.TrimSpace(names[begin:min(end, len(names))])
		readNtttcpValue(m, totals[name], "MB/s", row[column])
		if name == "Avg B / Compl" && m.MessageBytes == 0 {
			if v, ok := number(row[column]); ok && v > 0 && v < 1<<30 {
				m.MessageBytes = int(v)
			}
		}
	}
}

// readNtttcpLine reads a line of ntttcp for Linux, whose rates are by powers of 1000.
func readNtttcpLine(m *measured, name, value, unit string) {
	switch strings.ToLower(name) {
	case "throughput":
		if prefix, ok := strings.CutSuffix(unit, "bps"); ok && !m.has(result.Goodput) {
			m.addPrinted(result.Goodput, "", value, power(1000, strings.ToUpper(prefix)), "")
		}
	case "test duration":
		m.printedSeconds(value)
	case "average rtt", "tcpi rtt":
		if strings.HasPrefix(unit, "us") {
			m.addPrinted(result.RTT, result.Mean, value, microsecond, "")
		}
	case "retrans segs":
		// Printed for TCP only. It is the host's counter over all its connections.
		m.Protocol = experiment.TCP
		m.addPrinted(result.Retransmits, "", value, 1, "")
		m.note("ntttcp for Linux counts the retransmits of the whole host.")
	case "total cpu time", "cpu busy (all)":
		m.fact("cpu_percent", value)
	}
}

// judgeNtttcp sets the definition of the figures. The error says that there are none.
func judgeNtttcp(m *measured, failure string) (result.Measurement, error) {
	if m.hasZero(result.RTT) {
		m.drop(result.RTT)
	}
	if m.Protocol == experiment.UDP {
		m.drop(result.Retransmits)
	}
	switch {
	case !m.has(result.Goodput) && failure != "":
		return m.Measurement, errors.New("ntttcp: " + failure)
	case !m.has(result.Goodput):
		m.Metrics = m.Metrics[:0]
		return m.Measurement, errors.New("ntttcp printed no throughput: it was ended before, or the output is cut off")
	case m.has(result.RTT):
		m.define(result.DefinitionSmoothedRTT, result.DefinitionSmoothedRTT)
		m.note("rtt is the kernel's smoothed round-trip time under load: no request waited for it.")
	default:
		m.define(result.DefinitionRate, result.DefinitionRate)
	}
	return m.Measurement, nil
}

// ntttcpNode is an element of ntttcp's XML.
type ntttcpNode struct {
	XMLName xml.Name
	Metric  string       `xml:"metric,attr"`
	Version string       `xml:"version,attr"`
	Text    string       `xml:",chardata"`
	Nodes   []ntttcpNode `xml:",any"`
}

// parseNtttcpXML reads one document of ntttcp -xml: <ntttcps> is the sender's, <ntttcpr> the receiver's.
func parseNtttcpXML(d document) (result.Measurement, error) {
	m := newMeasured(ntttcpName)
	m.Mode = experiment.Stream
	if d.truncated {
		return m.Measurement, errors.New("ntttcp: its XML is cut off")
	}
	decoder := xml.NewDecoder(strings.NewReader(d.body))
	decoder.Strict = false
	if depth := strings.Count(d.body, "<"); depth > 1<<20 {
		return m.Measurement, errors.New("ntttcp: its XML is larger than any that it writes")
	}
	var root ntttcpNode
	if err := decoder.Decode(&root); err != nil {
		return m.Measurement, fmt.Errorf("ntttcp: its XML cannot be read: %w", err)
	}
	m.Tool.Version = excerpt(root.Version)
	m.Protocol = experiment.TCP
	for _, n := range root.Nodes {
		if n.XMLName.Local == "parameters" {
			for _, p := range n.Nodes {
				if p.XMLName.Local == "udp" && strings.EqualFold(strings.TrimSpace(p.Text), "true") {
					m.Protocol = experiment.UDP
				}
			}
			continue
		}
		readNtttcpValue(m, n.XMLName.Local, n.Metric, n.Text)
	}
	m.fact("side", ntttcpSide(root.XMLName.Local))
	return judgeNtttcp(m, "")
}

func ntttcpSide(root string) string {
	if strings.HasSuffix(strings.ToLower(root), "r") {
		return "receiver"
	}
	return "sender"
}

// readNtttcpValue reads a total. mbps has powers of 1000; MB/s, which older builds print alone, has powers of 1024.
func readNtttcpValue(m *measured, name, metric, value string) {
	value = strings.TrimSpace(value)
	switch name {
	case "throughput":
		switch metric {
		case "mbps":
			m.drop(result.Goodput)
			m.addPrinted(result.Goodput, "", value, 1e6, "")
		case "MB/s":
			if !m.has(result.Goodput) {
				m.addPrinted(result.Goodput, "", value, mebibyte, "")
			}
		}
	case "realtime":
		m.printedSeconds(value)
	case "packets_retransmitted":
		m.addPrinted(result.Retransmits, "", value, 1, "")
	case "tcp_average_rtt":
		m.addPrinted(result.RTT, result.Mean, value, microsecond, "")
	case "bufferLen":
		m.MessageBytes = integer(value)
	case "errors":
		m.fact("errors", value)
	case "cpu":
		m.fact("cpu_percent", value)
	}
}

func isNtttcpJSON(d document) bool {
	root, _ := ntttcpRoot(d)
	return root != ""
}

// ntttcpRoot finds the object of a sender (ntttcps) or receiver (ntttcpr).
func ntttcpRoot(d document) (string, map[string]json.RawMessage) {
	var doc map[string]json.RawMessage
	if d.truncated || json.Unmarshal([]byte(d.body), &doc) != nil {
		return "", nil
	}
	for _, name := range []string{"ntttcps", "ntttcpr"} {
		for key, raw := range doc {
			var root map[string]json.RawMessage
			if strings.EqualFold(key, name) && json.Unmarshal(raw, &root) == nil {
				return name, root
			}
		}
	}
	return "", nil
}

// parseNtttcpJSON reads one document of ntttcp for Linux with -O json: the totals of its XML, with names in camel case.
func parseNtttcpJSON(d document) (result.Measurement, error) {
	m := newMeasured(ntttcpName)
	m.Mode, m.Protocol = experiment.Stream, experiment.TCP
	name, root := ntttcpRoot(d)
	var parameters map[string]any
	for key, raw := range root {
		if strings.EqualFold(key, "parameters") && json.Unmarshal(raw, &parameters) == nil {
			if udp := fmt.Sprint(parameters["udp"]); strings.EqualFold(udp, "true") || udp == "1" {
				m.Protocol = experiment.UDP
			}
		}
	}
	keys := []struct{ json, xml string }{
		{"throughputs", "throughput"}, {"throughput", "throughput"}, {"realtime", "realtime"},
		{"packetsretransmitted", "packets_retransmitted"}, {"tcpaveragertt", "tcp_average_rtt"},
		{"bufferlen", "bufferLen"}, {"errors", "errors"}, {"cpu", "cpu"}, {"version", "version"},
	}
	for _, want := range keys {
		for key, raw := range root {
			if strings.ReplaceAll(strings.ToLower(key), "_", "") == want.json {
				readNtttcpJSONValue(m, want.xml, raw)
			}
		}
	}
	m.fact("side", ntttcpSide(name))
	return judgeNtttcp(m, "")
}

// readNtttcpJSONValue reads a value: plain, with its unit as {"metric", "value"}, or a list of those.
func readNtttcpJSONValue(m *measured, name string, raw json.RawMessage) {
	type unitValue struct {
		Metric string `json:"metric"`
		Value  any    `json:"value"`
	}
	var list []unitValue
	if json.Unmarshal(raw, &list) != nil {
		var one unitValue
		if json.Unmarshal(raw, &one) != nil || one.Value == nil {
			one = unitValue{}
			if json.Unmarshal(raw, &one.Value) != nil {
				return
			}
		}
		list = []unitValue{one}
	}
	for _, v := range list {
		printed := fmt.Sprint(v.Value)
		if f, ok := v.Value.(float64); ok {
			printed = strconv.FormatFloat(f, 'f', -1, 64)
		}
		if name == "version" {
			m.Tool.Version = excerpt(printed)
			continue
		}
		readNtttcpValue(m, name, v.Metric, printed)
	}
}
