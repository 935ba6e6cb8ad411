package tool

import (
	"errors"
	"strings"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

var (
	sockperfVersion    = lazyregexp.New(`version #?\s?([0-9][\w.]*)`)
	sockperfCommand    = lazyregexp.New(`(?:^|[$#>%]\s*)(?:sudo\s+)?(?:\./|/\S+/)?sockperf\s+(pp|ping-pong|ul|under-load|tp|throughput|pb|playback)\b`)
	sockperfConnection = lazyregexp.New(`IP = \S+\s+PORT =\s*\d+ # (TCP|UDP)`)
	sockperfSize       = lazyregexp.New(`(?:\s-m[ =]?|--msg-size[= ]|msg-size=)(\d+)`)
	sockperfEvery      = lazyregexp.New(`--reply-every[= ](\d+)`)
	sockperfServer     = lazyregexp.New(`Printing statistics for Server No: *(\d+)`)
	sockperfWindow     = lazyregexp.New(`\[Valid Duration\] *RunTime= *([0-9.]+) sec.*SentMessages= *(\d+); ReceivedMessages= *(\d+)`)
	sockperfTotal      = lazyregexp.New(`\[Total Run\]`)
	sockperfAverage    = lazyregexp.New(`====> avg-(lat|latency|rtt)= *([-0-9.nainf]+) \(std-dev= *([-0-9.nainf]+)`)
	sockperfCounts     = lazyregexp.New(`dropped messages = (\d+); # duplicated messages = (\d+); # out-of-order messages = (\d+)`)
	sockperfPercentile = lazyregexp.New(`---> percentile +([0-9.]+) *= *([0-9.]+)`)
	sockperfExtreme    = lazyregexp.New(`---> <(MAX|MIN)> observation *= *([0-9.]+)`)
	sockperfSummary    = lazyregexp.New(`Summary: (Round trip|Latency) is *([-0-9.naif]+) usec`)
	sockperfRate       = lazyregexp.New(`Summary: Message Rate is *([0-9.]+) \[msg/sec\]`)
	sockperfBandwidth  = lazyregexp.New(`Summary: BandWidth is *([0-9.]+) ([MG])Bps`)
	sockperfSent       = lazyregexp.New(`Total of (\d+) messages sent in ([0-9.]+) sec`)
	sockperfFailure    = lazyregexp.New(`ERROR: .*|No messages were received from the server.*|Invalid \w+: .*|Option \S+ should not be repeatable.*`)
	sockperfUserEnd    = lazyregexp.New(`Test end \(interrupted by (?:user|signal)`)
	sockperfTimerEnd   = lazyregexp.New(`Test end \(interrupted by timer`)
	sockperfLog        = lazyregexp.New(`^(?:packet, )?txTime`)
)

// sockperfMark recognises lines of sockperf's output.
func sockperfMark(line string) mark {
	switch {
	case !containsAny(line, "sockperf", "--->", "====>", "[Total Run]", "--mps"):
		return markNone
	case sockperfCommand.MatchString(line):
		return markCommand
	case strings.Contains(line, "sockperf") && strings.Contains(line, "== version #"):
		return markBanner
	case strings.HasPrefix(line, "test was performed using the following parameters: --mps"):
		// The head of a full log: the same figures again.
		return markBanner
	case sockperfTotal.MatchString(line):
		return markResult
	case strings.HasPrefix(line, "sockperf:"), strings.HasPrefix(line, "sockperf["),
		sockperfAverage.MatchString(line), sockperfPercentile.MatchString(line):
		return markWeak
	}
	return markNone
}

// parseSockperf reads one run. All latencies are half the round trip, and are doubled, unless the label says rtt:
// sockperf halves what it measured unless run with --full-rtt.
func parseSockperf(text string) (result.Measurement, error) {
	m := newMeasured(sockperfName)
	m.Tool.Version = find(sockperfVersion, text)
	// The timer may have ended the run before the signal did.
	if sockperfUserEnd.MatchString(text) && !sockperfTimerEnd.MatchString(text) {
		m.note("The run was ended by a signal; the figures are those until then.")
	}
	scale, half, scope, servers, failure := microsecond, false, "", 0, ""
	lines := strings.Split(text, "\n")
	for _, line := range lines {
		if s := sockperfServer.FindStringSubmatch(line); s != nil {
			servers = max(servers, integer(s[1])+1)
		}
	}
	for _, line := range lines {
		if sockperfLog.MatchString(line) {
			break // the single observations of a full log follow, and their statistics are above
		}
		if s := sockperfCommand.FindStringSubmatch(line); s != nil {
			m.Mode = sockperfMode(s[1])
			if m.Protocol == "" {
				m.Protocol = experiment.UDP
				if strings.Contains(line, "--tcp") {
					m.Protocol = experiment.TCP
				}
			}
		}
		if s := find(sockperfConnection, line); s != "" {
			m.Protocol = strings.ToLower(s)
		}
		if s := find(sockperfSize, line); s != "" && m.MessageBytes == 0 {
			m.MessageBytes = integer(s)
		}
		if every := find(sockperfEvery, line); every != "" && integer(every) > 1 && m.Mode == "" {
			m.Mode = "load"
		}
		switch {
		case sockperfServer.MatchString(line):
			if servers > 1 {
				scope = "server " + find(sockperfServer, line)
			}
		case sockperfFailure.MatchString(line):
			if failure == "" {
				failure = excerpt(sockperfFailure.FindString(line))
			}
		case sockperfWindow.MatchString(line):
			s := sockperfWindow.FindStringSubmatch(line)
			m.printedSeconds(s[1])
			m.addPrinted(result.Sent, "", s[2], 1, scope)
			m.addPrinted(result.Received, "", s[3], 1, scope)
		case sockperfAverage.MatchString(line):
			s := sockperfAverage.FindStringSubmatch(line)
			half = s[1] != "rtt"
			if half {
				scale = 2 * microsecond
			}
			if !m.addPrinted(result.RTT, result.Mean, s[2], scale, scope) {
				failure = "sockperf printed no average: " + excerpt(line)
				continue
			}
			m.addPrinted(result.RTT, result.Stddev, s[3], scale, scope)
		case sockperfSummary.MatchString(line) && !m.has(result.RTT):
			// Some recordings hold only the summary.
			s := sockperfSummary.FindStringSubmatch(line)
			half = s[1] != "Round trip"
			if half {
				scale = 2 * microsecond
			}
			m.addPrinted(result.RTT, result.Mean, s[2], scale, scope)
		case sockperfCounts.MatchString(line):
			s := sockperfCounts.FindStringSubmatch(line)
			m.addPrinted(result.Lost, "", s[1], 1, scope)
			m.addPrinted(result.Duplicates, "", s[2], 1, scope)
			m.addPrinted(result.OutOfOrder, "", s[3], 1, scope)
		case sockperfPercentile.MatchString(line):
			s := sockperfPercentile.FindStringSubmatch(line)
			if p, ok := number(s[1]); ok && p > 0 && p < 100 {
				m.addPrinted(result.RTT, result.PercentileStat(p), s[2], scale, scope)
			}
		case sockperfExtreme.MatchString(line):
			s := sockperfExtreme.FindStringSubmatch(line)
			m.addPrinted(result.RTT, strings.ToLower(s[1]), s[2], scale, scope)
		case sockperfRate.MatchString(line):
			m.addPrinted(result.MessageRate, "", find(sockperfRate, line), 1, "")
		case sockperfBandwidth.MatchString(line):
			s := sockperfBandwidth.FindStringSubmatch(line)
			// sockperf's MBps and GBps have powers of 1024, and so have the Mbps in brackets.
			bits := 8.0 * 1024 * 1024
			if s[2] == "G" {
				bits *= 1024
			}
			m.addPrinted(result.Goodput, "", s[1], bits, "")
		case sockperfSent.MatchString(line):
			s := sockperfSent.FindStringSubmatch(line)
			m.addPrinted(result.Sent, "", s[1], 1, "")
			m.printedSeconds(s[2])
		}
	}
	return sockperfJudge(m, half, failure)
}

func sockperfMode(command string) string {
	switch command {
	case "pp", "ping-pong":
		return experiment.RR
	case "tp", "throughput":
		return experiment.Stream
	}
	return "load"
}

// sockperfJudge sets the definition of the figures. The error says that there are none.
func sockperfJudge(m *measured, half bool, failure string) (result.Measurement, error) {
	if failure != "" {
		m.Metrics = m.Metrics[:0]
		return m.Measurement, errors.New("sockperf: " + strings.TrimPrefix(failure, "sockperf "))
	}
	switch {
	case m.has(result.RTT) && half:
		m.define(result.DefinitionHalfRTT, result.DefinitionRTT)
		m.note("sockperf printed half round trips; they are doubled here.")
	case m.has(result.RTT):
		m.define(result.DefinitionRTT, result.DefinitionRTT)
	case m.has(result.MessageRate):
		m.define(result.DefinitionRate, result.DefinitionRate)
		m.Mode = experiment.Stream
		m.note("sockperf's throughput mode counts what was sent; what arrived is not known.")
	default:
		m.Metrics = m.Metrics[:0]
		return m.Measurement, errors.New(
			"sockperf printed no result: it was ended before its statistics, or the output is cut off")
	}
	return m.Measurement, nil
}
