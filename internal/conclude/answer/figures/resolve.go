package figures

import (
	"fmt"
	"strconv"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/proof"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Aim is a difference for which the user asks how many blocks find it.
type Aim struct {
	// Text is the difference as it was written.
	Text string
	// Value is in Unit, or a share of the baseline if Unit is result.One.
	Value float64
	Unit  string
}

// ParseAim reads a difference: 5%, 2us, 10Mbit/s or 100/s.
func ParseAim(text string) (*Aim, error) {
	text = strings.TrimSpace(text)
	aim := &Aim{Text: text}
	var err error
	switch {
	case strings.HasSuffix(text, "%"):
		aim.Unit = result.One
		aim.Value, err = strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(text, "%")), 64)
		aim.Value /= 100
	case strings.HasSuffix(text, "bit/s"):
		aim.Unit = result.BitsPerSecond
		aim.Value, err = experiment.ParseRate(text)
	case strings.HasSuffix(text, "/s"):
		aim.Unit = result.PerSecond
		aim.Value, err = experiment.ParsePerSecond(text)
	default:
		aim.Unit = result.Seconds
		d, parseErr := experiment.ParseDuration(text)
		aim.Value, err = d.Seconds(), parseErr
	}
	if err != nil || !(aim.Value > 0) || aim.Value > 1e18 {
		return nil, fmt.Errorf("%q is not a difference: write 5%%, 2us, 10Mbit/s or 100/s", text)
	}
	return aim, nil
}

// Resolution says how many blocks find a true difference with a probability of 80 %, if they scatter like those of
// the run.
type Resolution struct {
	// Difference is the requested difference, in the unit of the quantity.
	Difference float64 `json:"difference"`
	// Blocks is the total number of blocks needed, BlocksNeeded how many more than there are; null if the run does
	// not determine it.
	Blocks       *int `json:"blocks"`
	BlocksNeeded *int `json:"blocks_needed"`
}

// LeastScatter is the fewest pairs from which the scatter is taken: as many as an interval needs.
const LeastScatter = 6

// Difference is the aim in the unit of a quantity with this baseline level; false if the aim has another unit.
func (a *Aim) Difference(q Quantity, level float64) (float64, bool) {
	switch {
	case a == nil:
		return 0, false
	case a.Unit == result.One:
		d := a.Value * level
		return d, d > 0
	}
	return a.Value, a.Unit == q.Unit
}

// resolution computes the resolution from a scatter that was seen in this many pairs, for a run of this many blocks.
func (a *Aim) resolution(q Quantity, level float64, noise stats.Noise, pairs, blocks int) *Resolution {
	difference, ok := a.Difference(q, level)
	if !ok {
		return nil
	}
	r := &Resolution{Difference: difference}
	if pairs < LeastScatter {
		return r
	}
	if all := noise.Blocks(difference); all >= 0 {
		r.Blocks, r.BlocksNeeded = &all, new(max(all-blocks, 0))
	}
	return r
}

// Level is the median of a baseline's values.
func Level(baseline []stats.Value) float64 {
	return stats.Summarize(stats.Numbers(baseline)).Median.Value
}

// Forecast says what a planned run is expected to find in one comparison, from the scatter of an earlier run.
type Forecast struct {
	Arm, Workload string
	Quantity      Quantity
	// Level is the baseline's median in the earlier run, in the unit of the quantity.
	Level float64
	// Detectable is the smallest true difference that the plan finds with a probability of 80 %; nil if its blocks
	// are too few.
	Detectable *float64
	// Resolve is the resolution of the requested difference; nil if there is none, or if its unit is another.
	Resolve *Resolution
}

// Foresee says what a plan is expected to find, from the scatter of an earlier run of the same arms and workloads. It
// leaves out comparisons that the earlier run does not have.
func Foresee(earlier Run, plan *experiment.Experiment, aim *Aim) []Forecast {
	earlier, plan = earlier.unwatched(), plan.Unwatched()
	if earlier.Experiment.Unpaired() || Deployed(earlier.Experiment) || Deployed(plan) {
		return nil // the scatter of blocks does not say what deployments scatter by
	}
	var all []Forecast
	compared := proof.Compared(earlier.Experiment, earlier.Trials)
	for _, w := range plan.Workloads {
		for _, c := range workloadCells(earlier.Experiment, compared, w.Name) {
			if !c.ReportOnly {
				all = append(all, foresee(c, plan, aim)...)
			}
		}
	}
	return all
}

func foresee(c Cells, plan *experiment.Experiment, aim *Aim) []Forecast {
	var all []Forecast
	baseline := c.Values(plan.Baseline)
	for _, arm := range plan.Arms {
		if arm.Name == plan.Baseline {
			continue
		}
		seen := stats.Compare(c.Values(arm.Name), baseline)
		if seen.Blocks < LeastScatter || !seen.Noise.Known() {
			continue
		}
		blocks := plan.Schedule.Blocks
		noise := seen.Noise.In(blocks, len(plan.Arms)-1)
		all = append(all, Forecast{
			Arm: arm.Name, Workload: c.Workload, Quantity: c.Quantity, Level: Level(baseline),
			Detectable: PointerOf(noise.Detectable()),
			Resolve:    aim.resolution(c.Quantity, Level(baseline), noise, seen.Blocks, blocks),
		})
	}
	return all
}
