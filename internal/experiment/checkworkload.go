package experiment

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// checkRunnable sees that a workload is one that its tool can do, with values that Parse would take.
func (w Workload) checkRunnable() error {
	can, ok := findCapability(w.Tool, w.Mode, w.Protocol)
	if !ok || w.Tool == "" || w.Mode == "" || w.Protocol == "" {
		return fmt.Errorf("nothing here measures %s over %s with %s", quote(w.Mode), quote(w.Protocol), quote(w.Tool))
	}
	return cmp.Or(
		w.checkSizes(can),
		w.checkTimes(can),
		w.checkOffered(can),
		w.checkWords(),
		w.Socket.check(),
		w.Placement.check(),
		w.checkBackground(),
	)
}

func (w Workload) checkSizes(can capability) error {
	for _, s := range []struct {
		what   string
		bytes  int
		within limits
		// unset says that 0 stands for the tool's own.
		unset bool
	}{
		{"request", w.Request, can.request, false},
		{"response", w.Response, can.response, false},
		{"message", w.Message, can.message, true},
	} {
		if s.bytes == 0 && s.unset {
			continue
		}
		if s.bytes < s.within.min || s.bytes > s.within.max {
			return fmt.Errorf("a %s of %d bytes; %d to %d", s.what, s.bytes, s.within.min, s.within.max)
		}
	}
	switch {
	case can.sameResponse && w.Response != w.Request:
		return fmt.Errorf("%s answers with as much as it received", can.tool)
	case can.noAmplify && w.Response > w.Request:
		return errors.New("the response is larger than the request")
	case w.Connections < 0 || w.Connections > max(1, can.connections):
		return fmt.Errorf("%d connections; at most %d", w.Connections, max(1, can.connections))
	case w.Batch < 0 || w.Batch > maxBatch || w.Message*w.Batch > maxMessage:
		return fmt.Errorf("a batch of %d messages", w.Batch)
	}
	return nil
}

func (w Workload) checkTimes(can capability) error {
	switch {
	case w.Duration <= 0 || w.Duration > maxWindow:
		return fmt.Errorf("a duration of %v; at most %v", w.Duration, maxWindow)
	case w.Warmup < 0 || w.Warmup > can.maxWarmup:
		return fmt.Errorf("a warmup of %v; at most %v", w.Warmup, can.maxWarmup)
	case !can.interval && w.Interval != 0, w.Interval < 0, w.Interval > maxInterval:
		return fmt.Errorf("an interval of %v; at most %v", w.Interval, maxInterval)
	case can.interval && (w.Interval == 0 || w.Duration/w.Interval > maxRequests):
		return fmt.Errorf("an interval of %v in %v", w.Interval, w.Duration)
	}
	return nil
}

func (w Workload) checkOffered(can capability) error {
	switch {
	case w.Rate != 0 && !(can.rate && w.Rate >= minRate && w.Rate <= maxRate):
		return fmt.Errorf("a rate of %v bit/s", w.Rate)
	case w.OfferedRate != 0 && !(can.takes("rate") && !can.rate && w.OfferedRate >= minPerSec && w.OfferedRate <= maxPerSec):
		return fmt.Errorf("an offered rate of %v/s", w.OfferedRate)
	case w.Mode != Load && len(w.Steps) > 0, w.Mode == Load && (w.OfferedRate != 0) == (len(w.Steps) > 0):
		return errors.New("a load has an offered rate, or steps")
	}
	var sum time.Duration
	for _, s := range w.Steps {
		if s.Rate < minPerSec || s.Rate > maxPerSec || s.For < minNativeWindow || s.For > maxWindow {
			return fmt.Errorf("a step of %v/s for %v", s.Rate, s.For)
		}
		if sum += s.For; sum > maxWindow {
			return fmt.Errorf("the steps take more than %v together", maxWindow)
		}
	}
	return nil
}

func (w Workload) checkWords() error {
	for _, word := range []struct {
		what, is string
		known    []string
	}{
		{"arrivals", w.Arrivals, arrivalWords()},
		{"direction", w.Direction, directionWords()},
		{"wait", w.Wait, waitWords()},
	} {
		if word.is != "" && !slices.Contains(word.known, word.is) {
			return fmt.Errorf("unknown %s %s", word.what, quote(word.is))
		}
	}
	if w.IP != 0 && w.IP != IPv4 && w.IP != IPv6 {
		return fmt.Errorf("unknown version %d of IP", w.IP)
	}
	return nil
}

func (s Socket) check() error {
	switch {
	case s.Congestion != "" && !isCongestion(s.Congestion):
		return fmt.Errorf("%s is no name of a congestion control", quote(s.Congestion))
	case s.DSCP < 0 || s.DSCP > maxDSCP:
		return fmt.Errorf("a dscp of %d; 0 to %d", s.DSCP, maxDSCP)
	}
	for _, bytes := range []int{s.SendBuffer, s.ReceiveBuffer} {
		if bytes != 0 && (bytes < minBuffer || bytes > maxBuffer) {
			return fmt.Errorf("a buffer of %d bytes; %d to %d", bytes, minBuffer, maxBuffer)
		}
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

func (w Workload) checkBackground() error {
	b := w.Background
	if b == nil {
		return nil
	}
	can, _ := findCapability("native", Stream, TCP)
	if b.Tool != can.tool || b.Mode != can.mode || b.Protocol != can.protocol {
		return errors.New("a background is a native stream over tcp")
	}
	if length := w.Warmup + w.Duration; length < minBeside || length > maxBeside {
		return fmt.Errorf("a workload of %v cannot have a background", length)
	}
	// It lasts as long as its workload, and says nothing of that itself.
	beside := *b
	if beside.Duration == 0 {
		beside.Duration = defaultWindow
	}
	if err := beside.checkRunnable(); err != nil {
		return fmt.Errorf("the background: %w", err)
	}
	return nil
}
