package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// flowing is a tool that can be a background: its client prints a line for each bit that arrives, with the time in
// nanoseconds.
type flowing struct{ clocked }

func (flowing) Name() string { return "flowing" }

func (flowing) Probe() tool.Probe {
	return tool.Probe{Programs: []string{host.Self}, Argv: []string{host.Self, "version"},
		Version: func([]byte) string { return "7" }}
}

func (flowing) PlanBackground(_ experiment.Workload, _ host.Pair, longest time.Duration) (tool.Plan, error) {
	return tool.Plan{
		Server: &tool.Command{Argv: []string{"flowd"}}, Ready: tool.Ready{Protocol: "tcp", Port: 8},
		Client: tool.Command{Argv: []string{"flow", longest.String()}}, Expected: 10 * time.Millisecond,
	}, nil
}

func (flowing) Flowing(stdout []byte) bool { return bytes.Contains(stdout, []byte("bit ")) }

func (flowing) Reported([]byte, time.Time) bool { return true }

// bit prints a bit that arrives now.
func bit(w io.Writer) { fmt.Fprintln(w, "bit", time.Now().UnixNano()) }

func (flowing) ParseBackground(out tool.Output, from, until time.Time) (result.Measurement, error) {
	if i := bytes.Index(out.Stdout, []byte("broken")); i >= 0 {
		return result.Measurement{}, errors.New(strings.TrimSpace(string(out.Stdout[i:])))
	}
	bits := 0
	for line := range strings.Lines(string(out.Stdout)) {
		var at int64
		if _, err := fmt.Sscanf(line, "bit %d", &at); err != nil {
			return result.Measurement{}, err
		}
		if at >= from.UnixNano() && at <= until.UnixNano() {
			bits++
		}
	}
	return result.Measurement{
		Metrics: []result.Metric{{Name: result.Goodput, Unit: result.BitsPerSecond, Value: float64(bits)}},
		Facts:   map[string]string{"pipes": "2"}, Notes: []string{"It leaks."},
	}, nil
}

func withBackground(blocks int) *experiment.Experiment {
	e := twoArms(blocks)
	e.Arms = e.Arms[:1]
	e.Workloads[0].Background = &experiment.Workload{Name: "background", Tool: "flowing", Mode: experiment.Stream,
		Placement: experiment.Placement{Kind: experiment.PlacementSplit}}
	return e
}

// beats is a background's client that prints a bit when it starts, for each beat, and when it is ended.
type beats struct{ asked, printed chan struct{} }

func newBeats() beats { return beats{make(chan struct{}), make(chan struct{})} }

func (b beats) program(ctx context.Context, _ []string, _ []byte, stdout, _ io.Writer) int {
	bit(stdout)
	for {
		select {
		case <-b.asked:
			bit(stdout)
			b.printed <- struct{}{}
		case <-ctx.Done():
			bit(stdout)
			return 130
		}
	}
}

// client is a workload's client that runs while three bits of the background arrive.
func (b beats) client(_ context.Context, _ []string, _ []byte, stdout, _ io.Writer) int {
	for range 3 {
		b.asked <- struct{}{}
		<-b.printed
	}
	fmt.Fprintln(stdout, "0.25")
	return 0
}

func TestBackgroundRunsFromBeforeUntilAfter(t *testing.T) {
	b := newBeats()
	s := &scene{client: b.client, flow: b.program}
	k := &kept{}
	r, err := run(t, context.Background(), s, withBackground(2), DefaultLimits(), k, nil)
	if err != nil {
		t.Fatal(err)
	}
	phases := []string{"server a", "ready: tcp 7", "background server a", "ready: tcp 8", "background client a",
		"client a",
		"background client a ends", "background server a ends", "server a ends"}
	if want := strings.Join(append(phases, phases...), "\n"); strings.Join(s.log, "\n") != want {
		t.Errorf("phases:\n%s\nwant:\n%s", strings.Join(s.log, "\n"), want)
	}
	if len(k.trials) != 2 {
		t.Fatalf("%d trials, want 2", len(k.trials))
	}
	for _, tr := range k.trials {
		if tr.Error != "" {
			t.Fatal(tr.Error)
		}
		if v, ok := tr.Value(result.RTT, result.P50); !ok || v != 0.25 {
			t.Errorf("p50 %v %v", v, ok)
		}
		last := tr.Metrics[len(tr.Metrics)-1]
		// Bits that arrive before the workload's client starts or after it ends do not count.
		if want := (result.Metric{Name: result.Goodput, Unit: result.BitsPerSecond, Value: 3,
			Scope: "background"}); last != want {
			t.Errorf("the background's metric is %+v, want %+v", last, want)
		}
		if len(tr.Commands) != 4 || tr.Commands[2] != "flowd" || !strings.HasPrefix(tr.Commands[3], "flow ") {
			t.Errorf("commands %q", tr.Commands)
		}
		if tr.Facts["background.pipes"] != "2" || tr.Facts["background.placement"] != "split" ||
			tr.Facts["background.placement.client.cpus"] != "1" {
			t.Errorf("facts %v", tr.Facts)
		}
		if len(tr.Notes) != 1 || tr.Notes[0] != "The background: It leaks." {
			t.Errorf("notes %q", tr.Notes)
		}
	}
	if got := k.raw["00001-a-w.background.client.out"]; strings.Count(got, "bit ") != 5 {
		t.Errorf("the background's output is kept as %q; all is %v", got, k.raw)
	}
	if r.Versions()["flowing"] != "7" {
		t.Errorf("versions %v", r.Versions())
	}
}

// The background can run longer than the workload may take, and the plan includes its time.
func TestBackgroundIsPlanned(t *testing.T) {
	b := newBeats()
	limits := Limits{Ready: time.Second, Grace: time.Second, Patience: 20 * time.Second}
	r, err := run(t, context.Background(), &scene{client: b.client, flow: b.program}, withBackground(1), limits,
		&kept{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	plans, err := r.Plans()
	if err != nil {
		t.Fatal(err)
	}
	if len(plans) != 1 || strings.Join(plans[0].Commands, "; ") != "clockd; clock w; flowd; flow 21s" {
		t.Errorf("planned %+v", plans)
	}
	if want := 10*time.Millisecond + 2*overhead; plans[0].Takes != want ||
		r.expected(experiment.Slot{Arm: "a", Workload: "w"}) != 10*time.Millisecond+overhead {
		t.Errorf("takes %v, want %v; %v", plans[0].Takes, want, r.expected(experiment.Slot{Arm: "a", Workload: "w"}))
	}
}

func TestBackgroundThatFailsFailsTheTrial(t *testing.T) {
	b := newBeats()
	untilEnded := func(ctx context.Context, _ []string, _ []byte, stdout, _ io.Writer) int {
		<-ctx.Done()
		return 1
	}
	for _, c := range []struct {
		name         string
		client, flow fake.Program
		dead         int
		want         string
	}{
		{name: "at once", client: prints("1"), flow: func(_ context.Context, _ []string, _ []byte, stdout,
			_ io.Writer) int {
			fmt.Fprintln(stdout, "broken: refused")
			return 1
		}, want: "the background ended before the workload: broken: refused"},
		{name: "midway", client: untilEnded, flow: func(_ context.Context, _ []string, _ []byte, stdout,
			_ io.Writer) int {
			bit(stdout)
			fmt.Fprintln(stdout, "broken: reset")
			return 1
		}, want: "the background ended before the workload: broken: reset"},
		{name: "in good order but early", client: untilEnded, flow: prints("bit 1"),
			want: "the background ended before the workload: it does not say why"},
		{name: "silent", client: prints("1"), flow: untilEnded, want: "the background: nothing arrived within 110ms"},
		{name: "no server", client: prints("1"), flow: b.program, dead: 8,
			want: "the background: a/server: flowd: the server did not serve tcp port 8 within 200ms"},
	} {
		t.Run(c.name, func(t *testing.T) {
			limits := DefaultLimits()
			limits.Patience = 100 * time.Millisecond
			if c.dead != 0 {
				limits.Ready = 200 * time.Millisecond
			}
			k := &kept{}
			s := &scene{client: c.client, flow: c.flow, deadPort: c.dead}
			if _, err := run(t, context.Background(), s, withBackground(1), limits, k, nil); err != nil {
				t.Fatal(err)
			}
			if len(k.trials) != 1 || k.trials[0].Error != c.want {
				t.Errorf("trials %+v, want one that failed with %q", k.trials, c.want)
			}
			if k.trials[0].Facts["background.placement"] != "split" {
				t.Errorf("facts %v", k.trials[0].Facts)
			}
			if end := s.log[len(s.log)-1]; end != "server a ends" {
				t.Errorf("the last that happened is %q", end)
			}
		})
	}
}

// A workload that fails with a working background reports its own reason.
func TestWorkloadThatFailsBesideABackground(t *testing.T) {
	b := newBeats()
	k := &kept{}
	if _, err := run(t, context.Background(), &scene{client: prints("none"), flow: b.program}, withBackground(1),
		DefaultLimits(), k, nil); err != nil {
		t.Fatal(err)
	}
	if len(k.trials) != 1 || !strings.Contains(k.trials[0].Error, `no number in "none\n"`) {
		t.Errorf("trials %+v", k.trials)
	}
}

func TestInterruptBesideABackgroundDropsTheTrial(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	b := newBeats()
	k := &kept{}
	s := &scene{flow: b.program, client: func(ctx context.Context, _ []string, _ []byte, _, _ io.Writer) int {
		cancel()
		<-ctx.Done()
		return 1
	}}
	_, err := run(t, ctx, s, withBackground(2), DefaultLimits(), k, nil)
	if !errors.Is(err, context.Canceled) || len(k.trials) != 0 {
		t.Errorf("%d trials and %v, want none and an interrupt", len(k.trials), err)
	}
}

func TestBackgroundNeedsACompanion(t *testing.T) {
	e := withBackground(1)
	e.Workloads[0].Background.Tool = "clocked"
	k := &kept{}
	if _, err := run(t, context.Background(), &scene{client: prints("1")}, e, DefaultLimits(), k, nil); err != nil {
		t.Fatal(err)
	}
	if want := "the background: clocked cannot run beside another workload"; len(k.trials) != 1 ||
		k.trials[0].Error != want {
		t.Errorf("trials %+v, want one that failed with %q", k.trials, want)
	}
}
