package answer

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"nearfar/internal/conclude/answer/figures"
)

// The kinds of a finding.
const (
	// OfLayer is what one of a layer adds, OfArm how an arm differs from its baseline in a figure.
	OfLayer = "layer"
	OfArm   = "arm"
	// OfFailures is how often an arm fails, compared with its baseline.
	OfFailures = "failures"
)

// Finding is one statement of the answer, with its rank among all of them.
type Finding struct {
	// Rank counts from 1, the finding that the answer begins with.
	Rank int `json:"rank"`
	// Kind is "layer", "arm" or "failures"; Name is the name of the layer or the arm.
	Kind     string `json:"kind"`
	Name     string `json:"name"`
	Baseline string `json:"baseline"`
	Workload string `json:"workload"`
	// BaselineWorkload and About are copied from the comparison.
	BaselineWorkload string `json:"baseline_workload,omitempty"`
	About            string `json:"about,omitempty"`
	figures.Quantity
	// Difference, Interval, Verdict and the other fields of a comparison are copied from the comparison, or describe
	// the layer's cost.
	Difference *float64         `json:"difference"`
	Interval   figures.Interval `json:"interval"`
	// Unbounded and Missing are copied from a comparison, Widened also from a layer.
	Unbounded string  `json:"unbounded,omitempty"`
	Widened   bool    `json:"widened,omitempty"`
	Missing   *[2]int `json:"missing,omitempty"`
	// Failed and Attempts count the arm's and the baseline's failed first attempts and all of them, for Kind
	// "failures". Difference is then the difference of their shares.
	Failed   *[2]int `json:"failed,omitempty"`
	Attempts *[2]int `json:"attempts,omitempty"`
	// Relative is copied from the comparison. For a layer it is its cost divided by the baseline's median, without an
	// interval.
	Relative         *float64         `json:"relative"`
	RelativeInterval figures.Interval `json:"relative_interval"`
	Detectable       *float64         `json:"detectable"`
	// Trials is copied from an unpaired comparison.
	Trials  *[2]int `json:"trials,omitempty"`
	Verdict string  `json:"verdict"`
	// HeadlineP is the p-value corrected over all tables of the answer, from which the verdict chooses: at most 0.05
	// if it may claim the difference (Claimable). Null if there was no test, or if blocks depend on each other and
	// are too few to allow for it.
	HeadlineP *float64 `json:"headline_p_value"`
	// HeadlineLevel is set if the difference is Claimable: intervals of the confidence 1 - HeadlineLevel hold although
	// the verdict chose the differences because they are clear. On average at most 5 % of them miss.
	HeadlineLevel *float64 `json:"headline_level,omitempty"`
	// HeadlineInterval and HeadlineRelativeInterval are the intervals of that confidence, if the difference is paired
	// within blocks. Interval has a confidence of 95 % if the difference is looked at for its own sake.
	HeadlineInterval         figures.Interval `json:"headline_interval,omitempty"`
	HeadlineRelativeInterval figures.Interval `json:"headline_relative_interval,omitempty"`
	// Better says which side is better: "arm" (for a layer: with the layer) or "baseline". It is empty if no difference
	// was found, or if neither side of the metric is better.
	Better string `json:"better,omitempty"`
	Reason string `json:"reason,omitempty"`
	// Caution says what distorts the figure of the arm or of the baseline.
	Caution string `json:"caution,omitempty"`
	// Doubtful says that something else than what the arms have otherwise decides the figure of one of them.
	Doubtful bool `json:"doubtful,omitempty"`
	// Unproved is copied from the comparison or the layer.
	Unproved string `json:"unproved,omitempty"`
	// Over, But, Otherwise and Same are copied from the comparison.
	Over      string   `json:"over,omitempty"`
	But       string   `json:"but,omitempty"`
	Otherwise []string `json:"otherwise,omitempty"`
	Same      bool     `json:"same,omitempty"`
	// Text is the finding in words.
	Text string `json:"text"`
}

// certainty classifies findings; the lowest is listed first.
type certainty int

const (
	sure    certainty = iota // the two differ
	unsure                   // a difference was seen, with too little data to tell whether it is chance
	none                     // no difference was seen
	refused                  // the two do not measure the same thing
)

// Differs says whether the finding is a difference.
func (f Finding) Differs() bool { return f.certainty() == sure }

func (f Finding) certainty() certainty {
	switch f.Verdict {
	case figures.Higher, figures.Lower:
		return sure
	case figures.NoDifference:
		return none
	case figures.NotComparable:
		return refused
	}
	return unsure
}

// place identifies findings that one clause of a sentence can combine.
type place struct {
	kind, workload string
	quantity       figures.Quantity
}

func (f Finding) place() place { return place{f.Kind, f.workloads(), f.Quantity} }

// ranked is a finding with its sort keys.
type ranked struct {
	Finding
	// asked is the place of the workload among those with questions; others come after all of these.
	asked int
	// askedAbout says that it is about the arm that the question is about, in the first quantity of its workload.
	askedAbout bool
	// secondary says that the quantity is not the first of its workload.
	secondary bool
	strength  float64
	tested    tested
}

// Rank lists the findings in the order in which they answer: first those about failures, then those of workloads with
// questions of their own, in the order of the file, then those of all others. Within each of these comes the arm that
// the question is about (Answer.AskedAbout), with the first quantity of each workload. Then come differences, then
// differences that may be chance, then findings without a difference, then refused comparisons.
//
// Differences are sorted: first arms that fail more or less often, then layers if they lead, then the first quantity of
// each workload, then the other quantities, each in the order of the run. Within a quantity the strongest finding comes
// first. The strength of a finding is the end of its relative interval that is nearer to 0, so a large but uncertain
// difference does not precede a well-known one. Findings that are not differences keep the order of the file, because
// their sizes may be chance.
func Rank(a Answer) []Finding {
	all := ofFailures(a.Failures)
	var led []tested
	for _, l := range leading(a) {
		all = append(all, ofLayer(a, l))
	}
	for _, l := range a.Layers { // also those that do not lead: whether they do depends on their p-values
		if l.Arm == "" && layersTell(a, l.Workload, l.Quantity) {
			led = append(led, testOfLayer(l))
		}
	}
	first := map[string]figures.Quantity{}
	for _, c := range a.Comparisons {
		if _, known := first[c.Workload]; !known {
			first[c.Workload] = c.Quantity
		}
		f := ranked{Finding: Finding{
			Kind: OfArm, Name: c.Arm, Baseline: c.Baseline, Workload: c.Workload, Quantity: c.Quantity,
			BaselineWorkload: c.BaselineWorkload, About: c.About, Unbounded: c.Unbounded,
			Widened: c.Widened, Missing: c.Missing,
			Difference: c.Difference, Interval: c.Interval, Relative: c.Relative, RelativeInterval: c.RelativeInterval,
			Detectable: c.Detectable, Trials: c.Trials, Verdict: c.Verdict, Better: c.Better, Reason: c.Reason,
		}}
		if c.Metric == MetricFailures {
			f.Kind = OfFailures
		}
		f.Caution, f.Unproved, f.Over = cautions(a, c), c.Unproved, c.Over
		f.Otherwise, f.Same = c.Otherwise, c.Same
		f.Doubtful = doubtful(a, c)
		f.askedAbout = a.askedAbout(f.Finding) && c.Quantity == first[c.Workload]
		f.secondary = c.Quantity != first[c.Workload]
		f.strength = strength(c.Relative, c.RelativeInterval)
		f.tested = tested{familyOf{OfArm, c.Workload, c.Quantity}, c.PValue, !f.secondary}
		all = append(all, f)
	}
	for i := range all {
		all[i].asked = askedAt(a, all[i].Workload)
	}
	sortFindings(all)
	t := teller{a: a, sides: sidesOf}
	findings := make([]Finding, len(all))
	tests := make([]tested, len(all))
	for i, f := range all {
		findings[i], tests[i] = f.Finding, f.tested
		findings[i].Rank = i + 1
		findings[i].Text = t.text(findings[i])
	}
	if !tooDependent(a) {
		headline(findings, tests, led)
	}
	return findings
}

// cautions joins the cautions of the two figures of a comparison.
func cautions(a Answer, c figures.Comparison) string {
	var all []string
	for _, f := range figuresOf(a, c) {
		if f.Caution != "" {
			all = append(all, f.Arm+" "+f.Caution)
		}
	}
	return strings.Join(all, "; ")
}

// doubtful says that one of the two figures of a comparison is limited by something else than the arm.
func doubtful(a Answer, c figures.Comparison) bool {
	return slices.ContainsFunc(figuresOf(a, c), func(f figures.Figure) bool { return f.Limited })
}

// figuresOf lists the figures of the two arms of a comparison.
func figuresOf(a Answer, c figures.Comparison) (all []figures.Figure) {
	for _, f := range a.Arms {
		of := f.Arm == c.Arm || f.Arm == c.Baseline
		if of && f.Workload == c.Workload && f.Quantity == c.Quantity {
			all = append(all, f)
		}
	}
	return all
}

// askedAt is the place of a workload's question among the questions.
func askedAt(a Answer, workload string) int {
	at := 0
	for _, m := range a.Workloads {
		if m.Question == "" {
			continue
		}
		if m.Workload == workload {
			return at
		}
		at++
	}
	return at
}

func sortFindings(all []ranked) {
	at := map[place]int{}
	for i, f := range all {
		if _, known := at[f.place()]; !known {
			at[f.place()] = i
		}
	}
	slices.SortStableFunc(all, func(x, y ranked) int {
		fails := func(f ranked) bool { return f.Kind == OfFailures && f.Differs() }
		if fails(x) != fails(y) {
			return before(fails(x))
		}
		if x.asked != y.asked {
			return x.asked - y.asked
		}
		if x.askedAbout != y.askedAbout {
			return before(x.askedAbout)
		}
		if d := int(x.certainty()) - int(y.certainty()); d != 0 || !x.Differs() {
			return d
		}
		switch p, q := x.place(), y.place(); {
		case x.Kind == OfFailures || y.Kind == OfFailures:
			return compareFailureFindings(x, y)
		case x.Kind != y.Kind:
			return before(x.Kind == OfLayer)
		case x.secondary != y.secondary:
			return before(!x.secondary)
		case p == q && x.strength != y.strength:
			return before(x.strength > y.strength)
		case p != q:
			return at[p] - at[q]
		}
		return 0
	})
}

func before(yes bool) int {
	if yes {
		return -1
	}
	return 1
}

// strength is the smallest change that the interval allows, relative to the baseline. Against a baseline of 0 every
// change is infinitely strong.
func strength(relative *float64, i figures.Interval) float64 {
	switch {
	case relative == nil:
		return math.Inf(1)
	case i == nil:
		return math.Abs(*relative)
	case i[0] <= 0 && i[1] >= 0:
		return 0
	}
	return min(math.Abs(i[0]), math.Abs(i[1]))
}

// leading lists the layers that the answer begins with. They belong to a quantity whose layers say more than the
// arms, with at least one difference. They do not surely fail to add up (Additivity.Additive), and leave no trials out
// (Layer.Missing): these are the slowest, so a cost would be too small.
func leading(a Answer) []figures.Layer {
	return slices.DeleteFunc(slices.Clone(a.Layers), func(l figures.Layer) bool {
		return !leads(a, l.Workload, l.Quantity)
	})
}

// leads says whether the answer begins with the layers of a quantity.
func leads(a Answer, workload string, q figures.Quantity) bool {
	found := func(l figures.Layer) bool {
		sure := l.Verdict == figures.Higher || l.Verdict == figures.Lower
		refuted := l.Additive != nil && !*l.Additive
		return sure && !refuted && l.Workload == workload && l.Quantity == q
	}
	partial := func(l figures.Layer) bool { return l.Missing > 0 && l.Workload == workload && l.Quantity == q }
	// A layer that takes off more than the baseline has nothing to take it off there: the arms tell what it does.
	beyond := func(l figures.Layer) bool {
		relative := relativeTo(a, l)
		return found(l) && relative != nil && *relative <= -1
	}
	return layersTell(a, workload, q) && slices.ContainsFunc(a.Layers, found) &&
		!slices.ContainsFunc(a.Layers, beyond) && !slices.ContainsFunc(a.Layers, partial)
}

// layersTell says whether a quantity has layers of at least two kinds, one of which depends on more than the difference
// of one arm. Layers of one kind, such as firewall and firewall(rules=5000), are the arms themselves, told as parts.
func layersTell(a Answer, workload string, q figures.Quantity) bool {
	kinds, beyond := map[string]bool{}, false
	for _, l := range a.Layers {
		if l.Workload == workload && l.Quantity == q {
			kind, _, _ := strings.Cut(l.Layer, "(")
			kinds[kind] = true
			beyond = beyond || l.Arm == ""
		}
	}
	return len(kinds) > 1 && beyond
}

// ofLayer makes a finding from the cost of a layer.
func ofLayer(a Answer, l figures.Layer) ranked {
	f := ranked{Finding: Finding{
		Kind: OfLayer, Name: l.Layer, Baseline: a.Baseline, Workload: l.Workload, Quantity: l.Quantity,
		Difference: &l.Cost, Interval: l.Interval, Verdict: l.Verdict, Widened: l.Widened, Detectable: l.Detectable,
		Unproved: l.Unproved,
	}}
	f.tested = testOfLayer(l)
	f.Better = figures.BetterSide(l.Quantity, l.Verdict)
	f.Relative = relativeTo(a, l)
	f.strength = strength(f.Relative, nil)
	if i := l.Interval; i != nil && f.Relative != nil && l.Cost != 0 {
		f.strength = min(math.Abs(i[0]), math.Abs(i[1])) * math.Abs(*f.Relative/l.Cost)
	}
	return f
}

// relativeTo is the cost of a layer as a share of the baseline's figure; nil if that is unknown or 0.
func relativeTo(a Answer, l figures.Layer) *float64 {
	base := slices.IndexFunc(a.Arms, func(b figures.Figure) bool {
		return b.Arm == a.Baseline && b.Workload == l.Workload && b.Quantity == l.Quantity
	})
	if base < 0 || a.Arms[base].Median <= 0 {
		return nil
	}
	return new(l.Cost / a.Arms[base].Median)
}

// testOfLayer is the test of a layer's cost. If the layer quotes a comparison, it is the comparison's test. Otherwise
// it is one of the tests of all layers.
func testOfLayer(l figures.Layer) tested {
	if l.Arm != "" {
		return tested{familyOf{OfArm, l.Workload, l.Quantity}, l.PValue, true}
	}
	return tested{familyOf{kind: OfLayer, workload: l.Workload}, l.PValue, true}
}

// Where names the workload and the quantity.
func (f Finding) Where() string { return f.workloads() + " " + f.Quantity.Name() }

// workloads names the workload, and the baseline's workload if it is another one.
func (f Finding) workloads() string {
	if f.BaselineWorkload == "" {
		return f.Workload
	}
	return f.Workload + " against " + f.BaselineWorkload
}

// ofFailures makes findings of the failures of which at least one side has any.
func ofFailures(f *figures.Failures) (all []ranked) {
	if f == nil {
		return nil
	}
	for _, c := range f.Comparisons {
		if c.Failed[0]+c.Failed[1] == 0 || c.Difference == nil {
			continue
		}
		found := ranked{Finding: Finding{
			Kind: OfFailures, Name: c.Arm, Baseline: c.Baseline, Workload: c.Workload, Quantity: c.Quantity,
			BaselineWorkload: c.BaselineWorkload, About: c.About, Difference: c.Difference, Interval: c.Interval,
			Widened: c.Widened, Verdict: c.Verdict, Better: c.Better, Failed: &c.Failed, Attempts: &c.Attempts,
		}}
		found.strength = strength(c.Difference, c.Interval)
		// The test is conditional on how many attempts failed in all, so that its weight may depend on that there were any.
		found.tested = tested{familyOf{OfFailures, c.Workload, c.Quantity}, c.PValue, true}
		all = append(all, found)
	}
	return all
}

// compareFailureFindings puts findings about failures before others that differ as surely.
func compareFailureFindings(x, y ranked) int {
	if x.Kind == OfFailures && y.Kind == OfFailures {
		return cmp.Compare(y.strength, x.strength)
	}
	return before(x.Kind == OfFailures)
}
