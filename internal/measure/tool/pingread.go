package tool

import (
	"errors"
	"math"
	"slices"
	"strings"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

var (
	pingVersion = lazyregexp.New(`(?:iputils[- ]s?|ping utility, iputils-s?|BusyBox v)([0-9][\w.]*)`)
	pingCommand = lazyregexp.New(`(?:^|[$#>%]\s*)(?:sudo\s+)?(?:/\S+/)?ping6?(?:\.exe)?\s+(?:-[a-zA-Z]|/[a-z]|\d+\.\d+\.\d+\.\d+|\S+$)`)
	pingBanner  = lazyregexp.New(`^(?:PING6? ?\S*.*(?:bytes|\(|data|octets|Bytes)|PING6\()`)
	pingRule    = lazyregexp.New(`^-+ ?\S+ .*(?:ping6?|PING).* ?-{2,}|^-{2,}.*\bping6?\b.*-{2,}`)
	// pingReply is the line of a reply in any language: its size, its number and its time.
	pingReply    = lazyregexp.New(`(\d+) \S+ \S+ .*seq[=: ]?(\d+).*[=<]([0-9.,]+) ?(ms|usec|us|毫秒|ミリ秒|밀리초|мс)(?:\W|$)`)
	pingReplyBSD = lazyregexp.New(`^(\d+) bytes from .*(?:time)[=<]([0-9.,]+) ?ms`)
	// pingCounts is the line of counts in any language: two numbers, then the loss in percent. Words before the numbers
	// must not be ASCII, since other tools print such lines.
	pingCounts       = lazyregexp.New(`^(?:[^\x00-\x7f]+ ?)?(\d+) ?[^\d,，]*[,，] ?(?:[^\d,，]* )?(\d+) ?[^\d,，]*[,，] .*?(?:([0-9.,]+) ?%|%([0-9.]+))`)
	pingCountsLoose  = lazyregexp.New(`^(\d+) packets transmitted, (\d+) (?:packets )?received`)
	pingDuplicates   = lazyregexp.New(`\+(\d+) (?:duplicates?|Duplikate|doublons|duplicad\S*|duplicat\S*)`)
	pingErrors       = lazyregexp.New(`\+(\d+) (?:errors?|Fehler|erreurs|errores|errori)`)
	pingRTT          = lazyregexp.New(`min/avg/max(?:/(?:mdev|stddev|std-dev|sdev|stdev))? *= *([0-9.,]+)/([0-9.,]+)/([0-9.,]+)(?:/([0-9.,]+|-?nan))? *(ms|us|usec|s|sec|毫秒|ミリ秒|밀리초|мс)?(?:[ ,]|$)`)
	pingFailure      = lazyregexp.New(`(?i)^ping6?: .*(?:unknown host|not known|failure in name|cannot resolve|bad address|unreachable|not permitted|denied|sendto|sendmsg|invalid|usage|bad number|too (?:big|large|small)|cannot|local error).*|^ping request could not find host.*|^.*unknown host.*$|^connect: network is unreachable.*`)
	pingPayloadBSD   = lazyregexp.New(`: (\d+) data bytes`)
	pingPayloadLinux = lazyregexp.New(`\) (?:from .*: )?(\d+)(?:\(\d+\)| (?:data )?\S*(?:bytes|Bytes|octets|data))`)
	pingAddress      = lazyregexp.New(`^PING \S+ ?\(([0-9A-Fa-f.:]+)\)`)
	pingPayload6     = lazyregexp.New(`^PING6\(\d+=40\+8\+(\d+) bytes`)
)

// pingMark recognises lines of ping's output.
func pingMark(line string) mark {
	switch {
	case !containsAny(line, "ping", "Ping", "PING", "%", "=", "host", "min/avg/max", "nreachable", "bytes from", ":",
		"："):
		return markNone
	case strings.Contains(line, "seq=") && pingReplyBSD.MatchString(line):
		return markWeak
	case pingBanner.MatchString(line), isWindowsPingBanner(line):
		return markBanner
	case pingCommand.MatchString(line):
		return markCommand
	case pingCounts.MatchString(line), pingCountsLoose.MatchString(line), isWindowsPingCounts(line):
		return markResult
	case pingRTT.MatchString(line):
		return markTail
	case pingReplyBSD.MatchString(line), pingFailure.MatchString(line),
		strings.Contains(line, "TTL="), pingRule.MatchString(line):
		return markWeak
	}
	return markNone
}

// parsePing reads one run, of iputils, busybox, BSD, macOS, Solaris or Windows in any language. Times are full round
// trips. mdev is the population's standard deviation, as stddev is.
func parsePing(text string) (result.Measurement, error) {
	m := newMeasured(pingName)
	m.Mode, m.Protocol = experiment.Ping, experiment.ICMP
	m.Tool.Version = find(pingVersion, text)
	var replies []float64
	windows := windowsPing{measured: m}
	failure, counted := "", false
	received := -1.0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if len(line) > 4096 {
			continue
		}
		reply := []string(nil)
		if strings.Contains(line, "seq") {
			reply = pingReply.FindStringSubmatch(line)
		}
		switch {
		case reply != nil:
			m.reply(line, reply, counted, &replies)
		case pingRTT.MatchString(line):
			measurePingRTT(m, line)
		case !counted && !windows.counted && (pingCounts.MatchString(line) || pingCountsLoose.MatchString(line)):
			received, counted = measurePingCounts(m, line), true
		case !counted && windows.read(line):
		case pingBanner.MatchString(line):
			m.bannerPayload(line)
		case pingFailure.MatchString(line) && failure == "":
			failure = excerpt(line)
		}
	}
	windows.end()
	return judgePing(m, replies, received, counted || windows.counted, failure)
}

// reply reads the line of one reply: its time, unless it is a duplicate, and the size if that is not known yet.
func (m *measured) reply(line string, parts []string, counted bool, replies *[]float64) {
	scale := millisecond
	if strings.HasPrefix(parts[4], "us") {
		scale = microsecond
	}
	if v, ok := number(parts[3]); ok && v >= 0 && !strings.Contains(line, "DUP!") {
		*replies = append(*replies, v*scale)
	}
	m.payload(line, parts[1], counted)
}

// payload reads the payload's size from a reply if the banner did not give it. A reply counts 8 bytes of ICMP header
// too.
func (m *measured) payload(line, bytes string, counted bool) {
	if m.MessageBytes == 0 && !counted && strings.Contains(line, "bytes from") && integer(bytes) > 8 {
		m.MessageBytes = integer(bytes) - 8
	}
}

// bannerPayload reads the payload's size, and the version of IP of the address, from the first line.
func (m *measured) bannerPayload(line string) {
	m.ip(find(pingAddress, line))
	for _, re := range []*lazyregexp.Regexp{pingPayload6, pingPayloadBSD, pingPayloadLinux} {
		if s := find(re, line); s != "" {
			m.MessageBytes = integer(s)
			return
		}
	}
}

func measurePingCounts(m *measured, line string) (received float64) {
	s := pingCounts.FindStringSubmatch(line)
	if s == nil {
		s = append(pingCountsLoose.FindStringSubmatch(line), "", "")
	}
	m.addPrinted(result.Sent, "", s[1], 1, "")
	m.addPrinted(result.Received, "", s[2], 1, "")
	m.addPrinted(result.Loss, "", s[3]+s[4], 0.01, "")
	m.addPrinted(result.Duplicates, "", find(pingDuplicates, line), 1, "")
	m.fact("errors", find(pingErrors, line))
	received, _ = number(s[2])
	return received
}

func measurePingRTT(m *measured, line string) {
	s := pingRTT.FindStringSubmatch(line)
	scale := millisecond
	switch s[5] {
	case "us", "usec":
		scale = microsecond
	case "s", "sec":
		scale = 1
	}
	for i, stat := range []string{result.Min, result.Mean, result.Max, result.Stddev} {
		m.addPrinted(result.RTT, stat, s[i+1], scale, "")
	}
}

// judgePing computes the statistics that the reply lines support. The error says that there is no result.
func judgePing(
	m *measured, replies []float64, received float64, counted bool, failure string,
) (result.Measurement, error) {
	switch {
	case !counted && failure != "":
		return m.Measurement, errors.New("ping: " + strings.TrimPrefix(failure, "ping: "))
	case !counted && !m.has(result.RTT):
		return m.Measurement, errors.New("ping printed no statistics: it was ended before, or the output is cut off")
	}
	if !m.has(result.RTT) {
		if received > 0 && len(replies) == 0 {
			m.note("ping printed no times: the payload holds no time stamp, or the output is cut off.")
		} else {
			m.note("No reply came: there is no round-trip time.")
		}
		return m.Measurement, nil
	}
	m.define(result.DefinitionRTT, result.DefinitionRTT)
	if float64(len(replies)) == received && m.percentiles(result.RTT, replies) {
		m.note("Percentiles are computed from the reply lines.")
	}
	return m.Measurement, nil
}

// percentiles adds the nearest-rank percentiles that the count of the observations supports, and reports whether there
// is one.
func (m *measured) percentiles(name string, observations []float64) (added bool) {
	slices.Sort(observations)
	for _, p := range []float64{50, 90, 99, 99.9, 99.99} {
		if !result.SupportsPercentile(int64(len(observations)), p) {
			break
		}
		rank := int(math.Ceil(p / 100 * float64(len(observations))))
		added = m.add(name, result.PercentileStat(p), observations[max(0, rank-1)], "") || added
	}
	return added
}
