package answer

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"nearfar/internal/base/prose"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/conclude/answer/meaning"
	"nearfar/internal/declare/result"
)

// setMeaning relates the run's applications to its round trips, in figures and in words.
func (a *Answer) setMeaning(run figures.Run, tables []figures.Cells) {
	a.Meaning = meaning.Of(run, tables, a.Comparisons)
	t := teller{a: *a, sides: sidesOf}
	for i := range a.Meaning {
		a.Meaning[i].Text = t.meaning(a.Meaning[i])
	}
	if slices.ContainsFunc(a.Meaning, func(m meaning.Meaning) bool { return m.Slope != nil }) {
		a.Added = meaning.AddedBy(run, tables)
	}
}

// ratios writes ratios, which have no unit.
func ratios(e meaning.Estimate) rounding {
	return roundingOf(figures.Quantity{Unit: result.One}, e.Value, e.Interval)
}

// seconds writes times.
func seconds(e meaning.Estimate) rounding {
	return roundingOf(figures.Quantity{Unit: result.Seconds}, e.Value, e.Interval)
}

// within is an interval in brackets: " (47 to 49 us)".
func within(r rounding, i figures.Interval) string {
	if i == nil {
		return ""
	}
	return prose.InBrackets(r.between(i, false))
}

// meaning says how an application grows with the round trip, which whole number of round trips explains that, and what
// remains. A ratio that was measured is never told as a number of round trips: those are whole.
func (t teller) meaning(m meaning.Meaning) string {
	if m.Slope == nil {
		return fmt.Sprintf("Nothing is said of %s: %s.", m.Workload, strings.TrimSuffix(m.Reason, "."))
	}
	r := ratios(*m.Slope)
	sentences := []string{fmt.Sprintf("Where %s grows, %s grows %s%s times as much: %s.",
		t.where(Finding{Workload: m.RoundTrip, Quantity: roundTrip(m)}),
		t.where(Finding{Workload: m.Workload, Quantity: m.Quantity}),
		r.number(m.Slope.Value), within(r, m.Slope.Interval), explained(m))}
	if left := unexplained(m, toldArm(m, t.a.AskedAbout)); left != "" {
		sentences = append(sentences, left)
	}
	if i := m.Intercept; i != nil {
		r := seconds(*i)
		sentences = append(sentences, fmt.Sprintf("Without any round trip, %s%s of it would remain.",
			r.with(r.number(i.Value)), within(r, i.Interval)))
	}
	if off := offLine(m); off != "" {
		sentences = append(sentences, off)
	}
	return strings.Join(sentences, " ")
}

// roundTrip is the figure of the round trip.
func roundTrip(m meaning.Meaning) figures.Quantity {
	return figures.Quantity{Metric: result.RTT, Stat: m.RoundTripStat, Unit: result.Seconds}
}

// explained says which number of round trips explains the slope, with the other numbers that would.
func explained(m meaning.Meaning) string {
	switch {
	case m.Trips != nil && m.Others:
		return trips(m) + " explain it"
	case m.Trips != nil:
		return trips(m) + " " + verb(*m.Trips, "explains", "explain") + " it" + missedBy(m)
	case m.Noise[0] <= 0:
		return "it may not grow at all"
	}
	if m.MayBeWhole() {
		return "the interval is too wide to name a number of round trips"
	}
	return "no whole number of round trips explains it"
}

// trips is the number of round trips that explains the slope, with the other numbers that would.
func trips(m meaning.Meaning) string {
	if m.Others {
		first, last := m.Whole()
		return fmt.Sprintf("%d (%.0f to %.0f) round trips", *m.Trips, first, last)
	}
	return prose.Plural(*m.Trips, "round trip")
}

// missedBy says by how many percent the slope misses the number of round trips, if noise does not make up for that.
func missedBy(m meaning.Meaning) string {
	if m.Others || !m.Near {
		return ""
	}
	return fmt.Sprintf(" to within %.1f %%", 100*math.Abs(1-float64(*m.Trips)/m.Slope.Value))
}

// unexplained says what a whole number of round trips leaves of an arm's difference, and why the number is named if the
// noise of the run does not make up for that. Empty if no number is named.
func unexplained(m meaning.Meaning, arm meaning.Arm) string {
	if m.Trips == nil || arm.Remains == nil {
		return ""
	}
	r, whole := seconds(*arm.Remains), seconds(arm.Application)
	text := fmt.Sprintf("With %s, %s leave %s%s of %s unexplained", arm.Arm,
		prose.Plural(*m.Trips, "round trip"), r.with(r.signed(arm.Remains.Value)), within(r, arm.Remains.Interval),
		whole.with(whole.number(arm.Application.Value)))
	if *m.Trips == 1 {
		text = strings.Replace(text, " leave ", " leaves ", 1)
	}
	if !m.Near {
		return text + "."
	}
	return fmt.Sprintf("%s: hosts that wait longer answer later, for which up to %.1f %% are allowed.", text,
		100*m.Tolerance)
}

// offLine says that the arms do not lie on one line, and which contradicts it most.
func offLine(m meaning.Meaning) string {
	var most meaning.OffLine
	strength := 0.0
	for _, o := range m.OffLine {
		if !o.Surely {
			continue
		}
		if s := math.Abs(o.Value) / (o.Interval[1] - o.Interval[0]); s >= strength {
			most, strength = o, s
		}
	}
	const other = "something else than round trips differs"
	switch {
	case !most.Surely:
		return ""
	case len(m.OffLine) == 3: // each is as far off as the others tell
		return "The arms do not lie on one line: in one of them " + other + "."
	}
	where := "above"
	if most.Value < 0 {
		where = "below"
	}
	return fmt.Sprintf("The arms do not lie on one line: %s lies %s %s that of the others, so %s there.", most.Arm,
		seconds(most.Estimate).size(most.Value), where, other)
}

// meaningText is the sentence of the verdict: what the round trips of one arm mean for one application, the first one
// with a question or else the first. Empty if nothing is known.
func (a Answer) meaningText() string {
	t := teller{a: a, sides: sidesOf}
	known := func(m meaning.Meaning) bool { return m.Slope != nil }
	asked := func(m meaning.Meaning) bool { return known(m) && t.measured(m.Workload).Question != "" }
	i := slices.IndexFunc(a.Meaning, asked)
	if i < 0 {
		i = slices.IndexFunc(a.Meaning, known)
	}
	if i < 0 {
		return ""
	}
	m := a.Meaning[i]
	arm := toldArm(m, a.AskedAbout)
	app := Finding{Workload: m.Workload, Quantity: m.Quantity}
	trip := seconds(arm.RoundTrip)
	round := Finding{Workload: m.RoundTrip, Quantity: roundTrip(m)}
	_, longer := t.words(round).verb(arm.RoundTrip.Value > 0)
	text := fmt.Sprintf("What it means: with %s, no difference is seen in %s", arm.Arm, t.where(app))
	if arm.ApplicationDiffers {
		r := seconds(arm.Application)
		verb, direction := t.words(app).verb(arm.Application.Value > 0)
		size := r.size(arm.Application.Value)
		if between := arm.Application.Interval; between != nil {
			size += prose.InBrackets(r.between(between, arm.Application.Value < 0))
		}
		text = fmt.Sprintf("What it means: with %s, %s %s %s %s", arm.Arm, t.where(app), verb, size, direction)
	}
	if arm.Unproved != "" {
		text = "Not proved: " + strings.TrimPrefix(text, "What it means: ")
	}
	text = fmt.Sprintf("%s, and a round trip %s %s", text, trip.size(arm.RoundTrip.Value), longer)
	ratio := ratios(*m.Slope)
	switch {
	case !arm.ApplicationDiffers:
		return text + "."
	case m.Trips != nil && len(m.Arms) > 1: // the arm alone can have another ratio
		return text + ": over all arms, as if it waited for " + trips(m) + missedBy(m) + "."
	case m.Trips != nil:
		return text + ", as if it waited for " + trips(m) + missedBy(m) + "."
	}
	return fmt.Sprintf("%s: over all arms, %s%s times as much.", text, ratio.number(m.Slope.Value),
		within(ratio, m.Slope.Interval))
}

// toldArm is the arm that is told: the one that the question is about if its round trip differs, or else the one whose
// round trip differs most.
func toldArm(m meaning.Meaning, asked string) meaning.Arm {
	var most meaning.Arm
	for _, a := range m.Arms {
		switch {
		case !a.Differs:
		case a.Arm == asked:
			return a
		case math.Abs(a.RoundTrip.Value) > math.Abs(most.RoundTrip.Value):
			most = a
		}
	}
	return most
}

// SetObjectives adds the objectives, judged. What the round trips mean for an application says whether one fails.
func (a *Answer) SetObjectives(all []Objective) {
	a.Objectives = all
	meant, judged := a.meaningText(), objectivesText(all)
	if meant == "" || judged == "" || !strings.HasSuffix(a.Also, meant) {
		return
	}
	and := func(text string) string { return strings.TrimSuffix(text, ".") + "; " + judged + "." }
	a.Also, a.Verdict = and(a.Also), and(a.Verdict)
}

// objectivesText says whether objectives fail.
func objectivesText(all []Objective) string {
	missed, open := 0, 0
	for _, o := range all {
		switch o.Verdict {
		case Missed:
			missed++
		case Undecided, ObjectiveError:
			open++
		}
	}
	switch {
	case len(all) == 0:
		return ""
	case missed > 0:
		return fmt.Sprintf("%d of %s %s", missed, prose.Plural(len(all), "objective"), verb(missed, "fails", "fail"))
	case open > 0:
		return fmt.Sprintf("no objective surely fails, and %d of %d %s undecided", open, len(all), verb(open, "is", "are"))
	}
	return "no objective fails"
}
