// Package meaning relates what an application takes to what a round trip takes: how many round trips the difference of
// an application between arms is worth, and what is left. It knows no verdicts, and puts nothing into words but
// reasons.
package meaning

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"nearfar/internal/base/stats"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// Meaning relates a workload of an application to one that measures round trips, over all arms. Times are in seconds.
type Meaning struct {
	// Workload is the application's, and Quantity its first figure. RoundTrip and RoundTripStat say which figure of which
	// workload the round trip is.
	Workload string `json:"workload"`
	figures.Quantity
	RoundTrip     string `json:"round_trip"`
	RoundTripStat string `json:"round_trip_stat"`
	// Slope is how much longer the application takes for each second that a round trip takes longer. Its interval has the
	// noise of both workloads, and of three arms or more also what these differ from one line. Null if nothing can be
	// said; Reason then says why.
	Slope *Estimate `json:"slope"`
	// Noise is the interval of Slope by the noise of both workloads alone.
	Noise figures.Interval `json:"slope_noise,omitempty"`
	// Between has the numbers of round trips that explain Slope: Noise, wider by Tolerance at both ends. Tolerance is
	// the part of a difference by which a round trip of the application may differ from one that was measured beside
	// it, for what their hosts do (see tolerance).
	Between   figures.Interval `json:"trips_between"`
	Tolerance float64          `json:"tolerance"`
	// Trips is the whole number in Between that is nearest to Slope, from 1; null if there is none, and if there are
	// several because Noise is wide (see tooWide). Others says that it is not the only one. Near says that it is not in
	// Noise.
	Trips  *int `json:"trips"`
	Others bool `json:"others,omitempty"`
	Near   bool `json:"near,omitempty"`
	// Intercept is what the application would take over a path without round-trip time: what no path saves.
	Intercept *Estimate `json:"intercept"`
	// Blocks is how many blocks were used, or deployments if the hosts were made several times (PerDeployment). Counted
	// is their effective number, if neighbours depend on each other.
	Blocks        int  `json:"blocks"`
	Counted       int  `json:"counted"`
	PerDeployment bool `json:"per_deployment,omitempty"`
	// Arms are those that differ from the baseline in the round trip or may, in the order of the file.
	Arms []Arm `json:"arms"`
	// OffLine says how far each arm lies from the line through the others, the baseline too, if there are three or more.
	OffLine []OffLine `json:"off_line,omitempty"`
	// Left are the arms that are left out, with the reason.
	Left []Left `json:"left,omitempty"`
	// Reason says why nothing is said.
	Reason string `json:"reason,omitempty"`
	// Text says it in words.
	Text string `json:"text"`
}

// Estimate is a figure with its interval of 95 % confidence, by itself.
type Estimate struct {
	Value    float64          `json:"value"`
	Interval figures.Interval `json:"interval"`
}

// Arm is what an arm differs by from the baseline, in both.
type Arm struct {
	Arm string `json:"arm"`
	// Application and RoundTrip are the differences from the baseline, as the comparisons of the answer have them.
	Application Estimate `json:"application"`
	RoundTrip   Estimate `json:"round_trip"`
	// Differs says that the round trip surely differs, ApplicationDiffers that the application's time does.
	Differs            bool `json:"differs"`
	ApplicationDiffers bool `json:"application_differs"`
	// Worth is Meaning.Slope by this arm and the baseline alone; null if its interval would have no bound.
	Worth *Estimate `json:"worth"`
	// Remains is Application less Meaning.Trips times RoundTrip, paired within blocks; null without Trips.
	Remains *Estimate `json:"remains"`
	// Unproved says which of the two arms is not proved to be what it claims.
	Unproved string `json:"unproved,omitempty"`
}

// OffLine is how far above the line through the other arms an arm lies. The intervals of all arms hold together.
type OffLine struct {
	Arm string `json:"arm"`
	Estimate
	// Surely says that it is further off than Meaning.Tolerance allows.
	Surely bool `json:"surely"`
}

// Left is an arm that is left out.
type Left struct {
	Arm    string `json:"arm"`
	Reason string `json:"reason"`
}

// Of relates each workload of an application to the round trips of the run, if it has both. Comparisons are those of
// the answer.
func Of(run figures.Run, tables []figures.Cells, comparisons []figures.Comparison) []Meaning {
	e := run.Experiment
	if e.Unpaired() || e.SelfComparison != nil || len(e.Arms) < 2 {
		return nil
	}
	trip, ok := roundTrips(tables)
	if !ok {
		return nil
	}
	var all []Meaning
	for _, c := range tables {
		if isApplication(c) {
			all = append(all, relation{run, comparisons, c, trip}.meaning())
		}
	}
	return all
}

// isApplication says that cells are of the first figure of an application, and that this is a time.
func isApplication(c figures.Cells) bool {
	return c.Primary && c.Quantity.Unit == result.Seconds && c.Quantity.Direction() == result.LowerIsBetter &&
		every(c, func(t result.Trial) bool { return experiment.OfApplication(t.Mode) })
}

// roundTrips are the cells of the workload whose round trips are meant: of nearfar's own engine if it is there, and
// else of the first other tool. New connections are no round trips.
func roundTrips(tables []figures.Cells) (figures.Cells, bool) {
	var found []figures.Cells
	for _, c := range tables {
		if c.Primary && c.Quantity.Metric == result.RTT && c.Quantity.Scope == "" && every(c, func(t result.Trial) bool {
			return t.Definition == result.DefinitionRTT && t.Mode != experiment.CRR
		}) {
			found = append(found, c)
		}
	}
	own := slices.IndexFunc(found, func(c figures.Cells) bool {
		return every(c, func(t result.Trial) bool { return t.Tool.Name == ownEngine })
	})
	switch {
	case len(found) == 0:
		return figures.Cells{}, false
	case own >= 0:
		return found[own], true
	}
	return found[0], true
}

// ownEngine is the tool of nearfar's own engine.
const ownEngine = "native"

// every says that there are trials, and that all are so.
func every(c figures.Cells, is func(result.Trial) bool) bool {
	for _, trials := range c.ByArm {
		if slices.ContainsFunc(trials, func(t result.Trial) bool { return !is(t) }) {
			return false
		}
	}
	return len(c.ByArm) > 0
}

// relation is an application and the round trips that it is related to.
type relation struct {
	run         figures.Run
	comparisons []figures.Comparison
	app, trip   figures.Cells
}

func (r relation) meaning() Meaning {
	e := r.run.Experiment
	m := Meaning{
		Workload: r.app.Workload, Quantity: r.app.Quantity, RoundTrip: r.trip.Workload,
		RoundTripStat: r.trip.Quantity.Stat, PerDeployment: figures.Deployed(e), Arms: []Arm{},
	}
	points := r.points(e.Baseline)
	for _, arm := range e.Arms {
		if arm.Name == e.Baseline {
			continue
		}
		one, reason := r.arm(arm.Name)
		if reason != "" {
			m.Left = append(m.Left, Left{arm.Name, reason})
			continue
		}
		m.Arms = append(m.Arms, one)
		points = append(points, r.points(arm.Name)...)
	}
	if m.Reason = r.silent(m); m.Reason != "" {
		return m
	}
	s := stats.SlopeOf(points, r.run.AnyTime)
	m.Blocks, m.Counted = s.Blocks, s.Counted
	if !s.Slope.Known || !s.Interval.Known {
		m.Reason = r.tooFew(s.Blocks)
		return m
	}
	m.Slope, m.Intercept = estimateOf(s.Slope, s.Interval), estimateOf(s.Intercept, s.InterceptInterval)
	m.Noise = m.Slope.Interval
	if s.Across.Known {
		m.Slope.Interval = figures.IntervalOf(s.Across)
	}
	share, time := tolerance(points)
	m.explain(share)
	for i := range m.Arms {
		r.fill(&m.Arms[i], m.Trips)
	}
	for _, o := range s.Off {
		if off := estimateOf(o.By, o.Interval); off != nil {
			allowed := time * math.Abs(s.Slope.Value) * o.Gain
			surely := o.Interval.Known && (o.Interval.Low > allowed || o.Interval.High < -allowed)
			m.OffLine = append(m.OffLine, OffLine{o.Arm, *off, surely})
		}
	}
	return m
}

// arm takes the differences of an arm from the answer's comparisons, or says why the arm is left out.
func (r relation) arm(name string) (Arm, string) {
	e := r.run.Experiment
	for _, c := range []figures.Cells{r.app, r.trip} {
		if set := e.SetOtherwise(name, e.Baseline, c.Workload); len(set) > 0 {
			return Arm{}, fmt.Sprintf("it sets %s of %s, which can be another number of round trips", set[0], c.Workload)
		}
	}
	app, trip := r.comparison(r.app, name), r.comparison(r.trip, name)
	for _, c := range []*figures.Comparison{app, trip} {
		if c == nil || c.Difference == nil {
			return Arm{}, "a difference is not known"
		}
	}
	one := Arm{
		Arm: name, Application: Estimate{*app.Difference, app.Interval},
		RoundTrip: Estimate{*trip.Difference, trip.Interval}, Differs: differs(trip), ApplicationDiffers: differs(app),
		Unproved: cmp.Or(app.Unproved, trip.Unproved),
	}
	return one, ""
}

func differs(c *figures.Comparison) bool {
	return c.Verdict == figures.Higher || c.Verdict == figures.Lower
}

func (r relation) comparison(of figures.Cells, arm string) *figures.Comparison {
	for i := range r.comparisons {
		c := &r.comparisons[i]
		if c.Arm == arm && c.Workload == of.Workload && c.Quantity == of.Quantity && c.Verdict != figures.NotComparable {
			return c
		}
	}
	return nil
}

// silent says why nothing is said: no arm has surely another round trip.
func (r relation) silent(m Meaning) string {
	e := r.run.Experiment
	switch {
	case len(m.Arms) == 0 && len(m.Left) > 0:
		return fmt.Sprintf("%s is left out: %s", m.Left[0].Arm, m.Left[0].Reason)
	case !slices.ContainsFunc(m.Arms, func(a Arm) bool { return a.Differs }):
		return fmt.Sprintf("no arm's round trip in %s is surely another than with %s", r.trip.Workload, e.Baseline)
	}
	return ""
}

// tooFew says that there is no interval.
func (r relation) tooFew(units int) string {
	unit, needed := "blocks", stats.MinBlocks(1, stats.Alpha)
	if figures.Deployed(r.run.Experiment) {
		unit = "deployments"
	}
	if r.run.AnyTime {
		needed = stats.MinBlocksAnyTime(1, stats.Alpha)
	}
	if units >= needed {
		return "the round trips of the arms are too much alike in the " + unit + " that have both workloads"
	}
	return fmt.Sprintf("%d %s have both workloads: it takes %d", units, unit, needed)
}

// hostsGrow is the part of the smallest round trip of a run by which the hosts' part of round trips may grow unequally,
// and mostTolerance bounds that as a part of the difference. ADR 0161 has the measurements that they come from.
const (
	hostsGrow     = 0.5
	mostTolerance = 0.15
)

// tolerance is how much a round trip of an application may differ from one that was measured beside it, over the arms:
// as a part of the largest difference of round trips between arms, and in seconds.
//
// A round trip is the time on the path and that of its hosts, and a difference of arms is meant to be of the path. But
// a host that waits longer answers later: its CPU is further asleep, and its caches have more of others. How much
// later depends on the program, and on who answers, since the kernel answers a new connection by itself. So the hosts'
// part of the two workloads grows unequally with the wire: an uncertainty that no number of blocks makes smaller, and
// which is estimated by other means than statistics (type B of the Guide to the Expression of Uncertainty in
// Measurement, JCGM 100:2008, section 4.3). The hosts' part is at most the smallest round trip of the run, so a part of
// that is allowed: hosts that take long for a round trip have more that can change. Most of it is there once hosts
// wait long enough to sleep, so it does not grow with the wire any more, and is a small part of a large difference.
func tolerance(points []stats.Point) (share, seconds float64) {
	byArm := map[string][]float64{}
	for _, p := range points {
		byArm[p.Arm] = append(byArm[p.Arm], p.X)
	}
	smallest, largest := math.Inf(1), math.Inf(-1)
	for _, trips := range byArm {
		if m := stats.Summarize(trips).Median; m.Known {
			smallest, largest = math.Min(smallest, m.Value), math.Max(largest, m.Value)
		}
	}
	difference := largest - smallest
	if !(difference > 0) || math.IsInf(difference, 0) {
		return mostTolerance, 0
	}
	share = math.Min(mostTolerance, hostsGrow*math.Max(0, smallest)/difference)
	return share, share * difference
}

// tooWide is the part of a slope from which on half of its interval is too wide to choose one whole number of several.
// Where other programs take the CPUs of the hosts, a host that has waited waits for its CPU as well: that costs the
// application more the more it computes, and the interval is wide and lies too high.
const tooWide = 0.15

// explain says which numbers of round trips explain the slope, if each may be off by a part.
func (m *Meaning) explain(tolerance float64) {
	low, high := m.Noise[0], m.Noise[1]
	m.Tolerance = tolerance
	m.Between = &figures.Bounds{low - tolerance*math.Abs(low), high + tolerance*math.Abs(high)}
	first, last := m.Whole()
	wide := first < last && high-low > 2*tooWide*math.Abs(m.Slope.Value)
	if first > last || first > math.MaxInt32 || wide {
		return
	}
	nearest := math.Min(math.Max(math.Round(m.Slope.Value), first), math.Min(last, math.MaxInt32))
	m.Trips = new(int(nearest))
	m.Others = first < last
	m.Near = nearest < low || nearest > high
}

// Whole gives the first and the last whole number from 1 that explain the slope. There is none if the first is larger.
func (m Meaning) Whole() (first, last float64) { return wholeIn(m.Between) }

// MayBeWhole says that a whole number of round trips is not excluded, be it by Between or by the interval of Slope.
func (m Meaning) MayBeWhole() bool {
	for _, i := range []figures.Interval{m.Between, m.Slope.Interval} {
		if first, last := wholeIn(i); first <= last {
			return true
		}
	}
	return false
}

// wholeIn gives the first and the last whole number from 1 in an interval.
func wholeIn(i figures.Interval) (first, last float64) {
	return math.Max(1, math.Ceil(i[0])), math.Floor(i[1])
}

// fill adds how many round trips an arm is worth by itself, and what a whole number of them leaves.
func (r relation) fill(a *Arm, trips *int) {
	baseline := r.run.Experiment.Baseline
	alone := stats.SlopeOf(append(r.points(baseline), r.points(a.Arm)...), r.run.AnyTime)
	if a.Differs && alone.Slope.Known && alone.Interval.Known {
		a.Worth = estimateOf(alone.Slope, alone.Interval)
	}
	if trips != nil {
		less := func(arm string) (values []stats.Value) {
			for _, p := range r.points(arm) {
				values = append(values, stats.Value{Block: p.Block, Value: p.Y - float64(*trips)*p.X})
			}
			return values
		}
		a.Remains = differenceOf(stats.Pair{Arm: less(a.Arm), Baseline: less(baseline)}, stats.Alpha, r.run.AnyTime)
	}
}

// differenceOf is the median of paired differences with the interval of a level; nil without a median.
func differenceOf(p stats.Pair, level float64, anyTime bool) *Estimate {
	change, _ := stats.EstimatePaired(p, 1)
	if !change.Value.Known {
		return nil
	}
	interval, _ := stats.IntervalsAt(p, level, anyTime)
	return &Estimate{change.Value.Value, figures.IntervalOf(interval)}
}

func estimateOf(q stats.Quantity, i stats.Interval) *Estimate {
	if !q.Known {
		return nil
	}
	return &Estimate{q.Value, figures.IntervalOf(i)}
}

// points are the values of an arm in both workloads, for each block that has both; for each deployment if the hosts
// were made several times, since the deployment is the unit then.
func (r relation) points(arm string) []stats.Point {
	x := map[int]float64{}
	for _, v := range r.values(r.trip, arm) {
		x[v.Block] = v.Value
	}
	var points []stats.Point
	for _, v := range r.values(r.app, arm) {
		if at, ok := x[v.Block]; ok {
			points = append(points, stats.Point{Arm: arm, Block: v.Block, X: at, Y: v.Value})
		}
	}
	return points
}

// values are the good values of an arm by blocks, or their medians by deployments.
func (r relation) values(c figures.Cells, arm string) []stats.Value {
	if !figures.Deployed(r.run.Experiment) {
		return c.Values(arm)
	}
	of := map[int][]stats.Value{}
	var numbers []int
	for _, t := range c.ByArm[arm] {
		n := t.DeploymentNumber()
		if of[n] == nil {
			numbers = append(numbers, n)
		}
		of[n] = append(of[n], stats.Value{Block: t.Block, Value: c.Value(t)})
	}
	slices.Sort(numbers)
	var medians []stats.Value
	for _, n := range numbers {
		values := stats.PerBlock(of[n])
		if m := stats.Summarize(stats.Numbers(values)).Median; m.Known && len(values) >= stats.FewestDeployedBlocks {
			medians = append(medians, stats.Value{Block: n, Value: m.Value})
		}
	}
	return medians
}
