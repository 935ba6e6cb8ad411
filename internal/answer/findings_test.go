package answer

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/experiment"
	"nearfar/internal/result"
)

var (
	p50     = Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
	p99     = Quantity{Metric: result.RTT, Stat: result.P99, Unit: result.Seconds}
	goodput = Quantity{Metric: result.Goodput, Unit: result.BitsPerSecond}
)

// found is a comparison with l2 that found a relative change, with an interval of +- 2 points. The baseline is 10 us
// or 1 Gbit/s.
func found(arm, workload string, q Quantity, relative float64) Comparison {
	base := 10e-6
	if q == goodput {
		base = 1e9
	}
	d := relative * base
	c := Comparison{
		Arm: arm, Baseline: "l2", Workload: workload, Quantity: q, Verdict: Higher, Blocks: 10,
		Difference: &d, Relative: &relative,
		Interval: &Bounds{d - .01*base, d + .01*base}, RelativeInterval: &Bounds{relative - .01, relative + .01},
	}
	if relative < 0 {
		c.Verdict = Lower
	}
	c.judge()
	return c
}

func unseen(arm, workload string, q Quantity, detectable float64) Comparison {
	c := found(arm, workload, q, .001)
	c.Verdict, c.Better, c.Detectable = NoDifference, "", &detectable
	return c
}

func refusedOne(arm, workload string, q Quantity) Comparison {
	return Comparison{
		Arm: arm, Baseline: "l2", Workload: workload, Quantity: q, Verdict: NotComparable,
		Reason: "protocol: udp against tcp",
	}
}

// short lists the findings: "arm far rr rtt p50".
func short(all []Finding) []string {
	var lines []string
	for _, f := range all {
		lines = append(lines, f.Kind+" "+f.Name+" "+f.Where())
	}
	return lines
}

func told(comparisons ...Comparison) (string, []Finding) {
	all := Rank(Answer{Baseline: "l2", Comparisons: comparisons})
	return Sentence(all, Wording{Against: "Against l2"}), all
}

func TestTheStrongestFindingIsFirst(t *testing.T) {
	wide := found("wide", "rr", p50, .9)
	wide.RelativeInterval[0] = .05 // large, and hardly known
	sentence, all := told(
		refusedOne("udp", "rr", p50), unseen("same", "rr", p50, .3e-6), found("near", "rr", p50, .02), wide,
		found("far", "rr", p50, .3), found("far", "rr", p99, .8), unseen("near", "rr", p99, .9e-6),
		found("far", "bulk", goodput, -.5),
	)
	want := []string{
		"arm far bulk goodput", "arm far rr rtt p50", "arm wide rr rtt p50",
		"arm near rr rtt p50", "arm far rr rtt p99",
		"arm same rr rtt p50", "arm near rr rtt p99", "arm udp rr rtt p50",
	}
	if diff := cmp.Diff(want, short(all)); diff != "" {
		t.Error(diff)
	}
	for i, f := range all {
		if f.Rank != i+1 {
			t.Errorf("%s has rank %d, want %d", f.Name, f.Rank, i+1)
		}
	}
	wantSentence := "Against l2, in bulk goodput: far -500.0 Mbit/s [-510.0, -490.0]; " +
		"in rr rtt p50: far +3.00 us [+2.90, +3.10], wide +9.00 us [+8.90, +9.10]; 5 more below, of which 2 differ."
	if sentence != wantSentence {
		t.Errorf("got  %q\nwant %q", sentence, wantSentence)
	}
	text := []string{all[0].Text, all[5].Text, all[7].Text}
	wantText := []string{
		"far: bulk goodput -500.0 Mbit/s [-510.0, -490.0], worse",
		"same: rr rtt p50 no difference seen (a difference of 0.300 us would have been seen four times in five)",
		"udp: rr rtt p50 not comparable (protocol: udp against tcp)",
	}
	if diff := cmp.Diff(wantText, text); diff != "" {
		t.Error(diff)
	}
}

func TestADifferenceFromZeroIsTheStrongest(t *testing.T) {
	loss := found("lossy", "udp", Quantity{Metric: result.Loss, Unit: result.One}, .01)
	loss.Relative, loss.RelativeInterval = nil, nil
	if _, all := told(found("lossy", "rr", p50, 3), loss); all[0].Metric != result.Loss {
		t.Errorf("%q", short(all))
	}
}

func TestContradictionsAreNamed(t *testing.T) {
	full, near := found("full", "rr", p50, .3), found("near", "rr", p50, -.1)
	sentence, _ := told(full, near, found("full", "bulk", goodput, .2), found("near", "bulk", goodput, .1))
	if want := " Mixed results: full: rr rtt p50 worse, bulk goodput better."; !strings.HasSuffix(sentence, want) {
		t.Errorf("%q does not end with %q", sentence, want)
	}
	// A finding without a difference contradicts nothing, and one arm does not contradict another.
	if sentence, _ = told(full, near, unseen("full", "bulk", goodput, 1e8)); strings.Contains(sentence, "Mixed") {
		t.Errorf("%q", sentence)
	}
	// Quantities of one workload can contradict each other too.
	sentence, _ = told(found("full", "rr", p50, -.3), found("full", "rr", p99, .3))
	if !strings.HasSuffix(sentence, "Mixed results: full: rr rtt p50 better, rr rtt p99 worse.") {
		t.Errorf("%q", sentence)
	}
	var many []Comparison
	for i := range 5 {
		many = append(many, found(fmt.Sprint("arm", i), "rr", p50, .3),
			found(fmt.Sprint("arm", i), "bulk", goodput, .3))
	}
	sentence, _ = told(many...)
	if strings.Count(sentence, "worse, bulk") != 3 || !strings.HasSuffix(sentence, "; and 2 more.") {
		t.Errorf("%q", sentence)
	}
}

func TestNothingSeen(t *testing.T) {
	sentence, all := told(
		unseen("a", "rr", p50, .3e-6), unseen("b", "rr", p50, .5e-6),
		unseen("a", "rr", p99, 3e-6), unseen("b", "rr", p99, 4e-6))
	want := "Against l2, in rr rtt p50: no difference seen in a, b (a difference of 0.500 us would have been seen " +
		"four times in five); " +
		"2 more below without a difference."
	if sentence != want {
		t.Errorf("got  %q\nwant %q", sentence, want)
	}
	order := []string{"arm a rr rtt p50", "arm b rr rtt p50", "arm a rr rtt p99", "arm b rr rtt p99"}
	if diff := cmp.Diff(order, short(all)); diff != "" {
		t.Error(diff)
	}
	var many []Comparison
	for i := range 9 {
		many = append(many, unseen(fmt.Sprint("arm", i), "rr", p50, .3e-6))
	}
	sentence, _ = told(many...)
	if !strings.Contains(sentence, "arm3 and 5 more (a difference of") || strings.Contains(sentence, "below") {
		t.Errorf("%q", sentence)
	}
}

func TestRefusedAndTooFew(t *testing.T) {
	sentence, _ := told(refusedOne("a", "rr", p50), refusedOne("b", "rr", p50))
	if want := "Against l2, in rr rtt p50: not comparable: a, b (protocol: udp against tcp)."; sentence != want {
		t.Errorf("got  %q\nwant %q", sentence, want)
	}
	few := found("few", "rr", p50, .9)
	few.Verdict, few.Better, few.Interval, few.RelativeInterval = FewBlocks, "", nil, nil
	few.Reason = "3 blocks are too few: it takes 4 more"
	sentence, all := told(refusedOne("a", "rr", p50), unseen("same", "rr", p50, .3e-6), few,
		found("far", "rr", p50, .1))
	order := []string{"arm far rr rtt p50", "arm few rr rtt p50", "arm same rr rtt p50", "arm a rr rtt p50"}
	if diff := cmp.Diff(order, short(all)); diff != "" {
		t.Error(diff)
	}
	want := "Against l2, in rr rtt p50: far +1.00 us [+0.900, +1.10]; too few blocks to tell for few; " +
		"no difference seen in same (a difference of 0.300 us would have been seen four times in five); 1 more below."
	if sentence != want {
		t.Errorf("got  %q\nwant %q", sentence, want)
	}
}

// Differences that may be chance are not sorted by size: that would list chance first.
func TestUncertainFindingsKeepTheirOrder(t *testing.T) {
	single := func(arm string, relative float64) Comparison {
		c := found(arm, "rr", p50, relative)
		c.Verdict, c.Better, c.Interval, c.RelativeInterval = SingleTrial, "", nil, nil
		c.Trials, c.Reason = &[2]int{1, 1}, "one trial a side"
		return c
	}
	sentence, all := told(single("a", .1), single("b", .9), single("c", .5))
	if diff := cmp.Diff([]string{"arm a rr rtt p50", "arm b rr rtt p50", "arm c rr rtt p50"}, short(all)); diff != "" {
		t.Error(diff)
	}
	want := "Against l2, in rr rtt p50: a +1.00 us (one trial a side), b +9.00 us (one trial a side), " +
		"c +5.00 us (one trial a side)."
	if sentence != want {
		t.Errorf("got  %q\nwant %q", sentence, want)
	}
}

// Layers lead if they say more than the arms, but not if each layer is one arm, or if they do not add up.
func TestWhereLayersLead(t *testing.T) {
	make := func(arms ...string) (Answer, *experiment.Experiment, []result.Trial) {
		e := overlay(12)
		if len(arms) > 0 {
			e.Arms = slices.DeleteFunc(e.Arms, func(a experiment.Arm) bool { return !slices.Contains(arms, a.Name) })
		}
		trials := model(e, perLayer, 5e-8)
		return Make(Input{Experiment: e, Trials: trials, State: "complete"}), e, trials
	}
	a, e, trials := make()
	want := []string{
		"layer vtep rr rtt p50", "layer router rr rtt p50", "layer bridge rr rtt p50",
		"arm vxlan rr rtt p50", "arm flat rr rtt p50", "arm routed rr rtt p50", "arm switched rr rtt p50",
	}
	if diff := cmp.Diff(want, short(a.Findings)); diff != "" {
		t.Error(diff)
	}
	f := a.Findings[0]
	if *f.Difference != a.Layers[2].Cost || f.Better != "baseline" || f.Relative == nil || f.RelativeInterval != nil ||
		!strings.HasPrefix(f.Text, "layer vtep: rr rtt p50 +2.0") {
		t.Errorf("%+v", f)
	}

	// A chain: the cost of the VTEPs is the difference of two arms, neither of which is the baseline.
	if a, _, _ := make("l2", "routed", "vxlan"); !strings.HasPrefix(a.Verdict, "Per layer, in rr rtt p50: ") {
		t.Errorf("chain: %q", a.Verdict)
	}
	// A star: each layer is one arm.
	a, _, _ = make("l2", "switched", "flat")
	if !strings.HasPrefix(a.Verdict, "Against l2, in rr rtt p50: flat +") || a.Findings[0].Kind != OfArm {
		t.Errorf("star: %q", a.Verdict)
	}
	// One layer.
	if a, _, _ := make("l2", "switched"); !strings.HasPrefix(a.Verdict, "Against l2, in rr rtt p50: switched +") {
		t.Errorf("one layer: %q", a.Verdict)
	}
	// Layers that influence each other: their costs are averages, the arms' differences are not.
	for i := range trials {
		if trials[i].Arm == "vxlan" {
			trials[i].Metrics[0].Value += 3e-6
		}
	}
	a = Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if !strings.HasPrefix(a.Verdict, "Against l2, in rr rtt p50: vxlan +") ||
		!strings.HasSuffix(a.Verdict, " In rr rtt p50 the layers do not add up: "+
			"one of l2, routed, vxlan, flat lies 33 % (3 us) from the sum of its layers.") ||
		slices.ContainsFunc(a.Findings, func(f Finding) bool { return f.Kind == OfLayer }) {
		t.Errorf("not additive: %q", a.Verdict)
	}
}

// Clauses about one quantity are together.
func TestAClauseOfEachQuantity(t *testing.T) {
	sentence, _ := told(
		found("far", "rr", p50, .3), unseen("same", "rr", p50, .3e-6),
		found("far", "rr", p99, .4), unseen("same", "rr", p99, .5e-6))
	want := "Against l2, in rr rtt p50: far +3.00 us [+2.90, +3.10]; " +
		"no difference seen in same (a difference of 0.300 us would have been seen four times in five); " +
		"in rr rtt p99: far +4.00 us [+3.90, +4.10]; 1 more below without a difference."
	if sentence != want {
		t.Errorf("got  %q\nwant %q", sentence, want)
	}
}

// Layers come first, then the arms of another workload.
func TestLayersOfOneWorkloadAndArmsOfAnother(t *testing.T) {
	layer := func(name string, cost, half float64, verdict string) Layer {
		around := &Bounds{cost - half, cost + half}
		return Layer{Layer: name, Workload: "rr", Quantity: p50, Cost: cost, Interval: around, Verdict: verdict}
	}
	all := Rank(Answer{
		Baseline: "l2", Arms: []Figure{{Arm: "l2", Workload: "rr", Quantity: p50, Median: 10e-6}},
		Comparisons: []Comparison{found("full", "bulk", goodput, -.5)},
		Layers: []Layer{
			layer("bridge", .01e-6, .1e-6, NoDifference), layer("router", .68e-6, .1e-6, Higher),
			layer("vtep", 1.79e-6, .1e-6, Higher),
		},
	})
	want := "Per layer, in rr rtt p50: vtep +1.79 us [+1.69, +1.89], router +0.680 us [+0.580, +0.780]; " +
		"against l2, in bulk goodput: full -500.0 Mbit/s [-510.0, -490.0]; 1 more below without a difference."
	if got := Sentence(all, Wording{Against: "Against l2"}); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	want = "Per layer, in rr rtt p50: vtep +1.79 us [+1.69, +1.89], router +0.680 us [+0.580, +0.780]; " +
		"no difference seen in bridge (+10.00 ns [-90.00, +110.0])."
	layers := slices.DeleteFunc(all, func(f Finding) bool { return f.Kind == OfArm })
	if got := Sentence(layers, Wording{Against: "Against l2"}); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A finding contains the scope of a comparison of two runs, the other side's workload, and what distorts a figure.
func TestFindingsKeepWhatQualifiesThem(t *testing.T) {
	c := found("far", "tcp", p50, .3)
	c.About, c.BaselineWorkload = "these-runs", "udp"
	all := Rank(Answer{
		Arms: []Figure{
			{Arm: "l2", Workload: "tcp", Quantity: p50, Caution: "late by 3 us"},
			{Arm: "far", Workload: "tcp", Quantity: p99, Caution: "other"},
		},
		Comparisons: []Comparison{c},
	})
	f := all[0]
	want := "far: tcp against udp rtt p50 +3.00 us [+2.90, +3.10], worse (in these two runs)"
	if f.Text != want || f.Caution != "l2 late by 3 us" {
		t.Errorf("%q, caution %q; want %q", f.Text, f.Caution, want)
	}
	want = "B against A, in tcp against udp rtt p50: far +3.00 us [+2.90, +3.10]."
	if got := Sentence(all, Wording{Against: "B against A"}); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The strength of an interval with one bound is that bound.
func TestAFindingWithoutABound(t *testing.T) {
	c := found("stalls", "rr", p99, .9)
	c.Interval[1], c.RelativeInterval[0], c.RelativeInterval[1], c.Unbounded = math.Inf(1), .1,
		math.Inf(1), UnboundedAbove
	c.Missing = &[2]int{9, 0}
	sentence, all := told(c, found("far", "bulk", goodput, .3))
	if all[0].Name != "far" || all[1].Unbounded != UnboundedAbove || all[1].Missing == nil {
		t.Errorf("%+v", all)
	}
	want := "Against l2, in bulk goodput: far +300.0 Mbit/s [+290.0, +310.0]; in rr rtt p99: stalls +9.00 us " +
		"[+8.90, unbounded]."
	if sentence != want {
		t.Errorf("got  %q\nwant %q", sentence, want)
	}
	if text, err := json.Marshal(all); err != nil || strings.Contains(string(text), "Inf") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestOneArmAndNoTrials(t *testing.T) {
	e := overlay(8)
	e.Arms = e.Arms[:1]
	a := Make(Input{Experiment: e, Trials: model(e, perLayer, 5e-8), State: "complete"})
	if want := "; there is no other arm to compare it with."; !strings.HasPrefix(a.Verdict, "l2 has a rtt p50 of 8.") ||
		!strings.HasSuffix(a.Verdict, want) {
		t.Errorf("%q", a.Verdict)
	}
	if text, err := json.Marshal(a); err != nil || !strings.Contains(string(text), `"findings":[]`) {
		t.Errorf("%v: %s", err, text)
	}
	trials := model(overlay(2), perLayer, 5e-8)
	for i := range trials {
		trials[i].Error = "timeout"
	}
	a = Make(Input{Experiment: overlay(2), Trials: trials, State: "complete"})
	if a.Verdict != "No answer: all 10 trials failed." {
		t.Errorf("%q", a.Verdict)
	}
}
