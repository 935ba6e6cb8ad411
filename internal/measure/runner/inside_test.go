package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/inside"
	"nearfar/internal/hosts/fake"
	"nearfar/internal/onhost/host"
)

// watchedOnce is an experiment with one arm, one workload and its watched twin.
func watchedOnce() *experiment.Experiment {
	e := twoArms(1)
	e.Arms = e.Arms[:1]
	e.Workloads[0].Duration, e.Workloads[0].Warmup = time.Second, time.Millisecond
	twin := e.Workloads[0]
	twin.Name, twin.Inside, twin.InsideOf = "w-inside", true, "w"
	e.Workloads = append(e.Workloads, twin)
	return e
}

// watches is a watcher that sees one round trip. It notes its options.
func watches(s *scene) fake.Program {
	return func(ctx context.Context, _ []string, in []byte, out, stderr io.Writer) int {
		o, err := inside.DecodeOptions(in)
		if err != nil {
			fmt.Fprintln(stderr, err)
			return 1
		}
		s.note("watch %s: %s", o.Side, in)
		fmt.Fprintln(stderr, "watching")
		<-ctx.Done()
		s.note("watched %s", o.Side)
		_ = json.NewEncoder(out).Encode(inside.Recording{
			Version: inside.Version, Side: o.Side, Sampled: 1, Complete: 1, Events: 2, Paths: []inside.Path{{
				Steps: []inside.Step{{Way: inside.Request, Kind: inside.Send}}, Trips: []inside.Trip{{Spans: []int64{7}}},
			}},
		})
		return 0
	}
}

func TestATwinIsWatched(t *testing.T) {
	for name, sides := range map[string][]string{"one": {inside.Both}, "two": {inside.Client, inside.Server}} {
		s := &scene{client: prints("0.5"), twoKernels: name == "two"}
		s.watch = watches(s)
		k := &kept{}
		if _, err := run(t, t.Context(), s, watchedOnce(), DefaultLimits(), k, nil); err != nil {
			t.Fatal(err)
		}
		for _, trial := range k.trials {
			if trial.Workload == "w" {
				if len(trial.Inside) > 0 {
					t.Errorf("%s: the plain workload has %v", name, trial.Inside)
				}
				continue
			}
			stem := fmt.Sprintf("raw/%05d-a-w-inside", trial.Trial)
			want := []string{stem + ".inside.json", stem + ".inside.server.json"}[:len(sides)]
			if trial.Error != "" || !slices.Equal(trial.Inside, want) || len(trial.Raw) != 2 {
				t.Errorf("%s: the trial %+v lacks %v", name, trial, want)
			}
			for i, file := range trial.Inside {
				r, err := inside.Decode([]byte(k.raw[strings.TrimPrefix(file, "raw/")]))
				if err != nil || r.Side != sides[i] || r.Problem != "" || r.Complete != 1 {
					t.Errorf("%s: %s has %+v, %v", name, file, r, err)
				}
			}
		}
		places := "" // of one machine
		if len(sides) == 1 {
			places = `"places":[{"namespace":4026532000,"name":"0-router"}],`
		}
		options := `"protocol":"tcp","servers":["192.0.2.1"],"port":7777,` + places +
			`"trips":2000,"warmup_ns":1000000,"duration_ns":1000000000}`
		log := strings.Join(s.log, "\n")
		for _, side := range sides {
			started := strings.Index(log, `watch `+side+`: {"side":"`+side+`",`+options)
			ended := strings.Index(log, "watched "+side)
			begin := log[:max(started, 0)]
			if started < 0 || ended < started || !strings.Contains(log[started:ended], "client a") ||
				!strings.HasSuffix(strings.TrimSpace(unwatched(begin)), "ready: tcp 7") {
				t.Errorf("%s: side %s is not watched around the client:\n%s", name, side, log)
			}
		}
	}
}

// unwatched is a log without the lines of watchers.
func unwatched(log string) string {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(log), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "watch")
	})
	return strings.Join(lines, "\n")
}

// What a watcher cannot do is in its recording, and the trial is good.
func TestAWatcherFailsNoTrial(t *testing.T) {
	says := func(code int, stdout, stderr string) fake.Program {
		return func(_ context.Context, _ []string, _ []byte, out, err io.Writer) int {
			fmt.Fprint(out, stdout)
			fmt.Fprint(err, stderr)
			return code
		}
	}
	for name, c := range map[string]struct {
		watch fake.Program
		ready time.Duration
		want  string
	}{
		"no right":       {says(1, "", "operation not permitted\n"), time.Minute, "operation not permitted"},
		"no recording":   {says(0, "", "watching\n"), time.Minute, "cannot be read"},
		"another format": {says(0, `{"version":99}`, "watching\n"), time.Minute, "version 99"},
		"another side":   {says(0, `{"version":1,"side":"client"}`, "watching\n"), time.Minute, "of the side client"},
		"a flood": {says(0, strings.Repeat(" ", inside.MaxSize+1), "watching\n"), time.Minute,
			"more than the 16777216 that are kept"},
		"a long reason": {says(1, "", strings.Repeat("no\x1b ", 1000)), time.Minute, "no"},
		"never ready": {func(ctx context.Context, _ []string, _ []byte, _, _ io.Writer) int {
			<-ctx.Done()
			return 0
		}, time.Millisecond, "not ready within"},
	} {
		t.Run(name, func(t *testing.T) {
			limits := DefaultLimits()
			s, k := &scene{client: prints("0.5"), watch: c.watch}, &kept{}
			if c.ready < limits.Ready {
				w := newWatcher(inside.Both, "", fake.New("h", map[string]fake.Program{"nearfar": c.watch}))
				w.begin(t.Context(), c.ready)
				problemIn(t, w.end().data, c.want)
				return
			}
			if _, err := run(t, t.Context(), s, watchedOnce(), limits, k, nil); err != nil {
				t.Fatal(err)
			}
			for _, trial := range k.trials {
				if trial.Error != "" {
					t.Errorf("trial %d failed: %s", trial.Trial, trial.Error)
				}
				for _, file := range trial.Inside {
					problemIn(t, []byte(k.raw[strings.TrimPrefix(file, "raw/")]), c.want)
				}
			}
		})
	}
}

func problemIn(t *testing.T, recording []byte, want string) {
	t.Helper()
	r, err := inside.Decode(recording)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(r.Problem, want) || r.Side != inside.Both || len(r.Paths) > 0 {
		t.Errorf("the recording is %+v, want the problem %q", r, want)
	}
}

func TestATwinThatCannotBeStartedIsUnknown(t *testing.T) {
	s := &scene{client: prints("0.5")}
	e := watchedOnce()
	r := New(e, tools{clocked{}}, s.hosts(e), DefaultLimits(), nil)
	w := r.watch(e.Workloads[1], "a", time.Second)
	w.all[0].(*watcher).host = fake.New("h", nil)
	w.begin(t.Context())
	problemIn(t, w.end()[0].data, "not installed")
	w = r.watch(e.Workloads[1], "a", time.Second)
	problemIn(t, w.end()[0].data, "before its client was started")
	if len(r.watch(e.Workloads[0], "a", time.Second).end()) > 0 {
		t.Error("the plain workload is watched")
	}
}

// Where a kernel is watched from elsewhere, the watcher runs there, and is told where requests begin. Of one kernel,
// one place is enough; of two, both are needed.
func TestLookouts(t *testing.T) {
	for name, c := range map[string]struct {
		two            bool
		client, server host.Lookout
		// problems are those of the recordings. options are parts of what each watcher gets, by the host it runs on.
		problems []string
		options  map[string]string
	}{
		"one kernel": {
			client:  host.Lookout{Host: fake.New("n1", nil), Space: 7, Node: "n1"},
			server:  host.Lookout{Host: fake.New("n2", nil), Space: 8, Node: "n2"},
			options: map[string]string{"n1": `"space":7,"client_node":"n1","server_node":"n2"`},
		},
		"the server's place of one kernel": {
			client:  host.Lookout{Problem: "refused", Space: 7, Node: "n1"},
			server:  host.Lookout{Host: fake.New("n2", nil), Space: 8, Node: "n2"},
			options: map[string]string{"n2": `"space":7,"client_node":"n1","server_node":"n2"`},
		},
		"no place of one kernel": {
			client: host.Lookout{Problem: "refused"}, server: host.Lookout{Problem: "refused too"},
			problems: []string{"refused"},
		},
		"two kernels": {
			two:    true,
			client: host.Lookout{Host: fake.New("n1", nil), Space: 7, Node: "n1"},
			server: host.Lookout{Host: fake.New("n2", nil), Space: 8, Node: "n2"},
			options: map[string]string{
				"n1": `"space":7,"client_node":"n1","trips"`, "n2": `"space":0,"server_node":"n2","trips"`,
			},
		},
		"one of two kernels": {
			two:      true,
			client:   host.Lookout{Host: fake.New("n1", nil), Space: 7},
			server:   host.Lookout{Problem: "node n2 cannot be watched"},
			problems: []string{"", "node n2 cannot be watched"}, options: map[string]string{"n1": `"space":7,"trips"`},
		},
	} {
		got := map[string]string{}
		var mu sync.Mutex
		for _, at := range []*host.Lookout{&c.client, &c.server} {
			if at.Host == nil {
				continue
			}
			on := at.Host.Endpoint().Name
			at.Host = fake.New(on, map[string]fake.Program{
				host.Self: func(_ context.Context, _ []string, in []byte, _, _ io.Writer) int {
					mu.Lock()
					defer mu.Unlock()
					got[on] = string(in)
					return 0
				},
			})
		}
		s := &scene{client: prints("0.5"), twoKernels: c.two, kernels: host.Kernels{Client: c.client, Server: c.server}}
		e := watchedOnce()
		w := New(e, tools{clocked{}}, s.hosts(e), DefaultLimits(), nil).watch(e.Workloads[1], "a", time.Second)
		w.begin(t.Context())
		recorded := w.end()
		for i, want := range c.problems {
			r, err := inside.Decode(recorded[i].data)
			if err != nil || want != "" && r.Problem != want {
				t.Errorf("%s: recording %d is %+v, %v, want the problem %q", name, i, r, err, want)
			}
		}
		if len(got) != len(c.options) {
			t.Errorf("%s: watchers ran on %v", name, got)
		}
		for on, want := range c.options {
			if !strings.Contains(got[on], want) {
				t.Errorf("%s: the watcher on %s got %s, want %s in it", name, on, got[on], want)
			}
		}
	}
}
