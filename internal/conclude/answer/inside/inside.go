// Package inside says where the time of round trips went, from the recordings of watched trials: the elements of the
// path, their differences between arms, and why the slowest were slow. It knows nothing of headlines and verdicts,
// which never come from watched trials.
package inside

import (
	"io"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/inside"
	"nearfar/internal/declare/result"
)

// Inside is the inside of the path of a workload. Times are in seconds. A trial is the unit: medians are over the
// medians of trials, and intervals have 95 % confidence each, not corrected for their number.
type Inside struct {
	Workload string `json:"workload"`
	// Watched is the workload's watched twin, whose trials these are.
	Watched string `json:"watched"`
	// Quantity is the figure of the tool with which sums are compared: "rtt p50".
	Quantity string `json:"quantity"`
	Arms     []Arm  `json:"arms"`
	// Against says for each arm where its difference from the baseline arises.
	Against []Against `json:"against,omitempty"`
	// Layers compares both methods layer by layer, where two arms differ in one layer alone.
	Layers []Layer `json:"layers,omitempty"`
}

// Arm is the inside of the path of one arm.
type Arm struct {
	Arm string `json:"arm"`
	// Trials is how many good watched trials there are.
	Trials int `json:"trials"`
	// Problems say why nothing is known of trials.
	Problems []Problem `json:"problems,omitempty"`
	// Machines are what each kernel saw: one, or the client's and then the server's. Two kernels have two clocks, which
	// are never mixed.
	Machines []Machine `json:"machines"`
	// Between is the time that neither of two machines spent, both directions together: how long a reply was away from
	// the client's machine, by its clock, less the time in the server's, by that one's. Null for one kernel.
	Between *Measure `json:"between,omitempty"`
	// Reported is the round trip of the watched twin as the tool reports it, and Ratio the sum of the elements as a
	// share of it.
	Reported *Measure `json:"reported,omitempty"`
	Ratio    *Measure `json:"ratio,omitempty"`
	// Plain is the round trip without watching, and Cost what watching adds to it, paired within blocks.
	Plain *Measure `json:"plain,omitempty"`
	Cost  *Measure `json:"cost,omitempty"`
}

// Problem is a reason why nothing is known, and of how many trials.
type Problem struct {
	Side   string `json:"side"`
	Text   string `json:"text"`
	Trials int    `json:"trials"`
}

// Measure is a median with its interval over trials.
type Measure struct {
	Median float64 `json:"median"`
	// Interval is null with too few trials.
	Interval *[2]float64 `json:"interval"`
	// Trials is the number of trials, or of blocks in a difference.
	Trials int `json:"trials"`
}

// measureOf converts an estimate; an unknown one becomes null.
func measureOf(e stats.Estimate) *Measure {
	if !e.Value.Known {
		return nil
	}
	m := &Measure{Median: e.Value.Value, Trials: e.Trials}
	if e.Interval.Known {
		m.Interval = &[2]float64{e.Interval.Low, e.Interval.High}
	}
	return m
}

// Machine is what one kernel saw.
type Machine struct {
	// Side is both, client or server.
	Side string `json:"side"`
	// Trials is how many trials took the path of Elements. Share is the share of all trips that took it, and Paths how
	// many paths there were.
	Trials int     `json:"trials"`
	Share  float64 `json:"share"`
	Paths  int     `json:"paths"`
	// Sampled, Complete, Lost and Events are counts over all trials, as in a recording.
	Sampled  int `json:"sampled"`
	Complete int `json:"complete"`
	Lost     int `json:"lost"`
	Events   int `json:"events"`
	// Elements are the steps of the path in their order: those of the request, and then those of the reply.
	Elements []Element `json:"elements"`
	// Sum is the time of a whole trip, by this machine's clock.
	Sum *Measure `json:"sum"`
	// Slow counts the slowest trips whose cause was looked for, over all trials together. Causes counts each cause.
	Slow   int     `json:"slow"`
	Causes []Cause `json:"causes,omitempty"`
	// Slowest are the slowest trips of all trials, at most 10.
	Slowest []Slowest `json:"slowest,omitempty"`
}

// Element is a step of the path.
type Element struct {
	inside.Step
	Measure
	// P99 is the median over trials of the trials' 99th percentile; null if they have too few trips for it.
	P99 *float64 `json:"p99"`
}

// Cause is a reason of slow trips.
type Cause struct {
	Cause inside.Cause `json:"cause"`
	Trips int          `json:"trips"`
	Share float64      `json:"share"`
}

// Slowest is one of the slowest trips.
type Slowest struct {
	Trial int          `json:"trial"`
	Took  float64      `json:"took"`
	Cause inside.Cause `json:"cause,omitempty"`
	// At is the step that was longer than usual, and Excess by how much; null without a cause.
	At     *inside.Step `json:"at,omitempty"`
	Excess float64      `json:"excess,omitempty"`
	// Spans are the times of the machine's Elements; none if the trip took another path.
	Spans []float64 `json:"spans,omitempty"`
}

// Against says where the difference of an arm from the baseline arises.
type Against struct {
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"`
	// Elements are those of both, the largest difference first.
	Elements []Change `json:"elements"`
	// Sum is the sum of all differences. Own is the sum of those of the elements that belong to Layers, what the arm
	// has otherwise; null if no element is known to belong to them.
	Sum    *Measure `json:"sum"`
	Layers []string `json:"layers,omitempty"`
	Own    *Measure `json:"own,omitempty"`
	// Corrected is Own less what it costs to record the events of the elements that only one of the two has: that cost
	// is in the times of watched trips. Null if the cost is not known.
	Corrected *Measure `json:"corrected,omitempty"`
	// Subtracted is the same difference by subtraction: of the workload without watching.
	Subtracted *Measure `json:"subtracted,omitempty"`
	// Disagree says that both methods are surely apart, and what else changed; empty if they agree.
	Disagree string `json:"disagree,omitempty"`
}

// Change is the difference of one element.
type Change struct {
	inside.Step
	Side string `json:"side"`
	Measure
	// Only is arm or baseline if the other one does not have the element, which counts as 0.
	Only string `json:"only,omitempty"`
	// Own says that the element belongs to what the arm has otherwise.
	Own bool `json:"own,omitempty"`
}

// The values of Only.
const (
	OnlyArm      = "arm"
	OnlyBaseline = "baseline"
)

// Input is what Of reads.
type Input struct {
	Workload, Watched string
	// Quantity is the figure of the tool with which sums are compared, and Value gives it. Mean says that it is a mean.
	Quantity string
	Mean     bool
	Value    func(result.Trial) (float64, bool)
	Arms     []string
	Baseline string
	// Trials are the trials that may be compared, of both workloads.
	Trials []result.Trial
	// Subtracted are the differences of the workload, by arm.
	Subtracted map[string]Subtracted
	// Crosses is how often each arm crosses each layer. Attributed is what one of a layer costs over all arms, by layer.
	Crosses    map[string]map[string]int
	Attributed map[string]Measure
	// Open opens a file of the run.
	Open func(name string) (io.ReadCloser, error)
}

// Subtracted is the difference of an arm from the baseline, by subtraction.
type Subtracted struct {
	Difference Measure
	// Layers are what the arm has otherwise: "router", "2 vtep".
	Layers []string
}

// Of says where the time of a workload's round trips went.
func Of(in Input) Inside {
	out := Inside{Workload: in.Workload, Watched: in.Watched, Quantity: in.Quantity, Arms: []Arm{}}
	all := map[string]armSeen{}
	for _, arm := range in.Arms {
		seen := in.see(arm)
		all[arm] = seen
		out.Arms = append(out.Arms, in.arm(arm, seen))
	}
	for _, arm := range in.Arms {
		if arm == in.Baseline {
			continue
		}
		if a, ok := in.against(arm, all[arm], all[in.Baseline]); ok {
			out.Against = append(out.Against, a)
		}
	}
	out.Layers = in.layers(all)
	return out
}
