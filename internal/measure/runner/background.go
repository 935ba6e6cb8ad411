package runner

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// background is a workload that runs between the same hosts as another workload, from before its warm-up until after
// its end.
type background struct {
	workload experiment.Workload
	tool     tool.Companion
	job
	// The workload's client ran from..until, by the clock of the client's host.
	from, until time.Time
	// failed says why the background did not run as it should; nil if it did.
	failed error
}

// reportTime is how long the end of a trial waits for what the background reports of the last moments of the workload.
const reportTime = 2 * time.Second

// background plans the background of a workload; nil if it has none. work is the plan of the workload itself.
func (r *Runner) background(w experiment.Workload, work tool.Plan, hosts host.Hosts) (*background, error) {
	if w.Background == nil {
		return nil, nil
	}
	t, _ := r.tools.Lookup(w.Background.Tool)
	companion, ok := t.(tool.Companion)
	if !ok {
		return nil, fmt.Errorf("the background: %s cannot run beside another workload", w.Background.Tool)
	}
	longest := work.Expected + r.limits.Patience + r.limits.ready(work)
	plan, err := companion.PlanBackground(*w.Background, hosts.Endpoints(), longest)
	if err != nil {
		return nil, err
	}
	clientCPUs, serverCPUs, err := hosts.Machines.CPUs(w.Background.Placement)
	if err != nil {
		return nil, fmt.Errorf("the background: %w", err)
	}
	return &background{
		workload: *w.Background, tool: companion,
		job: job{
			plan: plan, clientCPUs: clientCPUs, serverCPUs: serverCPUs, out: newOutputs(),
		},
	}, nil
}

// adds is how much longer a trial takes because of its background.
func (b *background) adds() time.Duration {
	if b == nil {
		return 0
	}
	return b.plan.Expected + overhead
}

// errBackgroundEnded is the cause for which a workload is ended whose background has ended.
var errBackgroundEnded = errors.New("its background has ended")

// beside starts the background, runs the workload's client once its data flows, and then ends the background. If the
// background ends by itself, the workload is ended too: it would not measure what was declared.
func (b *background) beside(
	ctx context.Context, l Limits, hosts host.Hosts,
	work func(context.Context) (started, ended time.Time, err error),
) (err error) {
	_, endServer, err := l.serve(ctx, b.job, hosts.Server)
	if err != nil {
		b.failed = fmt.Errorf("the background: %w", err)
		return b.failed
	}
	defer func() { err = errors.Join(err, endServer(false)) }()
	printed := &watched{Buffer: b.out.stdout}
	flowing := printed.when(b.tool.Flowing)
	cmd := command(b.plan.Client, b.clientCPUs, nil, b.out.stderr)
	cmd.Stdout = printed
	client, err := hosts.Client.Start(ctx, cmd)
	if err != nil {
		b.failed = fmt.Errorf("the background: %w", err)
		return b.failed
	}
	ended := make(chan error, 1)
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		ended <- client.Wait()
		cancel(errBackgroundEnded) // it is no interrupt
	}()
	select {
	case <-flowing:
	case <-running.Done():
		b.failed = b.endedEarly(ctx, <-ended)
		return b.failed
	case <-time.After(b.plan.Expected + l.Patience):
		b.failed = fmt.Errorf("the background: nothing arrived within %v", b.plan.Expected+l.Patience)
		return errors.Join(b.failed, client.Stop(l.Grace))
	}
	b.from, b.until, err = work(running)
	if err == nil {
		// The same disturbance that delays the workload also delays the background's reports.
		select {
		case <-printed.when(func(stdout []byte) bool { return b.tool.Reported(stdout, b.until) }):
		case <-running.Done():
		case <-time.After(reportTime):
		}
	}
	select {
	case waitErr := <-ended:
		b.failed = b.endedEarly(ctx, waitErr)
		return b.failed
	default:
	}
	return errors.Join(err, client.Stop(l.Grace))
}

// endedEarly says why the background's client ended before it was asked to.
func (b *background) endedEarly(ctx context.Context, waitErr error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(waitErr, host.ErrLost) {
		return waitErr
	}
	reason := "it does not say why"
	always := time.Now().Add(100 * 365 * 24 * time.Hour) // after all that the client can have printed
	if _, err := b.tool.ParseBackground(b.out.parsable(&b.workload, waitErr), time.Time{}, always); err != nil {
		reason = err.Error()
	} else if waitErr != nil {
		reason = waitErr.Error()
	}
	return fmt.Errorf("the background ended before the workload: %s", reason)
}

// record adds the background's figures, facts and notes to its workload's trial. The result says why there are none; ""
// if there are.
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
	maps.Copy(facts, m.Facts)
	for _, note := range m.Notes {
		trial.Notes = append(trial.Notes, "The background: "+note)
	}
	return b.out.cut()
}
