package tool

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/result"
)

const (
	pingName = "ping"
	// pingCount bounds the requests of a trial: each prints a line of about 70 bytes.
	pingCount   = 200_000
	pingPayload = 65507 // the largest that fits an IPv4 packet
	pingWait    = time.Second
)

// Ping is the ping of iputils.
type Ping struct{}

// NewPing makes the tool.
func NewPing() *Ping { return &Ping{} }

// Name is what an experiment file calls it.
func (*Ping) Name() string { return pingName }

// Probe asks for the version.
func (*Ping) Probe() Probe {
	return probe(pingVersion, []string{"ping"}, "ping", "-V")
}

// Plan gives a ping that sends as many requests as fit into the duration at the interval (1 s where none is given), and
// prints a line for each reply, from which percentiles are computed. There is no warm-up: the first reply, which waits
// for address resolution, is in the figures.
func (*Ping) Plan(w experiment.Workload, server host.Endpoint) (Plan, error) {
	interval := w.Interval
	if interval == 0 {
		interval = time.Second
	}
	count := max(1, int64(w.Duration/max(interval, 1)))
	switch {
	case w.Mode != experiment.Ping || w.Protocol != experiment.ICMP:
		return Plan{}, fmt.Errorf("workload %s: ping measures mode ping over icmp, not %s over %s", w.Name, w.Mode, w.Protocol)
	case interval < time.Millisecond:
		return Plan{}, fmt.Errorf("workload %s: ping's interval is at least 1ms, not %v", w.Name, interval)
	case w.Request < 16 || w.Request > pingPayload:
		return Plan{}, fmt.Errorf("workload %s: ping's payload is 16 B (less holds no time stamp) to %d B, not %d B", w.Name, pingPayload, w.Request)
	case count > pingCount:
		return Plan{}, fmt.Errorf("workload %s: %d echo requests in a trial are more than %d: make the interval longer or the duration shorter", w.Name, count, pingCount)
	}
	ip, err := addressFor(w, server)
	if err != nil {
		return Plan{}, err
	}
	argv := []string{"ping", "-n", "-c", strconv.FormatInt(count, 10), "-i", strconv.FormatFloat(interval.Seconds(), 'f', -1, 64),
		"-s", strconv.Itoa(w.Request), "-W", strconv.FormatFloat(pingWait.Seconds(), 'f', -1, 64)}
	if ip.Is6() {
		argv = append(argv, "-6")
	}
	return Plan{
		Client:   Command{Argv: append(argv, ip.String()), Env: []string{"LC_ALL=C"}},
		Expected: time.Duration(count)*interval + 100*time.Millisecond,
	}, nil
}

// Parse reads what ping printed. Exit status 1 says that replies are missing, which the figures say better.
func (*Ping) Parse(out Output) (result.Measurement, error) {
	m, err := parsePing(plain(out.Stdout) + "\n" + plain(out.Stderr))
	if w := out.Workload; w != nil {
		m.Mode, m.Protocol, m.MessageBytes = w.Mode, w.Protocol, w.Request
		if err == nil && w.Warmup > 0 {
			m.Notes = append(m.Notes, "ping has no warm-up: the first reply, which may wait for address resolution, is in the figures.")
		}
	}
	if err == nil && out.ExitCode == 1 {
		return m, nil
	}
	return m, ended(pingName, out, err)
}

var (
	pingVersion = regexp.MustCompile(`(?:iputils[- ]s?|ping utility, iputils-s?|BusyBox v)([0-9][\w.]*)`)
	pingCommand = regexp.MustCompile(`(?:^|[$#>%]\s*)(?:sudo\s+)?(?:/\S+/)?ping6?(?:\.exe)?\s+(?:-[a-zA-Z]|/[a-z]|\d+\.\d+\.\d+\.\d+|\S+$)`)
	pingBanner  = regexp.MustCompile(`^(?:PING6? ?\S*.*(?:bytes|\(|data|octets|Bytes)|PING6\()`)
	// pingBannerWindows is the banner in whatever language: an address, a payload of some bytes, a colon at the end.
	pingBannerWindows = regexp.MustCompile(`(?i)^(?:(?:pinging|ping |haciendo ping|envoi d.une requ|esecuzione di ping|disparando|pingen naar|badanie|正在 ping|обмен|skickar|sender ping|.* に ping |.* ping ).*[^0-9](\d{1,5}) .*[:：]?|.*\[[0-9a-f.:]+\].* (\d{1,5}) .*[:：])$`)
	pingRule          = regexp.MustCompile(`^-+ ?\S+ .*(?:ping6?|PING).* ?-{2,}|^-{2,}.*\bping6?\b.*-{2,}`)
	pingReply         = regexp.MustCompile(`(\d+) \S+ \S+ .*seq[=: ]?(\d+).*[=<]([0-9.,]+) ?(ms|usec|us)\b`)
	pingReplyBSD      = regexp.MustCompile(`^(\d+) bytes from .*(?:time)[=<]([0-9.,]+) ?ms`)
	pingReplyWindows  = regexp.MustCompile(`: \S+=(\d+) \S+?([=<]) ?(\d+) ?\S{1,5} TTL=|: \S+?[=<] ?\d+ ?ms`)
	pingCounts        = regexp.MustCompile(`^(\d+) [^\d,]*, (?:[^\d,]* )?(\d+) [^\d,]*, .*?([0-9.,]+) ?%`)
	pingCountsLoose   = regexp.MustCompile(`^(\d+) packets transmitted, (\d+) (?:packets )?received`)
	pingDuplicates    = regexp.MustCompile(`\+(\d+) (?:duplicates?|Duplikate|doublons|duplicad\S*|duplicat\S*)`)
	pingErrors        = regexp.MustCompile(`\+(\d+) (?:errors?|Fehler|erreurs|errores|errori)`)
	pingRTT           = regexp.MustCompile(`min/avg/max(?:/(?:mdev|stddev|std-dev|sdev|stdev))? *= *([0-9.,]+)/([0-9.,]+)/([0-9.,]+)(?:/([0-9.,]+|-?nan))? *(ms|us|usec|s|sec)?(?:[ ,]|$)`)
	pingCountsWindows = regexp.MustCompile(`= ?(\d+)[,，、] ?[^=]*= ?(\d+)[,，、] ?[^=]*= ?(\d+)(?:[^\d]|$)`)
	pingLossWindows   = regexp.MustCompile(`\([^\d()]*(\d+) ?% ?[^()]*\)`)
	pingRTTWindows    = regexp.MustCompile(`= ?(\d+) ?(?:ms|мс|мсек|msec|m)[,，、] ?[^=]*= ?(\d+) ?(?:ms|мс|мсек|msec|m)[,，、] ?[^=]*= ?(\d+) ?(?:ms|мс|мсек|msec|m)`)
	pingFailure       = regexp.MustCompile(`(?i)^ping6?: .*(?:unknown host|not known|failure in name|cannot resolve|bad address|unreachable|not permitted|denied|sendto|sendmsg|invalid|usage|bad number|too (?:big|large|small)|cannot|local error).*|^ping request could not find host.*|^.*unknown host.*$|^connect: network is unreachable.*`)
	pingPayloadBSD    = regexp.MustCompile(`: (\d+) data bytes`)
	pingPayloadLinux  = regexp.MustCompile(`\) (?:from .*: )?(\d+)(?:\(\d+\))? (?:data )?\S*(?:bytes|Bytes|octets|data)`)
	pingAddress       = regexp.MustCompile(`^PING \S+ ?\(([0-9A-Fa-f.:]+)\)`)
	pingPayload6      = regexp.MustCompile(`^PING6\(\d+=40\+8\+(\d+) bytes`)
)

// pingMark recognises lines of ping's output.
func pingMark(line string) mark {
	switch {
	case !containsAny(line, "ping", "Ping", "PING", "%", "=", "host", "min/avg/max", "nreachable", "bytes from", ":", "："):
		return markNone
	case strings.Contains(line, "seq=") && pingReplyBSD.MatchString(line):
		return markWeak
	case pingBanner.MatchString(line) || len(line) < 200 && pingBannerWindows.MatchString(line):
		return markBanner
	case pingCommand.MatchString(line):
		return markCommand
	case pingCounts.MatchString(line), pingCountsLoose.MatchString(line),
		pingCountsWindows.MatchString(line) && !pingRTTWindows.MatchString(line):
		return markResult
	case pingRTT.MatchString(line):
		return markTail
	case pingReplyBSD.MatchString(line), pingFailure.MatchString(line), strings.Contains(line, "TTL="), pingRule.MatchString(line):
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
	failure, counted, windows := "", false, false
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
		case !counted && (pingCounts.MatchString(line) || pingCountsLoose.MatchString(line)):
			received, counted = measurePingCounts(m, line), true
		case pingRTTWindows.MatchString(line):
			s := pingRTTWindows.FindStringSubmatch(line)
			for i, stat := range []string{result.Min, result.Max, result.Mean} {
				m.addPrinted(result.RTT, stat, s[i+1], millisecond, "")
			}
			windows = true
		case !counted && pingCountsWindows.MatchString(line):
			s := pingCountsWindows.FindStringSubmatch(line)
			counted, windows = true, true
			m.addPrinted(result.Sent, "", s[1], 1, "")
			m.addPrinted(result.Received, "", s[2], 1, "")
			m.addPrinted(result.Lost, "", s[3], 1, "")
			m.addPrinted(result.Loss, "", find(pingLossWindows, line), 0.01, "")
		case windows && !m.has(result.Loss) && pingLossWindows.MatchString(line):
			m.addPrinted(result.Loss, "", find(pingLossWindows, line), 0.01, "")
		case pingReplyWindows.MatchString(line):
			if bytes := find(pingReplyWindows, line); bytes != "" && m.MessageBytes == 0 {
				m.MessageBytes = integer(bytes)
			}
		case pingBanner.MatchString(line) || len(line) < 200 && pingBannerWindows.MatchString(line):
			m.bannerPayload(line)
		case pingFailure.MatchString(line) && failure == "":
			failure = excerpt(line)
		}
	}
	if windows && m.has(result.RTT) {
		m.note("This ping rounds to whole milliseconds; 0 means less than one.")
	}
	return judgePing(m, replies, received, counted, failure)
}

// reply reads the line of one reply: its time, but for a duplicate's, and the size where it is not known yet.
func (m *measured) reply(line string, parts []string, counted bool, replies *[]float64) {
	scale := millisecond
	if parts[4] != "ms" {
		scale = microsecond
	}
	if v, ok := number(parts[3]); ok && v >= 0 && !strings.Contains(line, "DUP!") {
		*replies = append(*replies, v*scale)
	}
	m.payload(line, parts[1], counted)
}

// payload reads the payload's size from a reply where the banner did not say: a reply counts 8 bytes of ICMP header too.
func (m *measured) payload(line, bytes string, counted bool) {
	if m.MessageBytes == 0 && !counted && strings.Contains(line, "bytes from") && integer(bytes) > 8 {
		m.MessageBytes = integer(bytes) - 8
	}
}

// bannerPayload reads the payload's size from the first line, and the version of IP from the address there.
func (m *measured) bannerPayload(line string) {
	m.ip(find(pingAddress, line))
	for _, re := range []*regexp.Regexp{pingPayload6, pingPayloadBSD, pingPayloadLinux} {
		if s := find(re, line); s != "" {
			m.MessageBytes = integer(s)
			return
		}
	}
	if s := pingBannerWindows.FindStringSubmatch(line); s != nil && !strings.HasPrefix(line, "PING") {
		m.MessageBytes = integer(s[1] + s[2])
	}
}

func measurePingCounts(m *measured, line string) (received float64) {
	s := pingCounts.FindStringSubmatch(line)
	if s == nil {
		s = append(pingCountsLoose.FindStringSubmatch(line), "")
	}
	m.addPrinted(result.Sent, "", s[1], 1, "")
	m.addPrinted(result.Received, "", s[2], 1, "")
	m.addPrinted(result.Loss, "", s[3], 0.01, "")
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

// judgePing computes what the reply lines support, and says whether there is a result.
func judgePing(m *measured, replies []float64, received float64, counted bool, failure string) (result.Measurement, error) {
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
	if float64(len(replies)) == received {
		m.percentiles(result.RTT, replies)
	}
	return m.Measurement, nil
}

// percentiles adds the nearest-rank percentiles that the count of the observations supports.
func (m *measured) percentiles(name string, observations []float64) {
	slices.Sort(observations)
	for _, p := range []float64{50, 90, 99, 99.9, 99.99} {
		if !result.SupportsPercentile(int64(len(observations)), p) {
			break
		}
		rank := int(math.Ceil(p / 100 * float64(len(observations))))
		if m.add(name, result.PercentileStat(p), observations[max(0, rank-1)], "") {
			m.note("Percentiles are computed from the reply lines.")
		}
	}
}
