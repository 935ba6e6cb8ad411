package session

import (
	"fmt"
	"maps"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/wire"
)

// BusyPollNotes says on which side the kernel was asked to poll and did not: the device has no queue to poll, or the
// kernel cannot.
func BusyPollNotes(facts map[string]string) (notes []string) {
	for _, side := range []struct{ name, prefix string }{{"client", ""}, {"server", "server."}} {
		wait, none := facts[side.prefix+"wait"], facts[side.prefix+"napi_id"] == "0"
		polls := facts[side.prefix+"epoll_busy_poll"]
		const old = "has no busy polling for one epoll instance (Linux has it since 6.9)"
		switch {
		case wait == wire.WaitBusyPoll && none:
			notes = append(notes, fmt.Sprintf("busy-poll: no device queue of the %s takes part in it (a veth pair "+
				"has none), so its kernel blocked.", side.name))
		case wait == wire.WaitEpoll && none:
			notes = append(notes, fmt.Sprintf("epoll: no device queue of the %s can be polled (a veth pair has "+
				"none), so its kernel slept in epoll_wait.", side.name))
		case wait == wire.WaitEpoll && polls == "0":
			notes = append(notes, fmt.Sprintf("epoll: the %s's kernel %s, and net.core.busy_poll is 0: it slept in "+
				"epoll_wait.", side.name, old))
		case wait == wire.WaitEpoll && polls == "unknown":
			notes = append(notes, fmt.Sprintf("epoll: whether the %s's kernel polled in epoll_wait is not known: it "+
				"%s, and does not show net.core.busy_poll here.", side.name, old))
		}
	}
	return notes
}

// Include adds more facts to the facts.
func Include(facts, more map[string]string) {
	maps.Copy(facts, more)
}

// CPUPerBit gives the CPU time that each side, and both together, needed for each bit delivered, in seconds.
func CPUPerBit(cpu, elapsed time.Duration, theirs wire.Report, goodput float64) (m []result.Metric) {
	if goodput <= 0 {
		return nil
	}
	metric := func(scope string, cores float64) {
		m = append(m, result.Metric{Name: result.CPUPerBit, Unit: result.SecondsPerBit, Scope: scope,
			Value: cores / goodput})
	}
	both := 0.0
	for _, side := range CPUMetrics(cpu, elapsed, theirs) {
		metric(side.Scope, side.Value)
		both += side.Value
	}
	if len(m) == 2 {
		metric("", both)
	}
	return m
}

// ServerFacts are the facts of the server and of a socket.
func ServerFacts(s *sys.Socket) map[string]string {
	f := LocalFacts()
	maps.Copy(f, s.Facts())
	return f
}

// LocalFacts are the facts of this side.
func LocalFacts() map[string]string {
	f := process.Facts()
	f["io"] = sys.IOMethod
	return f
}

// CPUMetrics gives the cores that each side used. A side that does not know is left out.
func CPUMetrics(cpu, elapsed time.Duration, theirs wire.Report) (m []result.Metric) {
	if elapsed > 0 {
		m = append(m, result.Metric{Name: result.CPU, Unit: result.One, Scope: "client",
			Value: cpu.Seconds() / elapsed.Seconds()})
	}
	if theirs.Elapsed > 0 {
		m = append(m, result.Metric{Name: result.CPU, Unit: result.One, Scope: "server",
			Value: theirs.CPU.Seconds() / theirs.Elapsed.Seconds()})
	}
	return m
}

// AddClosingFacts adds the facts that are known after the measurement.
func AddClosingFacts(facts map[string]string, theirs wire.Report, waited time.Duration) {
	if waited > 0 {
		facts[result.FactRunDelay] = waited.Round(time.Microsecond).String()
	}
	if theirs.Waited > 0 {
		facts[result.FactServerRunDelay] = theirs.Waited.Round(time.Microsecond).String()
	}
	facts["server.version"] = wire.Printable(theirs.Version)
	for k, v := range theirs.Facts {
		facts["server."+wire.Printable(k)] = wire.Printable(v)
	}
}
