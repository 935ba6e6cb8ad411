package runner

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// ownExperiment has one arm and one program of its own, which is ready when `askd` says so.
func ownExperiment() *experiment.Experiment {
	return &experiment.Experiment{
		Name: "own", Baseline: "a", Arms: []experiment.Arm{{Name: "a"}}, Schedule: experiment.Schedule{Blocks: 1},
		Workloads: []experiment.Workload{{
			Name: "w", Tool: tool.CommandName, Mode: experiment.CommandMode, Protocol: experiment.AnyProtocol,
			Duration: time.Second, Placement: experiment.Placement{Kind: experiment.PlacementFree},
			Command: &experiment.Command{
				Client: []string{"clock", "{server}"}, Server: []string{"clockd"},
				Ready: experiment.CommandReady{Command: []string{"ask"}},
				Metrics: []experiment.CommandMetric{{Name: "page_time", Regex: `t=(\S+)`, Unit: "ms"},
					{Name: "took", ExitTime: true}},
			},
		}},
	}
}

// withAsk are hosts whose server's host has the program that says whether the server is ready.
func withAsk(s *scene, e *experiment.Experiment, ask fake.Program) map[string]host.Hosts {
	hosts := s.hosts(e)
	pair := hosts["a"]
	pair.Server = askedHost{pair.Server, fake.New("a/server", map[string]fake.Program{"ask": ask})}
	hosts["a"] = pair
	return hosts
}

// askedHost runs the program ask on another fake.
type askedHost struct {
	host.Host
	asked host.Host
}

func (h askedHost) Start(ctx context.Context, c host.Cmd) (host.Process, error) {
	if c.Argv[0] == "ask" {
		return h.asked.Start(ctx, c)
	}
	return h.Host.Start(ctx, c)
}

func runOwn(t *testing.T, s *scene, ask fake.Program) *kept {
	t.Helper()
	return runOwnWithin(t, ownExperiment(), time.Second, s, ask)
}

// runOwnWithin runs an experiment whose servers may take so long, if it does not say otherwise.
func runOwnWithin(t *testing.T, e *experiment.Experiment, ready time.Duration, s *scene, ask fake.Program) *kept {
	t.Helper()
	k := &kept{raw: map[string]string{}}
	limits := DefaultLimits()
	limits.Ready = ready
	r := New(e, tools{tool.NewCommand()}, withAsk(s, e, ask), limits, nil)
	if err := r.Prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := r.Run(t.Context(), k, nil); err != nil {
		t.Fatal(err)
	}
	return k
}

// TestReadyCommand: the client starts when the program that is asked ends with 0, and not before.
func TestReadyCommand(t *testing.T) {
	var asked atomic.Int32
	s := &scene{client: prints("t=12.5")}
	k := runOwn(t, s, func(context.Context, []string, []byte, io.Writer, io.Writer) int {
		if asked.Add(1) < 3 {
			return 2
		}
		s.note("ready")
		return 0
	})
	if want := []string{"server a", "ready", "client a", "server a ends"}; !slices.Equal(s.log, want) {
		t.Errorf("%q, want %q", s.log, want)
	}
	trial := k.trials[0]
	page, _ := trial.Value("page_time", "")
	took, timed := trial.Value("took", "")
	if trial.Error != "" || page != 0.0125 || !timed || took <= 0 || len(trial.Metrics) != 2 ||
		trial.Definition != "as printed by clock, and its wall time" {
		t.Errorf("%+v", trial)
	}
}

// TestReadyWithin: a workload says how long its server may take, whatever the runner's own limit is.
func TestReadyWithin(t *testing.T) {
	run := func(within, limit time.Duration, readyAfter int32) string {
		e := ownExperiment()
		e.Workloads[0].Command.Ready.Within = &within
		var asked atomic.Int32
		k := runOwnWithin(t, e, limit, &scene{client: prints("t=12.5")},
			func(context.Context, []string, []byte, io.Writer, io.Writer) int {
				if asked.Add(1) > readyAfter {
					return 0
				}
				return 1
			})
		return k.trials[0].Error
	}
	if err := run(time.Minute, time.Millisecond, 3); err != "" {
		t.Errorf("a server that takes longer than the runner's limit: %s", err)
	}
	const want = "did not get ready (ask) within 1s"
	if err := run(time.Second, time.Minute, math.MaxInt32); !strings.Contains(err, want) {
		t.Errorf("a server that is never ready: %q, want %q", err, want)
	}
}

// TestOwnProgramFails: what is wrong is said with the host, the command and its last output, in time.
func TestOwnProgramFails(t *testing.T) {
	says := func(text string, code int) fake.Program {
		return func(_ context.Context, _ []string, _ []byte, out, _ io.Writer) int {
			fmt.Fprintln(out, text)
			return code
		}
	}
	yes := says("", 0)
	for name, c := range map[string]struct {
		client, server, ask fake.Program
		want                []string
	}{
		"never ready": {client: yes, ask: says("", 1), want: []string{"a/server: clockd: ", "did not get ready (ask) within 1s",
			"its last output: serving"}},
		"server ends": {client: yes, server: says("no such folder", 4), ask: says("", 1), want: []string{
			"a/server: clockd: the server ended before it served: exit status 4", "no such folder"}},
		"fails": {client: says("bad password", 3), ask: yes, want: []string{"a/client: clock", "exit status 3", "bad password"}},
		"no figure": {client: says("nothing", 0), ask: yes, want: []string{"a/client: clock ", "no figure page_time: ",
			"its last output: nothing"}},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			k := runOwn(t, &scene{client: c.client, server: c.server}, c.ask)
			for _, trial := range k.trials {
				for _, want := range c.want {
					if !strings.Contains(trial.Error, want) || len(trial.Metrics) > 0 {
						t.Errorf("%q lacks %q, %d metrics", trial.Error, want, len(trial.Metrics))
					}
				}
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("it took %v", took)
			}
		})
	}
}

// TestOwnProgramsAreMissing: nothing is measured if a host lacks a program of the experiment's own.
func TestOwnProgramsAreMissing(t *testing.T) {
	for _, optional := range []bool{false, true} {
		e := ownExperiment()
		e.Workloads[0].Optional = optional
		s := &scene{absent: "ask\n"}
		r := New(e, tools{tool.NewCommand()}, s.hosts(e), DefaultLimits(), nil)
		err := r.Prepare(t.Context())
		if optional != (err == nil) || optional != (len(r.skipped) == 1) {
			t.Errorf("optional %v: %v, skipped %v", optional, err, r.skipped)
		}
		if err != nil && !strings.Contains(err.Error(), "ask is not installed on a/server (needed by w)") {
			t.Error(err)
		}
	}
}
