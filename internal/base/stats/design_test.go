package stats

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestSeparate(t *testing.T) {
	for _, test := range []struct {
		name   string
		design Design
		want   Separation
	}{
		{
			name: "each layer by itself",
			design: Design{
				Arms:   []string{"l2", "switched", "routed"},
				Layers: []string{"bridge", "router", "wire"},
				Counts: [][]float64{{1, 0, 1}, {2, 0, 1}, {2, 1, 1}},
			},
			want: Separation{
				Constant: []string{"wire"},
				Terms: []Term{
					{"bridge", []string{"bridge"}, []float64{1}, []float64{1, 2, 2}},
					{"router", []string{"router"}, []float64{1}, []float64{0, 0, 1}},
				},
			},
		},
		{
			name: "a router always brings a bridge",
			design: Design{
				Arms:   []string{"l2", "routed"},
				Layers: []string{"bridge", "router"},
				Counts: [][]float64{{1, 0}, {2, 1}},
			},
			want: Separation{
				Terms: []Term{{"bridge+router", []string{"bridge", "router"}, []float64{1, 1}, []float64{0, 1}}},
				Inseparable: []Inseparable{{
					Layers:        []string{"bridge", "router"},
					Missing:       "an arm like l2, but with one more bridge and no router",
					MissingCounts: map[string]float64{"bridge": 2, "router": 0},
				}},
			},
		},
		{
			name: "two VTEPs and a DLR, and two of everything",
			design: Design{
				Arms:   []string{"a", "b", "c"},
				Layers: []string{"vtep", "dlr"},
				Counts: [][]float64{{0, 0}, {2, 1}, {4, 2}},
			},
			want: Separation{
				Terms: []Term{{"2 vtep+dlr", []string{"vtep", "dlr"}, []float64{2, 1}, []float64{0, 1, 2}}},
				Inseparable: []Inseparable{{
					Layers:        []string{"vtep", "dlr"},
					Missing:       "an arm like a, but with 2 more vtep and no dlr",
					MissingCounts: map[string]float64{"vtep": 2, "dlr": 0},
				}},
			},
		},
		{
			name: "one layer replaces another",
			design: Design{
				Arms:   []string{"switched", "routed"},
				Layers: []string{"bridge", "router"},
				Counts: [][]float64{{1, 0}, {0, 1}},
			},
			want: Separation{
				Terms: []Term{{"bridge instead of router", []string{"bridge", "router"}, []float64{1, -1},
					[]float64{1, 0}}},
				Inseparable: []Inseparable{{
					Layers:        []string{"bridge", "router"},
					Missing:       "an arm like switched, but with one more bridge and no router",
					MissingCounts: map[string]float64{"bridge": 2, "router": 0},
				}},
			},
		},
		{
			name: "three layers in one relation, and one that stands by itself",
			design: Design{
				Arms:   []string{"a", "b", "c", "d"},
				Layers: []string{"x", "y", "z", "w"},
				Counts: [][]float64{{0, 0, 0, 0}, {1, 0, 1, 0}, {0, 1, 1, 0}, {0, 0, 0, 1}},
			},
			want: Separation{
				Terms: []Term{{"w", []string{"w"}, []float64{1}, []float64{0, 0, 0, 1}}},
				Inseparable: []Inseparable{{
					Layers:        []string{"x", "y", "z"},
					Missing:       "an arm like a, but with one more z and no x and no y",
					MissingCounts: map[string]float64{"x": 0, "y": 0, "z": 1, "w": 0},
				}},
			},
		},
		{name: "no arms", design: Design{Layers: []string{"x"}}, want: Separation{Constant: []string{"x"}}},
		{name: "nothing", want: Separation{}},
		{
			name:   "rows that are too short",
			design: Design{Arms: []string{"a", "b"}, Layers: []string{"x"}, Counts: [][]float64{{1}}},
			want:   Separation{Terms: []Term{{"x", []string{"x"}, []float64{1}, []float64{1, 0}}}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, test.design.Separate()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// drawDesign draws designs of the size that experiments have; small counts make dependencies common.
func drawDesign(t *rapid.T) Design {
	arms := rapid.IntRange(1, 6).Draw(t, "arms")
	layers := rapid.IntRange(1, 6).Draw(t, "layers")
	var d Design
	for i := range layers {
		d.Layers = append(d.Layers, fmt.Sprintf("layer%d", i))
	}
	for i := range arms {
		d.Arms = append(d.Arms, fmt.Sprintf("arm%d", i))
		row := make([]float64, layers)
		for j := range row {
			row[j] = float64(rapid.IntRange(0, 3).Draw(t, "count"))
		}
		d.Counts = append(d.Counts, row)
	}
	return d
}

// with adds the arm that an Inseparable asks for.
func (d Design) with(in Inseparable) Design {
	row := make([]float64, len(d.Layers))
	for i, layer := range d.Layers {
		row[i] = in.MissingCounts[layer]
	}
	return Design{append(slices.Clone(d.Arms), "missing"), d.Layers, append(slices.Clone(d.Counts), row)}
}

// only keeps the given layers.
func (d Design) only(layers []string) Design {
	kept := Design{Arms: d.Arms, Layers: layers}
	for arm := range d.Arms {
		var row []float64
		for _, layer := range layers {
			row = append(row, d.Counts[arm][slices.Index(d.Layers, layer)])
		}
		kept.Counts = append(kept.Counts, row)
	}
	return kept
}

func TestMissingArmSeparates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDesign(t)
		s := d.Separate()
		all := d
		for _, in := range s.Inseparable {
			set := d.only(in.Layers)
			if len(set.Separate().Inseparable) == 0 {
				t.Fatalf("%v are called inseparable and are not", in.Layers)
			}
			for i := range in.Layers {
				rest := d.only(slices.Delete(slices.Clone(in.Layers), i, i+1))
				if got := rest.Separate(); len(got.Inseparable) > 0 {
					t.Fatalf("%v is not minimal: without one there is still %v", in.Layers, got.Inseparable)
				}
			}
			if got := d.with(in).only(in.Layers).Separate(); len(got.Inseparable) > 0 ||
				len(got.Terms) != len(in.Layers) {
				t.Fatalf("%v are not separable with %s %v: %+v", in.Layers, in.Missing, in.MissingCounts, got)
			}
			all = all.with(in)
		}
		if got := all.only(varying(d)).Separate(); len(got.Inseparable) > 0 {
			t.Fatalf("with all missing arms there is still %v", got.Inseparable)
		}
	})
}

// varying are the layers that differ between arms.
func varying(d Design) []string {
	constant := d.Separate().Constant
	return slices.DeleteFunc(slices.Clone(d.Layers), func(layer string) bool {
		return slices.Contains(constant, layer)
	})
}

// TestSeparateAccounts checks that every layer is in one place, and that a term's counts and Per give back the layer's.
func TestSeparateAccounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := drawDesign(t)
		s := d.Separate()
		places := make(map[string]int)
		for _, layer := range s.Constant {
			places[layer]++
		}
		for _, term := range s.Terms {
			for i, layer := range term.Layers {
				places[layer]++
				column := d.column(slices.Index(d.Layers, layer))
				for arm := range d.Arms {
					change := term.Per[i] * (term.Counts[arm] - term.Counts[0])
					if diff := column[arm] - column[0] - change; diff > 1e-9 || diff < -1e-9 {
						t.Fatalf("%+v: arm %d changes %s by %v", term, arm, layer, change)
					}
				}
			}
		}
		for layer, n := range places {
			if n != 1 {
				t.Fatalf("%s is in %d places", layer, n)
			}
		}
		for _, layer := range d.Layers {
			refused := slices.ContainsFunc(s.Inseparable, func(in Inseparable) bool {
				return slices.Contains(in.Layers, layer)
			})
			if places[layer] == 0 && !refused {
				t.Fatalf("%s is neither estimated nor refused", layer)
			}
		}
	})
}
