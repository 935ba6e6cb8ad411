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
		return &Placement{Kind: r.scalar(v.value, "placement", PlacementShared)}
	}
	inner, ok := r.fields(v.value, v.key, "placement", placementKeys())
	if !ok {
		return nil
	}
	return &Placement{Kind: PlacementExplicit, Client: r.cpus(inner, "client"), Server: r.cpus(inner, "server")}
}

// cpus reads a list of CPU numbers.
func (r *reader) cpus(f fields, side string) []int {
	v, ok := r.required(f, side, cpusExample(side))
	if !ok || !r.isSequence(v.value, side, cpusExample(side)) {
		return nil
	}
	cpus := make([]int, len(v.value.Content))
	for i, n := range v.value.Content {
		cpus[i], _ = r.whole(n, cpuNumber, cpuNumbers())
	}
	return cpus
}

const cpuNumber = "a CPU number"

func cpuNumbers() Range { return Range{0, maxCPU} }

func cpusExample(side string) string { return side + ": [0]" }

// check checks the kind of a placement, and the CPUs of an explicit one.
func (p Placement) check(c *checker) {
	if len(p.Client) == 0 && len(p.Server) == 0 && !c.given("client") && !c.given("server") {
		c.word(value(), "placement", p.Kind, placementWords())
		return
	}
	if p.Kind != PlacementExplicit {
		c.wrong(value(), "leave them out", "a placement %s names CPUs", quote(p.Kind))
	}
	p.checkSide(c, "client", p.Client)
	p.checkSide(c, "server", p.Server)
}

func (p Placement) checkSide(c *checker, side string, cpus []int) {
	if len(cpus) == 0 {
		c.wrong(value(side), "write, for example, "+cpusExample(side), "%s names no CPU", side)
	}
	if len(cpus) > maxCPU+1 {
		return // Workload.bounds reports them
	}
	seen := make(map[int]bool)
	for i, cpu := range cpus {
		c.whole(value(side, item(i)), cpuNumber, cpu, cpuNumbers())
		if seen[cpu] && c.in(side).sound(item(i)) {
			c.wrong(value(side, item(i)), "name each CPU once", "CPU %d is here twice", cpu)
		}
		seen[cpu] = true
	}
}
