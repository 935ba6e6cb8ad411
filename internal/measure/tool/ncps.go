package tool

import (
	"errors"
	"strconv"
	"strings"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const ncpsName = "ncps"

// definitionNcps is the time from the call of connect until the connection is there.
const definitionNcps = "connect time as printed by ncps"

// ncpsProgram declares Microsoft's ncps and its predecessor cps, which count connections per second. The format is what
// main and summarize_connection_recording of ncps.c print: a row for each interval, then a summary, with lines for
// programs that begin with ###. Recorded outputs are in github.com/microsoft/VirtualClient.
func ncpsProgram() program {
	p := readOnly(ncpsName, "connections/s; times of connects in us, with percentiles", "cps, ncps 1.0 to 1.4 read")
	p.mark, p.parse = ncpsMark, parseNcps
	return p
}

var (
	ncpsCommand = lazyregexp.New(`(?:^|[$#>%/\\\s])n?cps(?:\.exe)?\s+-[cs]\s`)
	ncpsHeader  = lazyregexp.New(`^T\(sec\)\s+N\s+Pend\s+Failed\s`)
	ncpsPending = lazyregexp.New(`\s-P (\d+)`)
	ncpsThreads = lazyregexp.New(`\s-r (\d+)(?:\s+[\w.:]+,\d+,[\w.:]+,\d+,(\d+),(\d+),)?`)
)

// ncpsMark recognises lines of ncps.
func ncpsMark(line string) mark {
	switch {
	case strings.HasPrefix(line, "=== CMDLINE:"):
		return markHeader
	case strings.HasPrefix(line, "###ENDCPS "):
		return markResult
	case strings.HasPrefix(line, "###SYNRTT,"), strings.HasPrefix(line, "###CPS,"):
		return markWeak
	case ncpsHeader.MatchString(line):
		return markBanner
	case strings.Contains(line, "cps") && ncpsCommand.MatchString(line):
		return markCommand
	}
	return markNone
}

// parseNcps reads one run.
func parseNcps(text string) (result.Measurement, error) {
	m := newMeasured(ncpsName)
	m.Mode, m.Protocol = experiment.CRR, experiment.TCP
	var rate, count, failed float64
	times, table := "", false
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		key, rest, _ := strings.Cut(strings.TrimPrefix(line, "=== "), " ")
		switch {
		case ncpsHeader.MatchString(line):
			table = true
		case key == "CMDLINE:":
			ncpsOptions(m, rest)
		case key == "VERSION":
			m.Tool.Version = excerpt(rest)
		case key == "###ENDCPS":
			rate, _ = number(rest)
		case strings.HasPrefix(line, "###CPS,"):
			count = ncpsCount(m, line)
		case strings.HasPrefix(line, "###SYNRTT,"):
			times = line
		case strings.HasPrefix(line, "###REXMIT,"):
			share, _, _ := strings.Cut(strings.TrimPrefix(line, "###REXMIT,rtconnpercentage:"), ",")
			m.fact("connections_with_retransmits_percent", share)
		case table:
			if fields := strings.Fields(line); len(fields) >= 14 {
				if v, ok := number(fields[3]); ok { // since the start
					failed = max(failed, v)
				}
			}
		}
	}
	if rate <= 0 {
		return m.Measurement, errors.New("ncps printed no summary, or no connection: it was ended before its end (-t), " +
			"or the output is cut off")
	}
	if failed > 0 {
		m.note("%d connects failed.", int64(min(failed, 1<<60)))
	}
	m.define(result.DefinitionRate, result.DefinitionRate)
	m.add(result.TransactionRate, "", rate, "")
	if count > 0 {
		m.add(result.Received, "", count, "")
	}
	ncpsTimes(m, times, int64(min(count, 1<<60)))
	if m.has(result.ConnectTime) {
		m.define(definitionNcps, definitionNcps)
	}
	return m.Measurement, nil
}

// ncpsOptions reads the load that was asked for: how many connects are in flight at most.
func ncpsOptions(m *measured, line string) {
	line = " " + line
	side := "client"
	if strings.Contains(line, " -s ") {
		side = "server"
	}
	m.fact("side", side)
	pending := find(ncpsPending, line)
	if s := ncpsThreads.FindStringSubmatch(line); s != nil {
		m.fact("threads", s[1])
		if threads, each := integer(s[1]), integer(s[3]); pending == "" && each > 0 && threads < 1<<20 && each < 1<<20 {
			pending = strconv.Itoa(threads * each)
		}
	}
	m.fact("connections", pending)
}

// ncpsCount gives how many connections were counted, and sets the time of the last one.
func ncpsCount(m *measured, line string) float64 {
	last := line[strings.LastIndexByte(line, ',')+1:]
	n, at, _ := strings.Cut(last, ":")
	count, _ := number(n)
	milliseconds, _ := number(at)
	m.seconds(milliseconds * millisecond)
	return count
}

// ncpsTimes reads the percentiles of the times of connects.
func ncpsTimes(m *measured, line string, count int64) {
	for i, pair := range strings.Split(line, ",") {
		name, printed, _ := strings.Cut(pair, ":")
		v, ok := number(printed)
		if !ok || i == 0 || i > 100 {
			continue
		}
		switch percentile, isNumber := number(name); {
		case name == "Mean":
			m.add(result.ConnectTime, result.Mean, v*microsecond, "")
		case name == "Median":
			m.percentile(result.ConnectTime, 50, v*microsecond, count)
		case isNumber:
			m.percentile(result.ConnectTime, percentile, v*microsecond, count)
		}
	}
}
