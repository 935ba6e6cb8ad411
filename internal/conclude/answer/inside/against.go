package inside

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/inside"
)

// against says where the difference of an arm from the baseline arises. It is false if either was not seen.
func (in Input) against(name string, arm, base armSeen) (Against, bool) {
	a := Against{Arm: name, Baseline: in.Baseline, Elements: []Change{}}
	kinds := kindsOf(in.Subtracted[name].Layers)
	own := map[bool][]stats.Value{} // of the arm (true) and of the baseline, summed up by machine
	more := 0                       // elements of the layers that only the arm has, less those that only the baseline has
	for _, one := range arm.sides {
		i := slices.IndexFunc(base.sides, func(s side) bool { return s.name == one.name })
		if i < 0 || len(one.path) == 0 || len(base.sides[i].path) == 0 {
			continue
		}
		other := base.sides[i]
		mine, theirs := []int{}, []int{} // nil would be all
		for _, p := range align(one.path, other.path) {
			c := changeOf(one, other, p, kinds)
			a.Elements = append(a.Elements, c)
			if c.Own && p.arm >= 0 {
				mine = append(mine, p.arm)
				more++
			}
			if c.Own && p.base >= 0 {
				theirs = append(theirs, p.base)
				more--
			}
		}
		if one.name != inside.Server { // the client's trip has the server's in it
			a.Sum = Difference(one.values(sumOf(nil)), other.values(sumOf(nil)))
		}
		if len(mine)+len(theirs) > 0 {
			own[true] = plus(own[true], one.values(sumOf(mine)))
			own[false] = plus(own[false], other.values(sumOf(theirs)))
		}
	}
	if a.Sum == nil {
		return a, false
	}
	if len(own) > 0 {
		a.Own = Difference(own[true], own[false])
		a.Corrected = Difference(less(own[true], in.eventCosts(base), more), own[false])
	}
	slices.SortStableFunc(a.Elements, func(x, y Change) int {
		return cmp.Compare(math.Abs(y.Median), math.Abs(x.Median))
	})
	if s, ok := in.Subtracted[name]; ok {
		a.Layers, a.Subtracted = s.Layers, &s.Difference
		a.Disagree = a.disagreement()
	}
	return a, true
}

// eventCosts is what recording one event adds to a trip of the baseline, in each block: what the elements take together
// beyond the round trip of the workload that is not watched, shared among their events. It is empty if two machines
// were watched, which record events of their own.
func (in Input) eventCosts(base armSeen) []stats.Value {
	if len(base.sides) != 1 || base.sides[0].name != inside.Both || in.Mean {
		return nil
	}
	without := stats.PerBlock(in.unwatched(in.Baseline))
	var all []stats.Value
	for _, v := range stats.PerBlock(base.sides[0].values(func(w *way) float64 { return w.whole })) {
		i := slices.IndexFunc(without, func(o stats.Value) bool { return o.Block == v.Block })
		if i >= 0 {
			cost := (v.Value - without[i].Value) / eventsOf(base.sides[0].path)
			all = append(all, stats.Value{Block: v.Block, Value: max(0, cost)})
		}
	}
	return all
}

// systemCall is how many other events an event at a system call costs as much as: the kernel takes its slow way into
// and out of all system calls while somebody watches them (ADR 0152).
const systemCall = 3.5

// eventsOf is how many events a path's steps are recorded with, by their cost.
func eventsOf(path []inside.Step) float64 {
	events := 0.0
	for _, step := range path {
		switch step.Kind {
		case inside.Send, inside.Return:
			events += systemCall
		default:
			events++
		}
	}
	return events
}

// less takes the cost of some events from the values of the same blocks.
func less(values, costs []stats.Value, events int) []stats.Value {
	var negative []stats.Value
	for _, c := range costs {
		negative = append(negative, stats.Value{Block: c.Block, Value: -c.Value * float64(events)})
	}
	if negative == nil {
		return nil
	}
	return plus(values, negative)
}

// sumOf sums up the medians of steps; nil stands for all, an empty list for none.
func sumOf(steps []int) func(w *way) float64 {
	return func(w *way) float64 {
		sum := 0.0
		for i, v := range w.medians {
			if steps == nil || slices.Contains(steps, i) {
				sum += v
			}
		}
		return sum
	}
}

// plus adds the values of two machines in the same blocks.
func plus(a, b []stats.Value) []stats.Value {
	if a == nil {
		return b
	}
	ours, theirs := stats.PerBlock(a), stats.PerBlock(b)
	var all []stats.Value
	for _, v := range ours {
		i := slices.IndexFunc(theirs, func(o stats.Value) bool { return o.Block == v.Block })
		if i >= 0 {
			all = append(all, stats.Value{Block: v.Block, Value: v.Value + theirs[i].Value})
		}
	}
	return all
}

// changeOf is the difference of one element.
func changeOf(arm, base side, p pair, kinds []inside.Kind) Change {
	c := Change{Side: arm.name}
	step := func(s side, i int) []stats.Value {
		return s.values(func(w *way) float64 { return w.medians[i] })
	}
	var m *Measure
	switch {
	case p.base < 0:
		c.Step, c.Only = arm.path[p.arm], OnlyArm
		m = Estimate(step(arm, p.arm))
	case p.arm < 0:
		c.Step, c.Only = base.path[p.base], OnlyBaseline
		if m = Estimate(step(base, p.base)); m != nil {
			m.Median = -m.Median
			if i := m.Interval; i != nil {
				m.Interval = &[2]float64{-i[1], -i[0]}
			}
		}
	default:
		c.Step = arm.path[p.arm]
		m = Difference(step(arm, p.arm), step(base, p.base))
	}
	if m != nil {
		c.Measure = *m
	}
	c.Own = len(kinds) > 0 && (c.Only != "" || slices.Contains(kinds, c.Kind))
	return c
}

// kindsOf are the kinds of steps in which layers act; none if that is not known.
func kindsOf(layers []string) []inside.Kind {
	of := map[string][]inside.Kind{
		"router": {inside.Forward}, "dlr": {inside.Forward}, "bridge": {inside.Bridge}, "wire": {inside.Wire},
		"vtep":     {inside.Encapsulate, inside.Decapsulate, inside.GRO},
		"firewall": {inside.Forward, inside.Deliver, inside.Send, inside.Answer}, // what comes in, and what goes out
	}
	var all []inside.Kind
	for _, layer := range layers {
		known := false
		layer, _, _ = strings.Cut(layer, "(") // a parameter changes how long it takes, and not where
		for name, kinds := range of {
			for word := range strings.FieldsSeq(layer) {
				if word == name || strings.HasPrefix(word, name+"-") {
					all, known = append(all, kinds...), true
				}
			}
		}
		if !known {
			return nil // something else differs too, wherever it acts
		}
	}
	return all
}

// pair is an element of both, by its place in each path; -1 for none.
type pair struct{ arm, base int }

// align matches the elements of two paths in their order. A match has the same direction and kind; the best alignment
// matches as many places, and then as many devices, as it can.
func align(arm, base []inside.Step) []pair {
	score := func(a, b inside.Step) int {
		if a.Way != b.Way || a.Kind != b.Kind {
			return 0
		}
		s := 4
		if a.Place == b.Place {
			s += 4
		}
		if a.Device == b.Device && a.DeviceKind == b.DeviceKind {
			s++
		}
		return s
	}
	best := make([][]int, len(arm)+1) // of the rests of both
	for i := range best {
		best[i] = make([]int, len(base)+1)
	}
	for i := len(arm) - 1; i >= 0; i-- {
		for j := len(base) - 1; j >= 0; j-- {
			best[i][j] = max(best[i+1][j], best[i][j+1])
			if s := score(arm[i], base[j]); s > 0 {
				best[i][j] = max(best[i][j], s+best[i+1][j+1])
			}
		}
	}
	var all []pair
	i, j := 0, 0
	for i < len(arm) && j < len(base) {
		switch s := score(arm[i], base[j]); {
		case s > 0 && best[i][j] == s+best[i+1][j+1]:
			all = append(all, pair{i, j})
			i, j = i+1, j+1
		case best[i][j] == best[i+1][j]:
			all = append(all, pair{i, -1})
			i++
		default:
			all = append(all, pair{-1, j})
			j++
		}
	}
	for ; i < len(arm); i++ {
		all = append(all, pair{i, -1})
	}
	for ; j < len(base); j++ {
		all = append(all, pair{-1, j})
	}
	return all
}

// disagreement says that subtraction and elements are surely apart, and which other elements changed most; empty if
// they agree as far as their intervals tell.
func (a Against) disagreement() string {
	inner, what := a.Own, "the elements of "+strings.Join(a.Layers, ", ")
	switch {
	case a.Corrected != nil:
		inner, what = a.Corrected, what+", less what recording them costs,"
	case inner == nil:
		inner, what = a.Sum, "all elements together"
	}
	if !apart(inner, a.Subtracted) {
		return ""
	}
	text := fmt.Sprintf("%s say %s, and subtraction says %s", what, micro(*inner), micro(*a.Subtracted))
	var others []string
	for _, c := range a.Elements {
		if !c.Own && c.Interval != nil && (c.Interval[0] > 0 || c.Interval[1] < 0) && len(others) < 2 {
			others = append(others, Name(c.Step)+" by "+micro(c.Measure))
		}
	}
	if len(others) == 0 {
		return text + "; no other element surely changed"
	}
	return text + "; what else changed most: " + strings.Join(others, ", ")
}

// apart says that two intervals have nothing in common.
func apart(a, b *Measure) bool {
	return a != nil && b != nil && a.Interval != nil && b.Interval != nil &&
		(a.Interval[1] < b.Interval[0] || b.Interval[1] < a.Interval[0])
}

// micro writes a measure in microseconds.
func micro(m Measure) string {
	text := fmt.Sprintf("%+.2f us", m.Median*1e6)
	if m.Interval != nil {
		text += fmt.Sprintf(" [%+.2f, %+.2f]", m.Interval[0]*1e6, m.Interval[1]*1e6)
	}
	return text
}

// Name names a step in words: "forward in 1-router (request)", "encapsulate tun [vxlan, VNI 1] in client (reply)".
// veth is what a lab is made of, and is not said.
func Name(s inside.Step) string {
	text := string(s.Kind)
	if s.Device != "" {
		text += " " + s.Device
	}
	var about []string
	if s.DeviceKind != "" && s.DeviceKind != s.Device && s.DeviceKind != "veth" {
		about = append(about, s.DeviceKind)
	}
	if s.Tunnel != "" {
		about = append(about, s.Tunnel)
	}
	if len(about) > 0 {
		text += " [" + strings.Join(about, ", ") + "]"
	}
	if s.Place != "" {
		text += " in " + s.Place
	}
	return text + " (" + s.Way + ")"
}
