package experiment

// maxCPU is the greatest CPU number.
const maxCPU = 4095

func placementWords() []string { return []string{PlacementShared, PlacementSplit, PlacementFree} }

func placementKeys() []string { return []string{"client", "server"} }

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
