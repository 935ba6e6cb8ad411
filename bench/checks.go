package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
	"nearfar/internal/stats"
)

// A proof is one line of the second table: a figure that has to lie within bounds of its own, and not in proportion to
// another tool's.
type proof struct {
	// What is proved, and With which measurement; the table calls them so.
	What, With string
	// Workloads are the names of those that the figure comes from.
	Workloads []string
	// Value reads the figure from the trials of one block, by workload; false where they do not have it.
	Value func(map[string]result.Trial) (float64, bool)
	// Unit is the figure's.
	Unit string
	// Arithmetic is what the figure should be; 0 where nothing says it.
	Arithmetic float64
	// Bound is what it has to keep; nil where the line is only for information.
	Bound *span
	// Limit is the line of the same group that says what the machine itself allows of the figure; nil where none does. It
	// changes no verdict.
	Limit *proof
	// Once says that one measurement is enough for a verdict: the group is measured once.
	Once bool
}

// needs lists the workloads that have to be measured for it.
func (p proof) needs() []string {
	if p.Limit == nil {
		return p.Workloads
	}
	return slices.Concat(p.Workloads, p.Limit.needs())
}

// A span is where a figure has to lie, its ends included.
type span struct{ Low, High float64 }

func upTo(v float64) *span    { return &span{Low: math.Inf(-1), High: v} }
func exactly(v float64) *span { return &span{Low: v, High: v} }

// near is within the given share of a value.
func near(v, share float64) *span { return &span{Low: v * (1 - share), High: v * (1 + share)} }

func (s span) holds(v float64) bool { return v >= s.Low && v <= s.High }

// ratioUnit is the unit of ratios near 1, which are written with four digits; result.One is that of counts.
const ratioUnit = "ratio"

// figure writes a value of the proof.
func (p proof) figure(v float64) string {
	switch p.Unit {
	case ratioUnit:
		return strconv.FormatFloat(v, 'f', 4, 64)
	case result.One:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return result.Amount(v, p.Unit)
}

// bound says what the figure has to keep, and what it should be.
func (p proof) bound() string {
	text := "-"
	switch b := p.Bound; {
	case b == nil:
	case math.IsInf(b.Low, -1):
		text = "at most " + p.figure(b.High)
	case b.Low == b.High:
		text = "exactly " + p.figure(b.High)
	default:
		text = p.figure(b.Low) + " to " + p.figure(b.High)
	}
	if p.Arithmetic != 0 {
		text += " (arithmetic: " + p.figure(p.Arithmetic) + ")"
	}
	return text
}

// A local is what is measured in this process and not on the lab's hosts.
type local struct {
	// Name is that of the trial.
	Name    string
	Measure func() ([]result.Metric, error)
}

// metric reads a metric of the workload.
func metric(workload, name, stat string) func(map[string]result.Trial) (float64, bool) {
	return func(trials map[string]result.Trial) (float64, bool) {
		t := trials[workload]
		return t.Value(name, stat)
	}
}

// proofs is the second table.
func proofs(seconds int, long bool) []group {
	whole := time.Duration(seconds) * time.Second
	all := []group{stallProofs(), pacingProofs(whole), recordingProofs(), connectionsProof(whole), dividedProofs(whole)}
	if long {
		all = append(all, memoryProof())
	}
	return all
}

const (
	stallLength = 200 * time.Millisecond
	stallPeriod = time.Second
	// stallRate is in 1/s, stallWindow a whole number of periods: then it does not matter in which phase the window begins.
	stallRate   = 1000
	stallWindow = 10 * stallPeriod
)

// stalled is how long the longest but the given share of all requests wait where they leave evenly and the server does not
// answer for stallLength of every stallPeriod. A request that leaves at the phase x of the stall waits for its rest,
// stallLength - x, and x is distributed evenly; so the share of requests that wait for longer than t is
// (stallLength - t) / stallPeriod, for t from 0 to stallLength. The percentile q is where that share is 1 - q:
//
//	t = stallLength - (1 - q) * stallPeriod
//
// that is 100 ms for p90, 190 ms for p99 and 199 ms for p99.9; the request that ends the rank may leave up to one
// interval between two requests (1 ms) later, and waits that much less. The time in which an idle server answers,
// some 0.1 ms, comes on top.
func stalled(q float64) float64 {
	return stallLength.Seconds() - (1-q)*stallPeriod.Seconds()
}

// stallProofs measures a server that stalls. Open-loop load must show the stall as arithmetic has it; the others stand
// beside it for what they hide. One client at a time asks one request at a time, so it sees one long round trip a
// period among tens of thousands of short ones.
func stallProofs() group {
	load := experiment.Workload{Name: "stall-load", Tool: stalledName, Mode: experiment.Load, Protocol: experiment.TCP, Request: 64, Response: 64,
		Connections: 1, OfferedRate: stallRate, Arrivals: experiment.ConstantArrivals, Duration: stallWindow, Warmup: sockperfWarmup, Placement: split}
	closed := load
	closed.Name, closed.Mode, closed.OfferedRate, closed.Arrivals, closed.Duration = "stall-rr", experiment.RR, 0, "", 3*stallPeriod
	// Half as long: it is for information.
	theirs := as(load, underLoadName)
	theirs.Duration = stallWindow / 2
	g := group{Workloads: []experiment.Workload{load, closed, theirs}, Blocks: fewestBlocks()}
	for _, q := range []struct {
		stat  string
		share float64
	}{{result.P90, 0.9}, {result.P99, 0.99}, {result.P999, 0.999}} {
		add := func(what, with, workload, name string, bound *span) {
			g.Proofs = append(g.Proofs, proof{What: "200 ms stall once a second, 1,000 requests/s: " + q.stat + " of the " + what, With: with,
				Workloads: []string{workload}, Value: metric(workload, name, q.stat), Unit: result.Seconds, Arithmetic: stalled(q.share), Bound: bound})
		}
		add("response time", "native load", load.Name, result.ResponseTime, near(stalled(q.share), 0.05))
		add("service time", "native load", load.Name, result.ServiceTime, nil)
		add("RTT", "native rr, one request at a time", closed.Name, result.RTT, nil)
		add("RTT", "sockperf under-load --full-rtt", theirs.Name, result.RTT, nil)
	}
	return g
}

// pacingProofs measures how well the sender keeps to its schedule, sleeping between requests and spinning, and how well
// the machine lets any thread keep to it.
func pacingProofs(whole time.Duration) group {
	w := experiment.Workload{Name: "pacing", Tool: "native", Mode: experiment.Load, Protocol: experiment.TCP, Request: 64, Response: 64,
		Connections: 1, OfferedRate: 10_000, Arrivals: experiment.ConstantArrivals, Duration: whole, Warmup: sockperfWarmup, Placement: split}
	spin, clock := w, w
	spin.Name, spin.Wait = "pacing-spin", experiment.WaitSpin
	clock.Name, clock.Tool = "pacing-clock", clockName
	alone := proof{What: "10,000 moments/s: p99 of how late a thread that only reads the clock sees them", With: "the clock alone",
		Workloads: []string{clock.Name}, Value: metric(clock.Name, result.SendLateness, result.P99), Unit: result.Seconds}
	g := group{Workloads: []experiment.Workload{w, spin, clock}}
	for _, one := range []struct{ workload, with string }{{w.Name, "native load"}, {spin.Name, "native load, spinning"}} {
		achieved := func(trials map[string]result.Trial) (float64, bool) {
			t := trials[one.workload]
			rate, ok := t.Value(result.TransactionRate, "")
			offered, known := t.Value(result.OfferedRate, "")
			return rate / offered, ok && known && offered > 0
		}
		const what = "10,000 requests/s: "
		g.Proofs = append(g.Proofs,
			proof{What: what + "p99 of actual minus intended send", With: one.with, Workloads: []string{one.workload},
				Value: metric(one.workload, result.SendLateness, result.P99), Unit: result.Seconds, Bound: upTo(20e-6), Limit: &alone},
			proof{What: what + "achieved rate over offered rate", With: one.with, Workloads: []string{one.workload},
				Value: achieved, Unit: ratioUnit, Bound: near(1, 0.001)})
	}
	g.Proofs = append(g.Proofs, alone)
	return g
}

// connectionsProof is a thousand connections at once: every request of them is answered.
func connectionsProof(whole time.Duration) group {
	w := experiment.Workload{Name: "connections", Tool: "native", Mode: experiment.Load, Protocol: experiment.TCP, Request: 64, Response: 64,
		Connections: 1000, OfferedRate: 10_000, Arrivals: experiment.ConstantArrivals, Duration: whole, Warmup: sockperfWarmup, Placement: split}
	missing := func(trials map[string]result.Trial) (float64, bool) {
		t := trials[w.Name]
		v, ok := t.Value(result.Unanswered, "")
		return v, ok && t.Facts["connections"] == "1000"
	}
	return group{Workloads: []experiment.Workload{w}, Proofs: []proof{{What: "1,000 connections in one run, 10,000 requests/s: requests without an answer",
		With: "native load", Workloads: []string{w.Name}, Value: missing, Unit: result.One, Bound: exactly(0)}}}
}

// dividedProofs is how far the parts that kernel timestamps divide a round trip into are from the whole.
func dividedProofs(whole time.Duration) group {
	var g group
	for _, protocol := range []string{experiment.TCP, experiment.UDP} {
		w := experiment.Workload{Name: "divided-" + protocol, Tool: "native", Mode: experiment.RR, Protocol: protocol, Request: 64, Response: 64,
			Timestamps: true, Duration: whole, Warmup: sockperfWarmup, Placement: shared}
		apart := func(trials map[string]result.Trial) (float64, bool) { return apartOf(trials[w.Name]) }
		g.Workloads = append(g.Workloads, w)
		g.Proofs = append(g.Proofs, proof{What: "the divided round trip: its parts' means beside the mean RTT", With: "native rr over " + protocol + ", kernel timestamps",
			Workloads: []string{w.Name}, Value: apart, Unit: result.Seconds, Bound: upTo(1e-6)})
	}
	return g
}

// apartOf is by how much the mean parts of a round trip differ, together, from the mean round trip, in seconds.
func apartOf(t result.Trial) (float64, bool) {
	var sum float64
	for _, part := range []string{"client", "network", "server-stack", "server-application"} {
		v, ok := t.ScopedValue(result.RTT, result.Mean, part)
		if !ok {
			return 0, false
		}
		sum += v
	}
	mean, ok := t.Value(result.RTT, result.Mean)
	// To a picosecond: what is less is the rounding of the sum.
	return math.Round(math.Abs(sum-mean)*1e12) / 1e12, ok
}

// memoryProof is whether a long run takes more memory than a short one.
func memoryProof() group {
	short := experiment.Workload{Name: "memory-5s", Tool: peakName, Mode: experiment.RR, Protocol: experiment.TCP, Request: 64, Response: 64,
		Duration: 5 * time.Second, Placement: shared}
	long := short
	long.Name, long.Duration = "memory-60s", time.Minute
	ratio := func(trials map[string]result.Trial) (float64, bool) {
		l, s := trials[long.Name], trials[short.Name]
		m, ok := l.Value(peakMemory, "")
		n, known := s.Value(peakMemory, "")
		return m / n, ok && known && n > 0
	}
	names := []string{short.Name, long.Name}
	return group{Workloads: []experiment.Workload{short, long}, Blocks: 1, Proofs: []proof{
		{What: "memory of a 60 s run over that of a 5 s run", With: "native rr, its client's peak", Workloads: names, Value: ratio, Unit: ratioUnit,
			Bound: upTo(1.1), Once: true}}}
}

// A proven is what a proof came to.
type proven struct {
	Proof proof
	// Values are over the blocks.
	Values stats.Summary
	// Limit is what the proof's limit came to, held to the bound of the proof; nil where it has none.
	Limit *proven
}

// prove reads the proof's figure from every block that has it.
func prove(p proof, t trials) proven {
	blocks := map[int]map[string]result.Trial{}
	for _, name := range p.Workloads {
		for block, trial := range t[name] {
			if trial.Error != "" {
				continue
			}
			if blocks[block] == nil {
				blocks[block] = map[string]result.Trial{}
			}
			blocks[block][name] = trial
		}
	}
	var values []float64
	for _, of := range blocks {
		if v, ok := p.Value(of); ok {
			values = append(values, v)
		}
	}
	came := proven{Proof: p, Values: stats.Summarize(values)}
	if p.Limit != nil {
		same := *p.Limit
		same.Bound, same.Once = p.Bound, p.Once
		limit := prove(same, t)
		came.Limit = &limit
	}
	return came
}

// beyond says, for the end of a shortfall, that the limit does not keep the bound either, or "".
func (p proven) beyond() string {
	if p.verdict() != short || p.Limit == nil || p.Limit.verdict() != short {
		return ""
	}
	return fmt.Sprintf("; %s: %s; this machine does not allow it", p.Limit.Proof.With, p.Limit.value())
}

// verdict says whether the median keeps the bound. With too few blocks for an interval nothing can be told, unless once is
// enough.
func (p proven) verdict() string {
	switch {
	case p.Values.Count == 0:
		return "not measured: no block has it"
	case p.Proof.Bound == nil:
		return noBound
	case !p.Proof.Once && !p.Values.Interval.Known:
		return cannotTell
	case p.Proof.Bound.holds(p.Values.Median.Value):
		return reached
	}
	return short
}

// within says how the interval lies to the bound.
func (p proven) within() string {
	b, i := p.Proof.Bound, p.Values.Interval
	if b == nil || !i.Known {
		return ""
	}
	switch {
	case b.holds(i.Low) && b.holds(i.High):
		return "wholly within"
	case i.High < b.Low || i.Low > b.High:
		return "wholly outside"
	}
	return "on both sides"
}

// value writes the median and its interval.
func (p proven) value() string {
	if p.Values.Count == 0 {
		return ""
	}
	text := p.Proof.figure(p.Values.Median.Value)
	if i := p.Values.Interval; i.Known {
		text += fmt.Sprintf(" [%s, %s]", p.Proof.figure(i.Low), p.Proof.figure(i.High))
	}
	return text
}
