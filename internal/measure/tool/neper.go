package tool

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const neperName = "neper"

// neperProgram declares the programs of neper (github.com/google/neper): tcp_rr, tcp_crr, tcp_stream, and those of UDP
// and PSP. The format is lines of key=value: the options (flags_parser_dump of flags.c), then the results
// (run_main_thread of thread.c, rr_report_stats of rr.c, neper_histo_print of histo.c, stream_report of stream.c).
func neperProgram() program {
	p := readOnly(neperName, "full round trips in s, with the percentiles that were asked for; transactions/s, bit/s",
		"2016 to 2025 read")
	p.mark, p.parseAll = neperMark, parseNeper
	return p
}

var (
	neperCommand = lazyregexp.New(`(?:^|[$#>%/\s])((?:tcp|udp|psp)_(?:c?rr|stream))(?:\s+-|$)`)
	neperKey     = lazyregexp.New(`^(?:num_(?:flows|threads|transactions)|invalid_secret_count|` +
		`total_(?:run_time|transactions)|correlation_coefficient|(?:local_|remote_)?throughput(?:_units)?|` +
		`re(?:quest|sponse)_size|latency_\w[\w.]*|test_length|control_port|time_(?:start|end))=`)
	neperPair = lazyregexp.New(`^([A-Za-z][\w.]*)=(.*)$`)
)

// neperMark recognises lines of key=value.
func neperMark(line string) mark {
	switch {
	case strings.Contains(line, "=") && neperKey.MatchString(line):
		return markWeak
	case containsAny(line, "tcp_", "udp_", "psp_") && neperCommand.MatchString(line):
		return markCommand
	}
	return markNone
}

// parseNeper reads the runs of a text. A command line, or a key that comes again, begins the next run.
func parseNeper(text string) (found []foundRun) {
	values, body, program := map[string]string{}, strings.Builder{}, ""
	flush := func() {
		if len(values) > 0 && len(found) <= MaxRuns {
			m, err := neperRun(values, program)
			found = append(found, foundRun{body.String(), m, err})
		}
		values, program = map[string]string{}, ""
		body.Reset()
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if named := find(neperCommand, line); named != "" && !strings.Contains(line, "=") {
			flush()
			program = named
			continue
		}
		s := neperPair.FindStringSubmatch(line)
		if s == nil {
			continue
		}
		if _, again := values[s[1]]; again {
			flush()
		}
		values[s[1]] = strings.TrimSpace(s[2])
		body.WriteString(line + "\n")
	}
	if flush(); len(found) == 0 {
		found = append(found, foundRun{text, newMeasured(neperName).Measurement,
			errors.New("neper: no results are in the output")})
	}
	return found
}

// neperRun makes a measurement of the keys of one run.
func neperRun(values map[string]string, program string) (result.Measurement, error) {
	m := newMeasured(neperName)
	m.Tool.Version = strings.Trim(excerpt(values["VERSION"]), `"`)
	neperKind(m, values, program)
	m.fact("connections", values["num_flows"])
	m.fact("threads", values["num_threads"])
	begin, began := number(values["time_start"])
	end, ended := number(values["time_end"]) // of a clock that counts from the start of the machine
	if m.printedSeconds(values["total_run_time"]); began && ended && end > begin {
		m.seconds(end - begin)
	}
	rate, known := number(values["throughput"])
	if m.Mode == experiment.Stream {
		return neperStream(m, values)
	}
	if !known || rate <= 0 {
		return m.Measurement, errors.New("neper printed no throughput: it was ended before, or the output is cut off")
	}
	m.define(result.DefinitionRate, result.DefinitionRate)
	m.add(result.TransactionRate, "", rate, "")
	if values["client"] == "0" {
		m.note("This is the output of a server: its latencies are not of round trips, and are not read.")
		return m.Measurement, nil
	}
	return neperTimes(m, values, rate)
}

// neperKind sets mode, protocol and sizes. The output does not name the program; its options do as far as they differ.
func neperKind(m *measured, values map[string]string, program string) {
	has := func(key string) bool { _, ok := values[key]; return ok }
	protocol, kind, _ := strings.Cut(program, "_")
	switch {
	case kind != "":
		m.Protocol = protocol
		m.Mode = map[string]string{"rr": experiment.RR, "crr": experiment.CRR, "stream": experiment.Stream}[kind]
	case has("throughput_units"), has("edge_trigger"), has("enable_read"):
		m.Mode = experiment.Stream
	case has("delay"), has("noburst"):
		m.Mode = experiment.RR
	}
	if m.Protocol == "" && (has("tcp_fastopen") || has("congestion_control") || has("tcp_tx_delay")) {
		m.Protocol = experiment.TCP
	}
	if m.Mode == experiment.Stream {
		m.MessageBytes = integer(values["buffer_size"])
		return
	}
	m.MessageBytes = integer(values["request_size"])
	if response := integer(values["response_size"]); response > 0 && response != m.MessageBytes {
		m.fact(result.FactSetting, "response="+values["response_size"]+"B")
	}
}

// neperTimes reads the latencies of a client, which are full round trips.
func neperTimes(m *measured, values map[string]string, rate float64) (result.Measurement, error) {
	count := int64(integer(values["num_transactions"]))
	for _, s := range [][2]string{
		{result.Mean, "latency_mean"}, {result.Stddev, "latency_stddev"}, {result.Min, "latency_min"},
		{result.Max, "latency_max"},
	} {
		m.addPrinted(result.RTT, s[0], values[s[1]], 1, "")
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		p, isPercentile := strings.CutPrefix(key, "latency_p")
		percentile, known := number(p)
		if v, ok := number(values[key]); ok && isPercentile && known {
			m.percentile(result.RTT, percentile, v, count)
		}
	}
	if count > 0 {
		m.add(result.Received, "", float64(count), "")
	}
	switch {
	case m.has(result.RTT):
		m.define(result.DefinitionRTT, result.DefinitionRTT)
	case values["num_flows"] == "1":
		m.define(result.DefinitionRate, result.DefinitionRTT)
		m.add(result.RTT, result.Mean, 1/rate, "")
	}
	return m.Measurement, nil
}

// neperStream reads the throughput of a stream, which the reading side counts: the local one, the remote one, or both.
func neperStream(m *measured, values map[string]string) (result.Measurement, error) {
	local, _ := number(values["local_throughput"])
	remote, _ := number(values["remote_throughput"])
	if local == 0 && remote == 0 {
		printed, _ := number(values["throughput"])
		local = printed * neperUnit(values["throughput_units"])
	}
	m.define(result.DefinitionRate, result.DefinitionRate)
	switch {
	case local > 0 && remote > 0:
		down, up := local, remote
		if values["client"] == "0" {
			down, up = remote, local
		}
		m.add(result.Goodput, "", down, experiment.Download)
		m.add(result.Goodput, "", up, experiment.Upload)
	case local > 0:
		m.add(result.Goodput, "", local, "")
	case remote > 0:
		m.add(result.Goodput, "", remote, "")
	default:
		m.define(result.DefinitionNone, result.DefinitionNone)
		return m.Measurement, errors.New("neper printed no throughput: it was ended before, the output is cut off, or this " +
			"side only sent and an old version does not say what the other one received")
	}
	return m.Measurement, nil
}

// neperUnit gives a unit of throughput in bit/s; old versions print no unit and mean Mbit/s.
func neperUnit(unit string) float64 {
	for _, u := range []struct {
		suffix string
		bits   float64
	}{{"bit/s", 1}, {"B/s", 8}} {
		prefix, ok := strings.CutSuffix(unit, u.suffix)
		if !ok {
			continue
		}
		if short, binary := strings.CutSuffix(prefix, "i"); binary {
			return u.bits * power(1024, strings.ToUpper(short))
		}
		return u.bits * power(1000, strings.ToUpper(prefix))
	}
	return 1e6
}
