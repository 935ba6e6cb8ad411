package tool

import (
	"errors"
	"regexp"
	"strings"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
)

const latteName = "latte"

// latteProgram declares Microsoft's latte, which runs on Windows. nearfar reads its outputs and does not run it.
func latteProgram() program {
	return program{
		declared: experiment.Tool{Name: latteName, Versions: "read", Prints: "the mean full round trip, in us"},
		mark:     latteMark, parse: parseLatte,
	}
}

var (
	latteCommand = regexp.MustCompile(`(?:^|[$#>%]\s*)(?:\.[/\\]|\S+\\)?latte(?:\.exe)?\s+-\w`)
	latteKey     = regexp.MustCompile(`^(Protocol|SendMethod|ReceiveMethod|SO_SNDBUF|SO_RCVBUF|MsgSize\(byte\)|Iterations|Latency\(usec\)|CPU\(%\)|CtxSwitch/sec|SysCall/sec|Interrupt/sec)[\s:=]+(\S.*)$`)
	latteError   = regexp.MustCompile(`(?i)^(?:latte: |error|failed|unable|connect failed|wsa\w+ ?(?:error|failed)).*`)
)

// latteMark recognises lines of latte's output.
func latteMark(line string) mark {
	if strings.Contains(line, "latte") && latteCommand.MatchString(line) {
		return markCommand
	}
	switch s := latteKey.FindStringSubmatch(line); {
	case s == nil:
		return markNone
	case s[1] == "Protocol":
		if strings.HasPrefix(s[2], "TCP") || strings.HasPrefix(s[2], "UDP") || strings.HasPrefix(s[2], "RAW") {
			return markBanner
		}
	case s[1] == "Latency(usec)":
		return markResult
	case strings.ContainsAny(s[1], "(/_") || strings.HasSuffix(s[1], "Method"):
		return markWeak
	}
	return markNone
}

// parseLatte reads one run. Latency(usec) is the full round trip: multiplied by the iterations per second it is 1.
func parseLatte(text string) (result.Measurement, error) {
	m := newMeasured(latteName)
	m.Mode = experiment.RR
	iterations, histogram, failure := 0.0, false, ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		s := latteKey.FindStringSubmatch(line)
		if s == nil {
			histogram = histogram || strings.HasPrefix(line, "Interval(usec)")
			if failure == "" && len(line) < 4096 && latteError.MatchString(line) {
				failure = excerpt(line)
			}
			continue
		}
		first := strings.Fields(s[2])[0]
		switch s[1] {
		case "Protocol":
			m.Protocol = strings.ToLower(excerpt(first))
		case "MsgSize(byte)":
			m.MessageBytes = integer(first)
		case "Iterations":
			if v, ok := number(first); ok && v > 0 {
				iterations = v
				m.fact("iterations", first)
			}
		case "Latency(usec)":
			if v, ok := number(first); ok && v > 0 && !m.has(result.RTT) {
				m.add(result.RTT, result.Mean, v*microsecond, "")
			}
		case "CPU(%)":
			m.fact("cpu_percent", first)
		case "SendMethod", "ReceiveMethod", "SO_SNDBUF", "SO_RCVBUF":
			m.fact(strings.ToLower(s[1]), s[2])
		}
	}
	if !m.has(result.RTT) {
		if failure != "" {
			return m.Measurement, errors.New("latte: " + failure)
		}
		return m.Measurement, errors.New("latte printed no latency: it was ended before, or the output is cut off")
	}
	if iterations > 0 {
		m.seconds(iterations * m.Metrics[0].Value)
	}
	m.define(result.DefinitionRTT, result.DefinitionRTT)
	if histogram {
		m.note("latte's histogram is not read: it gives the lower edges of its bins only.")
	}
	return m.Measurement, nil
}
