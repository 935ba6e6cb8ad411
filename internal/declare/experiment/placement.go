package experiment

import "go.yaml.in/yaml/v4"

// maxCPU is the greatest CPU number.
const maxCPU = 4095

func placementWords() []string { return []string{PlacementShared, PlacementSplit, PlacementFree} }

func placementKeys() []string { return []string{"client", "server"} }

// placed gives the placement of a workload: its own, else the experiment's, else the default of its mode.
func (r *reader) placed(w Workload, f fields, common *Placement) Placement {
	if own := r.placement(f); own != nil {
		return *own
	}
	if common != nil {
		return *common
	}
	return r.defaultPlacement(w)
}

// defaultPlacement is shared if one request at a time is under way, and split for bulk data and if both sides use a CPU
// all the time. It is split for all workloads if an arm has hosts: different machines share no CPU, and a workload has
// the same placement in all arms.
func (r *reader) defaultPlacement(w Workload) Placement {
	switch {
	case r.known.used:
		return Placement{Kind: PlacementSplit}
	case w.Mode == Stream, w.Mode == Messages, w.Mode == Load, w.Wait == WaitSpin:
		return Placement{Kind: PlacementSplit}
	}
	return Placement{Kind: PlacementShared}
}

// placement reads shared, split, free, or {client: [0], server: [1]}. It gives nil if there is none or if it is wrong.
func (r *reader) placement(f fields) *Placement {
	v, ok := r.optional(f, "placement")
	if !ok {
		return nil
	}
	if v.value.Kind != yaml.MappingNode {
		kind, ok := r.word(v.value, "placement", placementWords())
		if !ok {
			return nil
		}
		return &Placement{Kind: kind}
	}
	inner, ok := r.fields(v.value, v.key, "placement", placementKeys())
	if !ok {
		return nil
	}
	return &Placement{Kind: PlacementExplicit, Client: r.cpus(inner, "client"), Server: r.cpus(inner, "server")}
}

// cpus reads a list of CPU numbers.
func (r *reader) cpus(f fields, side string) []int {
	example := side + ": [0]"
	v, ok := r.required(f, side, example)
	if !ok || !r.isSequence(v.value, side, example) {
		return nil
	}
	if len(v.value.Content) == 0 {
		r.wrong(v.value, "write, for example, "+example, "%s names no CPU", side)
	}
	var cpus []int
	seen := make(map[int64]bool)
	for _, n := range v.value.Content {
		cpu, ok := r.integer(n, "a CPU number", 0, maxCPU)
		if !ok {
			continue
		}
		if seen[cpu] {
			r.wrong(n, "name each CPU once", "CPU %d is here twice", cpu)
			continue
		}
		seen[cpu] = true
		cpus = append(cpus, int(cpu))
	}
	return cpus
}
