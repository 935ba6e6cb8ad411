package answer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nearfar/internal/result"
)

// mostSaid is how many findings a sentence contains, mostNamed how many names a clause lists. The others are counted.
const (
	mostSaid  = 3
	mostNamed = 4
)

// Wording gives the names in a sentence.
type Wording struct {
	// Against opens a clause about arms: "Against l2".
	Against string
	// Name names the arm of a finding.
	Name func(Finding) string
}

// Sentence describes the first three findings, contradictions between findings, and the number of others.
func Sentence(all []Finding, w Wording) string {
	lead, all := failuresLead(all, w)
	if len(all) == 0 {
		return strings.TrimSpace(lead)
	}
	t := telling{w: w, all: all}
	for i := 0; i < len(all) && len(t.said) < mostSaid; i++ {
		if slices.Contains(t.done, i) {
			continue
		}
		switch all[i].certainty() {
		case sure:
			t.say(i, t.name(all[i])+" "+all[i].amount(), ", ")
		case unsure:
			if all[i].place() == all[0].place() {
				t.unsure(i)
			}
		case none:
			t.once(i, t.noneSeen)
		case refused:
			t.once(i, func(these []int) string {
				return "not comparable: " + t.names(these) + reasons(t.shared(these))
			})
		}
	}
	t.gather()
	text := lead + t.clauses() + t.rest() + "."
	if mixed := contradictions(all, t.name); mixed != "" {
		text += " " + mixed
	}
	return text
}

// telling builds a sentence.
type telling struct {
	w    Wording
	all  []Finding
	said []saying
	// done are the indexes of the findings that the sentence contains.
	done []int
}

// saying is the text for one finding, or for several at once.
type saying struct {
	place place
	text  string
	// link joins the text to the one before, if both have the same place.
	link string
}

func (t *telling) name(f Finding) string {
	if f.Kind == OfArm && t.w.Name != nil {
		return t.w.Name(f)
	}
	return f.Name
}

func (t *telling) say(i int, text, link string) {
	t.said = append(t.said, saying{t.all[i].place(), text, link})
	t.done = append(t.done, i)
}

// alike lists the findings of the same place and certainty from i on.
func (t *telling) alike(i int) []int {
	var these []int
	for k := i; k < len(t.all); k++ {
		if t.all[k].place() == t.all[i].place() && t.all[k].certainty() == t.all[i].certainty() {
			these = append(these, k)
		}
	}
	return these
}

// once combines similar findings. A sentence does so for one place only; others are counted.
func (t *telling) once(i int, text func([]int) string) {
	for _, k := range t.done {
		if t.all[k].certainty() == t.all[i].certainty() {
			return
		}
	}
	these := t.alike(i)
	t.say(i, text(these), "; ")
	t.done = append(t.done, these[1:]...)
}

// unsure describes a difference that may be chance. If the arms share blocks, they are only named: a few more blocks
// will tell.
func (t *telling) unsure(i int) {
	f := t.all[i]
	if f.Trials != nil {
		t.say(i, t.name(f)+" "+f.amount()+reasons(f.Reason), ", ")
		return
	}
	unit := "blocks"
	if f.Verdict == FewDeployments {
		unit = "deployments"
	}
	t.once(i, func(these []int) string { return "too few " + unit + " to tell for " + t.names(these) })
}

// noneSeen lists findings without a difference, and the smallest difference that would have been seen in all of them.
// For layers it gives the intervals as well.
func (t *telling) noneSeen(these []int) string {
	text := "no difference seen in "
	if t.all[these[0]].Kind == OfLayer {
		var each []string
		for _, i := range these[:min(len(these), mostNamed)] {
			each = append(each, t.all[i].Name+" ("+t.all[i].amount()+")")
		}
		text += more(each, len(these))
	} else {
		text += t.names(these)
	}
	smallest := 0.0
	for _, i := range these {
		if d := t.all[i].Detectable; d != nil {
			smallest = math.Max(smallest, *d)
		}
	}
	if smallest > 0 {
		text += wouldHaveBeen(smallest, t.all[these[0]].Unit)
	}
	return text
}

func wouldHaveBeen(detectable float64, unit string) string {
	return fmt.Sprintf(" (a difference of %s would have been seen four times in five)", result.Amount(detectable, unit))
}

// names lists the names of findings, and counts those beyond the limit.
func (t *telling) names(these []int) string {
	var names []string
	for _, i := range these[:min(len(these), mostNamed)] {
		names = append(names, t.name(t.all[i]))
	}
	return more(names, len(these))
}

func more(names []string, of int) string {
	text := list(names)
	if n := of - len(names); n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// shared is the common reason of these findings; empty if they have several.
func (t *telling) shared(these []int) string {
	reason := t.all[these[0]].Reason
	for _, i := range these {
		if t.all[i].Reason != reason {
			return ""
		}
	}
	return reason
}

// gather moves texts of one place together, after the first of them.
func (t *telling) gather() {
	first := map[place]int{}
	for i, s := range t.said {
		if _, known := first[s.place]; !known {
			first[s.place] = i
		}
	}
	slices.SortStableFunc(t.said, func(a, b saying) int { return first[a.place] - first[b.place] })
}

// clauses joins the texts. The name of a place is written once.
func (t *telling) clauses() string {
	var b strings.Builder
	for i, s := range t.said {
		if i > 0 && s.place == t.said[i-1].place {
			b.WriteString(s.link + s.text)
			continue
		}
		opening := ""
		if i == 0 || s.place.kind != t.said[i-1].place.kind {
			opening = t.w.Against
			if s.place.kind == OfLayer {
				opening = "Per layer"
			}
			opening += ", "
		}
		if i > 0 {
			b.WriteString("; ")
			opening = uncapital(opening)
		}
		b.WriteString(opening + "in " + s.place.workload + " " + s.place.quantity.Name() + ": " + s.text)
	}
	return b.String()
}

// uncapital writes the fixed words that open a clause in lower case; names stay unchanged.
func uncapital(s string) string {
	for _, word := range []string{"Against ", "Per "} {
		if strings.HasPrefix(s, word) {
			return strings.ToLower(s[:1]) + s[1:]
		}
	}
	return s
}

// rest counts the findings that the sentence does not contain.
func (t *telling) rest() string {
	left, differ, nothing := 0, 0, 0
	for i, f := range t.all {
		if slices.Contains(t.done, i) {
			continue
		}
		left++
		switch f.certainty() {
		case sure:
			differ++
		case none:
			nothing++
		}
	}
	switch {
	case left == 0:
		return ""
	case differ == left && left == 1:
		return "; 1 more difference below"
	case differ == left:
		return fmt.Sprintf("; %d more differences below", left)
	case differ == 1:
		return fmt.Sprintf("; %d more below, of which 1 differs", left)
	case differ > 0:
		return fmt.Sprintf("; %d more below, of which %d differ", left, differ)
	case nothing == left:
		return fmt.Sprintf("; %d more below without a difference", left)
	}
	return fmt.Sprintf("; %d more below", left)
}

// contradictions names arms and layers that are better in one place and worse in another, with the strongest finding
// of each kind.
func contradictions(all []Finding, name func(Finding) string) string {
	type subject struct{ kind, name, baseline string }
	type sides struct{ better, worse *Finding }
	by := map[subject]*sides{}
	var order []subject
	for i, f := range all {
		if !f.Differs() || f.Better == "" {
			continue
		}
		s := subject{f.Kind, f.Name, f.Baseline}
		if by[s] == nil {
			by[s] = &sides{}
			order = append(order, s)
		}
		side := &by[s].worse
		if f.Better == "arm" {
			side = &by[s].better
		}
		if *side == nil {
			*side = &all[i]
		}
	}
	var each []string
	for _, s := range order {
		if b, w := by[s].better, by[s].worse; b != nil && w != nil {
			text := fmt.Sprintf("%s worse, %s better", w.Where(), b.Where())
			if b.Rank < w.Rank {
				text = fmt.Sprintf("%s better, %s worse", b.Where(), w.Where())
			}
			each = append(each, name(*b)+": "+text)
		}
	}
	if len(each) == 0 {
		return ""
	}
	text := "Mixed results: " + strings.Join(each[:min(len(each), mostSaid)], "; ")
	if n := len(each) - mostSaid; n > 0 {
		text += fmt.Sprintf("; and %d more", n)
	}
	return text + "."
}
