package experiment

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// bounds checks that a workload's lists are not too long. Whoever reads a run relies on it.
func (w Workload) bounds(c *Checker) {
	if len(w.Steps) > maxSteps {
		c.wrong(AtKey("steps"), fmt.Sprintf("at most %d", maxSteps), "there are %d steps", len(w.Steps))
	}
	if max(len(w.Placement.Client), len(w.Placement.Server)) > maxCPU+1 {
		c.wrong(AtValue("placement"), "name each CPU once", "a side names more than %d CPUs", maxCPU+1)
	}
	if p := w.Command; p != nil {
		c.Most(AtValue("metrics"), "figures", len(p.Metrics), MaxCommandMetrics)
		c.Most(AtValue("client"), "words", max(len(p.Client), len(p.Server), len(p.Ready.Command)), MaxWords)
	}
	if b := w.Background; b != nil {
		if b.Background != nil {
			c.wrong(AtValue("background"), "leave it out", "the background has a background")
			return
		}
		b.bounds(c.In("background"))
	}
}

// checkName checks the name and the question of a workload.
func (w Workload) checkName(c *Checker) {
	c.Name(AtValue("name"), "a workload", w.Name)
	checkQuestion(c, w.Question)
}

// check checks that a workload is one that its tool can run, with values within the tool's limits.
func (w Workload) check(c *Checker, tools Tools) {
	can, ok := tools.Capability(c, w)
	if !ok {
		return
	}
	can.CheckTaken(c, w)
	w.checkAs(c, can, tools)
}

// CheckRead checks a workload that was read for a capability, with the keys that it takes.
func (w Workload) CheckRead(c *Checker, can ToolCapability, tools Tools) {
	w.checkName(c)
	w.bounds(c)
	w.checkAs(c, can, tools)
}

func (w Workload) checkAs(c *Checker, can ToolCapability, tools Tools) {
	can.check(c, w)
	w.Placement.Check(c.In("placement"))
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
	can, ok := tools.Find(t.Name, w.Mode, w.Protocol)
	if !ok || w.Mode == "" || w.Protocol == "" {
		return fmt.Errorf("%s cannot do %s over %s: %s", t.Name, quote(w.Mode), quote(w.Protocol),
			tools.whatToolCan(t.Name))
	}
	c := newChecker()
	w.bounds(c)
	can.CheckTaken(c, w)
	can.check(c, w)
	return c.err()
}

// Capability finds the capability that a workload's tool, mode and protocol name together. Only a file can leave mode
// and protocol out.
func (t Tools) Capability(c *Checker, w Workload) (ToolCapability, bool) {
	known := true
	for _, one := range []struct{ key, is string }{{"tool", w.Tool}, {"mode", w.Mode}, {"protocol", w.Protocol}} {
		if one.is != "" || c.text == nil || c.given(one.key) {
			known = t.knows(c, one.key, one.is) && known
		}
	}
	if !known || w.Tool == "" || !c.sound("tool", "mode", "protocol") {
		return ToolCapability{}, false
	}
	can, ok := t.Find(w.Tool, w.Mode, w.Protocol)
	if !ok {
		at, asked := "tool", w.Mode
		if w.Mode != "" {
			at = "mode"
		}
		if _, modeFits := t.Find(w.Tool, w.Mode, ""); modeFits {
			at, asked = "protocol", fmt.Sprintf("%s over %s", orAny(w.Mode), w.Protocol)
		}
		c.wrong(AtValue(at), t.whatToolCan(w.Tool), "%s cannot do %s", w.Tool, asked)
	}
	return can, ok
}

// knows checks a tool, a mode or a protocol. A program that is none of the tools can be run too.
func (t Tools) knows(c *Checker, key, is string) bool {
	known := t.WordsOf(key)
	if key != "tool" || slices.Contains(known, is) || Nearest(is, known) != "" {
		return c.word(AtValue(key), key, is, known)
	}
	hint := Suggest(is, known)
	if slices.Contains(known, CommandMode) {
		hint += "; tool: command runs any program (docs/command.md)"
	}
	c.wrong(AtValue(key), hint, "unknown tool %s", quote(is))
	return false
}

// WordsOf are the known tools, modes and protocols.
func (t Tools) WordsOf(key string) []string {
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

// CheckTaken checks that a workload has no keys that have no meaning in the capability.
func (c ToolCapability) CheckTaken(to *Checker, w Workload) {
	for _, k := range Keys() {
		if k.General || k.IsTaken(c) {
			continue
		}
		if k.given != nil && k.given(w) || to.given(k.Name) {
			to.wrong(AtKey(k.Name), "it is for "+c.others.WhoTakes(k.Name), "%s takes no %s%s", c, k.Name, k.because(c))
		}
	}
}

// check checks the values of a workload that the capability takes.
func (c ToolCapability) check(to *Checker, w Workload) {
	for _, k := range Keys() {
		if k.check != nil && (k.General || k.IsTaken(c)) {
			k.check(to, c, w)
		}
	}
	c.checkResponse(to, w)
	c.checkBatch(to, w)
	c.checkStamps(to, w)
	c.checkIntervals(to, w)
}

// checkResponse checks a response against the request.
func (c ToolCapability) checkResponse(to *Checker, w Workload) {
	at := AtValue("response")
	switch {
	case !to.sound("request", "response"):
	case c.Reply == ReplySame && w.Response != w.Request:
		to.wrong(at, fmt.Sprintf("leave response out, or write %s", FormatSize(w.Request)),
			"%s answers with as much as it received", c.Tool)
	case c.Reply == ReplyAtMostRequest && w.Response > w.Request:
		to.wrong(at, fmt.Sprintf("at most the request's %s", FormatSize(w.Request)),
			"a response of %s is larger than its request: over UDP the engine sends no more than it received",
			FormatSize(w.Response))
	}
}

// checkBatch checks how large a batch is.
func (c ToolCapability) checkBatch(to *Checker, w Workload) {
	together := w.Message * w.Batch
	if c.Tool != "" && together > c.BatchBytes && to.sound("message", "batch") {
		to.wrong(to.firstGiven("batch", "message"), "at most "+FormatSize(c.BatchBytes),
			"a batch of %d messages of %s has %s", w.Batch, FormatSize(w.Message), FormatSize(together))
	}
}

// checkStamps checks that the response has room for the server's timestamps.
func (c ToolCapability) checkStamps(to *Checker, w Workload) {
	if !w.Timestamps {
		return
	}
	least := c.leastStamped()
	if w.Response < least && to.sound("request", "response") {
		to.wrong(AtValue("timestamps"), fmt.Sprintf("make the response at least %s", FormatSize(least)),
			"a response of %s has no room for the server's timestamps", FormatSize(w.Response))
	}
	if w.Wait == WaitEpoll {
		to.wrong(AtValue("timestamps"), "wait in another way, or leave timestamps out",
			"timestamps cannot be combined with wait: epoll, since each of their reports ends a wait at once")
	}
}

// checkIntervals checks that the number of echo requests is within its limits, at least 1.
func (c ToolCapability) checkIntervals(to *Checker, w Workload) {
	if c.Tool == "" || !c.Interval.Taken() || !to.sound("duration", "interval") {
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

// IPVersions is the hint for another version of IP.
const IPVersions = "write 4 or 6"

// checkIP checks the version of IP. Imported results do not say theirs.
func checkIP(c *Checker, can ToolCapability, w Workload) {
	switch {
	case w.IP == 0 && !c.given("ip"), w.IP == IPv4:
	case w.IP != IPv6:
		c.wrong(AtValue("ip"), IPVersions, "ip cannot be %d", w.IP)
	case can.OnlyIPv4 != "":
		c.wrong(AtValue("ip"), "leave it out, or measure with "+strings.Join(can.others.ofIPv6(), ", "),
			"%s does not speak IPv6 (%s)", can.Tool, can.OnlyIPv4)
	}
}

// ofIPv6 lists the measuring programs that support IPv6.
func (t Tools) ofIPv6() []string {
	return t.Distinct(func(c ToolCapability) string {
		if c.OnlyIPv4 != "" || c.Mode == CommandMode {
			return ""
		}
		return c.Tool
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
func (w Workload) checkBackground(c *Checker, tools Tools) {
	if w.Background == nil {
		return
	}
	b, in := *w.Background, c.In("background")
	can, _ := tools.Beside()
	for _, only := range []struct{ key, is, word string }{{"tool", b.Tool, can.Tool}, {"mode", b.Mode, can.Mode},
		{"protocol", b.Protocol, can.Protocol}} {
		if only.is != only.word {
			in.wrong(AtValue(only.key), "leave it out, or write "+only.word, "a background is a %s: its %s cannot be %s",
				can, only.key, quote(only.is))
		}
	}
	switch length := w.Warmup + w.Duration; {
	case !c.sound("duration", "warmup"):
	case length < minBeside:
		c.wrong(AtKey("background"), "at least "+FormatDuration(minBeside),
			"a workload of %s is too short to measure its background", FormatDuration(length))
	case length > maxBeside:
		c.wrong(AtKey("background"), "at most "+FormatDuration(maxBeside),
			"a workload of %s is too long to have a background", FormatDuration(length))
	}
	// A background lasts as long as its workload and has no duration of its own.
	if b.Duration == 0 {
		b.Duration = DefaultWindow
	}
	can.check(in, b)
	b.Placement.Check(in.In("placement"))
}
