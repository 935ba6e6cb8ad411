package answer

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

var (
	p50     = figures.Quantity{Metric: result.RTT, Stat: result.P50, Unit: result.Seconds}
	p99     = figures.Quantity{Metric: result.RTT, Stat: result.P99, Unit: result.Seconds}
	goodput = figures.Quantity{Metric: result.Goodput, Unit: result.BitsPerSecond}
)

// found is a comparison with l2 that found a relative change, with an interval of +- 2 points. The baseline is 10 us
// or 1 Gbit/s.
func found(arm, workload string, q figures.Quantity, relative float64) figures.Comparison {
	base := 10e-6
	if q == goodput {
		base = 1e9
	}
	d := relative * base
	c := figures.Comparison{
		Arm: arm, Baseline: "l2", Workload: workload, Quantity: q, Verdict: figures.Higher, Blocks: 10,
		Difference: &d, Relative: &relative,
		Interval:         &figures.Bounds{d - .01*base, d + .01*base},
		RelativeInterval: &figures.Bounds{relative - .01, relative + .01},
	}
	if relative < 0 {
		c.Verdict = figures.Lower
	}
	c.PValue = pOf(c.Verdict)
	c.Better = figures.BetterSide(c.Quantity, c.Verdict)
	return c
}

// pOf is a p-value with such a verdict.
func pOf(verdict string) *float64 {
	p := .5
	if verdict == figures.Higher || verdict == figures.Lower {
		p = 1e-6
	}
	return &p
}

func unseen(arm, workload string, q figures.Quantity, detectable float64) figures.Comparison {
	c := found(arm, workload, q, .001)
	c.Verdict, c.Better, c.Detectable, c.PValue = figures.NoDifference, "", &detectable, pOf(figures.NoDifference)
	return c
}

func refusedOne(arm, workload string, q figures.Quantity) figures.Comparison {
	return figures.Comparison{
		Arm: arm, Baseline: "l2", Workload: workload, Quantity: q, Verdict: figures.NotComparable,
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

func told(comparisons ...figures.Comparison) (string, []Finding) {
	all := Rank(Answer{Ran: Ran{Baseline: "l2"}, Figures: figures.Figures{Comparisons: comparisons}})
	return Tell(Answer{Ran: Ran{Baseline: "l2"}, Figures: figures.Figures{Comparisons: comparisons},
		Words: Words{Findings: all}},
		nil).String(), all
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
		"arm far rr rtt p50", "arm wide rr rtt p50", "arm near rr rtt p50",
		"arm far bulk goodput", "arm far rr rtt p99",
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
	wantSentence := "With far, the median round trip of rr takes 3.00 us (2.90 to 3.10 us) longer than with l2, 30 %. " +
		"From 10 blocks; the interval holds with 95 % confidence. " +
		"With wide: 9.00 us (8.90 to 9.10 us) longer, 90 %; with near: 0.20 us (0.10 to 0.30 us) longer, 2.0 %. " +
		"With same, no difference seen in the median round trip of rr; one above 0.30 us would likely show. " +
		"Not comparable: the median round trip of rr with udp (protocol: udp against tcp). " +
		"With far, goodput of bulk is 500 Mbit/s (490 to 510 Mbit/s) lower, 50 %. " +
		"With far, the slowest 1 % of round trips in rr take 8.00 us (7.90 to 8.10 us) longer, 80 %. " +
		"1 more comparison below without a difference."
	if sentence != wantSentence {
		t.Errorf("got  %q\nwant %q", sentence, wantSentence)
	}
	text := []string{all[0].Text, all[5].Text, all[7].Text}
	wantText := []string{
		"With far, the median round trip of rr takes 3.00 us (2.90 to 3.10 us) longer than with l2, 30 %: worse",
		"With same, no difference seen in the median round trip of rr, against l2 (-0.09 to +0.11 us); " +
			"one above 0.30 us would likely show",
		"No answer: the median round trip of rr with udp cannot be compared with l2 (protocol: udp against tcp)",
	}
	if diff := cmp.Diff(wantText, text); diff != "" {
		t.Error(diff)
	}
}

func TestADifferenceFromZeroIsTheStrongest(t *testing.T) {
	loss := found("lossy", "rr", p50, .01)
	loss.Relative, loss.RelativeInterval = nil, nil
	if _, all := told(found("far", "rr", p50, 3), loss); all[0].Name != "lossy" {
		t.Errorf("%q", short(all))
	}
}

func TestContradictionsAreNamed(t *testing.T) {
	full, near := found("full", "rr", p50, .3), found("near", "rr", p50, -.1)
	sentence, _ := told(full, near, found("full", "bulk", goodput, .2), found("near", "bulk", goodput, .1))
	if want := "(2.90 to 3.10 us) longer, but goodput of bulk is 20 % higher. "; !strings.Contains(sentence, want) {
		t.Errorf("%q does not have %q", sentence, want)
	}
	// A finding without a difference contradicts nothing, and one arm does not contradict another.
	sentence, _ = told(full, near, unseen("full", "bulk", goodput, 1e8))
	if strings.Contains(sentence, "Mixed") || strings.Contains(sentence, "but") {
		t.Errorf("%q", sentence)
	}
	// Quantities of one workload can contradict each other too.
	sentence, _ = told(found("full", "rr", p50, -.3), found("full", "rr", p99, .3))
	if want := "(2.90 to 3.10 us) less, but the slowest 1 % of round trips take longer."; !strings.Contains(sentence, want) {
		t.Errorf("%q", sentence)
	}
	var many []figures.Comparison
	for i := range 5 {
		many = append(many, found(fmt.Sprint("arm", i), "rr", p50, .3),
			found(fmt.Sprint("arm", i), "bulk", goodput, .3))
	}
	sentence, _ = told(many...)
	if strings.Count(sentence, "Mixed: with arm") != 3 || !strings.Contains(sentence, "Mixed results of 1 arm more.") {
		t.Errorf("%q", sentence)
	}
}

func TestNothingSeen(t *testing.T) {
	sentence, all := told(
		unseen("a", "rr", p50, .3e-6), unseen("b", "rr", p50, .5e-6),
		unseen("a", "rr", p99, 3e-6), unseen("b", "rr", p99, 4e-6))
	want := "With a and b, no difference seen in the median round trip, against l2 (-0.09 to +0.11 us); one above 0.50 us would likely show. " +
		"From 10 blocks; the interval holds with 95 % confidence. A smaller difference can exist. " +
		"With a and b, no difference seen in the slowest 1 % of round trips; one above 4.0 us would likely show."
	if sentence != want {
		t.Errorf("got  %q\nwant %q", sentence, want)
	}
	order := []string{"arm a rr rtt p50", "arm b rr rtt p50", "arm a rr rtt p99", "arm b rr rtt p99"}
	if diff := cmp.Diff(order, short(all)); diff != "" {
		t.Error(diff)
	}
	var many []figures.Comparison
	for i := range 9 {
		many = append(many, unseen(fmt.Sprint("arm", i), "rr", p50, .3e-6))
	}
	sentence, _ = told(many...)
	if !strings.Contains(sentence, "arm3 and 5 more, no difference seen in ") || strings.Contains(sentence, "below") {
		t.Errorf("%q", sentence)
	}
}

func TestRefusedAndTooFew(t *testing.T) {
	sentence, _ := told(refusedOne("a", "rr", p50), refusedOne("b", "rr", p50))
	want := "No answer: the median round trip with a and b cannot be compared with l2 (protocol: udp against tcp)."
	if sentence != want {
		t.Errorf("got  %q\nwant %q", sentence, want)
	}
	other := refusedOne("b", "rr", p50)
	other.Reason = "size: 1 B against 2 B"
	sentence, _ = told(refusedOne("a", "rr", p50), other)
	want = "No answer: the median round trip with a cannot be compared with l2 (protocol: udp against tcp). " +
		"Not comparable: the median round trip with b (size: 1 B against 2 B)."
	if sentence != want {
		t.Errorf("got  %q\nwant %q", sentence, want)
	}
	few := found("few", "rr", p50, .9)
	few.Verdict, few.Better, few.Interval, few.RelativeInterval = figures.FewBlocks, "", nil, nil
	few.Reason = "3 blocks are too few: it takes 4 more"
	sentence, all := told(refusedOne("a", "rr", p50), unseen("same", "rr", p50, .3e-6), few,
		found("far", "rr", p50, .1))
	order := []string{"arm far rr rtt p50", "arm few rr rtt p50", "arm same rr rtt p50", "arm a rr rtt p50"}
	if diff := cmp.Diff(order, short(all)); diff != "" {
		t.Error(diff)
	}
	want = "With far, the median round trip takes 1.00 us (0.90 to 1.10 us) longer than with l2, 10 %. " +
		"From 10 blocks; the interval holds with 95 % confidence. " +
		"No answer yet: too few blocks to tell whether the median round trip differs with few against l2. " +
		"With same, no difference seen in the median round trip; one above 0.30 us would likely show. " +
		"Not comparable: the median round trip with a (protocol: udp against tcp)."
	if sentence != want {
		t.Errorf("got  %q\nwant %q", sentence, want)
	}
}

// Differences that may be chance are not sorted by size: that would list chance first.
func TestUncertainFindingsKeepTheirOrder(t *testing.T) {
	single := func(arm string, relative float64) figures.Comparison {
		c := found(arm, "rr", p50, relative)
		c.Verdict, c.Better, c.Interval, c.RelativeInterval = figures.SingleTrial, "", nil, nil
		c.Trials, c.Reason = &[2]int{1, 1}, "one trial a side"
		return c
	}
	sentence, all := told(single("a", .1), single("b", .9), single("c", .5))
	if diff := cmp.Diff([]string{"arm a rr rtt p50", "arm b rr rtt p50", "arm c rr rtt p50"}, short(all)); diff != "" {
		t.Error(diff)
	}
	want := "With a, the median round trip takes 1.0 us longer than with l2, 10 %; how sure that is, is unknown. " +
		"One trial a side. " +
		"With b, the median round trip takes 9.0 us longer than with l2, 90 %; how sure that is, is unknown. " +
		"With c, the median round trip takes 5.0 us longer than with l2, 50 %; how sure that is, is unknown."
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
		!strings.HasPrefix(f.Text, "Each vtep adds 2.0") {
		t.Errorf("%+v", f)
	}

	// A chain: the cost of the VTEPs is the difference of two arms, neither of which is the baseline.
	if a, _, _ := make("l2", "routed", "vxlan"); !strings.HasPrefix(a.Verdict, "Each bridge+router adds ") {
		t.Errorf("chain: %q", a.Verdict)
	}
	// A star: each layer is one arm.
	a, _, _ = make("l2", "switched", "flat")
	if !strings.HasPrefix(a.Verdict, "With flat, the median round trip takes ") || a.Findings[0].Kind != OfArm {
		t.Errorf("star: %q", a.Verdict)
	}
	// One layer.
	if a, _, _ := make("l2", "switched"); !strings.HasPrefix(a.Verdict, "With switched, the median round trip takes ") {
		t.Errorf("one layer: %q", a.Verdict)
	}
	// Layers that influence each other: their costs are averages, the arms' differences are not.
	for i := range trials {
		if trials[i].Arm == "vxlan" {
			trials[i].Metrics[0].Value += 3e-6
		}
	}
	a = Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if !strings.HasPrefix(a.Verdict, "With vxlan, the median round trip takes ") ||
		!strings.HasSuffix(a.Verdict, " In the median round trip the layers do not add up: "+
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
	want := "With far, the median round trip takes 3.00 us (2.90 to 3.10 us) longer than with l2, 30 %. " +
		"From 10 blocks; the interval holds with 95 % confidence. " +
		"With same, no difference seen in the median round trip; one above 0.30 us would likely show. " +
		"With far, the slowest 1 % of round trips take 4.00 us (3.90 to 4.10 us) longer, 40 %. " +
		"1 more comparison below without a difference."
	if sentence != want {
		t.Errorf("got  %q\nwant %q", sentence, want)
	}
}

// Layers come first, then the arms of another workload.
func TestLayersOfOneWorkloadAndArmsOfAnother(t *testing.T) {
	layer := func(name string, cost, half float64, verdict string) figures.Layer {
		around := &figures.Bounds{cost - half, cost + half}
		return figures.Layer{Layer: name, Workload: "rr", Quantity: p50, Cost: cost, Interval: around, Verdict: verdict,
			PValue: pOf(verdict)}
	}
	all := Rank(Answer{
		Ran: Ran{Baseline: "l2"},
		Figures: figures.Figures{Arms: []figures.Figure{{Arm: "l2", Workload: "rr", Quantity: p50, Median: 10e-6}},
			Comparisons: []figures.Comparison{found("full", "bulk", goodput, -.5)}, Layers: []figures.Layer{
				layer("bridge", .01e-6, .1e-6, figures.NoDifference), layer("router", .68e-6, .1e-6, figures.Higher),
				layer("vtep", 1.79e-6, .1e-6, figures.Higher),
			}},
	})
	layersSaid := "Each vtep adds 1.79 us (1.69 to 1.89 us) to the median round trip, 18 % of l2's. " +
		"Each router adds 0.68 us (0.58 to 0.78 us). Each bridge: no cost seen in the median round trip; one above 0.11 us would likely show."
	want := layersSaid + " With full, goodput is 500 Mbit/s (490 to 510 Mbit/s) lower, 50 %."
	if got := Tell(Answer{Ran: Ran{Baseline: "l2"}, Words: Words{Findings: all}}, nil).String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	want = layersSaid
	layers := slices.DeleteFunc(all, func(f Finding) bool { return f.Kind == OfArm })
	if got := Tell(Answer{Ran: Ran{Baseline: "l2"}, Words: Words{Findings: layers}}, nil).String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A finding contains the scope of a comparison of two runs, the other side's workload, and what distorts a figure.
func TestFindingsKeepWhatQualifiesThem(t *testing.T) {
	c := found("far", "tcp", p50, .3)
	c.About, c.BaselineWorkload = "these-runs", "udp"
	all := Rank(Answer{
		Figures: figures.Figures{Arms: []figures.Figure{
			{Arm: "l2", Workload: "tcp", Quantity: p50, Caution: "late by 3 us"},
			{Arm: "far", Workload: "tcp", Quantity: p99, Caution: "other"},
		}, Comparisons: []figures.Comparison{c}},
	})
	f := all[0]
	want := "With far, the median round trip of tcp takes 3.00 us (2.90 to 3.10 us) longer than in udp with l2, 30 %: " +
		"worse, in these two runs"
	if f.Text != want || f.Caution != "l2 late by 3 us" {
		t.Errorf("%q, caution %q; want %q", f.Text, f.Caution, want)
	}
	want = "With far, the median round trip of tcp takes 3.00 us (2.90 to 3.10 us) longer than in udp with l2, 30 %. " +
		"It holds for these two runs: how much others would differ is unknown. Careful: l2 late by 3 us."
	if got := Tell(Answer{Ran: Ran{Baseline: "l2"}, Words: Words{Findings: all}}, nil).String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The strength of an interval with one bound is that bound.
func TestAFindingWithoutABound(t *testing.T) {
	c := found("stalls", "rr", p99, .9)
	c.Interval[1], c.RelativeInterval[0], c.RelativeInterval[1], c.Unbounded = math.Inf(1), .1,
		math.Inf(1), figures.UnboundedAbove
	c.Missing = &[2]int{9, 0}
	sentence, all := told(found("far", "rr", p99, .3), c)
	if all[0].Name != "far" || all[1].Unbounded != figures.UnboundedAbove || all[1].Missing == nil {
		t.Errorf("%+v", all)
	}
	want := "With far, the slowest 1 % of round trips take 3.00 us (2.90 to 3.10 us) longer than with l2, 30 %. " +
		"From 10 blocks; the interval holds with 95 % confidence. With stalls: 9.00 us (at least 8.90 us) longer, 90 %."
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
	want := "; there is no other arm to compare it with. From 8 trials."
	if !strings.HasPrefix(a.Verdict, "With l2, the median round trip takes 8.") || !strings.HasSuffix(a.Verdict, want) {
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
