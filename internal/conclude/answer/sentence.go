package answer

import (
	"fmt"
	"slices"
	"strings"

	"nearfar/internal/base/prose"
	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/conclude/answer/figures"
)

// mostSaid is how many findings a part of the answer tells, mostNamed how many names a list has. The others are
// counted.
const (
	mostSaid  = 3
	mostNamed = 4
)

// Statement is an answer in words.
type Statement struct {
	// Headline answers the question in at most MostWords words, with one figure and one interval.
	Headline string
	// Basis says what that rests on: blocks, confidence, machines. Also is what else was found.
	Basis, Also string
}

// String is the whole text.
func (t Statement) String() string {
	return strings.Join(slices.DeleteFunc([]string{t.Headline, t.Basis, t.Also}, func(s string) bool {
		return s == ""
	}), " ")
}

// Tell puts the findings of an answer into words. sides names the two sides of a finding; nil for the arms of one run.
func Tell(a Answer, sides func(Finding) Sides) Statement {
	if sides == nil {
		sides = sidesOf
	}
	t := telling{teller: teller{a: a, sides: sides}, said: make([]bool, len(a.Findings))}
	if len(a.Findings) == 0 {
		return Statement{}
	}
	lead := t.lead()
	headline := t.headline(lead)
	return Statement{headline, t.basis(a.Findings[lead], headline), t.also(lead)}
}

// telling remembers which findings were said.
type telling struct {
	teller
	said []bool
}

// lead is the index of the finding that the answer begins with. Surely more failures come first. Else it is a finding
// of the workload whose question was asked first, or of all, about the arm that the question is about, if there is one:
// the first difference that may be claimed, or the first.
func (t *telling) lead() int {
	all := t.a.Findings
	if i := slices.IndexFunc(all, func(f Finding) bool { return f.Kind == OfFailures && f.Claimable() }); i >= 0 {
		return i
	}
	asked, about := t.asked(), slices.ContainsFunc(all, t.a.askedAbout)
	first := -1
	for i, f := range all {
		if asked != "" && f.Workload != asked || f.Kind == OfFailures || about && !t.a.askedAbout(f) {
			continue
		}
		if f.Claimable() {
			return i
		}
		if first < 0 {
			first = i
		}
	}
	return max(first, 0)
}

// Lead is the index of the finding that the headline of a run or of a comparison tells; -1 if no headline tells a
// finding, because there is none, trials fail too often, or the answer is about the noise of the hosts.
func Lead(a Answer) int {
	told := a.NoiseFloor == nil || len(a.NoiseFloor.Figures) == 0
	if len(a.Findings) == 0 || len(a.Arms) == 0 || !told || a.Headline == "" || a.Headline == a.Failing {
		return -1
	}
	return (&telling{teller: teller{a: a, sides: sidesOf}}).lead()
}

// askedAbout says that a finding is about the arm that the question is about.
func (a Answer) askedAbout(f Finding) bool {
	return a.AskedAbout != "" && f.Kind == OfArm && f.Name == a.AskedAbout
}

// asked is the first workload with a question of its own and a finding; empty if there is none.
func (t *telling) asked() string {
	for _, m := range t.a.Workloads {
		if m.Question != "" && slices.ContainsFunc(t.a.Findings, func(f Finding) bool {
			return f.Workload == m.Workload && f.Kind != OfFailures
		}) {
			return m.Workload
		}
	}
	return ""
}

// headline is the first line.
func (t *telling) headline(lead int) string {
	f := t.a.Findings[lead]
	t.said[lead] = true
	var parts []part
	switch f.certainty() {
	case sure:
		parts = t.differs(f, true)
		if !f.Claimable() && t.a.askedAbout(f) {
			parts[0].text = judgedAlone + uncapital(parts[0].text)
		}
		if text, short := t.setback(f); text != "" {
			parts = append(parts, part{text: ", but " + text, drop: dropSetback, short: ", but " + short})
		}
	case none:
		parts = t.same(t.all(lead), true)
	case unsure:
		parts = t.tooFew(t.single(lead))
	case refused:
		parts = t.refused(t.all(lead))
	}
	if c := f.certainty(); (c == sure || c == none) && t.measured(f.Workload).Waited >= busy {
		parts[0].text = "On a busy machine, " + uncapital(parts[0].text)
	}
	if f.inItsTableAlone() && !t.a.askedAbout(f) {
		parts[0].text = "Not sure among " + prose.Plural(len(t.a.Findings), "figure") + ": " + uncapital(parts[0].text)
	}
	return sentence(append(f.qualified(parts), always(".")), MostWords)
}

// busy is the share of their runnable time that trials wait for CPUs of other programs from which the first line says
// so. From contendedRate on, its basis does.
const busy = 0.2

// qualified opens a sentence with a figure that is doubtful, or of an arm that is not proved to be what it claims.
func (f Finding) qualified(parts []part) []part {
	if f.certainty() == refused || f.certainty() == unsure {
		return parts
	}
	if f.Doubtful {
		parts[0].text = "Doubtful: " + uncapital(parts[0].text)
	}
	if f.Unproved != "" {
		parts[0].text = "Not proved: " + uncapital(parts[0].text)
	}
	return parts
}

// notClaimable says that differences were found in single tables, and that none is sure over all of them.
func (t *telling) notClaimable(f Finding) string {
	differ := 0
	for _, other := range t.a.Findings {
		if other.Differs() {
			differ++
		}
	}
	of := ""
	if t.asked() != "" {
		of = " in " + t.where(f)
	}
	return fmt.Sprintf("No difference%s is sure over all %s that %s compared; %d %s if judged alone.",
		of, prose.Plural(len(t.a.Findings), "figure"), verb(len(t.a.Findings), "was", "were"), differ,
		verb(differ, "differs", "differ"))
}

// all lists the findings of the same quantity, kind and certainty as one, and marks them as said.
func (t *telling) all(i int) (these []Finding) {
	first := t.a.Findings[i]
	for k, f := range t.a.Findings {
		alike := f.place() == first.place() && f.certainty() == first.certainty() &&
			(f.Unproved == "") == (first.Unproved == "") && (f.certainty() != refused || f.Reason == first.Reason)
		if alike && (k == i || !t.said[k] && !f.tautology()) {
			these = append(these, f)
			t.said[k] = true
		}
	}
	return these
}

// tautology says that a finding tells nothing: no difference between two that have nothing otherwise.
func (f Finding) tautology() bool { return f.Same && f.certainty() == none }

// single is all, but for a difference that is told without knowing how sure it is: only that one.
func (t *telling) single(i int) []Finding {
	if f := t.a.Findings[i]; f.Trials != nil && f.Difference != nil {
		t.said[i] = true
		return []Finding{f}
	}
	return t.all(i)
}

// uncapital begins the rest of a sentence.
func uncapital(s string) string {
	for _, word := range []string{"With ", "Each ", "In ", "For ", "On ", "Doubtful: ", "Not ", "Judged "} {
		if strings.HasPrefix(s, word) {
			return strings.ToLower(s[:1]) + s[1:]
		}
	}
	return s
}

// also tells what else was found: the other arms in the same quantity, then other quantities, then setbacks of other
// arms, and how many findings are left.
func (t *telling) also(lead int) string {
	all := t.a.Findings
	var sentences []string
	say := func(parts []part) { sentences = append(sentences, sentence(append(parts, always(".")), unlimited)) }
	if brief := t.brief(lead, Finding.Claimable); brief != "" {
		sentences = append(sentences, brief)
	}
	if brief := t.brief(lead, Finding.inItsTableAlone); brief != "" {
		sentences = append(sentences, judgedAlone+uncapital(brief))
	}
	for i, f := range all {
		if !t.said[i] && f.place() == all[lead].place() && !f.tautology() {
			t.rest(i, say)
		}
	}
	others, nothing := 0, false
	for i, f := range all {
		if t.said[i] || others == mostSaid || f.tautology() {
			continue
		}
		asked := t.measured(f.Workload).Question != ""
		if f.inItsTableAlone() && !asked {
			continue // counted: the verdict tells what holds over all tables
		}
		seen := f.certainty() == none && !nothing // one place is named, the others are counted
		if t.first(i) && (f.Differs() || f.certainty() == refused || seen || asked) {
			nothing = nothing || seen
			before := len(sentences)
			t.rest(i, say)
			others += len(sentences) - before
		}
	}
	sentences = append(sentences, t.mixed(lead)...)
	if left := t.left(); left != "" {
		sentences = append(sentences, left)
	}
	return strings.Join(sentences, " ")
}

// first says that no finding of the same kind and quantity was said, or comes before.
func (t *telling) first(i int) bool {
	return slices.IndexFunc(t.a.Findings, func(f Finding) bool {
		return f.place() == t.a.Findings[i].place() && !f.tautology()
	}) == i
}

// rest says one finding, and those that are alike, if it is not a difference.
func (t *telling) rest(i int, say func([]part)) {
	f := t.a.Findings[i]
	tell := say
	say = func(parts []part) { tell(f.qualified(parts)) }
	switch f.certainty() {
	case sure:
		parts := t.differs(f, false)
		if !f.Claimable() {
			parts[0].text = judgedAlone + uncapital(parts[0].text)
		}
		t.said[i] = true
		say(parts)
	case none:
		say(t.same(t.all(i), false))
	case unsure:
		say(t.tooFew(t.single(i)))
	case refused:
		say([]part{always("Not comparable: " + t.where(f) + " " + uncapital(t.names(t.all(i)))),
			always(prose.InBrackets(f.Reason))})
	}
}

// judgedAlone opens what is sure in its own table, and not over all figures of the answer.
const judgedAlone = "Judged alone, "

// inItsTableAlone says that a difference is sure in its own table, and not over all tables of the answer.
func (f Finding) inItsTableAlone() bool { return f.certainty() == sure && !f.Claimable() }

// brief lists the other sure differences of the lead's quantity that are told, without repeating its name: "With b:
// 12 us (3 to 20 us) longer."
func (t *telling) brief(lead int, wanted func(Finding) bool) string {
	all := t.a.Findings
	var each []string
	for i, f := range all {
		if t.said[i] || len(each) == mostSaid || f.place() != all[lead].place() || !wanted(f) || f.Difference == nil ||
			f.Unproved != "" || f.Doubtful {
			continue
		}
		t.said[i] = true
		r := roundingOf(f.Quantity, *f.Difference, f.Interval)
		amount := r.size(*f.Difference)
		_, direction := t.words(f).verb(*f.Difference > 0)
		amount += t.interval(f, r)
		text := t.sides(f).With + ": " + amount + " " + direction + t.relative(f)
		if f.Kind == OfLayer {
			text = oneOf(f.Name) + " adds " + amount
			if *f.Difference < 0 {
				text = oneOf(f.Name) + " takes off " + amount
			}
		}
		if len(each) > 0 {
			text = uncapital(text)
		}
		each = append(each, text)
	}
	if len(each) == 0 {
		return ""
	}
	return strings.Join(each, "; ") + "."
}

// left counts the findings that were not said.
func (t *telling) left() string {
	left, differ, alone, nothing := 0, 0, 0, 0
	for i, f := range t.a.Findings {
		if t.said[i] {
			continue
		}
		left++
		switch {
		case f.inItsTableAlone():
			alone++
		case f.certainty() == sure:
			differ++
		case f.certainty() == none:
			nothing++
		}
	}
	more := prose.Plural(left, "more comparison") + " below"
	ifAlone := verb(alone, "differs", "differ") + " if judged alone"
	var parts []string
	if differ > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", differ, verb(differ, "differs", "differ")))
	}
	if alone > 0 {
		parts = append(parts, fmt.Sprintf("%d %s", alone, ifAlone))
	}
	switch {
	case left == 0:
		return ""
	case nothing == left:
		return more + " without a difference."
	case len(parts) == 0:
		return more + "."
	case differ == left:
		return prose.Plural(left, "more difference") + " below."
	case alone == left:
		return more + " " + ifAlone + "."
	}
	return more + ": " + strings.Join(parts, ", ") + "."
}

// verb is the form for one, or for several.
func verb(n int, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// more lists names, and counts those beyond them.
func more(names []string, of int) string {
	n := of - len(names)
	if n > 0 {
		return strings.Join(names, ", ") + fmt.Sprintf(" and %d more", n)
	}
	if len(names) < 2 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

// basis says what the first line rests on.
func (t *telling) basis(f Finding, headline string) string {
	var sentences []string
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			sentences = append(sentences, text)
		}
	}
	if m := t.measured(f.Workload); m.Question != "" && m.Question != t.a.Question {
		add("Asked: " + strings.Join(strings.Fields(m.Question), " "))
	}
	if f.inItsTableAlone() && !t.a.askedAbout(f) {
		add(t.notClaimable(f))
	}
	add(t.together(f))
	if n := len(f.Otherwise); kinds(f.Otherwise) > 1 && f.certainty() != refused {
		add(fmt.Sprintf("%s differs from %s in several things together: %s.", f.Name, f.Baseline,
			more(f.Otherwise[:min(n, mostNamed)], n)))
	}
	add(t.counted(f, headline))
	if f.certainty() == none {
		add("A smaller difference can exist.")
	}
	if f.Reason != "" && !strings.Contains(headline, f.Reason) {
		add(capital(strings.TrimSuffix(f.Reason, ".")) + ".")
	}
	if f.About == string(stats.TheseRuns) {
		add("It holds for these two runs: how much others would differ is unknown.")
	}
	if arm, baseline, across := strings.Cut(f.Over, acrossProtocols); across {
		add("It compares " + arm + " with " + baseline + ".")
	}
	add(t.about())
	if f.Caution != "" {
		add("Careful: " + f.Caution + ".")
	}
	if m := t.measured(f.Workload); m.Waited >= environment.ContendedRate && f.certainty() != refused {
		add(fmt.Sprintf("Careful: the trials waited up to %s of their runnable time for CPUs that other programs used; "+
			"on an idle machine the figure can be another.", percent(m.Waited, nil)))
	}
	if f.Unproved != "" || t.a.Unproved != "" {
		add(t.a.Unproved)
	}
	return strings.Join(sentences, " ")
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// kinds counts kinds of layers: firewall and firewall(rules=5000) are one.
func kinds(layers []string) int {
	seen := map[string]bool{}
	for _, layer := range layers {
		kind, _, _ := strings.Cut(layer, "(")
		seen[strings.TrimPrefix(kind, "no ")] = true
	}
	return len(seen)
}

// together says what several of a layer add in the arm that has the most of it: "vxlan has 2 of them: 7.8 us together."
func (t *telling) together(f Finding) string {
	if f.Kind != OfLayer {
		return ""
	}
	var most figures.Contribution
	for _, l := range t.a.Layers {
		if l.Layer != f.Name || l.Workload != f.Workload || l.Quantity != f.Quantity {
			continue
		}
		for _, added := range l.Adds {
			if added.Count > max(1, most.Count) {
				most = added
			}
		}
	}
	if most.Count <= 1 {
		return ""
	}
	r := roundingOf(f.Quantity, *f.Difference, f.Interval)
	return fmt.Sprintf("%s has %g of them: %s together.", most.Arm, most.Count, r.size(most.Count**f.Difference))
}

// counted says how many blocks, trials, runs or deployments a finding rests on, and how sure it is.
func (t *telling) counted(f Finding, headline string) string {
	against := ""
	if !strings.Contains(headline, t.sides(f).Than) && !strings.Contains(headline, t.against(f)) ||
		f.Kind == OfLayer {
		against = ", " + t.against(f)
	}
	count := t.count(f)
	if count == "" || f.certainty() == refused || f.certainty() == unsure && f.Reason != "" {
		return ""
	}
	if n, blocks := strings.CutSuffix(count, " blocks"); blocks && t.a.Blocks > 0 && t.a.State != "complete" {
		count = fmt.Sprintf("%s of %d blocks", n, t.a.Blocks)
	}
	opening := "From "
	switch t.a.State {
	case "interrupted":
		opening = "The run was interrupted: from "
	case "running":
		opening = "The run goes on: from "
	}
	confidence := ""
	if f.Interval != nil && !f.inItsTableAlone() && !f.Doubtful {
		confidence = fmt.Sprintf("; the interval holds with %.0f %% confidence", 100*stats.Confidence)
		if chosen := f.chosen().Interval; chosen != nil && *chosen != *f.Interval {
			confidence += fmt.Sprintf(", and is wider than the table's because the figure was chosen from %d",
				len(t.a.Findings))
		}
	}
	return opening + count + against + confidence + "."
}

// count is what a finding was computed from: "12 blocks".
func (t *telling) count(f Finding) string {
	if f.Kind == OfLayer {
		arms, blocks := map[string]bool{f.Baseline: true}, 0
		for _, c := range t.a.Comparisons {
			if c.Workload == f.Workload && c.Quantity == f.Quantity {
				arms[c.Arm] = true
				blocks = max(blocks, c.Blocks)
			}
		}
		if blocks == 0 {
			return ""
		}
		return fmt.Sprintf("%s of %d arms", prose.Plural(blocks, "block"), len(arms))
	}
	c, ok := t.comparison(f)
	switch {
	case !ok:
		return ""
	case c.Deployments != nil:
		return prose.Plural(c.Deployments.Used, "deployment")
	case c.Runs != nil:
		return fmt.Sprintf("%s against %d", prose.Plural(c.Runs[0], "run"), c.Runs[1])
	case c.Trials != nil:
		return fmt.Sprintf("%s against %d", prose.Plural(c.Trials[0], "trial"), c.Trials[1])
	case c.Blocks > 0:
		return prose.Plural(c.Blocks, "block")
	}
	return ""
}

// comparison is where a finding about an arm comes from.
func (t *telling) comparison(f Finding) (figures.Comparison, bool) {
	i := slices.IndexFunc(t.a.Comparisons, func(c figures.Comparison) bool {
		return c.Arm == f.Name && c.Baseline == f.Baseline && c.Workload == f.Workload &&
			c.BaselineWorkload == f.BaselineWorkload && c.Quantity == f.Quantity
	})
	if i < 0 {
		return figures.Comparison{}, false
	}
	return t.a.Comparisons[i], true
}

// about says what the answer holds for.
func (t *telling) about() string {
	if text := AboutText(t.a.Comparisons); text != "" {
		return text
	}
	switch {
	case t.a.Imported:
		return "The results were recorded elsewhere: other differences between the arms are unknown."
	case t.a.Environment != nil && t.a.Environment.Kernel != "":
		return TextThisLab
	}
	return ""
}

// TextThisLab says what the answer of a lab holds for.
const TextThisLab = "This is about this lab on one machine, not about other networks."
