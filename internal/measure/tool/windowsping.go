package tool

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const (
	// windowsPingInterval is the time between two requests of Windows' ping, which has no option to choose it.
	windowsPingInterval = time.Second
	// windowsPingMost is the largest payload that it takes, in bytes.
	windowsPingMost = 65500
)

// windowsPingPlan gives the command line of Windows' ping. A request that is not answered within pingWait is lost.
func windowsPingPlan(w experiment.Workload, ip netip.Addr) (Plan, error) {
	if w.Interval != windowsPingInterval {
		return Plan{}, fmt.Errorf("workload %s: ping of Windows sends one request each second: write interval: 1s",
			w.Name)
	}
	if w.Request > windowsPingMost {
		return Plan{}, fmt.Errorf("workload %s: a request of %d bytes: ping of Windows takes at most %d", w.Name,
			w.Request, windowsPingMost)
	}
	count, version := w.Duration/w.Interval, "-4"
	if ip.Is6() {
		version = "-6"
	}
	return Plan{
		Client: Command{Argv: []string{"ping", "-n", strconv.FormatInt(int64(count), 10), "-l",
			strconv.Itoa(w.Request), "-w", strconv.FormatInt(pingWait.Milliseconds(), 10), version, ip.String()}},
		Expected: count*windowsPingInterval + 100*time.Millisecond,
	}, nil
}

// The lines of Windows' ping in any language: only numbers, units and punctuation are read.
var (
	// windowsPingWords begin the banner in languages in which it does not name ping.
	windowsPingWords = lazyregexp.New(`(?i)ping|^(?:disparando|badanie|обмен|обмін|skickar) `)
	// windowsPingTarget is the address in the banner, in brackets behind a name.
	windowsPingTarget  = lazyregexp.New(`\[[0-9A-Fa-f.:%]+\]|\d+\.\d+\.\d+\.\d+|[0-9A-Fa-f]*:[0-9A-Fa-f.]*:[0-9A-Fa-f.:]*(?:%\d+)?`)
	windowsPingNumber  = lazyregexp.New(`\d+`)
	windowsPingReply   = lazyregexp.New(`: \D*?= ?(\d+) \D*?[=<] ?\d+ ?\S{1,5} TTL=`)
	windowsPingCounts  = lazyregexp.New(`= *(\d+) *[,，、] *[^=\d]*= *(\d+) *[,，、] *[^=\d]*= *(\d+)(?:[^\d]|$)`)
	windowsPingPartial = lazyregexp.New(`= *\d+ *[,，、][^=]*= *\d+ *[,，、]$`)
	windowsPingLoss    = lazyregexp.New(`\(\D*?(\d+) ?%|\(%(\d+)`)
	windowsPingRTT     = lazyregexp.New(`= *(\d+) ?\p{L}{1,5} *[,，、] *[^=]*= *(\d+) ?\p{L}{1,5} *[,，、] *[^=]*= *(\d+) ?\p{L}{1,5}`)
)

// isWindowsPingBanner reports whether a line is the first line of Windows' ping.
func isWindowsPingBanner(line string) bool { return windowsPingPayload(line) != "" }

// windowsPingPayload gives the payload in bytes from the banner, which is its only number besides the target's address.
// It gives "" if the line is no banner.
func windowsPingPayload(line string) string {
	if len(line) > 200 || strings.Contains(line, "=") || strings.HasPrefix(line, "PING") {
		return ""
	}
	if !strings.HasSuffix(line, ":") && !strings.HasSuffix(line, "：") {
		return ""
	}
	at := windowsPingTarget.FindStringIndex(line)
	if at == nil || line[at[0]] != '[' && !windowsPingWords.MatchString(line) {
		return ""
	}
	numbers := windowsPingNumber.FindAllString(line[at[1]:], 2)
	if len(numbers) != 1 || strings.ContainsAny(line[at[1]:], "%/") {
		return ""
	}
	return numbers[0]
}

func isWindowsPingCounts(line string) bool {
	return (windowsPingCounts.MatchString(line) || windowsPingPartial.MatchString(line)) &&
		!windowsPingRTT.MatchString(line)
}

// windowsPing reads the lines of Windows' ping.
type windowsPing struct {
	*measured
	// counted says that the counts were read. half is the first line of counts that were wrapped into two lines.
	counted bool
	half    string
}

// read reads a line, and reports whether Windows' ping printed it.
func (w *windowsPing) read(line string) bool {
	if w.half != "" {
		line, w.half = w.half+" "+line, ""
	}
	switch {
	case windowsPingRTT.MatchString(line):
		s := windowsPingRTT.FindStringSubmatch(line)
		for i, stat := range []string{result.Min, result.Max, result.Mean} {
			w.addPrinted(result.RTT, stat, s[i+1], millisecond, "")
		}
	case !w.counted && windowsPingCounts.MatchString(line):
		s := windowsPingCounts.FindStringSubmatch(line)
		w.counted = true
		w.addPrinted(result.Sent, "", s[1], 1, "")
		w.addPrinted(result.Received, "", s[2], 1, "")
		w.addPrinted(result.Lost, "", s[3], 1, "")
		w.loss(line)
	case !w.counted && windowsPingPartial.MatchString(line):
		w.half = line
	case w.counted && !w.has(result.Loss) && windowsPingLoss.MatchString(line):
		w.loss(line)
	case windowsPingReply.MatchString(line):
		if w.MessageBytes == 0 {
			w.MessageBytes = integer(find(windowsPingReply, line))
		}
	default:
		bytes := windowsPingPayload(line)
		if bytes == "" {
			return false
		}
		w.MessageBytes = integer(bytes)
	}
	return true
}

func (w *windowsPing) loss(line string) {
	if s := windowsPingLoss.FindStringSubmatch(line); s != nil {
		w.addPrinted(result.Loss, "", s[1]+s[2], 0.01, "")
	}
}

// end adds the notes that hold for every run.
func (w *windowsPing) end() {
	if w.counted && w.has(result.RTT) {
		w.note("This ping rounds to whole milliseconds; 0 means less than one.")
	}
}
