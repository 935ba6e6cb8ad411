package answer

import (
	"fmt"
	"math"
	"slices"
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Earlier is what an earlier comparison of an arm with itself says about a run on the same hosts.
type Earlier struct {
	// Run is the path of the earlier run, Started when it started, Arm the arm of both runs that has the hosts.
	Run     string    `json:"run"`
	Started time.Time `json:"started"`
	Arm     string    `json:"arm"`
	// Sound is false if the arm differed from itself.
	Sound   bool            `json:"sound"`
	Figures []EarlierFigure `json:"figures"`
}

// EarlierFigure is what the earlier run says about one quantity of one workload.
type EarlierFigure struct {
	Workload string `json:"workload"`
	figures.Quantity
	// Pairs is how many blocks the earlier run had, Level the median there, and Overall how its trials scattered over
	// the run (Floor.Overall), scaled to the later run's duration.
	Pairs   int      `json:"pairs"`
	Level   float64  `json:"level"`
	Overall *float64 `json:"sd_overall"`
	// DetectableAt is for the later run's blocks, duration and number of comparisons.
	DetectableAt
}

// EarlierFloor says what an earlier comparison with itself predicts for a plan on the same hosts. arm is the plan's arm
// that has them. It leaves out workloads that the earlier run does not have, or that differ in more than their
// duration. It returns nil if no workload remains, or if the plan has another kind of design: several deployments, or
// another number of trials of the baseline in a block.
func EarlierFloor(in Input, run string, started time.Time, plan *experiment.Experiment, arm string) *Earlier {
	self := in.Experiment.SelfComparison
	if self == nil || figures.Deployed(plan) || plan.Unpaired() ||
		plan.Schedule.Repeats() != in.Experiment.Schedule.Repeats() {
		return nil
	}
	tables := figures.Tables(in.figured())
	earlier := &Earlier{
		Run: run, Started: started, Arm: arm, Sound: len(selfDiffers(figures.CompareArms(in.figured(), tables))) == 0,
	}
	for _, w := range plan.Workloads {
		w, _ = plan.WorkloadIn(arm, w.Name)
		for _, lengths := range self.Lengths {
			measured, _ := in.Experiment.Workload(lengths.Workload)
			if measured.SameButLength(w) {
				earlier.Figures = append(earlier.Figures, earlierFigures(in, tables, lengths, w, plan)...)
				break
			}
		}
	}
	if len(earlier.Figures) == 0 {
		return nil
	}
	return earlier
}

func earlierFigures(
	in Input, tables []figures.Cells, lengths experiment.Lengths, w experiment.Workload, plan *experiment.Experiment,
) []EarlierFigure {
	var all []EarlierFigure
	for _, f := range floorsOf(in, tables, lengths) {
		seconds := w.Duration.Seconds()
		if seconds < f.lengths[0] || seconds > f.lengths[len(f.lengths)-1] {
			continue // nothing says how trials of this duration scatter
		}
		factor := f.factor(seconds)
		f.noise, f.tests = f.noise.Times(factor), max(1, len(plan.Arms)-1)
		one := EarlierFigure{Workload: w.Name, Quantity: f.Quantity, Pairs: f.Pairs, Level: f.Level,
			DetectableAt: f.at(plan.Schedule.Blocks)}
		if f.Overall != nil {
			// The scatter of blocks stays, and the scatter within blocks depends on the duration.
			overall := *f.Overall
			if f.Within != nil {
				overall = math.Sqrt(math.Max(0, overall*overall+(factor*factor-1)**f.Within**f.Within))
			}
			one.Overall = &overall
		}
		all = append(all, one)
	}
	return all
}

// Lines says in sentences what the earlier run saw.
func (e *Earlier) Lines() []string {
	if e == nil {
		return nil
	}
	date := e.Started.UTC().Format(time.DateOnly)
	var lines []string
	if !e.Sound {
		lines = append(lines, fmt.Sprintf("a baseline of these hosts on %s (%s) saw a difference where there is none: "+
			"these hosts or this design are not sound", date, e.Run))
	}
	var parts []string
	blocks := 0
	for _, f := range e.Figures {
		if f.Difference == nil {
			continue
		}
		text := result.Amount(*f.Difference, f.Unit)
		if f.Relative != nil {
			text = result.Share(*f.Relative) + " (" + text + ")"
		}
		if f.Uncertain() {
			text = "about " + text
		}
		parts, blocks = append(parts, fmt.Sprintf("%s of %s %s", text, f.Workload, f.Name())), f.Blocks
	}
	if len(parts) > 0 {
		lines = append(lines, fmt.Sprintf("a baseline of these hosts on %s (%s) saw differences of %s at %d blocks, "+
			"four times in five", date, e.Run, more(parts[:min(len(parts), mostQuoted)], len(parts)), blocks))
	}
	return lines
}

// mostQuoted is how many figures of an earlier baseline are quoted. JSON has all.
const mostQuoted = 8

// The scatter of a run counts as unlike the earlier one from this factor on, if it is also beyond this many standard
// errors.
const (
	unlikeFactor = 2
	unlikeErrors = 3.5
)

// unlike warns of quantities whose trials scatter far more or far less than in the earlier run.
func unlike(in Input, tables []figures.Cells) []Warning {
	if in.Earlier == nil {
		return nil
	}
	var warnings []Warning
	for _, f := range in.Earlier.Figures {
		i := slices.IndexFunc(tables, func(c figures.Cells) bool {
			return c.Workload == f.Workload && c.Quantity == f.Quantity && !c.ReportOnly
		})
		if i < 0 || f.Overall == nil || *f.Overall <= 0 {
			continue
		}
		values := stats.Numbers(firsts(tables[i], in.Earlier.Arm))
		now := stats.NoiseOf(values).SD()
		if !now.Known || len(values) < figures.LeastScatter {
			continue
		}
		ratio := now.Value / *f.Overall
		if away := math.Abs(math.Log(ratio)); away < math.Log(unlikeFactor) ||
			away < unlikeErrors*stats.ErrorOfScatters(len(values), f.Pairs) {
			continue
		}
		text := times(ratio) + " times as much as"
		if ratio < 1 {
			text = times(1/ratio) + " times less than"
		}
		warnings = append(warnings, Warning{Code: "noise-unlike-baseline", Arm: in.Earlier.Arm, Workload: f.Workload,
			Message: fmt.Sprintf("in %s the trials scatter %s in the baseline of %s (%s against %s): what it said "+
				"about these hosts does not hold for this run", f.Name(), text,
				in.Earlier.Started.UTC().Format(time.DateOnly), result.Amount(now.Value, f.Unit),
				result.Amount(*f.Overall, f.Unit))})
	}
	return warnings
}

// times writes a factor.
func times(factor float64) string {
	if factor >= 10 {
		return result.Decimal(factor, 0)
	}
	return result.Decimal(factor, 1)
}
