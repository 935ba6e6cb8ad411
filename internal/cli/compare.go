package cli

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"nearfar/internal/contrast"
)

func (a *app) compareCommand() *cobra.Command {
	var o reportOptions
	var with *sideFlag
	cmd := &cobra.Command{
		Use:   "compare [A... --with B...]",
		Short: "Say what two runs, arms of runs, or recorded results differ by",
		Long: `Compare sets B against A: every difference is B less A. Without names it takes the newest two runs of an experiment in runs/.

` + sidesHelp + `

Arms of one run are paired within its blocks, as report does. Two runs share no blocks: the interval is then that of the
median difference between a trial of the one and a trial of the other. How much one run differs from the next is in it
only where other runs show it: give several runs a side with --with (3 or more), or keep 5 or more other runs of the same
experiment in the same folder. Otherwise the answer is about these two runs. With one trial a side there is a difference
and no interval. What does not measure the same thing is refused, with the reason; two workloads that are named are
compared where their numbers have the same definition. The exit code is 1 where nothing at all is comparable.`,
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
				return &usageError{errors.New("one side: name another one, or none for the newest two runs\nSee 'nearfar compare --help'")}
			}
			c, done, err := a.contrast(cmd.Context(), base, "A", other, "B")
			if err != nil {
				return err
			}
			defer done()
			write := a.writeReport
			if o.format == formatHTML {
				write = a.writeComparePage
			}
			if err := write(c.Answer(), o); err != nil {
				return err
			}
			if !c.Comparable() {
				return contrast.ErrNothing
			}
			return nil
		},
	}
	o.flags(cmd.Flags())
	with = newSideFlag(cmd.Flags(), "with", "begins side B: this `RUN` and all that follow, several runs a side")
	o.pagesOfSides(cmd.Flags())
	return cmd
}

// contrast reads two sides and finds what of them belongs together. Each may have several runs. What it gives must be ended.
func (a *app) contrast(ctx context.Context, base []string, baseName string, other []string, otherName string) (c *contrast.Contrast, done func(), err error) {
	b, n, err := a.readSides(base, baseName, other, otherName)
	if err != nil {
		return nil, nil, err
	}
	if c, err = contrast.Match(b, n); err != nil {
		return nil, nil, harmless(err)
	}
	of, done := scatterFrom(ctx, c)
	if of != nil {
		c.UseScatter(of)
	}
	return c, done, nil
}

// readSides reads both sides. Only one can be standard input.
func (a *app) readSides(base []string, baseName string, other []string, otherName string) (*contrast.Side, *contrast.Side, error) {
	if inputs := slices.Concat(base, other); slices.Index(inputs, "-") >= 0 && slices.Contains(inputs[slices.Index(inputs, "-")+1:], "-") {
		return nil, nil, &usageError{errors.New("only one side can be standard input")}
	}
	// All at once: of long runs it is the reading that takes time.
	read := func(wait *sync.WaitGroup, sources []string, name string) ([]*contrast.Side, []error) {
		sides, failures := make([]*contrast.Side, len(sources)), make([]error, len(sources))
		for i, source := range sources {
			wait.Go(func() { sides[i], failures[i] = a.readSide(source, name) })
		}
		return sides, failures
	}
	var wait sync.WaitGroup
	bases, baseErrors := read(&wait, base, baseName)
	others, otherErrors := read(&wait, other, otherName)
	wait.Wait()
	if err := errors.Join(append(baseErrors, otherErrors...)...); err != nil {
		return nil, nil, err
	}
	b, baseErr := contrast.Merge(baseName, bases)
	n, otherErr := contrast.Merge(otherName, others)
	return b, n, harmless(errors.Join(baseErr, otherErr))
}
