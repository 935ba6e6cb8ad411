package runner

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/result"
	"nearfar/internal/tool"
)

// background is a workload that runs beside another, between the same hosts, from before its warm-up until after its end.
type background struct {
	workload experiment.Workload
	tool     tool.Companion
	job
	// from and until bound what the client printed while the workload's client ran.
	from, until int
	// failed is why it did not do what it should; nil for a good one.
	failed error
}

// background plans what runs beside a workload; nil where nothing does. work is the plan of the workload itself.
func (r *Runner) background(w experiment.Workload, work tool.Plan, server host.Endpoint) (*background, error) {
	if w.Background == nil {
		return nil, nil
	}
	t, _ := r.tools.Lookup(w.Background.Tool)
	companion, ok := t.(tool.Companion)
	if !ok {
		return nil, fmt.Errorf("the background: %s cannot run beside another workload", w.Background.Tool)
	}
	longest := work.Expected + r.limits.Patience + r.limits.Ready
	plan, err := companion.PlanBackground(*w.Background, server, longest)
	if err != nil {
		return nil, err
	}
	clientCPUs, serverCPUs, err := r.stage.CPUs(w.Background.Placement)
	if err != nil {
		return nil, fmt.Errorf("the background: %w", err)
	}
	return &background{workload: *w.Background, tool: companion, job: job{plan, clientCPUs, serverCPUs, newOutputs()}}, nil
}

// adds is what the background adds to the time of its workload.
func (b *background) adds() time.Duration {
	if b == nil {
		return 0
	}
	return b.plan.Expected + overhead
}

// beside runs the workload's client while the background flows, and then ends the background. A background that ends of its
// own accord ends the workload too: what it measured is not what was asked for.
func (b *background) beside(ctx context.Context, l Limits, pair Pair, work func(context.Context) error) (err error) {
	endServer, err := l.serve(ctx, b.job, pair.Server)
	if err != nil {
		b.failed = fmt.Errorf("the background: %w", err)
		return b.failed
	}
	defer func() { err = errors.Join(err, endServer()) }()
	flowing := newWatched(b.out.stdout, b.tool.Flowing)
	cmd := command(b.plan.Client, b.clientCPUs, nil, b.out.stderr)
	cmd.Stdout = flowing
	client, err := pair.Client.Start(ctx, cmd)
	if err != nil {
		b.failed = fmt.Errorf("the background: %w", err)
		return b.failed
	}
	ended := make(chan error, 1)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		ended <- client.Wait()
		cancel()
	}()
	timeout := time.NewTimer(b.plan.Expected + l.Patience)
	defer timeout.Stop()
	select {
	case <-flowing.seen:
	case <-running.Done():
		b.failed = b.endedEarly(ctx, <-ended)
		return b.failed
	case <-timeout.C:
		b.failed = fmt.Errorf("the background: nothing arrived within %v", b.plan.Expected+l.Patience)
		return errors.Join(b.failed, client.Stop(l.Grace))
	}
	b.from = b.out.stdout.Len()
	err = work(running)
	b.until = b.out.stdout.Len()
	select {
	case waitErr := <-ended:
		b.failed = b.endedEarly(ctx, waitErr)
		return b.failed
	default:
	}
	return errors.Join(err, client.Stop(l.Grace))
}

// endedEarly says why a client ended that should have gone on.
func (b *background) endedEarly(ctx context.Context, waitErr error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(waitErr, host.ErrLost) {
		return waitErr
	}
	reason := "it does not say why"
	if _, err := b.tool.ParseBackground(b.out.parsable(&b.workload, waitErr), 0, b.out.stdout.Len()); err != nil {
		reason = err.Error()
	} else if waitErr != nil {
		reason = waitErr.Error()
	}
	return fmt.Errorf("the background ended before the workload: %s", reason)
}

// record adds the background's figures, facts and notes to its workload's trial, and gives the reason where there are none.
func (b *background) record(trial *result.Trial) string {
	facts := withPlacement(nil, b.workload.Placement.Kind, b.clientCPUs, b.serverCPUs)
	defer func() {
		for k, v := range facts {
			trial.Facts[result.Background+"."+k] = v
		}
	}()
	if b.failed != nil {
		return b.failed.Error()
	}
	m, err := b.tool.ParseBackground(b.out.parsable(&b.workload, nil), b.from, b.until)
	if err != nil {
		return err.Error()
	}
	for _, metric := range m.Metrics {
		metric.Scope = strings.TrimSpace(result.Background + " " + metric.Scope)
		trial.Metrics = append(trial.Metrics, metric)
	}
	for k, v := range m.Facts {
		facts[k] = v
	}
	for _, note := range m.Notes {
		trial.Notes = append(trial.Notes, "The background: "+note)
	}
	return b.out.cut()
}
