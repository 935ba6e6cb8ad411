package figures

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// The verdicts of a comparison. They are about the value of the metric, not about which side is better.
const (
	Higher       = "higher"
	Lower        = "lower"
	NoDifference = "no-difference"
	// FewBlocks, FewTrials and FewRuns: too few for any difference to be found. SingleTrial: each side has one trial,
	// so there is no interval.
	FewBlocks = "too-few-blocks"
	FewTrials = "too-few-trials"
	FewRuns   = "too-few-runs"
	// FewDeployments: fewer than two deployments have enough blocks, so that their scatter is unknown.
	FewDeployments = "too-few-deployments"
	SingleTrial    = "single-trial"
	// NotComparable: the comparison is refused, for the reason given.
	NotComparable = "not-comparable"
)

// Comparison is an arm against the baseline, paired within blocks unless Trials is set.
type Comparison struct {
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"`
	Workload string `json:"workload"`
	Quantity
	// Otherwise lists what the arm has otherwise than the baseline: "router", "2 vtep", "congestion=bbr".
	Otherwise []string `json:"otherwise,omitempty"`
	// Same says that the two have the same hosts, and nothing otherwise in this workload: the arm sets something in
	// another one.
	Same             bool     `json:"same,omitempty"`
	Difference       *float64 `json:"difference"`
	Interval         Interval `json:"interval"`
	Confidence       float64  `json:"confidence"`
	Relative         *float64 `json:"relative"`
	RelativeInterval Interval `json:"relative_interval"`
	// Unbounded says on which side both intervals have no bound ("above", "below" or "both"), because trials are
	// Missing.
	Unbounded string `json:"unbounded,omitempty"`
	// Widened says that the intervals were extended to 0 because the correction for the whole table does not exclude
	// 0.
	Widened bool `json:"widened"`
	// PValue is corrected for the number of comparisons in the family (Holm).
	PValue  *float64 `json:"p_value"`
	Verdict string   `json:"verdict"`
	// Better is "arm" or "baseline" if they differ and the metric has a better side.
	Better string `json:"better,omitempty"`
	// But says in words what the arm does worse elsewhere, if it is better here.
	But string `json:"but,omitempty"`
	// Over says which protocols are compared, if the answer has figures over several: "TCP", "UDP against TCP".
	Over string `json:"over,omitempty"`
	// Detectable is the smallest true difference that this comparison finds four times in five.
	Detectable *float64 `json:"detectable"`
	// Blocks is the number of pairs; BlocksNeeded is how many more would resolve the observed difference.
	Blocks       int  `json:"blocks"`
	BlocksNeeded *int `json:"blocks_needed"`
	// Trials counts the trials of the arm and of the baseline if they are not paired. Blocks is then 0, and
	// BlocksNeeded is how many more trials each side needs.
	Trials *[2]int `json:"trials,omitempty"`
	// About says what the comparison applies to. If the two sides are different runs: "these-runs" for the two
	// measured runs only, "runs" if the intervals include the scatter between runs. BlocksNeeded then counts runs on
	// each side. If they are arms of one run: "configuration" if the intervals include the scatter between
	// deployments, "this-deployment" for hosts that were chosen or allocated once, "these-labs" for labs that were made
	// once and may differ by no more than equal labs do. Empty for other labs that were made once.
	About string `json:"about,omitempty"`
	// Runs counts the runs of the arm and of the baseline if About is "runs". ScatterRuns is the number of other runs
	// in the history from which the scatter between runs was estimated, if each side is one run.
	Runs        *[2]int `json:"runs,omitempty"`
	ScatterRuns int     `json:"scatter_runs,omitempty"`
	// BaselineWorkload is the workload of the baseline if two workloads are compared; Workload is then the arm's.
	BaselineWorkload string `json:"baseline_workload,omitempty"`
	// Missing is how many good trials of the arm and of the baseline lack the quantity. They count as worse than all
	// others.
	Missing *[2]int `json:"missing,omitempty"`
	// Failed is how many first attempts of the arm and of the baseline failed. They count as worse than all others,
	// also if good ones replaced them.
	Failed *[2]int `json:"failed,omitempty"`
	// Family is the number of comparisons that PValue is corrected for: all of this workload and quantity.
	Family int `json:"family,omitempty"`
	// Unproved says which of the two arms is not proved to be what it claims in the compared trials; empty if both are.
	Unproved string `json:"unproved,omitempty"`
	// OneBlock is set if one block decides the verdict.
	OneBlock *OneBlock `json:"one_block_decides,omitempty"`
	// Resolve says how many blocks find the difference that the user asked about.
	Resolve *Resolution `json:"resolve,omitempty"`
	// Reason says why the two are not comparable, why there is no interval, or why the size of a sure difference is not
	// known: Difference is then null.
	Reason string `json:"reason,omitempty"`
	// Dependence describes the dependence between neighbouring blocks; nil without blocks, or with too few to tell.
	Dependence *Dependence `json:"dependence,omitempty"`
	// Deployments is set if the hosts were made several times. Difference is then the mean of the deployments'
	// differences, and Interval is Student's with the deployment as the unit.
	Deployments *Deployments `json:"deployments,omitempty"`
}

// OneBlock says that a single block decides the verdict: without one block that agrees there would be no difference.
// BlocksMore is how many further blocks would have prevented that, if they had agreed with the majority.
type OneBlock struct {
	BlocksMore int `json:"blocks_more"`
}

// CompareArms compares every arm with the baseline in every quantity.
func CompareArms(in Run, tables []Cells) []Comparison {
	all := []Comparison{}
	differences := map[string]map[string]difference{}
	for _, c := range tables {
		if c.ReportOnly {
			continue
		}
		if _, known := differences[c.Workload]; !known {
			differences[c.Workload] = otherwise(in.Experiment, c.Workload)
		}
		all = append(all, family(in, c, differences[c.Workload])...)
	}
	return all
}

// family compares every arm with the baseline in one quantity of one workload. That is one question, so the p-values
// are corrected for all of its arms, but not for other workloads and quantities. differ says what each
// arm has otherwise; nil leaves it out.
func family(in Run, c Cells, differ map[string]difference) []Comparison {
	e := in.Experiment
	all := []Comparison{}
	var pairs []stats.Pair
	var recorded []stats.Runs
	var several []stats.Deployed
	var numbers [][]int
	var lacks [][2]Lack
	var of []int // the index in all of each entry of pairs, recorded or several
	for _, arm := range e.Arms {
		if arm.Name == e.Baseline {
			continue
		}
		entry := Comparison{
			Arm: arm.Name, Baseline: e.Baseline, Workload: c.Workload, Quantity: c.Quantity,
			Confidence: stats.Confidence, Verdict: NotComparable,
			Otherwise: differ[arm.Name].layers, Same: differ[arm.Name].none,
		}
		both := [2]Lack{c.lack(arm.Name), c.lack(e.Baseline)}
		lacks = append(lacks, both)
		refused := false
		entry.Lacks(both[0], both[1])
		if reason := c.incomparable(arm.Name, e.Baseline,
			e.SetOtherwise(arm.Name, e.Baseline, c.Workload)); reason != "" {
			refused, entry.Reason = true, reason
		}
		switch {
		case refused:
		case e.Unpaired():
			ofArm, ofBaseline := c.Ranking.Both(c.Tried(arm.Name), c.Tried(e.Baseline))
			recorded = append(recorded,
				RecordedRuns(stats.Samples{Arm: stats.Numbers(ofArm), Baseline: stats.Numbers(ofBaseline)}))
			of = append(of, len(all))
		case Deployed(e):
			d, their := ByDeployment(c.Ranking, c.Tried(arm.Name), c.Tried(e.Baseline))
			several, numbers = append(several, d), append(numbers, their)
			of = append(of, len(all))
		default:
			entry.About = AboutOnce(e, arm.Name, e.Baseline)
			pairs = append(pairs, c.Ranking.InBlocks(c.Tried(arm.Name), c.Tried(e.Baseline)))
			of = append(of, len(all))
		}
		all = append(all, entry)
	}
	for i, s := range in.compareBlocks(pairs) {
		FillPaired(&all[of[i]], s)
		all[of[i]].ofTheseLabs(e)
		all[of[i]].Resolve = in.Resolve.resolution(all[of[i]].Quantity, Level(pairs[i].Baseline), s.Noise, s.Blocks,
			s.Blocks)
	}
	for i, s := range stats.CompareRuns(recorded) {
		FillRecorded(&all[of[i]], s)
	}
	for i, s := range stats.CompareDeployments(several) {
		FillDeployments(&all[of[i]], s, numbers[i])
		all[of[i]].plans(in, s, Level(c.Ranked(e.Baseline)))
	}
	for i := range all {
		all[i].Family = len(of)
		all[i].LostMedian(lacks[i][0], lacks[i][1])
	}
	return all
}

// FillPaired copies the result of a paired comparison.
func FillPaired(c *Comparison, s stats.Comparison) {
	c.fill(s.Outcome)
	c.Blocks = s.Blocks
	c.BlocksNeeded = within(s.BlocksNeeded, s.Blocks)
	if s.Serial.PValue.Known {
		c.Dependence = &Dependence{PValue: s.Serial.PValue.Value, Correlation: s.Serial.Correlation,
			Counted: s.Serial.Counted}
	}
	switch s.Reason {
	case stats.ReasonNoPairs:
		c.Reason = "no block has a good trial on both sides"
	case stats.ReasonTooFewBlocks:
		c.Reason = fmt.Sprintf("%d blocks are too few for a table of this size: it takes %d more",
			s.Blocks, s.BlocksNeeded)
	}
	if s.OneBlock.Decides {
		c.OneBlock = &OneBlock{BlocksMore: s.OneBlock.More}
	}
}

// fill copies what comparisons of every kind say.
func (c *Comparison) fill(o stats.Outcome) {
	c.Difference, c.Interval = PointerOf(o.Difference), IntervalOf(o.Interval)
	c.Relative, c.RelativeInterval = PointerOf(o.Relative), IntervalOf(o.RelativeInterval)
	c.Unbounded, c.Widened = c.Interval.Unbounded(), o.Widened
	c.PValue, c.Detectable = PointerOf(o.PValue), PointerOf(o.Detectable)
	c.Verdict, c.Reason = string(o.Verdict), o.Reason
	c.Better = BetterSide(c.Quantity, c.Verdict)
}

// mostMore is how many times as much as was measured a number of further blocks, trials, runs or deployments may be. A
// difference that takes more to find is far inside of the noise: what was seen of it is chance, and no size to plan
// for.
const mostMore = 10

// within gives how much more must be measured; nil if that is unknown (negative), or too much to mean anything.
func within(more, measured int) *int {
	if more < 0 || more > mostMore*max(measured, stats.MinBlocks(1, stats.Alpha)) {
		return nil
	}
	return &more
}

// BetterSide is "arm" or "baseline" if the two differ and the metric has a better side.
func BetterSide(q Quantity, verdict string) string {
	better := q.Direction()
	switch {
	case verdict == Higher && better == result.HigherIsBetter, verdict == Lower && better == result.LowerIsBetter:
		return "arm"
	case verdict == Higher && better == result.LowerIsBetter, verdict == Lower && better == result.HigherIsBetter:
		return "baseline"
	}
	return ""
}

// incomparable says why two arms do not measure the same thing, or "". If all trials of an arm lack the quantity, all
// of its good trials are checked.
func (c Cells) incomparable(arm, baseline string, set []string) string {
	a, b := c.ByArm[arm], c.ByArm[baseline]
	if len(a) == 0 && c.lack(arm).Missing > 0 {
		a = c.Good[arm]
	}
	if len(b) == 0 && c.lack(baseline).Missing > 0 {
		b = c.Good[baseline]
	}
	for _, side := range []struct {
		name string
		with []result.Trial
	}{{arm, a}, {baseline, b}} {
		if len(side.with) == 0 && len(c.Good[side.name]) > 0 {
			return fmt.Sprintf("the trials of %s have no %s", side.name, c.Quantity.Name())
		}
	}
	return incomparable(a, b, set)
}

// noGoodTrials is the reason for refusing a comparison without a good trial of an arm.
const noGoodTrials = "no good trials on one side"

// incomparable says why the trials of two arms do not measure the same thing, or "". set lists the keys in which the
// arms differ on purpose: properties that follow from them may differ.
func incomparable(arm, baseline []result.Trial, set []string) string {
	if len(arm) == 0 || len(baseline) == 0 {
		return noGoodTrials
	}
	for _, property := range Properties() {
		a, b := Distinct(arm, property.Of), Distinct(baseline, property.Of)
		intended := property.FollowsFrom(set) && len(a) == 1 && len(b) == 1
		if !intended && (!slices.Equal(a, b) || len(a) > 1) {
			return fmt.Sprintf("%s: %s against %s", property.Name, strings.Join(a, ", "), strings.Join(b, ", "))
		}
	}
	return ""
}

// Property is a property that trials must share for their numbers to be comparable.
type Property struct {
	Name string
	Of   func(result.Trial) string
	// keys are the keys of a workload that determine the property.
	keys []string
}

// FollowsFrom says whether one of the keys of a workload determines the property.
func (p Property) FollowsFrom(keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool { return slices.Contains(p.keys, key) })
}

// Properties lists the properties.
func Properties() []Property {
	return []Property{
		{Name: "definition", Of: DefinitionOf},
		{Name: "protocol", Of: func(t result.Trial) string { return t.Protocol }, keys: []string{"protocol"}},
		{Name: "tool", Of: func(t result.Trial) string { return t.Tool.Name }},
		{Name: "mode", Of: func(t result.Trial) string { return t.Mode }},
		{Name: "message size", Of: func(t result.Trial) string {
			if t.MessageBytes == nil {
				return "unknown"
			}
			return strconv.Itoa(*t.MessageBytes) + " B"
		}, keys: []string{"request", "response", "message", "protocol"}}, // over TCP some tools do not say
		{Name: "setting", Of: func(t result.Trial) string { return t.Facts[result.FactSetting] }},
		{Name: "offered load", Of: func(t result.Trial) string { return t.Facts["schedule"] },
			keys: []string{"rate", "arrivals"}},
	}
}

// DefinitionOf is the definition of a trial's numbers. For a stream it is a rate: the kernel's smoothed round-trip
// time, which some tools also print for TCP, is not compared.
func DefinitionOf(t result.Trial) string {
	if t.Mode == experiment.Stream {
		return result.DefinitionRate
	}
	return t.Definition
}

// Distinct lists the distinct values of a property of trials, sorted.
func Distinct(trials []result.Trial, of func(result.Trial) string) []string {
	seen := map[string]bool{}
	last := ""
	for i := range trials {
		if v := of(trials[i]); i == 0 || v != last {
			seen[v], last = true, v
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// WithInterval writes a difference and its interval in one unit: "+1.66 us [+1.47, +2.13]".
func WithInterval(c Comparison) string {
	s := result.ScaleOf(c.Unit, *c.Difference)
	text := s.With(s.Signed(*c.Difference))
	if c.Interval != nil {
		text += " " + c.Interval.Text(s.Signed)
	}
	return text
}

// fillUnpaired copies the result of an unpaired comparison. Pairing such trials by the order in which they were read
// would give an interval without meaning.
func fillUnpaired(c *Comparison, s stats.SampleComparison) {
	c.fill(s.Outcome)
	c.Trials = &[2]int{s.ArmTrials, s.BaselineTrials}
	c.BlocksNeeded = within(s.TrialsNeeded, min(s.ArmTrials, s.BaselineTrials))
	switch {
	case s.Reason == stats.ReasonTooFewTrials && s.ArmTrials == 1 && s.BaselineTrials == 1:
		c.Reason = "one trial a side: no interval can be given"
	case s.Reason == stats.ReasonTooFewTrials:
		c.Reason = fmt.Sprintf("too few trials (%d against %d): it takes %d more on each side", s.ArmTrials,
			s.BaselineTrials, s.TrialsNeeded)
	case s.Reason == stats.ReasonNoTrials:
		c.Reason = noGoodTrials
	}
}
