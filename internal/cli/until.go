package cli

import (
	"fmt"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/execution"
)

// mostUntil is the largest number of blocks of a run that ends by itself, if --blocks does not say.
const mostUntil = 100

// endsBySelf applies --until to an experiment.
func (o runOptions) endsBySelf(e *experiment.Experiment) error {
	if o.until == "" {
		return nil
	}
	aim, err := figures.ParseAim(o.until)
	switch {
	case err != nil:
		return usagef("--until: %w", err)
	case e.Schedule.DeploymentCount() > 1:
		return usagef("--until cannot end a run with several deployments: their number is decided beforehand")
	case len(e.Arms) < 2:
		return usagef("--until needs a second arm: a run of one arm has no difference to know")
	}
	e.Schedule.Until = aim.Text
	if !o.blocksGiven {
		e.Schedule.Blocks = max(e.Schedule.Blocks, mostUntil)
	}
	return nil
}

// untilKnown makes a run end as soon as it has the resolution that its experiment asks for.
func untilKnown(r *execution.Run) error {
	m := r.Manifest()
	if m.Experiment.Schedule.Until == "" {
		return nil
	}
	aim, err := figures.ParseAim(m.Experiment.Schedule.Until)
	if err != nil {
		return fmt.Errorf("the run's resolution: %w", err)
	}
	r.Until(func(trials []result.Trial) bool {
		return figures.Settled(figures.Run{Experiment: m.Experiment, Trials: trials, AnyTime: true}, aim)
	})
	return nil
}
