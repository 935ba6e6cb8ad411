package bisect

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"nearfar/internal/base/clean"
	"nearfar/internal/declare/bisection"
	"nearfar/internal/declare/result"
)

// mostListed is how many candidates a sentence lists.
const mostListed = 5

// wholeWay is how much of the way from good to bad a step has to go so that no other step has a part in it that counts.
const wholeWay = 0.7

// Text is a step with what it is about, for people.
func Text(s bisection.Step) string {
	text := clean.Line(s.String())
	if s.About != "" {
		text += " (" + clean.Line(clean.Cut(s.About, 60)) + ")"
	}
	return text
}

// String is the text of the step.
func (n Named) String() string { return Text(n.Step) }

// verdict is the answer in a sentence or two.
func (s *Search) verdict(r Result) string {
	name := r.Quantity.Name()
	switch r.Outcome {
	case Found:
		return fmt.Sprintf("%v is the first bad step, with a chance of error of at most %s.", *r.First, percent(r.Alpha))
	case Several:
		return fmt.Sprintf("The first bad step is one of %d, which could not be told apart: %s. "+
			"The chance that it is none of them is at most %s.", len(r.Candidates), list(r.Candidates), percent(r.Alpha))
	case Same:
		return fmt.Sprintf("Good and bad do not surely differ in %s%s after %d rounds%s: there is no step to look for.", name,
			s.byMore(r), r.Rounds, s.apartText(r))
	case Broken:
		return "Good or bad cannot be measured: " + clean.Line(s.broken)
	}
	if s.sign == 0 {
		return fmt.Sprintf("Not known yet: good and bad do not surely differ in %s%s so far%s.", name, s.byMore(r),
			s.apartText(r))
	}
	return fmt.Sprintf("Not known yet: the first bad step is one of %d: %s. "+
		"The chance that it is none of them is at most %s.", len(r.Candidates), list(r.Candidates), percent(r.Alpha))
}

// byMore says by how much good and bad have to differ.
func (s *Search) byMore(r Result) string {
	switch {
	case s.o.By == 0:
		return ""
	case s.o.ByShare:
		return " by more than " + percent(s.o.By)
	}
	return " by more than " + result.Amount(s.o.By, r.Quantity.Unit)
}

// apartText is the difference of bad from good, with its interval.
func (s *Search) apartText(r Result) string {
	if r.Difference == nil {
		return ""
	}
	text := " (" + result.SignedAmount(*r.Difference, r.Quantity.Unit)
	if r.Interval != nil {
		scale := result.ScaleOf(r.Quantity.Unit, r.Interval[0], r.Interval[1])
		text += fmt.Sprintf(", 95 %% interval %s to %s", scale.Signed(r.Interval[0]), scale.With(scale.Signed(r.Interval[1])))
	}
	return text + ")"
}

// notes say what else there is to know.
func (s *Search) notes(r Result) []string {
	notes := []string{}
	add := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	var skipped, undecided []Named
	for _, st := range r.Steps {
		inside := st.Place-1 > s.low && st.Place-1 < s.high
		switch {
		case st.Verdict == Skipped && inside:
			skipped = append(skipped, st.Named)
		case st.Verdict == Undecided && inside:
			undecided = append(undecided, st.Named)
		case st.Verdict == Bad && st.Place-1 < s.low:
			add("%v is as bad, and comes before %v, which is good: the figure changed more than once. "+
				"Look for the first change with --bad %s.", st.Named, r.seen(s.low).Named, clean.Line(st.Name))
		case st.Verdict == Good && st.Place-1 > s.high:
			add("%v is as good, and comes after %v, which is bad: the figure changed back, and again.", st.Named,
				r.seen(s.high).Named)
		}
	}
	if len(skipped) > 0 {
		add("Skipped, since they cannot be put in place or measured: %s.", list(skipped))
	}
	if len(undecided) > 0 {
		add("Neither as good nor as bad after %d rounds: %s. Their figure lies between, so that more than one step "+
			"changed it, or it scatters too much for the difference.", mostRounds, list(undecided))
	}
	if way := s.explains(r); r.Outcome == Found && way != nil && *way < wholeWay {
		add("From %v to %v the figure goes about %s of the way from good to bad: other steps changed it too.", *r.Before,
			*r.First, percent(max(*way, 0)))
	}
	if s.o.MostVisits > 0 && s.visits >= s.o.MostVisits && r.Outcome == Unfinished {
		add("The most trials were run. Allow more of them: --resume goes on with what was measured.")
	}
	return notes
}

// seen is what was seen of a step; the zero value if it was not visited.
func (r Result) seen(i int) StepResult {
	at := slices.IndexFunc(r.Steps, func(st StepResult) bool { return st.Place == i+1 })
	if at < 0 {
		return StepResult{}
	}
	return r.Steps[at]
}

// explains is the way that the figure goes from the last good step to the first bad one; nil if it is not known.
func (s *Search) explains(r Result) *float64 {
	way := func(i int) *float64 {
		if i == 0 {
			return new(0.0)
		}
		return r.seen(i).Way
	}
	from, to := way(s.low), way(s.high)
	if from == nil || to == nil {
		return nil
	}
	return new(*to - *from)
}

// list names steps.
func list(steps []Named) string {
	var names []string
	for i, n := range steps {
		if i == mostListed-1 && len(steps) > mostListed {
			names = append(names, fmt.Sprintf("and %d more up to %v", len(steps)-i, steps[len(steps)-1]))
			break
		}
		names = append(names, n.String())
	}
	return strings.Join(names, ", ")
}

func percent(share float64) string { return result.Share(share) }

// Write prints the result for people.
func (r Result) Write(w io.Writer) error {
	fmt.Fprintf(w, "%s\n", r.Verdict)
	if r.Good != nil && r.Bad != nil && r.Outcome != Same {
		scale := result.ScaleOf(r.Quantity.Unit, *r.Good, *r.Bad)
		fmt.Fprintf(w, "%s: good %s, bad %s", r.Quantity.Name(), scale.With(scale.Number(*r.Good)),
			scale.With(scale.Number(*r.Bad)))
		if r.Difference != nil && r.Interval != nil {
			fmt.Fprintf(w, "; difference %s [%s, %s] (95 %% at any time)", scale.With(scale.Signed(*r.Difference)),
				scale.Signed(r.Interval[0]), scale.Signed(r.Interval[1]))
		}
		fmt.Fprintln(w, ".")
	}
	fmt.Fprintf(w, "%d rounds, %d visits to steps, %d trials.", r.Rounds, r.Visits, r.Trials)
	if r.Wrong.All > 0 {
		fmt.Fprintf(w, " Good and bad were on the wrong side %d of %d times.", r.Wrong.Some, r.Wrong.All)
	}
	fmt.Fprintln(w)
	for _, n := range r.Notes {
		fmt.Fprintf(w, "%s\n", n)
	}
	fmt.Fprintln(w)
	return r.table(w)
}

// table lists the steps that were visited.
func (r Result) table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "place\tstep\tmedian\tway\tas good : bad\tvisits\tverdict")
	for _, st := range r.Steps {
		median, way := "-", "-"
		if st.Median != nil {
			median = result.Amount(*st.Median, r.Quantity.Unit)
		}
		if st.Place == 1 {
			way = "0 %"
		} else if st.Way != nil {
			way = fmt.Sprintf("%.0f %%", 100**st.Way)
		}
		verdict := string(st.Verdict)
		switch {
		case st.Verdict == Untested:
			verdict = "not decided yet"
		case st.Risk == 0 && (st.Verdict == Good || st.Verdict == Bad):
			verdict += ", given"
		case st.Risk > 0:
			verdict += ", error at most " + percent(st.Risk)
		case st.Why != "":
			verdict += ": " + clean.Line(clean.Cut(st.Why, 80))
		}
		fmt.Fprintf(t, "%d\t%v\t%s\t%s\t%d : %d\t%d\t%s\n", st.Place, st.Named, median, way, st.Good, st.Bad, st.Visits,
			verdict)
	}
	return t.Flush()
}

// Replay makes the state of a search from its visits.
func (s *Search) Replay(visits []bisection.Visit) error {
	for n, v := range visits {
		next, more := s.Next()
		if !more {
			return nil // a bound was lowered since
		}
		if v.Step != next {
			return fmt.Errorf("visit %d is to step %d, and the search would have gone to step %d", n+1, v.Step+1, next+1)
		}
		s.Add(v)
	}
	return nil
}

// Add records a visit to the step of Next.
func (s *Search) Add(v bisection.Visit) {
	switch {
	case v.Skip != "":
		s.Skip(v.Skip)
	case v.Error != "":
		s.Failed(v.Error)
	default:
		s.Figure(v.Value)
	}
}
