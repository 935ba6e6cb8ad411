package answer

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"nearfar/internal/base/prose"
	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
)

// MostWords is how many words the first line of an answer may have.
const MostWords = 25

// part is a piece of a sentence.
type part struct {
	text string
	// drop says when a sentence that is too long leaves the part out: those with 1 first, those with 0 never. short
	// takes its place.
	drop  int
	short string
}

// always is a part that stays.
func always(text string) part { return part{text: text} }

// sentence joins parts, with as few left out as the number of words needs. It also says which of them were left out.
func sentence(parts []part, most int) string {
	last := 0
	for _, p := range parts {
		last = max(last, p.drop)
	}
	text := ""
	for dropped := 0; dropped <= last; dropped++ {
		var b strings.Builder
		for _, p := range parts {
			if p.drop > 0 && p.drop <= dropped {
				b.WriteString(p.short)
			} else {
				b.WriteString(p.text)
			}
		}
		if text = b.String(); countWords(text) <= most {
			break
		}
	}
	return text
}

func countWords(text string) int { return len(strings.Fields(text)) }

// unlimited is more words than any sentence has.
const unlimited = math.MaxInt

// The order in which a first line that is too long loses parts.
const (
	dropRate = iota + 1
	dropBaseline
	dropRelative
	dropSetback
)

// Sides are the two sides of a finding in words.
type Sides struct {
	// With opens the sentence: "With far". Than ends a comparison: "with near". Against is the other side after a noun:
	// "against near".
	With, Than, Against string
}

// sidesOf names the two arms of a run. An arm of the same name is the one of another run.
func sidesOf(f Finding) Sides {
	if f.Name == f.Baseline {
		return Sides{With: "With " + f.Name + " in B", Than: "in A", Against: "against A"}
	}
	return Sides{With: "With " + f.Name, Than: "with " + f.Baseline, Against: "against " + f.Baseline}
}

// teller tells an answer.
type teller struct {
	a     Answer
	sides func(Finding) Sides
}

// words are those of the finding's quantity.
func (t teller) words(f Finding) words { return wordsOf(f.Quantity, t.measured(f.Workload).Mode) }

// measured describes a workload.
func (t teller) measured(workload string) Measured {
	for _, m := range t.a.Workloads {
		if m.Workload == workload {
			return m
		}
	}
	return Measured{Workload: workload}
}

// several says whether sentences have to name the workload.
func (t teller) several() bool {
	var names []string
	for _, m := range t.a.Workloads {
		names = append(names, m.Workload)
	}
	for _, c := range t.a.Comparisons {
		names = append(names, c.Workload)
	}
	slices.Sort(names)
	return len(slices.Compact(names)) > 1
}

// where names the quantity and, if there are several workloads, the workload: "the median round trip of rr".
func (t teller) where(f Finding) string {
	workload := ""
	if t.several() || f.BaselineWorkload != "" {
		workload = f.Workload
	}
	over := f.Over
	if strings.Contains(over, acrossProtocols) {
		over = "" // the sides are of different protocols on purpose; the basis says so
	}
	return t.words(f).where(workload, over)
}

// at is the offered rate of the workload: " at 5,000/s".
func (t teller) at(f Finding) string {
	rate := t.measured(f.Workload).Rate
	if rate <= 0 {
		return ""
	}
	return " at " + rounding{decimals: 0, scale: unscaled()}.number(rate) + "/s"
}

// than is the other side: " than with near", " than in other with near".
func (t teller) than(f Finding) string {
	than := " than "
	if f.BaselineWorkload != "" {
		than += "in " + f.BaselineWorkload + " "
	}
	return than + t.sides(f).Than
}

// against is the other side after a noun: "against near", "against other with near".
func (t teller) against(f Finding) string {
	if f.BaselineWorkload != "" {
		return "against " + f.BaselineWorkload + " " + t.sides(f).Than
	}
	return t.sides(f).Against
}

// differs says how much longer, or higher: the figure, its size in proportion, its interval.
func (t teller) differs(f Finding, headline bool) []part {
	if f.Difference == nil {
		return t.surelyWorse(f)
	}
	if f.Kind == OfLayer {
		return t.layer(f)
	}
	if f.Kind == OfFailures {
		return t.failures(f)
	}
	f = f.chosen()
	w := t.words(f)
	verb, direction := w.verb(*f.Difference > 0)
	r := roundingOf(f.Quantity, *f.Difference, f.Interval)
	parts := []part{always(t.sides(f).With + ", " + t.where(f)), {text: t.at(f), drop: dropRate},
		always(" " + verb + " " + r.size(*f.Difference) + t.interval(f, r) + " " + direction)}
	if headline {
		parts = append(parts, part{text: t.than(f), drop: dropBaseline})
	}
	return append(parts, part{text: t.relative(f), drop: dropRelative})
}

// chosen is a finding that is named because of what it says, with the intervals that hold although it was chosen.
func (f Finding) chosen() Finding {
	if f.HeadlineInterval != nil {
		f.Interval = f.HeadlineInterval
	}
	if f.HeadlineRelativeInterval != nil {
		f.RelativeInterval = f.HeadlineRelativeInterval
	}
	return f
}

// relative is the size in proportion: ", 19 %", ", 3.0 times as long".
func (t teller) relative(f Finding) string {
	switch {
	case f.Relative == nil || math.IsInf(*f.Relative, 0) || math.IsNaN(*f.Relative) || f.isShare():
		return ""
	case *f.Relative >= twofold:
		return ", " + t.words(f).times(ratio(*f.Relative))
	}
	return ", " + percent(*f.Relative, f.RelativeInterval)
}

// isShare says that the figure is a share itself, of which a percentage would be misread.
func (f Finding) isShare() bool { return scaleInWords(f.Quantity, nil).Unit == points }

// interval is " (24 to 193 us)".
func (t teller) interval(f Finding, r rounding) string {
	if f.Interval == nil || f.Difference == nil {
		return ""
	}
	return prose.InBrackets(r.between(f.Interval, *f.Difference < 0))
}

// failures says how much more often trials fail.
func (t teller) failures(f Finding) []part {
	r := roundingOf(f.Quantity, *f.Difference, f.Interval)
	often := " more often"
	if *f.Difference < 0 {
		often = " less often"
	}
	of := ""
	if t.several() && f.Workload != "" {
		of = " of " + f.Workload
	}
	if f.Failed != nil && f.Attempts != nil {
		more := " more"
		if *f.Difference < 0 {
			more = " less"
		}
		text := fmt.Sprintf(", %d of %d trials%s fail, %s%s%s", f.Failed[0], f.Attempts[0], of, r.size(*f.Difference),
			t.interval(f, r), more)
		return []part{always(t.sides(f).With + text), {text: t.than(f), drop: dropBaseline}}
	}
	return []part{always(t.sides(f).With + ", trials" + of + " fail" + often), {text: t.than(f), drop: dropBaseline},
		always(", by " + r.size(*f.Difference) + t.interval(f, r))}
}

// surelyWorse is about an arm of which so many trials have no figure that there is no difference to give.
func (t teller) surelyWorse(f Finding) []part {
	w := t.words(f)
	_, direction := w.verb(f.Verdict == figures.Higher)
	verb := "is"
	if w.plural {
		verb = "are"
	}
	if direction == "less" {
		direction = "shorter"
	}
	parts := []part{always(t.sides(f).With + ", " + t.where(f) + " " + verb + " surely " + direction),
		{text: t.than(f), drop: dropBaseline}}
	if f.Reason != "" {
		parts = append(parts, part{text: ": " + strings.TrimSuffix(f.Reason, "."), drop: dropRelative})
	}
	return parts
}

// layer says what one of a layer adds.
func (t teller) layer(f Finding) []part {
	r := roundingOf(f.Quantity, *f.Difference, f.Interval)
	does, to := " adds ", " to "
	if *f.Difference < 0 {
		does, to = " takes ", " off "
	}
	parts := []part{always(oneOf(f.Name) + does + r.size(*f.Difference) + t.interval(f, r) + to + t.where(f)),
		{text: t.at(f), drop: dropRate}}
	if f.Relative != nil && !f.isShare() {
		// Always in percent: what is added would be read as the whole, "3.4 times".
		parts = append(parts, part{text: ", " + percent(*f.Relative, nil) + " of " + f.Baseline + "'s", drop: dropRelative})
	}
	return parts
}

// same says that no difference was seen between these findings of one quantity and their baselines, and above which
// size there is none: neither the interval nor the smallest visible difference is larger.
func (t teller) same(these []Finding, headline bool) []part {
	first, w := these[0], t.words(these[0])
	bound, known := 0.0, false
	hull := figures.Bounds{math.Inf(1), math.Inf(-1)}
	for _, f := range these {
		if f.Detectable != nil {
			bound, known = max(bound, *f.Detectable), true
		}
		if f.Interval != nil {
			hull = figures.Bounds{min(hull[0], f.Interval[0]), max(hull[1], f.Interval[1])}
		}
	}
	if hull[0] <= hull[1] {
		bound, known = max(bound, math.Abs(hull[0]), math.Abs(hull[1])), true
	}
	opening, no := t.names(these), ", no difference seen"
	if first.Kind == OfLayer {
		opening, no = oneOf(more(layerNames(these), len(these))), ": no cost seen"
	}
	parts := []part{always(opening + no + w.inside() + t.where(first)), {text: t.at(first), drop: dropRate}}
	if headline && first.Kind != OfLayer {
		parts = append(parts, part{text: ", " + t.against(first), drop: dropBaseline})
	}
	known = known && !math.IsInf(bound, 0) && bound > 0
	bound = atLeast(bound)
	if headline && hull[0] <= hull[1] {
		parts = append(parts, always(prose.InBrackets(roundingOf(first.Quantity, bound, &hull).between(&hull, false))))
	}
	level, r := t.level(first), roundingOf(first.Quantity, bound, nil)
	switch {
	case !known:
		return parts
	case level > 0 && bound >= twofold*level && !first.isShare():
		// A bound beyond the figure itself says that too little is known, not that there is no difference.
		return append(parts, always("; noise hides up to "+r.size(bound)))
	}
	parts = append(parts, always("; one above "+r.size(bound)))
	if level > 0 && !first.isShare() {
		parts = append(parts, part{text: " (" + percent(bound/level, nil) + ")", drop: dropRelative})
	}
	return append(parts, always(" would likely show"))
}

// oneOf opens a sentence about a layer. A setting, such as ip=6, is there once.
func oneOf(layer string) string {
	if strings.Contains(layer, "=") && !strings.Contains(layer, "(") {
		return layer
	}
	return "Each " + layer
}

func layerNames(these []Finding) (names []string) {
	for _, f := range these {
		names = append(names, f.Name)
	}
	return names
}

// names opens a sentence about several arms: "With a, b and c".
func (t teller) names(these []Finding) string {
	if len(these) == 1 {
		return t.sides(these[0]).With
	}
	side := "" // " in B" is said once
	if f := these[0]; f.Name != "" {
		side = strings.TrimPrefix(t.sides(f).With, "With "+f.Name)
	}
	var names []string
	for _, f := range these {
		if !strings.HasSuffix(t.sides(f).With, side) {
			side = ""
		}
	}
	for _, f := range these[:min(len(these), mostNamed)] {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(t.sides(f).With, "With "), side))
	}
	return "With " + more(names, len(these)) + side
}

// level is the baseline's figure; 0 if it is not known.
func (t teller) level(f Finding) float64 {
	workload := cmp.Or(f.BaselineWorkload, f.Workload)
	for _, b := range t.a.Arms {
		of := b.Arm == f.Baseline && b.Workload == workload && b.Quantity == f.Quantity
		if of && (b.Side == "" || len(t.a.Sources) == 0 || b.Side == t.a.Sources[0].Side) {
			return math.Abs(b.Median)
		}
	}
	return 0
}

// text is a finding alone, in words.
func (t teller) text(f Finding) string {
	var parts []part
	after := ""
	switch f.certainty() {
	case sure:
		parts = t.differs(f, true)
		switch f.Better {
		case "arm":
			after = ": better"
		case "baseline":
			after = ": worse"
		}
		if f.But != "" {
			after += ", but " + f.But
		}
		if f.About == string(stats.TheseRuns) {
			after += ", in these two runs"
		}
	case none:
		parts = t.same([]Finding{f}, true)
	case unsure:
		parts = t.tooFew([]Finding{f})
	case refused:
		parts = t.refused([]Finding{f})
	}
	text := sentence(parts, unlimited) + after
	if f.Unproved != "" {
		text += "; " + f.Unproved
	}
	return text
}

// tooFew says that there is no answer yet, or what was seen without knowing how sure it is.
func (t teller) tooFew(these []Finding) []part {
	f := these[0]
	if f.Trials != nil && f.Difference != nil {
		verb, direction := t.words(f).verb(*f.Difference > 0)
		r := roundingOf(f.Quantity, *f.Difference, f.Interval)
		return []part{always(t.sides(f).With + ", " + t.where(f)),
			always(" " + verb + " " + r.size(*f.Difference) + " " + direction),
			{text: t.than(f), drop: dropBaseline}, {text: t.relative(f), drop: dropRelative},
			always("; how sure that is, is unknown")}
	}
	unit := "blocks"
	switch f.Verdict {
	case figures.FewDeployments:
		unit = "deployments"
	case figures.FewTrials:
		unit = "trials"
	case figures.FewRuns:
		unit = "runs"
	}
	return []part{always("No answer yet: too few " + unit + " to tell whether " + t.where(f) + " differs "),
		always(uncapital(t.names(these))), {text: " " + t.against(f), drop: dropBaseline}}
}

// refused says that arms do not measure the same thing as the baseline.
func (t teller) refused(these []Finding) []part {
	first := these[0]
	return []part{always("No answer: "), {text: t.where(first) + " ", drop: dropRate},
		always(uncapital(t.names(these)) + " cannot be compared"), {text: " " + t.sides(first).Than, drop: dropBaseline},
		{text: prose.InBrackets(shared(these)), drop: dropRelative}}
}

// shared is the common reason of these findings; empty if they have several.
func shared(these []Finding) string {
	for _, f := range these {
		if f.Reason != these[0].Reason {
			return ""
		}
	}
	return these[0].Reason
}
