package inside

import (
	"fmt"
	"maps"
	"slices"
)

// Layer is what a layer costs by both methods, in two arms that differ in nothing else. Its times are of all Count
// together.
type Layer struct {
	Layer string `json:"layer"`
	// Arm crosses the layer Count times more often than Other.
	Arm   string `json:"arm"`
	Other string `json:"other"`
	Count int    `json:"count"`
	// Elements are those of the layer, the largest difference first. Own is the sum of their differences, and Corrected
	// is Own less what it costs to record their events; null if that is not known.
	Elements  []Change `json:"elements"`
	Own       *Measure `json:"own"`
	Corrected *Measure `json:"corrected,omitempty"`
	// Subtracted is the difference of the two arms without watching. Attributed is the cost of the layer over all arms
	// of the experiment, also without watching; null if the arms cannot tell it apart.
	Subtracted *Measure `json:"subtracted"`
	Attributed *Measure `json:"attributed,omitempty"`
	// Disagree says that elements and subtraction are surely apart, and what else changed; empty if they agree.
	Disagree string `json:"disagree,omitempty"`
}

// Name names the layer, with its number: "2 vtep".
func (l Layer) Name() string {
	if l.Count == 1 {
		return l.Layer
	}
	return fmt.Sprintf("%d %s", l.Count, l.Layer)
}

// layers compares both methods for each layer that an arm has more of than another one, if nothing else differs and
// the layer's elements are known.
func (in Input) layers(all map[string]armSeen) (layers []Layer) {
	for _, arm := range in.Arms {
		for _, l := range in.besides(arm) {
			difference := Difference(in.unwatched(arm), in.unwatched(l.Other))
			if difference == nil {
				continue
			}
			pair := in
			pair.Baseline = l.Other
			pair.Subtracted = map[string]Subtracted{arm: {Difference: *difference, Layers: []string{l.Name()}}}
			a, ok := pair.against(arm, all[arm], all[l.Other])
			if !ok || a.Own == nil {
				continue
			}
			l.Own, l.Corrected, l.Subtracted, l.Disagree = a.Own, a.Corrected, a.Subtracted, a.Disagree
			l.Elements = slices.DeleteFunc(a.Elements, func(c Change) bool { return !c.Own })
			if one, ok := in.Attributed[l.Layer]; ok {
				l.Attributed = one.times(l.Count)
			}
			layers = append(layers, l)
		}
	}
	return layers
}

// besides lists the layers that an arm has more of than another one that differs in nothing else. Of several others,
// the one with the smallest difference counts, and then the first.
func (in Input) besides(arm string) (all []Layer) {
	for _, other := range in.Arms {
		layer, more := in.onlyMore(arm, other)
		at := slices.IndexFunc(all, func(l Layer) bool { return l.Layer == layer })
		switch found := (Layer{Layer: layer, Arm: arm, Other: other, Count: more}); {
		case more <= 0:
		case at < 0:
			all = append(all, found)
		case more < all[at].Count:
			all[at] = found
		}
	}
	return all
}

// onlyMore gives the only layer in which an arm differs from another one, and how often more it crosses it; 0 if they
// differ in none, or in several.
func (in Input) onlyMore(arm, other string) (layer string, more int) {
	names := maps.Clone(in.Crosses[arm])
	if names == nil {
		names = map[string]int{}
	}
	maps.Copy(names, in.Crosses[other])
	for name := range names {
		d := in.Crosses[arm][name] - in.Crosses[other][name]
		if d == 0 {
			continue
		}
		if layer != "" {
			return "", 0
		}
		layer, more = name, d
	}
	return layer, more
}

// times is the measure of so many together.
func (m Measure) times(n int) *Measure {
	m.Median *= float64(n)
	if i := m.Interval; i != nil {
		m.Interval = &[2]float64{i[0] * float64(n), i[1] * float64(n)}
	}
	return &m
}
