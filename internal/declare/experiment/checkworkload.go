package experiment

import (
	"fmt"
	"strings"
	"time"
)

// bounds checks that a workload's lists are not too long. Whoever reads a run relies on it.
func (w Workload) bounds(c *checker) {
	if len(w.Steps) > maxSteps {
		c.wrong(atKey("steps"), fmt.Sprintf("at most %d", maxSteps), "there are %d steps", len(w.Steps))
	}
	if max(len(w.Placement.Client), len(w.Placement.Server)) > maxCPU+1 {
		c.wrong(value("placement"), "name each CPU once", "a side names more than %d CPUs", maxCPU+1)
	}
	if b := w.Background; b != nil {
		if b.Background != nil {
			c.wrong(value("background"), "leave it out", "the background has a background")
			return
		}
		b.bounds(c.in("background"))
	}
}

// checkName checks the name and the question of a workload.
func (w Workload) checkName(c *checker) {
	c.name(value("name"), "a workload", w.Name)
	checkQuestion(c, w.Question)
}

// check checks that a workload is one that its tool can run, with values within the tool's limits.
func (w Workload) check(c *checker, tools Tools) {
	can, ok := tools.capability(c, w)
	if !ok {
		return
	}
	can.checkTaken(c, w)
	w.checkAs(c, can, tools)
}

// checkRead checks a workload that was read for a capability, with the keys that it takes.
func (w Workload) checkRead(c *checker, can capability, tools Tools) {
	w.checkName(c)
	w.bounds(c)
	w.checkAs(c, can, tools)
}

func (w Workload) checkAs(c *checker, can capability, tools Tools) {
	can.check(c, w)
	w.Placement.check(c.in("placement"))
	w.checkBackground(c, tools)
}

// runnable says whether a workload is one that its tool can run.
func (w Workload) runnable(tools Tools) bool {
	c := newChecker()
	w.check(c, tools)
	return c.count() == 0
}

// Check says what the tool cannot do of what a workload asks: its mode, a key that the tool does not take, or a value
// beyond the tool's limits. It does not look at the workload's tool, placement and background.
func (t Tool) Check(w Workload) error {
	tools := Tools{t}
	can, ok := tools.find(t.Name, w.Mode, w.Protocol)
	if !ok || w.Mode == "" || w.Protocol == "" {
		return fmt.Errorf("%s cannot do %s over %s: %s", t.Name, quote(w.Mode), quote(w.Protocol),
			tools.whatToolCan(t.Name))
	}
	c := newChecker()
	w.bounds(c)
	can.checkTaken(c, w)
	can.check(c, w)
	return c.err()
}

// capability finds the capability that a workload's tool, mode and protocol name together. Only a file can leave mode
// and protocol out.
func (t Tools) capability(c *checker, w Workload) (capability, bool) {
	known := true
	for _, one := range []struct{ key, is string }{{"tool", w.Tool}, {"mode", w.Mode}, {"protocol", w.Protocol}} {
		if one.is != "" || c.text == nil || c.given(one.key) {
			known = c.word(value(one.key), one.key, one.is, t.wordsOf(one.key)) && known
		}
	}
	if !known || w.Tool == "" || !c.sound("tool", "mode", "protocol") {
		return capability{}, false
	}
	can, ok := t.find(w.Tool, w.Mode, w.Protocol)
	if !ok {
		at, asked := "tool", w.Mode
		if w.Mode != "" {
			at = "mode"
		}
		if _, modeFits := t.find(w.Tool, w.Mode, ""); modeFits {
			at, asked = "protocol", fmt.Sprintf("%s over %s", orAny(w.Mode), w.Protocol)
		}
		c.wrong(value(at), t.whatToolCan(w.Tool), "%s cannot do %s", w.Tool, asked)
	}
	return can, ok
}

// wordsOf are the known tools, modes and protocols.
func (t Tools) wordsOf(key string) []string {
	switch key {
	case "mode":
		return t.Modes("")
	case "protocol":
		return t.Protocols("", "")
	}
	return t.Names()
}

func orAny(mode string) string {
	if mode == "" {
		return "anything"
	}
	return mode
}

// checkTaken checks that a workload has no keys that have no meaning in the capability.
func (c capability) checkTaken(to *checker, w Workload) {
	for _, k := range allKeys() {
		if k.general || k.isTaken(c) {
			continue
		}
		if k.given != nil && k.given(w) || to.given(k.name) {
			to.wrong(atKey(k.name), "it is for "+c.others.whoTakes(k.name), "%s takes no %s", c, k.name)
		}
	}
}

// check checks the values of a workload that the capability takes.
func (c capability) check(to *checker, w Workload) {
	for _, k := range allKeys() {
		if k.check != nil && (k.general || k.isTaken(c)) {
			k.check(to, c, w)
		}
	}
	c.checkResponse(to, w)
	c.checkBatch(to, w)
	c.checkStamps(to, w)
	c.checkIntervals(to, w)
}

// checkResponse checks a response against the request.
func (c capability) checkResponse(to *checker, w Workload) {
	at := value("response")
	switch {
	case !to.sound("request", "response"):
	case c.Reply == ReplySame && w.Response != w.Request:
		to.wrong(at, fmt.Sprintf("leave response out, or write %s", FormatSize(w.Request)),
			"%s answers with as much as it received", c.tool)
	case c.Reply == ReplyAtMostRequest && w.Response > w.Request:
		to.wrong(at, fmt.Sprintf("at most the request's %s", FormatSize(w.Request)),
			"a response of %s is larger than its request: over UDP the engine sends no more than it received",
			FormatSize(w.Response))
	}
}

// checkBatch checks how large a batch is.
func (c capability) checkBatch(to *checker, w Workload) {
	together := w.Message * w.Batch
	if c.tool != "" && together > c.BatchBytes && to.sound("message", "batch") {
		to.wrong(to.firstGiven("batch", "message"), "at most "+FormatSize(c.BatchBytes),
			"a batch of %d messages of %s has %s", w.Batch, FormatSize(w.Message), FormatSize(together))
	}
}

// checkStamps checks that the response has room for the server's timestamps.
func (c capability) checkStamps(to *checker, w Workload) {
	if !w.Timestamps {
		return
	}
	least := c.leastStamped()
	if w.Response < least && to.sound("request", "response") {
		to.wrong(value("timestamps"), fmt.Sprintf("make the response at least %s", FormatSize(least)),
			"a response of %s has no room for the server's timestamps", FormatSize(w.Response))
	}
	if w.Wait == WaitEpoll {
		to.wrong(value("timestamps"), "wait in another way, or leave timestamps out",
			"timestamps cannot be combined with wait: epoll, since each of their reports ends a wait at once")
	}
}

// checkIntervals checks that the number of echo requests is within its limits, at least 1.
func (c capability) checkIntervals(to *checker, w Workload) {
	if c.tool == "" || !c.Interval.taken() || !to.sound("duration", "interval") {
		return
	}
	at := to.firstGiven("duration", "interval")
	switch requests := w.Duration / w.Interval; {
	case requests < 1:
		to.wrong(at, "make the duration longer or the interval shorter", "duration %s is shorter than the interval of %s",
			FormatDuration(w.Duration), FormatDuration(w.Interval))
	case int(requests) > c.MaxIntervals:
		to.wrong(at, fmt.Sprintf("at most %d; make the duration shorter or the interval longer", c.MaxIntervals),
			"duration %s at an interval of %s makes %d echo requests",
			FormatDuration(w.Duration), FormatDuration(w.Interval), requests)
	}
}

const ipVersions = "write 4 or 6"

// checkIP checks the version of IP. Imported results do not say theirs.
func checkIP(c *checker, can capability, w Workload) {
	switch {
	case w.IP == 0 && !c.given("ip"), w.IP == IPv4:
	case w.IP != IPv6:
		c.wrong(value("ip"), ipVersions, "ip cannot be %d", w.IP)
	case can.OnlyIPv4 != "":
		c.wrong(value("ip"), "leave it out, or measure with "+strings.Join(can.others.ofIPv6(), ", "),
			"%s does not speak IPv6 (%s)", can.tool, can.OnlyIPv4)
	}
}

// ofIPv6 lists the tools that support IPv6.
func (t Tools) ofIPv6() []string {
	return t.distinct(func(c capability) string {
		if c.OnlyIPv4 != "" {
			return ""
		}
		return c.tool
	})
}

// Limits of the warm-up and window of a workload with a background, together. The background is measured in intervals
// of 100 ms and needs several of them.
const (
	// backgroundWarmup is how long a background runs before its workload starts. At first its congestion control sends
	// more than the path holds, and it takes a while to recover.
	backgroundWarmup = time.Second

	minBeside = 300 * time.Millisecond
	maxBeside = 23 * time.Hour
)

// checkBackground checks that a workload can have its background.
func (w Workload) checkBackground(c *checker, tools Tools) {
	if w.Background == nil {
		return
	}
	b, in := *w.Background, c.in("background")
	can, _ := tools.beside()
	for _, only := range []struct{ key, is, word string }{{"tool", b.Tool, can.tool}, {"mode", b.Mode, can.Mode},
		{"protocol", b.Protocol, can.Protocol}} {
		if only.is != only.word {
			in.wrong(value(only.key), "leave it out, or write "+only.word, "a background is a %s: its %s cannot be %s",
				can, only.key, quote(only.is))
		}
	}
	switch length := w.Warmup + w.Duration; {
	case !c.sound("duration", "warmup"):
	case length < minBeside:
		c.wrong(atKey("background"), "at least "+FormatDuration(minBeside),
			"a workload of %s is too short to measure its background", FormatDuration(length))
	case length > maxBeside:
		c.wrong(atKey("background"), "at most "+FormatDuration(maxBeside),
			"a workload of %s is too long to have a background", FormatDuration(length))
	}
	// A background lasts as long as its workload and has no duration of its own.
	if b.Duration == 0 {
		b.Duration = defaultWindow
	}
	can.check(in, b)
	b.Placement.check(in.in("placement"))
}
