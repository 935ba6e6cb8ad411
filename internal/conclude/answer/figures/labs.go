package figures

import (
	"math"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// AboutTheseLabs is the value of Comparison.About for two labs that were made once and whose difference may be no
// larger than that of equal labs: namespaces, sockets and caches are a draw, too.
const AboutTheseLabs = "these-labs"

// LabScatter is the difference, in seconds of the median round trip, up to which equal labs differ in one run. In eight
// deployments of two equal labs the differences had a standard deviation of 42 ns (docs/lab.md), and twice that is
// rounded up.
const LabScatter = 100e-9

// ofTheseLabs sets About if the comparison is of two labs that were made once, and the end of its interval that is
// nearer to 0 is below LabScatter. Differences that are not sure say nothing about any labs.
func (c *Comparison) ofTheseLabs(e *experiment.Experiment) {
	sure := c.Verdict == Higher || c.Verdict == Lower
	if !sure || c.About != "" || c.Unit != result.Seconds || Deployed(e) || e.HostsOf(c.Arm) == e.HostsOf(c.Baseline) {
		return
	}
	for _, name := range []string{c.Arm, c.Baseline} {
		if arm, ok := e.Arm(name); !ok || arm.Lab == nil {
			return
		}
	}
	if c.Difference == nil {
		return // worse without a size: no figure at all
	}
	nearer := math.Abs(*c.Difference)
	if i := c.Interval; i != nil {
		nearer = min(math.Abs(i[0]), math.Abs(i[1]))
	}
	if nearer < LabScatter {
		c.About = AboutTheseLabs
	}
}
