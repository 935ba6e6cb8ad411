package figures

import (
	"fmt"
	"math"
	"slices"
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// The values of Comparison.About for arms of one run.
const (
	// AboutConfiguration: any deployment of the two configurations. The intervals include the scatter between
	// deployments.
	AboutConfiguration = "configuration"
	// AboutThisDeployment: only the hosts that were measured. They were chosen or allocated once, so nothing says how
	// much others would differ.
	AboutThisDeployment = "this-deployment"
)

// Deployments are the differences of the deployments one by one, and how they scatter.
type Deployments struct {
	// Used is how many deployments count: those with enough blocks.
	Used int `json:"used"`
	// Each is in the order of the deployments' numbers.
	Each []DeploymentValue `json:"each"`
	// Within is the scatter of one block's difference within a deployment: a deployment's difference has a standard
	// deviation of Within / sqrt(blocks). Between is the standard deviation of the deployments' true differences.
	// Null if unknown.
	Within          *float64 `json:"sd_within"`
	Between         *float64 `json:"sd_between"`
	BetweenInterval Interval `json:"sd_between_interval"`
	// Share is the part of the variance of a deployment's difference that comes from the deployment, 0 to 1.
	Share *float64 `json:"between_share"`
	// Needed is how many more deployments would resolve the observed difference; null if unknown.
	Needed *int `json:"deployments_needed"`
	// Unseen is the probability that a kind of hosts that makes up 30 % of all was in none of the deployments.
	Unseen float64 `json:"unseen_probability"`
	// Plans are runs that would find the difference PlansFor four times in five: the one that the user asks about, or
	// the observed one if it is not resolved.
	PlansFor *float64         `json:"plans_for,omitempty"`
	Plans    []DeploymentPlan `json:"plans,omitempty"`
}

// DeploymentValue is the difference in one deployment.
type DeploymentValue struct {
	Deployment int `json:"deployment"`
	// Blocks is how many blocks have both sides. Used is false if they are too few.
	Blocks int  `json:"blocks"`
	Used   bool `json:"used"`
	// Difference is the median of the paired differences, Relative the same as a share of the baseline. Null if
	// unknown.
	Difference *float64 `json:"difference"`
	Relative   *float64 `json:"relative"`
}

// The kinds of a DeploymentPlan.
const (
	PlanDeployments = "more-deployments" // as many blocks in each
	PlanBlocks      = "more-blocks"      // as many deployments
	PlanCheapest    = "cheapest"         // the best number of blocks for what a deployment and a block cost
)

// DeploymentPlan is a run that would find a difference four times in five.
type DeploymentPlan struct {
	Kind        string `json:"kind"`
	Deployments int    `json:"deployments"`
	Blocks      int    `json:"blocks"`
	// Seconds is about how long it takes, as the deployments and blocks of this run did. Null if unknown.
	Seconds *float64 `json:"estimated_seconds"`
}

// Deployed says whether the hosts are made several times.
func Deployed(e *experiment.Experiment) bool { return e.Schedule.DeploymentCount() > 1 }

// AboutOnce says what a comparison of two arms applies to if hosts are made once. A lab is left out: the machine that
// holds it is the same whichever way it is made, and only small differences are of one lab (ofTheseLabs).
func AboutOnce(e *experiment.Experiment, arms ...string) string {
	for _, name := range arms {
		if a, ok := e.Arm(name); ok && (a.Client != "" || a.Server != "" || a.Kubernetes != nil) {
			return AboutThisDeployment
		}
	}
	return ""
}

// ByDeployment gives the values of an arm and its baseline for each deployment, and the numbers of the deployments.
func ByDeployment(r Ranking, arm, baseline Tried) (stats.Deployed, []int) {
	numbers := deploymentsOf(slices.Concat(arm.Attempts, baseline.Attempts))
	on := func(t Tried, n int) Tried { return Tried{onDeployment(t.Attempts, n), onDeployment(t.Good, n)} }
	var all stats.Deployed
	for _, n := range numbers {
		all = append(all, r.InBlocks(on(arm, n), on(baseline, n)))
	}
	return all, numbers
}

// deploymentsOf lists the numbers of the deployments that trials ran on, sorted.
func deploymentsOf(trials []result.Trial) []int {
	var numbers []int
	for _, t := range trials {
		numbers = append(numbers, t.DeploymentNumber())
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

func onDeployment(trials []result.Trial, number int) []result.Trial {
	var on []result.Trial
	for _, t := range trials {
		if t.DeploymentNumber() == number {
			on = append(on, t)
		}
	}
	return on
}

// FillDeployments copies the result of comparing two arms over several deployments with these numbers.
func FillDeployments(c *Comparison, s stats.DeploymentComparison, numbers []int) {
	FillPaired(c, s.Comparison)
	c.About, c.BlocksNeeded = AboutConfiguration, nil
	d := &Deployments{
		Used: s.Used, Each: []DeploymentValue{}, Within: PointerOf(s.Scatter.Within), Between: PointerOf(s.Scatter.Between),
		BetweenInterval: IntervalOf(s.Scatter.BetweenInterval), Share: PointerOf(s.Scatter.Share),
		Unseen: math.Pow(1-unseenShare, float64(s.Used)),
	}
	d.Needed = within(s.Needed, s.Used)
	for i, one := range s.Each {
		d.Each = append(d.Each, DeploymentValue{
			Deployment: numbers[i], Blocks: one.Blocks, Used: one.Used,
			Difference: PointerOf(one.Difference), Relative: PointerOf(one.Relative),
		})
	}
	c.Deployments = d
	switch s.Reason {
	case stats.ReasonTooFewDeployments:
		c.Reason = fmt.Sprintf("%d of the deployments have %d blocks with both arms: it takes 2", s.Used,
			stats.FewestDeployedBlocks)
	case stats.ReasonSameInAll:
		c.Reason = "all deployments gave exactly the same difference: the tool rounds more coarsely than they differ"
	}
}

// unseenShare is the share of a kind of hosts in Deployments.Unseen.
const unseenShare = 0.3

// plans sets the plans of a comparison. level is the median of the baseline.
func (c *Comparison) plans(in Run, s stats.DeploymentComparison, level float64) {
	difference, asked := in.Resolve.Difference(c.Quantity, level)
	if !asked {
		if c.Verdict != NoDifference || c.Difference == nil {
			return
		}
		difference = math.Abs(*c.Difference)
	}
	deployment, block := costsOf(in)
	add := func(kind string, p stats.DeploymentPlan, ok bool) {
		if !ok {
			return
		}
		plan := DeploymentPlan{Kind: kind, Deployments: p.Deployments, Blocks: p.Blocks}
		if block > 0 {
			plan.Seconds = new(float64(p.Deployments) * (deployment + float64(p.Blocks)*block))
		}
		c.Deployments.Plans = append(c.Deployments.Plans, plan)
	}
	more, ok := s.Scatter.MoreDeployments(difference, in.Experiment.Schedule.Blocks)
	if !asked { // the same estimate as in the plan
		c.Deployments.Needed = nil
		if ok {
			c.Deployments.Needed = within(max(1, more.Deployments-s.Used), s.Used)
		}
		if c.Deployments.Needed == nil {
			return // what was seen is far inside of the noise, and no difference to plan for
		}
	}
	add(PlanDeployments, more, ok)
	more, ok = s.Scatter.MoreBlocks(difference, s.Used)
	add(PlanBlocks, more, ok)
	more, ok = s.Scatter.Cheapest(difference, deployment, block)
	add(PlanCheapest, more, ok)
	if len(c.Deployments.Plans) > 0 {
		c.Deployments.PlansFor = &difference
	}
}

// costsOf estimates how long it takes to make the hosts once, and to run one block, in seconds, from when the trials
// started. Both are 0 if that is not known.
func costsOf(in Run) (deployment, block float64) {
	trials := slices.DeleteFunc(slices.Clone(in.Trials), func(t result.Trial) bool { return t.Started.IsZero() })
	slices.SortStableFunc(trials, func(a, b result.Trial) int { return a.Started.Compare(b.Started) })
	var spent time.Duration
	var gaps []float64
	steps := 0
	for i := 1; i < len(trials); i++ {
		took := trials[i].Started.Sub(trials[i-1].Started)
		if trials[i].DeploymentNumber() == trials[i-1].DeploymentNumber() {
			spent, steps = spent+took, steps+1
		} else {
			gaps = append(gaps, took.Seconds())
		}
	}
	if steps == 0 || len(gaps) == 0 {
		return 0, 0
	}
	trial := spent.Seconds() / float64(steps)
	each := float64(in.Experiment.Planned(in.Skipped)) / float64(in.Experiment.Schedule.AllBlocks())
	slices.Sort(gaps)
	// A gap between two deployments is measured from the start of the last trial before it, so the time of that trial
	// is subtracted. The gap is the lower median: one pause of an interrupted run does not change it.
	return math.Max(0, gaps[(len(gaps)-1)/2]-trial), trial * each
}

// PerDeployment gives the values of an arm's first attempts for each deployment.
func PerDeployment(r Ranking, trials []result.Trial) [][]float64 {
	var all [][]float64
	for _, n := range deploymentsOf(trials) {
		all = append(all, r.Numbers(onDeployment(trials, n)))
	}
	return all
}

// OverDeployments makes the figure of an arm one of deployments: its interval is about any deployment. trials are the
// arm's first attempts.
func OverDeployments(f *Figure, r Ranking, trials []result.Trial) {
	all := PerDeployment(r, trials)
	f.Interval, f.Unbounded = nil, ""
	if len(all) < 2 {
		return
	}
	if e, _ := stats.EstimateRunLevel(all, 1); e.Value.Known {
		f.Median, f.Interval = e.Value.Value, IntervalOf(e.Interval)
		f.Unbounded = f.Interval.Unbounded()
	}
}
