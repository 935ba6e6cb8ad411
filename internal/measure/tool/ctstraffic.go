package tool

import (
	"errors"
	"strconv"
	"strings"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const ctsTrafficName = "ctstraffic"

// ctsTrafficProgram declares Microsoft's ctsTraffic (github.com/microsoft/ctsTraffic). The format is that of
// -StatusFilename and of the console, FormatHeader and FormatData of ctsTraffic/ctsPrintStatus.hpp, and the totals that
// ctsTraffic/ctsTraffic.cpp prints at the end.
func ctsTrafficProgram() program {
	p := readOnly(ctsTrafficName, "status CSV and text: bytes/s of each interval (TCP), bit/s and frames (UDP)",
		"1.0 to 2.0 read")
	p.mark, p.parse = ctsTrafficMark, parseCtsTraffic
	return p
}

var (
	ctsTrafficCommand = lazyregexp.New(`(?i)(?:^|[$#>%/\\\s])ctstraffic(?:\.exe)?\s+-\w`)
	ctsTrafficHeader  = lazyregexp.New(`^TimeSlice[, ]+(?:SendBps[, ]+RecvBps[, ]+In-Flight|Bits/Sec[, ]+Streams)[, ]`)
	ctsTrafficTotal   = lazyregexp.New(`^Total (Bytes Recv|Bytes Sent|Time) : (\d+)`)
	ctsTrafficCounts  = lazyregexp.New(`^SuccessfulConnections \[(\d+)\]\s+NetworkErrors \[(\d+)\]\s+` +
		`ProtocolErrors \[(\d+)\]`)
)

// ctsTrafficMark recognises lines of ctsTraffic's output.
func ctsTrafficMark(line string) mark {
	switch {
	case ctsTrafficHeader.MatchString(line):
		return markBanner
	case ctsTrafficCounts.MatchString(line):
		return markResult
	case strings.HasPrefix(line, "Total Bytes ") && ctsTrafficTotal.MatchString(line):
		return markWeak
	case containsAny(line, "ctsTraffic", "ctstraffic") && ctsTrafficCommand.MatchString(line):
		return markCommand
	}
	return markNone
}

// ctsTrafficRun is what one side printed.
type ctsTrafficRun struct {
	columns []string
	rows    int
	// at is the end of the last interval, in seconds. sent and received are in bytes, bits in bits.
	at, sent, received, bits float64
	inFlight, failed         float64
	// Of the frames of UDP.
	completed, dropped, repeated, bad float64
	// The totals at the end.
	totals map[string]float64
}

// parseCtsTraffic reads the intervals and totals of one side.
func parseCtsTraffic(text string) (result.Measurement, error) {
	m := newMeasured(ctsTrafficName)
	m.Mode = experiment.Stream
	r := ctsTrafficRun{totals: map[string]float64{}}
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case ctsTrafficHeader.MatchString(line):
			r.columns = ctsTrafficFields(line)
		case strings.HasPrefix(line, "Total "):
			if s := ctsTrafficTotal.FindStringSubmatch(line); s != nil {
				v, _ := number(s[2])
				r.totals[s[1]] = v
			}
		case strings.HasPrefix(line, "SuccessfulConnections "):
			if s := ctsTrafficCounts.FindStringSubmatch(line); s != nil {
				network, _ := number(s[2])
				protocol, _ := number(s[3])
				r.failed = max(r.failed, network+protocol)
			}
		case r.columns != nil:
			r.row(ctsTrafficFields(line))
		}
	}
	return r.judge(m)
}

func ctsTrafficFields(line string) []string {
	return strings.FieldsFunc(line, func(c rune) bool { return c == ',' || c == ' ' || c == '\t' })
}

// row reads one interval. Its rates are those of the time since the interval before.
func (r *ctsTrafficRun) row(fields []string) {
	if len(fields) != len(r.columns) {
		return
	}
	values := map[string]float64{}
	for i, name := range r.columns {
		v, ok := ctsTrafficNumber(fields[i])
		if !ok {
			return
		}
		values[name] = v
	}
	seconds := values["TimeSlice"] - r.at
	if seconds < 0 {
		return
	}
	r.rows, r.at = r.rows+1, values["TimeSlice"]
	r.sent += values["SendBps"] * seconds
	r.received += values["RecvBps"] * seconds
	r.bits += values["Bits/Sec"] * seconds
	r.inFlight = max(r.inFlight, values["In-Flight"], values["Streams"])
	r.failed = max(r.failed, values["NetError"]+values["DataError"])
	if values["Bits/Sec"] > 0 || r.columns[1] == "Bits/Sec" {
		r.completed += values["Completed"]
		r.dropped += values["Dropped"]
		r.repeated += values["Repeated"]
		r.bad += values["Errors"]
	}
}

// ctsTrafficNumber reads a number, which the console shortens to 12.3x^9.
func ctsTrafficNumber(printed string) (float64, bool) {
	digits, exponent, short := strings.Cut(printed, "x^")
	if short {
		return number(digits + "e" + exponent)
	}
	return number(printed)
}

// judge makes metrics of what was printed.
func (r *ctsTrafficRun) judge(m *measured) (result.Measurement, error) {
	udp := len(r.columns) > 1 && r.columns[1] == "Bits/Sec"
	m.Protocol = experiment.TCP
	if udp {
		m.Protocol = experiment.UDP
	}
	seconds := r.at
	if total := r.totals["Time"] * millisecond; seconds == 0 && total > 0 {
		seconds, r.sent, r.received = total, r.totals["Bytes Sent"], r.totals["Bytes Recv"]
	}
	m.seconds(seconds)
	if r.inFlight > 0 {
		m.fact("connections", strconv.Itoa(int(min(r.inFlight, 1<<30))))
	}
	if r.failed > 0 {
		m.note("%d connections failed.", int64(min(r.failed, 1<<60)))
	}
	sent, received, bits := 0.0, 0.0, 0.0
	if seconds > 0 {
		sent, received, bits = r.sent*8/seconds, r.received*8/seconds, r.bits/seconds
	}
	switch {
	case udp && bits > 0:
		m.add(result.Goodput, "", bits, "")
		m.add(result.Received, "", r.completed, "")
		m.add(result.Lost, "", r.dropped, "")
		m.add(result.Duplicates, "", r.repeated, "")
		if all := r.completed + r.dropped; all > 0 {
			m.add(result.Loss, "", r.dropped/all, "")
		}
	case !udp && min(sent, received) > ctsTrafficAnswers*max(sent, received):
		m.add(result.Goodput, "", sent, "sent")
		m.add(result.Goodput, "", received, "received")
	case !udp && max(sent, received) > 0:
		m.add(result.Goodput, "", max(sent, received), "")
		m.fact("side", map[bool]string{true: "sender", false: "receiver"}[sent > received])
	case r.failed > 0:
		return m.Measurement, errors.New("ctstraffic: nothing was transferred: its connections failed")
	default:
		return m.Measurement, errors.New("ctstraffic: nothing was transferred, or the output is cut off")
	}
	m.define(result.DefinitionRate, result.DefinitionRate)
	return m.Measurement, nil
}

// ctsTrafficAnswers is the greatest share of the data that goes the other way where data goes one way alone.
const ctsTrafficAnswers = 0.05
