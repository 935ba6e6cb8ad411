package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/result"
)

// The indices of a layer's columns for its verdict, and for arms that have it more than once.
const (
	layerVerdictColumn = 3
	severalColumn      = 4
)

// layersNote explains the figures of all layers, notAdditiveNote those of layers that do not add up.
const (
	layersNote = "Each interval has 95 % confidence by itself. Verdicts hold for all layers together (Holm), and\n" +
		"an interval reaches 0 where the verdict sees no difference. Costs are means over all\n" +
		"arms with t intervals: they can show what the medians of single arms do not."
	notAdditiveNote = "* The layers do not add up, see the warning: a cost is an average over these arms, and its\n" +
		"interval is for that average, not for what the layer would add elsewhere."
)

func layerSection(a answer.Answer) section {
	out := section{title: "Layers: what one of each adds, by least squares over all arms", note: layersNote}
	marked := false
	for _, layers := range runsOf(a.Layers, func(l figures.Layer) string { return l.Workload + "\x00" + l.Name() }) {
		first := layers[0]
		s := scaleOf(layers, first.Unit, func(l figures.Layer) *float64 { return &l.Cost })
		t := table{
			head:  []string{"layer", ">adds", intervalColumn, "verdict", "in an arm with more than one"},
			spare: []string{plotColumn}, zero: true, scale: s.Signed,
		}
		for _, l := range layers {
			t.marks = append(t.marks, &mark{at: l.Cost, interval: l.Interval})
			name := l.Layer
			if l.Additive != nil && !*l.Additive {
				name += " *"
				marked = true
			}
			t.add(name, s.Signed(l.Cost), l.Interval.Text(s.Signed), layerVerdict(l), "")
			t.note(layerVerdictColumn, unprovedLink, printable(l.Unproved))
			t.note(severalColumn, " in ", several(l, s))
			t.note(severalColumn, ": ", quoted(l, s))
		}
		for _, r := range a.Residual {
			if r.Workload == first.Workload && r.Quantity == first.Quantity {
				t.marks = append(t.marks, &mark{at: r.Value, interval: r.Interval})
				t.add("residual", s.Signed(r.Value), r.Interval.Text(s.Signed), "", "")
				t.note(severalColumn, " in ", wholeAndParts(r, s))
				t.note(severalColumn, ": ", overAllArms(a, r))
			}
		}
		out.groups = append(out.groups, group{caption(first.Workload, first.Quantity, s), t})
	}
	if marked {
		out.note = notAdditiveNote + "\n" + layersNote
	}
	return out
}

// layerVerdict writes a layer's verdict in the same words as a comparison's.
func layerVerdict(l figures.Layer) string {
	if l.Unproved != "" {
		l.Unproved = ""
		return layerVerdict(l) + unprovedMark
	}
	switch l.Verdict {
	case figures.NoDifference:
		return "none seen"
	case figures.NotComparable, figures.FewBlocks:
		return "too few blocks"
	}
	return l.Verdict
}

// several writes what the layer adds to the arm whose count of it differs most from the baseline's. It is empty if no
// count differs by more than 1.
func several(l figures.Layer, s result.Scale) string {
	var most figures.Contribution
	for _, c := range l.Adds {
		if math.Abs(c.Count) > math.Abs(most.Count) {
			most = c
		}
	}
	if math.Abs(most.Count) <= 1+1e-9 {
		return ""
	}
	return fmt.Sprintf("%s: %+.3g x %s = %s", most.Arm, most.Count, s.Signed(most.Adds/most.Count), s.Signed(most.Adds))
}

// quoted names the arm whose difference is also the layer's cost, and gives the mean if it differs from that median.
func quoted(l figures.Layer, s result.Scale) string {
	switch {
	case l.Arm == "":
		return ""
	case s.Signed(l.Mean) == s.Signed(l.Cost):
		return "the difference of " + l.Arm + " as above"
	}
	return fmt.Sprintf("the difference of %s as above, a median; its mean, which adds up, is %s", l.Arm,
		s.Signed(l.Mean))
}

// wholeAndParts writes the subtraction that gives the residual.
func wholeAndParts(r figures.Residual, s result.Scale) string {
	text := fmt.Sprintf("%s: whole %s = parts %s + residual", r.Arm, s.Signed(r.Whole), s.Signed(r.Parts))
	if r.Saturated {
		text += ", 0 by construction"
	}
	return text
}

// overAllArms says whether the layers add up over all arms. The residual of one arm does not show this.
func overAllArms(a answer.Answer, r figures.Residual) string {
	i := slices.IndexFunc(a.Additivity, func(t figures.Additivity) bool {
		return t.Workload == r.Workload && t.Quantity == r.Quantity
	})
	if i < 0 {
		return ""
	}
	test := a.Additivity[i]
	if test.Text != "" {
		return "over all arms " + test.Text
	}
	if test.Additive { // the size is not known
		return fmt.Sprintf("no sign over all arms that the layers do not add up (p = %s)", pValue(&test.PValue))
	}
	var arms []string
	for _, d := range test.Arms {
		arms = append(arms, d.Arm)
	}
	return fmt.Sprintf("over all arms the layers do not add up (p = %s): %s", pValue(&test.PValue),
		strings.Join(arms, " or "))
}
