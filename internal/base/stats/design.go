package stats

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Design says how often each arm crosses each layer: Counts[arm][layer]. Missing entries and counts that are not
// finite are zero.
type Design struct {
	Arms   []string
	Layers []string
	Counts [][]float64
}

// Term is a cost that can be estimated: one layer, or layers that change only together.
type Term struct {
	// Name is the layer's name. Layers that change together are joined by a plus sign, with their number if one unit
	// of the term holds more than one: "bridge+router", "2 vtep+dlr". If one layer replaces another, it is "bridge
	// instead of router".
	Name string
	// Layers are the layers of the term, in the design's order.
	Layers []string
	// Per is how many of each of Layers one unit of the term holds; negative for layers that disappear as the first
	// one appears.
	Per []float64
	// Counts is how many units of the term each arm holds, in the design's order of arms. For a single layer these
	// are the layer's own counts. For joined layers they are counted from the arm that has the fewest.
	Counts []float64
}

// Inseparable is a minimal set of layers whose costs the arms cannot tell apart. Without any one of them, the costs
// of the others could be estimated.
type Inseparable struct {
	Layers []string
	// Missing names an arm that would tell them apart.
	Missing string
	// MissingCounts is how often the missing arm crosses each layer of the design. Adding the missing arms of all the
	// Inseparables of a Separation makes every layer separable that differs between arms.
	MissingCounts map[string]float64
}

// Separation is what a design can estimate and what it cannot.
type Separation struct {
	// Constant lists the layers that every arm crosses equally often. They are part of the baseline.
	Constant []string
	// Terms lists what can be estimated.
	Terms []Term
	// Inseparable lists the sets of layers that cannot be told apart. Two layers that change in proportion are still
	// estimated as one joined Term, unless that term depends on others.
	Inseparable []Inseparable
}

// separationTolerance is the relative difference of counts below which they are equal up to rounding.
const separationTolerance = 1e-9

// Separate says what the design can estimate, given that all arms also share an unknown cost (the intercept).
//
// A layer's cost is estimable exactly if its column is not a linear combination of the other columns and the intercept
// (Searle, Linear Models, 1971, section 5.4). Subtracting the first arm's counts from all of them removes the
// intercept. The null space of the rest, from its reduced row echelon form, has one minimal dependent set for each
// column without a pivot.
func (d Design) Separate() Separation {
	var s Separation
	varying := make([]int, 0, len(d.Layers))
	for layer, name := range d.Layers {
		if d.span(layer) == 0 {
			s.Constant = append(s.Constant, name)
		} else {
			varying = append(varying, layer)
		}
	}

	groups := d.proportional(varying)
	// The last layer of a group represents it.
	heads := make([]int, len(groups))
	for i, group := range groups {
		head := group[len(group)-1]
		heads[i] = head
		for _, layer := range group[:len(group)-1] {
			s.Inseparable = append(s.Inseparable, d.inseparable([]int{layer, head}, layer))
		}
	}

	estimable := make([]bool, len(groups))
	for i := range estimable {
		estimable[i] = true
	}
	for _, c := range d.circuits(heads) {
		set := make([]int, len(c.columns))
		for i, column := range c.columns {
			set[i] = heads[column]
			estimable[column] = false
		}
		s.Inseparable = append(s.Inseparable, d.inseparable(set, heads[c.free]))
	}
	for i, group := range groups {
		if estimable[i] {
			s.Terms = append(s.Terms, d.term(group))
		}
	}
	return s
}

// count is how often an arm crosses a layer.
func (d Design) count(arm, layer int) float64 {
	if arm >= len(d.Counts) || layer >= len(d.Counts[arm]) {
		return 0
	}
	if c := d.Counts[arm][layer]; !math.IsNaN(c) && !math.IsInf(c, 0) {
		return c
	}
	return 0
}

// column gives a layer's counts in every arm.
func (d Design) column(layer int) []float64 {
	column := make([]float64, len(d.Arms))
	for arm := range column {
		column[arm] = d.count(arm, layer)
	}
	return column
}

// span is the difference between a layer's largest and smallest count; 0 if all arms have the same count.
func (d Design) span(layer int) float64 {
	column := d.column(layer)
	if len(column) == 0 {
		return 0
	}
	low, high := slices.Min(column), slices.Max(column)
	if high-low <= separationTolerance*math.Max(math.Abs(low), math.Abs(high)) {
		return 0
	}
	return high - low
}

// normalized gives a layer's counts minus those of the first arm, scaled to a span of 1. Layers in proportion have
// the same normalized counts, up to the sign.
func (d Design) normalized(layer int) []float64 {
	column, span := d.column(layer), d.span(layer)
	first := column[0]
	for i := range column {
		column[i] = (column[i] - first) / span
	}
	return column
}

// sign compares the normalized counts of two layers: 1 if equal, -1 if opposite, 0 otherwise.
func (d Design) sign(a, b int) float64 {
	x, y := d.normalized(a), d.normalized(b)
	same, opposite := true, true
	for i := range x {
		same = same && math.Abs(x[i]-y[i]) <= separationTolerance
		opposite = opposite && math.Abs(x[i]+y[i]) <= separationTolerance
	}
	switch {
	case same:
		return 1
	case opposite:
		return -1
	}
	return 0
}

// proportional groups the layers that change only in proportion to each other.
func (d Design) proportional(layers []int) [][]int {
	var groups [][]int
next:
	for _, layer := range layers {
		for i, group := range groups {
			if d.sign(group[0], layer) != 0 {
				groups[i] = append(group, layer)
				continue next
			}
		}
		groups = append(groups, []int{layer})
	}
	return groups
}

// circuit is a minimal dependent set of columns; free is the column that the others determine.
type circuit struct {
	columns []int
	free    int
}

// circuits finds the dependencies between the normalized counts of the layers. Each free column is in one circuit.
func (d Design) circuits(layers []int) []circuit {
	rows := make([][]float64, len(d.Arms))
	for arm := range rows {
		rows[arm] = make([]float64, len(layers))
	}
	for j, layer := range layers {
		for arm, v := range d.normalized(layer) {
			rows[arm][j] = v
		}
	}

	// Gauss-Jordan elimination with row pivoting; pivots[r] is the column of row r's pivot.
	var pivots []int
	var found []circuit
	for j := range layers {
		r := len(pivots)
		best := r
		for i := r; i < len(rows); i++ {
			if math.Abs(rows[i][j]) > math.Abs(rows[best][j]) {
				best = i
			}
		}
		if r == len(rows) || math.Abs(rows[best][j]) <= separationTolerance {
			c := circuit{free: j}
			for i, pivot := range pivots {
				if math.Abs(rows[i][j]) > separationTolerance {
					c.columns = append(c.columns, pivot)
				}
			}
			c.columns = append(c.columns, j)
			found = append(found, c)
			continue
		}
		rows[r], rows[best] = rows[best], rows[r]
		scale := rows[r][j]
		for k := range rows[r] {
			rows[r][k] /= scale
		}
		for i := range rows {
			if factor := rows[i][j]; i != r && factor != 0 {
				for k := range rows[i] {
					rows[i][k] -= factor * rows[r][k]
				}
			}
		}
		pivots = append(pivots, j)
	}
	return found
}

// term makes the term of a group of proportional layers.
func (d Design) term(group []int) Term {
	first := group[0]
	if len(group) == 1 {
		name := d.Layers[first]
		return Term{Name: name, Layers: []string{name}, Per: []float64{1}, Counts: d.column(first)}
	}

	spans := make([]float64, len(group))
	for i, layer := range group {
		spans[i] = d.span(layer)
	}
	unit := commonUnit(spans)
	t := Term{Counts: d.column(first)}
	var come, gone []string
	for i, layer := range group {
		name, per := d.Layers[layer], spans[i]/unit
		t.Layers = append(t.Layers, name)
		t.Per = append(t.Per, d.sign(first, layer)*per)
		if per != 1 {
			name = strconv.FormatFloat(per, 'g', 4, 64) + " " + name
		}
		if t.Per[i] > 0 {
			come = append(come, name)
		} else {
			gone = append(gone, name)
		}
	}
	t.Name = strings.Join(come, "+")
	if len(gone) > 0 {
		t.Name += " instead of " + strings.Join(gone, "+")
	}
	low := slices.Min(t.Counts)
	for i := range t.Counts {
		t.Counts[i] = (t.Counts[i] - low) / t.Per[0]
	}
	return t
}

// inseparable describes a minimal dependent set, and the arm that resolves it: an existing arm with more of one
// layer. The layers of the set satisfy one linear relation in every arm, and changing only one of them breaks the
// relation.
func (d Design) inseparable(set []int, more int) Inseparable {
	slices.Sort(set)
	in := Inseparable{MissingCounts: make(map[string]float64, len(d.Layers))}
	for _, layer := range set {
		in.Layers = append(in.Layers, d.Layers[layer])
	}

	// Start from the simplest arm: the one with the fewest of the set's other layers, then the fewest layers in
	// total.
	base, least, leastAll := 0, math.Inf(1), math.Inf(1)
	for arm := range d.Arms {
		var others, all float64
		for _, layer := range set {
			if layer != more {
				others += d.count(arm, layer)
			}
		}
		for layer := range d.Layers {
			all += d.count(arm, layer)
		}
		if others < least || others == least && all < leastAll {
			base, least, leastAll = arm, others, all
		}
	}
	for layer, name := range d.Layers {
		in.MissingCounts[name] = d.count(base, layer)
	}

	// Use the smallest step that occurs in the design, because layers such as VTEPs come in pairs.
	first := d.count(0, more)
	var steps []float64
	for arm := range d.Arms {
		if step := math.Abs(d.count(arm, more) - first); step > separationTolerance*math.Abs(first) {
			steps = append(steps, step)
		}
	}
	step := commonUnit(steps)
	in.MissingCounts[d.Layers[more]] += step

	number := "one"
	if step != 1 {
		number = strconv.FormatFloat(step, 'g', 4, 64)
	}
	in.Missing = fmt.Sprintf("an arm like %s, but with %s more %s", d.Arms[base], number, d.Layers[more])
	if least == 0 {
		var others []string
		for _, layer := range set {
			if layer != more {
				others = append(others, "no "+d.Layers[layer])
			}
		}
		in.Missing += " and " + strings.Join(others, " and ")
	} else {
		in.Missing += " and nothing else changed"
	}
	return in
}

// commonUnit is the greatest common divisor if all values are whole numbers, and else the smallest value.
func commonUnit(values []float64) float64 {
	unit := slices.Min(values)
	for _, v := range values {
		if v != math.Trunc(v) || v > 1<<52 {
			return unit
		}
	}
	unit = values[0]
	for _, v := range values[1:] {
		for v != 0 {
			unit, v = v, math.Mod(unit, v)
		}
	}
	return unit
}
