package meaning

import (
	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Added is what round trips and bytes take longer in an arm than with the baseline, by this run alone: what a
// calculator multiplies by how many of them somebody's own page has.
type Added struct {
	// RoundTrip is the workload whose round trips these are. Stream is the one whose goodput gives the time of a byte;
	// empty if the run has none.
	RoundTrip string `json:"round_trip"`
	Stream    string `json:"stream,omitempty"`
	// Confidence is that of one interval of each arm. The sum of both holds with 95 % (Bonferroni).
	Confidence float64    `json:"confidence"`
	Arms       []AddedArm `json:"arms"`
}

// AddedArm is what an arm adds.
type AddedArm struct {
	Arm string `json:"arm"`
	// RoundTrip is in seconds for each round trip, Byte in seconds for each byte in the direction of the stream. Null if
	// unknown.
	RoundTrip *Estimate `json:"each_round_trip"`
	Byte      *Estimate `json:"each_byte"`
}

// AddedBy says what each arm adds; nil if the run has no round trips that are compared.
func AddedBy(run figures.Run, tables []figures.Cells) *Added {
	e := run.Experiment
	trip, ok := roundTrips(tables)
	if !ok || e.Unpaired() || e.SelfComparison != nil {
		return nil
	}
	a := &Added{RoundTrip: trip.Workload, Confidence: stats.Confidence, Arms: []AddedArm{}}
	stream, streams := goodputs(tables)
	if streams {
		a.Stream, a.Confidence = stream.Workload, 1-stats.Alpha/2
	}
	of := func(c figures.Cells, arm string, change func(float64) float64) *Estimate {
		if len(e.SetOtherwise(arm, e.Baseline, c.Workload)) > 0 {
			return nil
		}
		r := relation{run: run}
		values := func(arm string) []stats.Value {
			all := r.values(c, arm)
			for i := range all {
				all[i].Value = change(all[i].Value)
			}
			return all
		}
		return differenceOf(stats.Pair{Arm: values(arm), Baseline: values(e.Baseline)}, 1-a.Confidence, run.AnyTime)
	}
	for _, arm := range e.Arms {
		if arm.Name == e.Baseline {
			continue
		}
		one := AddedArm{Arm: arm.Name, RoundTrip: of(trip, arm.Name, func(v float64) float64 { return v })}
		if streams {
			one.Byte = of(stream, arm.Name, func(bits float64) float64 { return 8 / bits })
		}
		if one.RoundTrip != nil {
			a.Arms = append(a.Arms, one)
		}
	}
	if len(a.Arms) == 0 {
		return nil
	}
	return a
}

// goodputs are the cells of the first workload that fills the path one way over TCP, as an answer does. Of a stream
// with an offered rate the goodput is that rate.
func goodputs(tables []figures.Cells) (figures.Cells, bool) {
	for _, c := range tables {
		first := c.Primary && c.Quantity.Metric == result.Goodput && c.Quantity.Scope == ""
		if first && every(c, func(t result.Trial) bool {
			return t.Mode == experiment.Stream && t.Protocol == experiment.TCP
		}) {
			return c, true
		}
	}
	return figures.Cells{}, false
}
