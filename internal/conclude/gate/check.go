package gate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/conclude/contrast"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Verdict is the result of a check, or of all checks.
type Verdict string

// The verdicts.
const (
	// Pass: the whole interval is on the good side of the bound.
	Pass Verdict = "pass"
	// Fail: the whole interval is beyond the bound.
	Fail Verdict = "fail"
	// Inconclusive: the interval contains the bound, or there are too few trials for an interval.
	Inconclusive Verdict = "inconclusive"
	// Error: the rule's arm, workload or figure does not exist or cannot be compared.
	Error Verdict = "error"
)

// Check is a rule applied to one arm and workload.
type Check struct {
	Rule     string `json:"rule"`
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"`
	Workload string `json:"workload"`
	figures.Quantity
	// Kind says what Bound, Estimate and Interval are: a relative change, a change in the unit, or the value of the
	// new side.
	Kind     Kind             `json:"kind"`
	Above    bool             `json:"fails_above"`
	Bound    float64          `json:"bound"`
	Estimate *float64         `json:"estimate"`
	Interval figures.Interval `json:"interval"`
	// Unbounded says on which side the interval has no bound ("above", "below" or "both"), because trials are
	// Missing: how many good trials of the base and of the new side lack the figure. They count as worse than all
	// others.
	Unbounded string  `json:"unbounded,omitempty"`
	Missing   *[2]int `json:"missing,omitempty"`
	// Confidence is the confidence of the interval: higher with more checks, so that all intervals together have
	// 0.95.
	Confidence float64 `json:"confidence"`
	// Base and New are the medians of both sides.
	Base    *float64 `json:"base"`
	New     *float64 `json:"new"`
	Verdict Verdict  `json:"verdict"`
	// Reason says why a check is inconclusive, or an error.
	Reason string `json:"reason,omitempty"`
	// Paired says that the trials share blocks. Trials is the number of trials of the side with fewer, or of blocks
	// with both sides.
	Paired bool `json:"paired"`
	Trials int  `json:"trials"`
	// BlocksNeeded is how many more blocks, trials on each side, or runs on each side would settle the check if the
	// figure is as estimated.
	BlocksNeeded *int `json:"blocks_needed"`
	// Required says that the rule states what must hold; it fails if the opposite is certain.
	Required bool `json:"required,omitempty"`
	// About is as in figures.Comparison: "these-runs", "runs", "configuration", "this-deployment" or empty.
	About string `json:"about,omitempty"`
	// WouldFailFrom is the smallest change, or value of the new side, that would fail with the observed noise. Null
	// if none would.
	WouldFailFrom *float64 `json:"would_fail_from"`
	// Runs counts the runs of the new side and of the base, if a side has several. Trials then counts runs, too.
	Runs *[2]int `json:"runs,omitempty"`
	// Unproved says which of the arms is not proved to be what it claims; empty if both are.
	Unproved string `json:"unproved,omitempty"`
	// Default says that no rule asks for the check: the new side must not surely fail more often than the base.
	Default bool `json:"default,omitempty"`
	// Failed and Attempts count the failed first attempts of the base and of the new side and all of them, for checks
	// of failures. Base and New are then their shares.
	Failed   *[2]int `json:"failed,omitempty"`
	Attempts *[2]int `json:"attempts,omitempty"`
}

// Result is the result of the gate. Its JSON keys are stable.
type Result struct {
	Nearfar string  `json:"nearfar"`
	Verdict Verdict `json:"verdict"`
	// Headline is the first line of the verdict: the check that decides it.
	Headline string `json:"headline"`
	// Summary counts the checks by verdict.
	Summary string        `json:"summary"`
	Base    answer.Source `json:"base"`
	New     answer.Source `json:"new"`
	// Confidence is the confidence of all intervals together.
	Confidence float64          `json:"confidence"`
	Checks     []Check          `json:"checks"`
	Warnings   []answer.Warning `json:"warnings"`
	// InconclusiveFails says that inconclusive checks count as failed.
	InconclusiveFails bool `json:"inconclusive_fails"`
	// Alone says that one run was judged: Base is its baseline arm.
	Alone bool `json:"alone,omitempty"`
	// Unproved says in a sentence which arms of the checks are not proved to be what they claim; empty if all are. It
	// changes no verdict, but the gate's exit code is then 4 instead of 0, unless Unverified is set.
	Unproved string `json:"unproved,omitempty"`
	// Unverified says that Unproved was allowed (--allow-unverified).
	Unverified string `json:"unverified,omitempty"`
}

// Evaluate applies the rules. A rule gives a check for each arm and workload that it names. Each interval has the
// level 5 % / checks, so that all hold at once with 95 % (Bonferroni): neither a fail nor a pass is an accident of
// many checks.
//
// Two sides are also checked for failures where no rule is about them: see defaults.
func Evaluate(c *contrast.Contrast, rules []Rule, inconclusiveFails bool) Result {
	r := Result{
		Nearfar: "v1", Confidence: stats.Confidence, Checks: []Check{}, Warnings: []answer.Warning{},
		InconclusiveFails: inconclusiveFails,
	}
	r.Base, r.New = c.Sources()
	r.Alone = c.Alone()
	var todo []application
	for _, rule := range rules {
		todo = append(todo, apply(c, rule)...)
	}
	checks := 0
	for _, t := range todo {
		if t.wrong == "" {
			checks++
		}
	}
	for _, t := range todo {
		r.Checks = append(r.Checks, t.check(checks))
	}
	r.Checks = append(r.Checks, defaults(c, todo)...)
	r.Warnings = append(r.Warnings, c.Warnings()...)
	r.Warnings = append(r.Warnings, coarse(r.Checks)...)
	for _, t := range todo {
		if t.wrong != "" {
			continue
		}
		for _, w := range append(t.pair.MissingWarnings(t.rule.Quantity), c.Modes(t.pair, t.rule.Quantity)...) {
			if !slices.Contains(r.Warnings, w) {
				r.Warnings = append(r.Warnings, w)
			}
		}
	}
	r.Verdict, r.Summary = r.overall()
	r.Headline = r.headline(c)
	if r.Unproved = r.unproved(); r.Unproved != "" {
		r.Summary += " " + r.Unproved
	}
	return r
}

// unproved joins the unproved expectations of the checks' arms.
func (r *Result) unproved() string {
	var texts []string
	for _, c := range r.Checks {
		if c.Unproved != "" && !slices.Contains(texts, c.Unproved) {
			texts = append(texts, c.Unproved)
		}
	}
	return proof.Sentence(texts)
}

// AllowUnverified says in Unverified that arms that are not proved were allowed. It does nothing if all are proved.
func (r *Result) AllowUnverified() {
	if r.Unproved != "" {
		r.Unverified = "Unverified, as --allow-unverified permits: " + r.Unproved
	}
}

// Unverifiable says that the gate would pass, but that an arm is not proved to be what it claims.
func (r *Result) Unverifiable() bool {
	passes := r.Verdict == Pass || r.Verdict == Inconclusive && !r.InconclusiveFails
	return passes && r.Unproved != "" && r.Unverified == ""
}

// application is a rule and a pair to which it applies, or why there is none.
type application struct {
	rule  Rule
	pair  *contrast.Pair
	wrong string
}

// apply finds the pairs to which a rule applies.
func apply(c *contrast.Contrast, rule Rule) []application {
	var all []application
	named, wrong := named(c, rule)
	if wrong != "" {
		return []application{{rule: rule, wrong: wrong}}
	}
	for _, p := range named {
		a := application{rule: rule, pair: p}
		switch {
		case p.Missing == c.New.Name:
			a.wrong = fmt.Sprintf("%s has no such trials, and %s has", c.New.Name, c.Base.Name)
		case rule.Kind == Value:
			a.wrong = p.Lacks(rule.Quantity, true)
		case p.Missing != "" && (rule.Arm == Any || rule.Workload == Any) && len(named) > 1:
			continue // new, with nothing to compare it with; a warning says so
		case p.Missing != "" && c.Alone():
			a.wrong = "it is the baseline: there is nothing to compare it with. Write an absolute bound, or name " +
				"another run"
		case p.Missing != "":
			a.wrong = fmt.Sprintf("%s has no such trials to compare with", c.Base.Name)
		case p.Refused != "" && (!rule.failures() || !p.FailsComparably()):
			a.wrong = "not comparable: " + p.Refused
		default:
			a.wrong = p.Lacks(rule.Quantity, false)
		}
		all = append(all, a)
	}
	if len(all) == 0 {
		all = append(all, application{rule: rule, wrong: "no such arm and workload is on both sides"})
	}
	return all
}

// named finds the pairs that a rule names; wrong lists the existing names if there are none.
func named(c *contrast.Contrast, rule Rule) (found []*contrast.Pair, wrong string) {
	var arms, workloads []string
	for i := range c.Pairs {
		p := &c.Pairs[i]
		arms, workloads = add(arms, p.Arm(c)), add(workloads, p.Workload)
		if (rule.Arm == Any || rule.Arm == p.Arm(c)) && (rule.Workload == Any || rule.Workload == p.Workload) {
			found = append(found, p)
		}
	}
	switch {
	case rule.Arm != Any && !slices.Contains(arms, rule.Arm):
		return nil, fmt.Sprintf("no arm %s: %s", quote(rule.Arm),
			experiment.Suggest(rule.Arm, arms[:min(len(arms), maxSuggested)]))
	case rule.Workload != Any && !slices.Contains(workloads, rule.Workload):
		return nil, fmt.Sprintf("no workload %s: %s", quote(rule.Workload),
			experiment.Suggest(rule.Workload, workloads[:min(len(workloads), maxSuggested)]))
	case len(found) == 0:
		return nil, fmt.Sprintf("arm %s has no workload %s", quote(rule.Arm), quote(rule.Workload))
	}
	return found, ""
}

// maxSuggested bounds the number of names that are compared with a misspelt one.
const maxSuggested = 50

func add(names []string, name string) []string {
	if slices.Contains(names, name) {
		return names
	}
	return append(names, name)
}

// check evaluates one application; checks is the number of all checks.
func (a application) check(checks int) Check {
	c := Check{
		Rule: a.rule.Text, Arm: a.rule.Arm, Workload: a.rule.Workload, Quantity: a.rule.Quantity,
		Kind: a.rule.Kind, Above: a.rule.Above,
		Bound: a.rule.Bound, Confidence: 1 - stats.Level(checks), Verdict: Error, Reason: a.wrong,
	}
	if a.pair != nil {
		c.Arm, c.Baseline, c.Workload, c.Paired = cmp.Or(a.pair.NewArm, a.pair.BaseArm), a.pair.BaseArm,
			a.pair.Workload, a.pair.Paired
		base, other := a.pair.Medians(a.rule.Quantity)
		c.Base, c.New = figures.PointerOf(base), figures.PointerOf(other)
	}
	if a.wrong != "" {
		return c
	}
	c.Unproved = a.pair.Unproved(a.rule.Kind == Value)
	var e stats.Estimate
	var scope stats.Scope
	if a.rule.Kind == Value {
		e, scope = a.pair.Level(a.rule.Quantity, checks)
		c.Paired = false
	} else {
		var change, relative stats.Estimate
		change, relative, scope = a.pair.Change(a.rule.Quantity, checks)
		if e = change; a.rule.Kind == Relative {
			e = relative
		}
	}
	c.About, c.Required = string(scope), a.rule.Required
	c.Estimate, c.Interval, c.Trials = figures.PointerOf(e.Value), figures.IntervalOf(e.Interval), e.Trials
	if other, base := a.pair.Runs(); max(other, base) > 1 && (a.rule.Kind != Value || other > 1) {
		c.Runs = &[2]int{other, base}
	}
	c.Unbounded = c.Interval.Unbounded()
	if a.rule.failures() {
		base, other := a.pair.Attempts()
		c.Failed, c.Attempts = &[2]int{base.Failed, other.Failed}, &[2]int{base.Of, other.Of}
	}
	c.judge(e)
	a.missing(&c, e)
	c.wouldFail(e)
	return c
}

// missing records how many trials lack the figure. If there is no median because of that, the check is an error and
// never a pass: nothing shows how bad those trials were.
func (a application) missing(c *Check, e stats.Estimate) {
	base, other := a.pair.LackOf(a.rule.Quantity)
	if a.rule.Kind == Value {
		base = figures.Lack{}
	}
	if base.Missing+other.Missing > 0 {
		c.Missing = &[2]int{base.Missing, other.Missing}
	}
	if !e.Lost {
		return
	}
	c.Verdict, c.Reason = Error, fmt.Sprintf("%s is missing in %s", c.Name(), other)
	if base.Missing > 0 {
		c.Reason += fmt.Sprintf(" and in %s", base)
	}
	c.Reason += ": there is no median"
}

// judge sets the verdict.
func (c *Check) judge(e stats.Estimate) {
	// Values that print with the same digits count as equal: tools round, and 12 us - 11 us is slightly more than 1
	// us in floating point.
	tolerance := 1e-9 * math.Abs(c.Bound)
	switch {
	case !e.Value.Known && c.Kind == Relative:
		c.Verdict, c.Reason = Inconclusive, "there is no relative change against a base of 0"
		return
	case !e.Value.Known:
		c.Verdict, c.Reason = Error, "no block has a good trial on both sides"
		return
	case c.noFailure():
		c.Verdict = Pass
		return
	case e.Interval.Known && (c.Above && e.Interval.High <= c.Bound+tolerance ||
		!c.Above && e.Interval.Low >= c.Bound-tolerance):
		c.Verdict = Pass
		return
	case c.needsMargin():
		c.Verdict, c.Reason = Inconclusive, "one run a side, and a rule without a margin: the scatter between runs "+
			"is unknown, and any two "+
			"runs differ. Give several runs a side, or write a margin"
		return
	case e.Interval.Known && (c.Above && e.Interval.Low > c.Bound+tolerance ||
		!c.Above && e.Interval.High < c.Bound-tolerance):
		c.Verdict = Fail
		return
	}
	c.Verdict = Inconclusive
	c.Reason = "the interval contains the bound"
	if !e.Interval.Known {
		verb := "are"
		if e.Trials == 1 {
			verb = "is"
		}
		c.Reason = fmt.Sprintf("%d %s %s too few for an interval of this confidence", e.Trials,
			strings.Replace(c.unit(e.Trials), "each", "one", 1), verb)
	}
	if n := e.Needed(c.Bound); n >= 0 {
		c.BlocksNeeded = &n
		verb := "would settle it, if the figure is as estimated"
		if !e.Interval.Known {
			verb = "are the fewest that can settle it"
		}
		c.Reason += fmt.Sprintf("; %d more %s %s", n, c.unit(n), verb)
	}
}

// unit is the unit that is counted: blocks, trials or runs.
func (c *Check) unit(n int) string {
	unit, each := "trial", c.Kind != Value
	switch {
	case c.Runs != nil:
		unit = "run"
	case c.About == figures.AboutConfiguration:
		unit, each = "deployment", false
	case c.Paired:
		unit, each = "block", false
	}
	if n != 1 {
		unit += "s"
	}
	if each {
		unit += " on each side"
	}
	return unit
}

// Count is how many checks have the verdict.
func (r *Result) Count(v Verdict) int {
	n := 0
	for _, c := range r.Checks {
		if c.Verdict == v {
			n++
		}
	}
	return n
}

// overall is the verdict on all checks.
func (r *Result) overall() (Verdict, string) {
	counts := map[Verdict]int{}
	for _, v := range []Verdict{Pass, Fail, Inconclusive, Error} {
		counts[v] = r.Count(v)
	}
	of := func(v Verdict, text string) string {
		return fmt.Sprintf("%d of %d checks %s", counts[v], len(r.Checks), text)
	}
	var parts []string
	for _, v := range []struct {
		verdict Verdict
		text    string
	}{{Fail, "failed"}, {Error, "could not be carried out"}, {Inconclusive, "inconclusive"}, {Pass, "passed"}} {
		if counts[v.verdict] > 0 {
			parts = append(parts, of(v.verdict, v.text))
		}
	}
	summary := strings.Join(parts, ", ") + "."
	if slices.ContainsFunc(r.Checks, func(c Check) bool { return c.About == figures.AboutThisDeployment }) {
		summary += " " + answer.TextThisDeployment
	}
	switch {
	case counts[Fail] > 0:
		return Fail, summary
	case counts[Error] > 0:
		return Error, summary
	case counts[Inconclusive] > 0 && r.InconclusiveFails:
		return Inconclusive, summary + " Inconclusive checks count as failed."
	case counts[Inconclusive] > 0:
		return Inconclusive, summary + " Inconclusive checks do not fail the gate: they show neither a regression " +
			"nor its absence."
	}
	return Pass, summary
}

// scale is the scale of a check's figures.
func (c *Check) scale() result.Scale {
	switch {
	case c.Kind == Relative, c.Kind == Value && c.Failed != nil:
		return result.Scale{Factor: 0.01, Unit: "%"}
	case c.Failed != nil:
		return result.Scale{Factor: 0.01, Unit: "points"}
	}
	sizes := []float64{c.Bound}
	if c.Estimate != nil {
		sizes = append(sizes, *c.Estimate)
	}
	return result.ScaleOf(c.Unit, sizes...)
}
