package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// checkRunnable checks that a workload is one that its tool can run, with values that Parse accepts.
func (w Workload) checkRunnable(tools Tools) error {
	at := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == w.Tool })
	if at < 0 {
		return fmt.Errorf("nothing here measures %s over %s with %s", quote(w.Mode), quote(w.Protocol), quote(w.Tool))
	}
	return cmp.Or(tools[at].Check(w), w.Placement.check(), w.checkBackground(tools))
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
	for _, k := range allKeys() {
		if k.given != nil && k.given(w) && !k.isTaken(can) {
			return fmt.Errorf("%s takes no %s", can, k.name)
		}
		if k.check != nil {
			if err := k.check(can, w); err != nil {
				return err
			}
		}
	}
	return can.checkRules(w)
}

// checkRules checks values with rules of their own, and what several values say together.
func (c capability) checkRules(w Workload) error {
	connections, batch := max(1, c.Numbers["connections"].Max), c.Numbers["batch"]
	switch {
	case w.IP == IPv6 && c.OnlyIPv4 != "":
		return fmt.Errorf("%s does not speak IPv6 (%s)", c.tool, c.OnlyIPv4)
	case w.IP != 0 && w.IP != IPv4 && w.IP != IPv6:
		return fmt.Errorf("unknown version %d of IP", w.IP)
	case c.Reply == ReplySame && w.Response != w.Request:
		return fmt.Errorf("request and response must be equal: %s answers with as much as it received", c.tool)
	case c.Reply == ReplyAtMostRequest && w.Response > w.Request:
		return fmt.Errorf("the response of %d bytes is larger than the request of %d", w.Response, w.Request)
	case w.Connections < 0 || w.Connections > connections:
		return fmt.Errorf("%d connections: %s has at most %d", w.Connections, c, connections)
	case batch.taken() && (w.Batch < 0 || w.Batch > batch.Max || w.Message*w.Batch > c.BatchBytes):
		return fmt.Errorf("a batch of %d messages of %d bytes: at most %d messages and %d bytes",
			w.Batch, w.Message, batch.Max, c.BatchBytes)
	case c.Interval.taken() && (w.Duration < w.Interval || w.Duration/w.Interval > time.Duration(c.MaxIntervals)):
		return fmt.Errorf("an interval of %s in %s: 1 to %d intervals", FormatDuration(w.Interval),
			FormatDuration(w.Duration), c.MaxIntervals)
	case w.Wait != "" && !slices.Contains(waitWords(), w.Wait):
		return fmt.Errorf("unknown wait %s", quote(w.Wait))
	case w.Wait != "" && len(c.Waits) > 0 && !slices.Contains(c.Waits, w.Wait):
		return fmt.Errorf("%s cannot wait by %s: it can wait by %s", c, w.Wait, strings.Join(c.Waits, ", "))
	case w.Congestion != "" && !isCongestion(w.Congestion):
		return fmt.Errorf("%s is no name of a congestion control", quote(w.Congestion))
	case w.DSCP < 0 || w.DSCP > maxDSCP:
		return fmt.Errorf("a dscp of %d: 0 to %d", w.DSCP, maxDSCP)
	case w.Timestamps && w.Response < c.leastStamped():
		return fmt.Errorf("a response of %d bytes has no room for the server's timestamps: at least %d", w.Response,
			c.leastStamped())
	case w.Timestamps && w.Wait == WaitEpoll:
		return errors.New("timestamps cannot be combined with wait: epoll")
	}
	for _, bytes := range []int{w.SendBuffer, w.ReceiveBuffer} {
		if bytes != 0 && !c.Buffers.holds(bytes) {
			return fmt.Errorf("a buffer of %d bytes: %s takes %s", bytes, c.tool, c.Buffers)
		}
	}
	return nil
}

func checkOffered(c capability, w Workload) error {
	rate := w.OfferedRate
	if c.Rate.Unit == BitRate {
		rate = w.Rate
	}
	switch {
	case w.Rate != 0 && c.Rate.Unit != BitRate, w.OfferedRate != 0 && c.Rate.Unit != EventRate:
		return fmt.Errorf("%s takes no such rate", c)
	case rate != 0 && !(rate >= c.Rate.Min && rate <= c.Rate.Max):
		return fmt.Errorf("an offered rate of %v: %s takes %v to %v", rate, c, c.Rate.Min, c.Rate.Max)
	case !c.Rate.steps(rate):
		return fmt.Errorf("an offered rate of %v: %s takes multiples of %v", rate, c, c.Rate.Step)
	case rate != 0 && rate/float64(max(1, w.Connections)) < c.Rate.MinEach:
		return fmt.Errorf("a rate of %v over %d connections: each has at least %v", rate, w.Connections, c.Rate.MinEach)
	case c.Mode == Load && (w.OfferedRate != 0) == (len(w.Steps) > 0):
		return errors.New("a load has an offered rate, or steps")
	}
	if len(w.Steps) > maxSteps {
		return fmt.Errorf("there are %d steps; at most %d", len(w.Steps), maxSteps)
	}
	var sum time.Duration
	for _, s := range w.Steps {
		if s.Rate < c.Rate.Min || s.Rate > c.Rate.Max || s.For < c.Duration.Min || s.For > c.Duration.Max ||
			s.For%c.Duration.Step != 0 {
			return fmt.Errorf("a step of %v/s for %v", s.Rate, s.For)
		}
		sum += s.For
	}
	if sum > c.Duration.Max || len(w.Steps) > 0 && sum != w.Duration {
		return fmt.Errorf("the steps take %v together, and the duration is %v, at most %v", sum, w.Duration,
			c.Duration.Max)
	}
	return nil
}

func (p Placement) check() error {
	explicit := p.Kind == PlacementExplicit
	switch {
	case !explicit && !slices.Contains(placementWords(), p.Kind):
		return fmt.Errorf("unknown placement %s", quote(p.Kind))
	case explicit != (len(p.Client) > 0) || explicit != (len(p.Server) > 0):
		return fmt.Errorf("a placement %s with %d and %d CPUs", p.Kind, len(p.Client), len(p.Server))
	}
	for _, cpu := range slices.Concat(p.Client, p.Server) {
		if cpu < 0 || cpu > maxCPU {
			return fmt.Errorf("CPU %d; 0 to %d", cpu, maxCPU)
		}
	}
	return nil
}

func (w Workload) checkBackground(tools Tools) error {
	b := w.Background
	if b == nil {
		return nil
	}
	can, ok := tools.beside()
	if !ok || b.Tool != can.tool || b.Mode != can.Mode || b.Protocol != can.Protocol {
		return fmt.Errorf("a background is a %s", can)
	}
	if length := w.Warmup + w.Duration; length < minBeside || length > maxBeside {
		return fmt.Errorf("a workload of %v cannot have a background", length)
	}
	// A background lasts as long as its workload and has no duration of its own.
	beside := *b
	if beside.Duration == 0 {
		beside.Duration = defaultWindow
	}
	if err := beside.checkRunnable(tools); err != nil {
		return fmt.Errorf("the background: %w", err)
	}
	return nil
}
