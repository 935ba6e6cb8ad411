package cli

import (
	"github.com/spf13/cobra"

	"nearfar/internal/contrast"
)

func (a *app) compareCommand() *cobra.Command {
	var o reportOptions
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Say what two runs, arms of runs, or recorded results differ by",
		Long: `Compare sets B against A: every difference is B less A.

` + sidesHelp + `

Arms of one run are paired within its blocks, as report does. Two runs share no blocks: the interval is then that of the
median difference between a trial of the one and a trial of the other, and what else changed between them is in it.
With one trial a side there is a difference and no interval. What does not measure the same thing is refused, with
the reason. The exit code is 1 where nothing at all is comparable.`,
		Example: `  nearfar compare runs/20261121T192200Z-overlay runs/20261128T190000Z-overlay
  nearfar compare runs/20261121T192200Z-overlay:l2 runs/20261121T192200Z-overlay:vxlan
  nearfar compare before.txt after.txt
  nearfar compare -f json sockperf.txt runs/20261121T192200Z-overlay:l2 | jq .comparisons`,
		Args: usageArgs(cobra.ExactArgs(2)),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			c, err := a.contrast(args[0], "A", args[1], "B")
			if err != nil {
				return err
			}
			ans := c.Answer()
			if err := a.writeReport(ans, o); err != nil {
				return err
			}
			if !c.Comparable() {
				return contrast.ErrNothing
			}
			return nil
		},
	}
	o.flags(cmd.Flags())
	return cmd
}

// contrast reads two sides and finds what of them belongs together.
func (a *app) contrast(base, baseName, other, otherName string) (*contrast.Contrast, error) {
	b, n, err := a.readSides(base, baseName, other, otherName)
	if err != nil {
		return nil, err
	}
	c, err := contrast.Match(b, n)
	return c, harmless(err)
}
