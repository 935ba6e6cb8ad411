package runner

import (
	"strconv"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// amounts are lower bounds of the data that each side of a good trial sent and the other side received, by the tool's
// own figures: counters must show at least as much. They cover the measurement window; the counters also cover warm-up,
// background and headers. An unknown amount is 0.
func amounts(t *result.Trial, w experiment.Workload) (client, server check.Amount) {
	switch w.Mode {
	case experiment.RR, experiment.CRR, experiment.Load, experiment.Ping:
		return exchanged(t, w)
	case experiment.HTTP:
		if w.To != "" {
			return client, server // the service may be anywhere
		}
		return exchanged(t, w)
	case experiment.Stream, experiment.Messages:
		return streamed(t, w)
	}
	return client, server
}

// exchanged counts answered requests.
func exchanged(t *result.Trial, w experiment.Workload) (client, server check.Amount) {
	rate, _ := t.Value(result.TransactionRate, "")
	answered := max(rate, 0) * t.DurationSeconds
	// The native engine also says how many requests of the window were answered, in it or later. On a busy machine all
	// answers to a load may come later.
	if n, ok := counted(t, "answered"); ok {
		answered = max(answered, float64(n))
	}
	if answered == 0 {
		answered, _ = t.Value(result.Received, "")
	}
	response := w.Response
	if w.Mode == experiment.Ping {
		response = w.Request // an echo
	}
	client.Bytes, server.Bytes = product(answered, w.Request), product(answered, response)
	// TCP may put several requests of a load into one packet: they do not wait for each other.
	if w.Mode != experiment.Load && w.Mode != experiment.HTTP || t.Protocol == experiment.UDP {
		client.Packets, server.Packets = product(answered, 1), product(answered, 1)
	}
	return client, server
}

// counted reads a fact that is a count; ok is false if there is none.
func counted(t *result.Trial, fact string) (n uint64, ok bool) {
	n, err := strconv.ParseUint(t.Facts[fact], 10, 62)
	return n, err == nil
}

// streamed counts the received bytes. Packets are not known, because the kernel joins and divides them.
func streamed(t *result.Trial, w experiment.Workload) (client, server check.Amount) {
	if t.Tool.Name == sentOnly {
		return client, server
	}
	// The native engine counts what each side received. In both directions at once the sides have windows of their own,
	// so that a rate times the duration of the trial could be more than what arrived.
	bytes := func(scope, fact string) uint64 {
		if n, ok := counted(t, fact); ok {
			return n
		}
		rate, _ := t.ScopedValue(result.Goodput, "", scope)
		arrived := product(rate/8*t.DurationSeconds, 1)
		// Some tools print the rate of sending datagrams, and how many of them arrived.
		if n, ok := t.ScopedValue(result.Received, "", scope); ok && t.MessageBytes != nil {
			arrived = min(arrived, product(n, *t.MessageBytes))
		}
		return arrived
	}
	switch w.Direction {
	case experiment.Download:
		server.Bytes = bytes("", "client.bytes")
	case experiment.Both:
		client.Bytes = bytes(experiment.Upload, "server.bytes")
		server.Bytes = bytes(experiment.Download, "client.bytes")
	default:
		client.Bytes = bytes("", "server.bytes")
	}
	return client, server
}

// sentOnly is the tool whose rates of one-way traffic are sending rates. It is not known how much arrived.
const sentOnly = "sockperf"

// product is 0 if a factor is no sensible number.
func product(count float64, size int) uint64 {
	p := count * float64(size)
	if !(p > 0) || p > 1<<62 {
		return 0
	}
	return uint64(p)
}
