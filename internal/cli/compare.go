package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"nearfar/internal/conclude/contrast"
)

func (a *app) compareCommand() *cobra.Command {
	var o reportOptions
	var with *sideFlag
	cmd := &cobra.Command{
		Use:   "compare [A... --with B...]",
		Short: "Compare two runs, two arms of runs, or two recorded results",
		Long: `Compare shows by how much B differs from A: every difference is B minus A. Without names it takes the
newest two runs of an experiment in runs/.

` + sidesHelp + `

Arms of one run are paired within its blocks, as in a report. Two runs share no blocks: their interval is the interval
of the median difference between a trial of one run and a trial of the other. It includes the variation from run to run
only if other runs show it: give several runs a side with --with (3 or more), or keep 5 or more other runs of the same
experiment in the same folder. Otherwise the answer is about these two runs only. With one trial a side there is a
difference and no interval.

Figures that do not measure the same thing are not compared, and the reason is printed. Two workloads that are named
with RUN:ARM/WORKLOAD are compared if their figures have the same definition.

Exit codes: 0 compared; 1 nothing is comparable, or a failure; 2 wrong usage.`,
		Example: `  nearfar compare
  nearfar compare runs/20261121T192200Z-overlay runs/20261128T190000Z-overlay
  nearfar compare runs/20261121T192200Z-overlay:l2 runs/20261121T192200Z-overlay:vxlan
  nearfar compare runs/20261121T192200Z-overlay:l2/tcp runs/20261121T192200Z-overlay:l2/udp
  nearfar compare runs/old-1 runs/old-2 runs/old-3 --with runs/new-1 runs/new-2 runs/new-3
  nearfar compare before.txt after.txt
  nearfar compare -f html -o compare.html runs/20261121T192200Z-overlay runs/20261128T190000Z-overlay
  nearfar compare -f json sockperf.txt runs/20261121T192200Z-overlay:l2 | jq .comparisons`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(); err != nil {
				return err
			}
			base, other, err := with.sides(args, "with")
			if err != nil {
				return err
			}
			if len(base) == 0 {
				taken, err := a.newest(2, "two sides")
				if err != nil {
					return err
				}
				base, other = taken[:1], taken[1:]
			}
			if len(other) == 0 {
				return seeHelp(cmd, errors.New("only one side is named: name another, or none for the newest two runs"))
			}
			c, done, err := a.contrast(cmd.Context(), base, "A", other, "B")
			if err != nil {
				return err
			}
			defer done()
			if o.format == formatHTML {
				err = a.writeSides(c.Answer(), nil, o)
			} else {
				err = a.writeReport(c.Answer(), o)
			}
			if err != nil {
				return err
			}
			if !c.Comparable() {
				return contrast.ErrNothing
			}
			return nil
		},
	}
	o.flags(cmd.Flags(), sidesPage)
	with = newSideFlag(cmd.Flags(), "with", "side B is this `RUN` and all names after it; for several runs a side")
	return cmd
}
