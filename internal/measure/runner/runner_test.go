package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// clocked is a tool whose output is one number: a round-trip time in seconds.
type clocked struct{ expected time.Duration }

func (clocked) Name() string { return "clocked" }

func (c clocked) Plan(w experiment.Workload, _ host.Pair) (tool.Plan, error) {
	return tool.Plan{
		Server: &tool.Command{Argv: []string{"clockd"}, Stdin: []byte("hush\n")},
		Ready:  tool.Ready{Protocol: "tcp", Port: 7},
		Client: tool.Command{Argv: []string{"clock", w.Name}}, Expected: c.expected,
	}, nil
}

func (clocked) Parse(out tool.Output) (result.Measurement, error) {
	var v float64
	if _, err := fmt.Sscan(string(out.Stdout), &v); err != nil {
		return result.Measurement{}, fmt.Errorf("no number in %q", out.Stdout)
	}
	return result.Measurement{
		Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT, Histogram: []byte("hdr"),
		Metrics: []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: v}},
	}, nil
}

func (clocked) Probe() tool.Probe {
	return tool.Probe{
		Programs: []string{"clock", "clockd"}, Argv: []string{"clock", "--version"},
		Version: func(printed []byte) string { return strings.TrimSpace(string(printed)) },
	}
}

type tools []tool.Tool

func (t tools) Lookup(name string) (tool.Tool, bool) {
	for _, one := range t {
		if one.Name() == name {
			return one, true
		}
	}
	return nil, false
}

// kept is a record in memory.
type kept struct {
	trials []result.Trial
	raw    map[string]string
	after  func()
	facts  []string // the deployments whose facts were read
}

func (k *kept) Append(t result.Trial) error {
	k.trials = append(k.trials, t)
	if k.after != nil {
		k.after()
	}
	return nil
}

func (k *kept) WriteRaw(name string, data []byte) (string, error) {
	k.raw[name] = string(data)
	return "raw/" + name, nil
}

func twoArms(blocks int) *experiment.Experiment {
	return &experiment.Experiment{
		Name: "two", Baseline: "a", Arms: []experiment.Arm{{Name: "a"}, {Name: "b"}},
		Workloads: []experiment.Workload{{Name: "w", Tool: "clocked", Mode: experiment.RR, Protocol: experiment.TCP}},
		Schedule:  experiment.Schedule{Blocks: blocks, Seed: 3},
	}
}

func prints(text string) fake.Program {
	return func(_ context.Context, _ []string, _ []byte, stdout, _ io.Writer) int {
		fmt.Fprintln(stdout, text)
		return 0
	}
}

func run(t *testing.T, ctx context.Context, s *scene, e *experiment.Experiment, limits Limits, k *kept,
	before []result.Trial) (*Runner, error) {
	t.Helper()
	k.raw = map[string]string{}
	r := New(e, tools{clocked{}, flowing{}}, s.hosts(e), limits, nil)
	if err := r.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	return r, r.Run(ctx, k, before)
}

func TestOrderOfPhases(t *testing.T) {
	s := &scene{client: prints("0.5")}
	k := &kept{}
	e := twoArms(3)
	r, err := run(t, context.Background(), s, e, DefaultLimits(), k, nil)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, slot := range e.Slots() {
		want = append(want, "server "+slot.Arm, "ready: tcp 7", "client "+slot.Arm, "server "+slot.Arm+" ends")
	}
	if strings.Join(s.log, "\n") != strings.Join(want, "\n") {
		t.Errorf("phases:\n%s\nwant:\n%s", strings.Join(s.log, "\n"), strings.Join(want, "\n"))
	}
	if r.Versions()["clocked"] != "9.1" {
		t.Errorf("versions %v", r.Versions())
	}
	of := result.HostVersions{Client: map[string]string{"clocked": "9.1"}, Server: map[string]string{"clocked": "9.2"}}
	if diff := cmp.Diff(map[string]result.HostVersions{"a": of, "b": of}, r.HostVersions()); diff != "" {
		t.Errorf("versions of the hosts (-want +got):\n%s", diff)
	}
	if len(k.trials) != 6 {
		t.Fatalf("%d trials, want 6", len(k.trials))
	}
	for i, slot := range e.Slots() {
		got := k.trials[i]
		if got.Trial != slot.Trial || got.Arm != slot.Arm || got.Block != slot.Block || got.Error != "" {
			t.Errorf("trial %d is %+v, want %+v", i, got, slot)
		}
		if v, ok := got.Value(result.RTT, result.P50); !ok || v != 0.5 {
			t.Errorf("trial %d: p50 %v %v", i, v, ok)
		}
		if got.Facts["placement.client.cpus"] != "1" || got.Histogram == "" || len(got.Raw) != 2 {
			t.Errorf("trial %d lacks facts or files: %+v", i, got)
		}
		for _, line := range got.Commands {
			if strings.Contains(line, "hush") {
				t.Errorf("what goes to standard input is in the command line %q", line)
			}
		}
	}
}

func TestResumeRunsTheRest(t *testing.T) {
	e := twoArms(4)
	slots := e.Slots()
	done := map[int]bool{slots[0].Trial: true, slots[1].Trial: true, slots[4].Trial: true}
	var before []result.Trial
	for _, slot := range slots {
		if done[slot.Trial] {
			before = append(before, result.Trial{Trial: slot.Trial, Block: slot.Block, Arm: slot.Arm,
				Workload: slot.Workload})
		}
	}
	k := &kept{}
	if _, err := run(t, context.Background(), &scene{client: prints("1")}, e, DefaultLimits(), k, before); err != nil {
		t.Fatal(err)
	}
	var want []int
	for _, slot := range slots {
		if !done[slot.Trial] {
			want = append(want, slot.Trial)
		}
	}
	var got []int
	for _, tr := range k.trials {
		got = append(got, tr.Trial)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("ran %v, want %v", got, want)
	}
}

func TestFailuresAreRecordedAndDoNotEndTheRun(t *testing.T) {
	for _, c := range []struct {
		name           string
		client, server fake.Program
		stranger       bool // another program holds the port
		never          bool // no server serves
		early          bool // and the host says so before the limit has passed here
		want           string
	}{
		{name: "no number", client: prints("none"), want: "no number in"},
		{name: "exit status", client: func(_ context.Context, _ []string, _ []byte, stdout, stderr io.Writer) int {
			fmt.Fprintln(stdout, "1")
			fmt.Fprintln(stderr, "cannot connect")
			return 3
		}, want: "a/client: clock w: exit status 3; its last output: cannot connect"},
		{name: "hangs", client: func(ctx context.Context, _ []string, _ []byte, stdout, _ io.Writer) int {
			fmt.Fprintln(stdout, "1")
			<-ctx.Done()
			return 1
		}, want: "did not end within 20ms and was killed"},
		{name: "server ends", client: prints("1"), server: func(_ context.Context, _ []string, _ []byte, _,
			stderr io.Writer) int {
			fmt.Fprintln(stderr, "address in use")
			return 2
		}, want: "a/server: clockd: the server ended before it served: exit status 2; its last output: address in use"},
		{name: "port taken", client: prints("1"), stranger: true,
			want: "a/server: clockd: the server cannot serve: tcp port 7 is taken by stranger (process "},
		{name: "never ready", client: prints("1"), never: true, want: "did not serve tcp port 7 within 30ms"},
		{name: "given up early", client: prints("1"), early: true, want: "did not serve tcp port 7 within "},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := &kept{}
			limits := DefaultLimits()
			limits.Patience = 20 * time.Millisecond
			s := &scene{client: c.client, server: c.server, early: c.early}
			if c.never {
				s.deadPort, limits.Ready = 7, 30*time.Millisecond
			}
			if c.stranger {
				s.stranger = 7
			}
			if _, err := run(t, context.Background(), s, twoArms(1), limits, k, nil); err != nil {
				t.Fatal(err)
			}
			if len(k.trials) != 2 {
				t.Fatalf("%d trials, want both", len(k.trials))
			}
			found := false
			for _, tr := range k.trials {
				if tr.Error == "" {
					t.Errorf("trial in %s has no error", tr.Arm)
				}
				found = found || strings.Contains(tr.Error, c.want)
			}
			if !found {
				t.Errorf("errors %q and %q; want one with %q", k.trials[0].Error, k.trials[1].Error, c.want)
			}
		})
	}
}

func TestInterruptKeepsWhatWasMeasured(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	k := &kept{}
	k.after = func() {
		if len(k.trials) == 3 {
			cancel()
		}
	}
	_, err := run(t, ctx, &scene{client: prints("1")}, twoArms(5), DefaultLimits(), k, nil)
	if !errors.Is(err, context.Canceled) || len(k.trials) != 3 {
		t.Errorf("%d trials and %v, want 3 and an interrupt", len(k.trials), err)
	}
}

func TestInterruptDuringATrialDropsIt(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	k := &kept{}
	s := &scene{client: func(ctx context.Context, _ []string, _ []byte, stdout, _ io.Writer) int {
		fmt.Fprintln(stdout, "1")
		cancel()
		<-ctx.Done()
		return 1
	}}
	_, err := run(t, ctx, s, twoArms(5), DefaultLimits(), k, nil)
	if !errors.Is(err, context.Canceled) || len(k.trials) != 0 {
		t.Errorf("%d trials and %v, want none and an interrupt", len(k.trials), err)
	}
}

func TestMissingTools(t *testing.T) {
	s := &scene{client: prints("1"), absent: "clockd\n"}
	r := New(twoArms(1), tools{clocked{}}, s.hosts(twoArms(1)), DefaultLimits(), nil)
	err := r.Prepare(context.Background())
	var missing *MissingTools
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "clockd is not installed (needed by w)") {
		t.Errorf("got %v", err)
	}
	for _, line := range s.log {
		t.Errorf("before the tools were seen, %q ran", line)
	}

	e := twoArms(1)
	e.Workloads[0].Optional = true
	r = New(e, tools{clocked{}}, s.hosts(e), DefaultLimits(), nil)
	if err := r.Prepare(context.Background()); err != nil {
		t.Fatal(err)
	}
	if r.Skipped()["w"] != "clockd is not installed" {
		t.Errorf("skipped %v", r.Skipped())
	}
	if err := r.Run(context.Background(), &kept{}, nil); err == nil {
		t.Error("a run of nothing is no error")
	}
}

func TestCommandLineIsQuoted(t *testing.T) {
	got := commandLine(tool.Command{Env: []string{"A=1"}, Argv: []string{"x", "two words", "it's", ""}})
	if want := `A=1 x 'two words' 'it'\''s' ''`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
