package answer

import (
	"fmt"
	"strings"
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// notableLateness is the smallest wire lateness that causes a warning, as a share of the figure: less cannot be told
// from the scatter of trials.
const notableLateness = 0.05

// lateWires warns of times that include the lateness of a user-space wire. At the median it counts twice, because a
// round trip crosses the wire twice. At p99 it counts once, because two late packets in one round trip are rare. Each
// such figure gets a caution.
func lateWires(in Input, all []figures.Figure) []Warning {
	var warnings []Warning
	for i, f := range all {
		if f.Unit != result.Seconds || f.Scope != "" || !(f.Median > 0) {
			continue
		}
		fact, crossings := result.FactWireLatenessP50, 2.0
		if strings.HasPrefix(f.Stat, "p9") {
			fact, crossings = result.FactWireLatenessP99, 1
		}
		trials := in.good(f.Arm, f.Workload)
		late, ok := medianDuration(trials, fact)
		if !ok || crossings*late.Seconds() < notableLateness*f.Median {
			continue
		}
		what := "half of all packets left it"
		if crossings == 1 {
			what = "one packet in a hundred left it"
		}
		all[i].Caution = "includes the wire's lateness, " + result.Amount(late.Seconds(), result.Seconds)
		warnings = append(warnings, Warning{Code: "user-space-wire", Arm: f.Arm,
			Workload: f.Workload, Message: fmt.Sprintf(
				"%s of %s includes the wire's own lateness: %s more than %s late "+
					"(median over %d trials); the wire is a process",
				f.Name(), result.Amount(f.Median, f.Unit), what, result.Amount(late.Seconds(), result.Seconds), len(trials))})
	}
	return warnings
}

// medianDuration is the median over trials of a fact that is a duration; false if fewer than half of them have it.
func medianDuration(trials []*result.Trial, fact string) (time.Duration, bool) {
	var values []float64
	for _, t := range trials {
		if d, err := time.ParseDuration(t.Facts[fact]); err == nil && d >= 0 {
			values = append(values, float64(d))
		}
	}
	median := stats.Summarize(values).Median
	if len(values) == 0 || 2*len(values) < len(trials) || !median.Known {
		return 0, false
	}
	return time.Duration(median.Value), true
}

// Constants for the goodput that a wire's rate allows.
const (
	// clearlyBelow is the share of the rate without headers below which a warning is given: TCP keeps a queue filled
	// to at least 95 %.
	clearlyBelow = 0.9
	// belowOneIn: a warning is given if at least one in this many trials is below. Fewer do not move a median.
	belowOneIn = 10
	// fittingWindow is the number of bytes that one connection can have in flight with the kernel's default buffers.
	// If a path's bandwidth times its round-trip time is larger, the window limits the rate.
	fittingWindow = 128 << 10
	// ethernetBytes, vxlanBytes: see docs/lab.md. The IP and TCP headers include TCP's timestamps, which are on by
	// default.
	ethernetBytes = 14
	vxlanBytes    = 50
	tcp4Headers   = 20 + 32
	tcp6Headers   = 40 + 32
	udp4Headers   = 20 + 8
	udp6Headers   = 40 + 8
)

// belowRate warns of streams that carried clearly less than the wires of their arm allow. It does not judge arms
// whose wires lose packets, connections whose window does not fill the path, or workloads with a background: less is
// expected there. Each such figure gets a caution.
func belowRate(in Input, all []figures.Figure) []Warning {
	var warnings []Warning
	for i, f := range all {
		if f.Metric != result.Goodput || f.Scope != "" {
			continue
		}
		arm, ok := in.Experiment.Arm(f.Arm)
		w, known := in.Experiment.Workload(f.Workload)
		if !ok || !known || arm.Lab == nil || w.Mode != experiment.Stream || w.Background != nil || w.Rate > 0 ||
			w.SendBuffer > 0 || w.ReceiveBuffer > 0 {
			continue
		}
		rate, allowed := allows(*arm.Lab, w)
		trials := in.good(f.Arm, f.Workload)
		below, least := 0, f.Median
		for _, t := range trials {
			if v, ok := f.Of(*t); ok && v < clearlyBelow*allowed {
				below, least = below+1, min(least, v)
			}
		}
		if allowed == 0 || below == 0 || belowOneIn*below < len(trials) {
			continue
		}
		message := fmt.Sprintf("%d of %d trials carried clearly less than a wire of %s allows, which is %s without "+
			"headers: the least %s, the median %s. "+
			"Something other than the wire's rate limited them", below, len(trials),
			result.Amount(rate, result.BitsPerSecond),
			result.Amount(allowed, result.BitsPerSecond), result.Amount(least, result.BitsPerSecond),
			result.Amount(f.Median, result.BitsPerSecond))
		if late, ok := medianDuration(trials, result.FactWireLatenessP99); ok {
			message += fmt.Sprintf("; the wire is a process, and one packet in a hundred left it more than %s late",
				result.Amount(late.Seconds(), result.Seconds))
		}
		all[i].Caution = fmt.Sprintf("carried less than its wire's %s in %d of %d trials: something else limits it",
			result.Amount(allowed, result.BitsPerSecond), below, len(trials))
		all[i].Limited = 2*below > len(trials)
		warnings = append(warnings, Warning{Code: "wire-below-rate", Arm: f.Arm,
			Workload: f.Workload, Message: message})
	}
	return warnings
}

// allows gives the lowest rate of a path's wires, and the goodput that it allows a stream, for both directions
// together if the stream uses both. It is 0 if nothing limits the rate, or if less is expected.
func allows(l experiment.Lab, w experiment.Workload) (rate, allowed float64) {
	var delay time.Duration
	tunnels := 0
	for _, element := range l.Path {
		switch element.Kind {
		case experiment.Wire:
			if element.Loss > 0 {
				return 0, 0
			}
			delay += element.Delay
			if element.Rate > 0 && (rate == 0 || element.Rate < rate) {
				rate = element.Rate
			}
		case experiment.VTEP:
			tunnels = vxlanBytes
		}
	}
	if rate == 0 || rate/8*2*delay.Seconds() > float64(fittingWindow*max(1, w.Connections)) {
		return 0, 0
	}
	headers := map[string]int{"tcp4": tcp4Headers, "tcp6": tcp6Headers, "udp4": udp4Headers,
		"udp6": udp6Headers}[fmt.Sprint(w.Protocol, max(4, w.IP))]
	payload := l.MTU - tunnels - headers
	if headers == 0 || payload <= 0 {
		return 0, 0
	}
	if w.Protocol == experiment.UDP && w.Message > 0 {
		payload = min(payload, w.Message)
	}
	allowed = rate * float64(payload) / float64(payload+headers+tunnels+ethernetBytes)
	if w.Direction == experiment.Both {
		allowed *= 2
	}
	return rate, allowed
}
