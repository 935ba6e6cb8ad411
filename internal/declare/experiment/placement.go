package experiment

// maxCPU is the greatest CPU number.
const maxCPU = 4095

// PlacementWords are the placements without numbers of CPUs.
func PlacementWords() []string { return []string{PlacementShared, PlacementSplit, PlacementFree} }

// CPUNumber names a CPU number in messages.
const CPUNumber = "a CPU number"

// CPUNumbers are the limits of CPU numbers.
func CPUNumbers() Range { return Range{0, maxCPU} }

// CPUsExample is an example of a side, for messages.
func CPUsExample(side string) string { return side + ": [0]" }

// Check checks the kind of a placement, and the CPUs of an explicit one.
func (p Placement) Check(c *Checker) {
	if len(p.Client) == 0 && len(p.Server) == 0 && !c.given("client") && !c.given("server") {
		c.word(AtValue(), "placement", p.Kind, PlacementWords())
		return
	}
	if p.Kind != PlacementExplicit {
		c.wrong(AtValue(), "leave them out", "a placement %s names CPUs", quote(p.Kind))
	}
	p.checkSide(c, "client", p.Client)
	p.checkSide(c, "server", p.Server)
}

func (p Placement) checkSide(c *Checker, side string, cpus []int) {
	if len(cpus) == 0 {
		c.wrong(AtValue(side), "write, for example, "+CPUsExample(side), "%s names no CPU", side)
	}
	if len(cpus) > maxCPU+1 {
		return // Workload.bounds reports them
	}
	seen := make(map[int]bool)
	for i, cpu := range cpus {
		c.whole(AtValue(side, Item(i)), CPUNumber, cpu, CPUNumbers())
		if seen[cpu] && c.In(side).sound(Item(i)) {
			c.wrong(AtValue(side, Item(i)), "name each CPU once", "CPU %d is here twice", cpu)
		}
		seen[cpu] = true
	}
}
