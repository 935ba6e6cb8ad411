package steps

import (
	"context"
	"errors"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/execution"
)

// Measure runs an experiment once, from hosts that are made to hosts that are freed, and keeps the run in a folder. The
// trials so far also come with an error. run is the run directory; empty if none was made.
func Measure(
	ctx context.Context, e *experiment.Experiment, folder string, o execution.Options,
) (run string, trials []result.Trial, err error) {
	r := execution.New(e)
	defer func() { err = errors.Join(err, r.Close()) }()
	if err := r.Prepare(ctx, o); err != nil {
		return "", nil, err
	}
	if err := r.Create(ctx, folder, nil); err != nil {
		return "", nil, err
	}
	err = errors.Join(r.Measure(ctx), r.Finish(ctx))
	trials, readErr := r.Trials()
	return r.Path(), trials, errors.Join(err, readErr)
}
