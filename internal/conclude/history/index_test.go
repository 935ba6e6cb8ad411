package history

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// sampleRun describes a run for tests. Zero values are replaced by defaults.
type sampleRun struct {
	started   time.Time
	level     float64 // the median of the baseline's rtt p50, in seconds
	blocks    int
	version   string
	kernel    string
	machine   string
	bytes     int
	state     string
	arm       string // the second arm
	noMetrics bool
}

var firstDay = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// write makes the run's directory and gives its path.
func (s sampleRun) write(t testing.TB, parent string) string {
	t.Helper()
	or := func(text, other string) string {
		if text == "" {
			return other
		}
		return text
	}
	if s.blocks == 0 {
		s.blocks = 7
	}
	if s.bytes == 0 {
		s.bytes = 1024
	}
	version := or(s.version, "0.1.0")
	arms := []string{"l2", or(s.arm, "vxlan")}
	bridge := &experiment.Lab{Path: []experiment.Element{{Kind: experiment.Bridge}}, MTU: 1500}
	d, err := rundir.Create(parent, rundir.Manifest{
		Nearfar: "v1", Seed: 1, State: or(s.state, rundir.Complete), Started: s.started, Machine: s.machine,
		Versions: map[string]string{"nearfar": version},
		Hosts: json.RawMessage(fmt.Sprintf(`{"lab":{"kernel":%q,"cpus":[0,1],"arms":[{"arm":"l2"}]},"elements":{}}`,
			or(s.kernel, "6.18"))),
		Experiment: &experiment.Experiment{Name: "overlay", Baseline: "l2",
			Arms: []experiment.Arm{{Name: arms[0], Lab: bridge}, {Name: arms[1], Lab: bridge}},
			Workloads: []experiment.Workload{{
				Name: "rr", Tool: "native", Mode: "rr", Protocol: "tcp", Request: 64, Response: 64,
				Duration:  2 * time.Second,
				Placement: experiment.Placement{Kind: experiment.PlacementShared},
			}}, Schedule: experiment.Schedule{Blocks: s.blocks, Seed: 1}},
	})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	var lines bytes.Buffer // Append would wait for the disk at each trial
	for block := 1; block <= s.blocks; block++ {
		for i, arm := range arms {
			n++
			size := s.bytes
			value := s.level * (1 + 0.001*float64(block-(s.blocks+1)/2)) * float64(1+i)
			trial := result.Trial{
				Trial: n, Block: block, Arm: arm, Workload: "rr",
				Tool: result.ToolVersion{Name: "native", Version: version}, Mode: "rr", Protocol: "tcp",
				MessageBytes: &size, Started: s.started.Add(time.Duration(n) * time.Second), DurationSeconds: 2,
				ReportedAs: "rtt", Definition: "rtt",
				Facts: map[string]string{"wait": "block", "server.wait": "block", "transactions": fmt.Sprint(n)},
				Metrics: []result.Metric{
					{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: value},
					{Name: result.RTT, Stat: result.P99, Unit: result.Seconds, Value: 3 * value},
					{Name: result.TransactionRate, Unit: result.PerSecond, Value: 1 / value},
					{Name: result.Goodput, Unit: result.BitsPerSecond, Value: 1, Scope: "stream 5"},
				},
			}
			if s.noMetrics {
				trial.Metrics, trial.Error = []result.Metric{}, "no reply"
			}
			if err := json.NewEncoder(&lines).Encode(trial); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = errors.Join(d.Close(), os.WriteFile(filepath.Join(d.Path, "trials.jsonl"), lines.Bytes(), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	return d.Path
}

// writeDays makes n runs, one a day. From the run with the index change on, the level is 1.5 times as high.
func writeDays(t testing.TB, parent string, n, change int) {
	r := rand.New(rand.NewPCG(5, 5))
	for i := range n {
		level := 8e-6 * (1 + 0.01*r.NormFloat64())
		if i >= change {
			level *= 1.5
		}
		sampleRun{started: firstDay.AddDate(0, 0, i), level: level}.write(t, parent)
	}
}

// ask opens the index of a directory, asks the query and closes the index.
func ask(t *testing.T, dir, cache string, q Query) Document {
	t.Helper()
	d, err := tryAsk(dir, cache, q)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func tryAsk(dir, cache string, q Query) (d Document, err error) {
	x, err := OpenDirectory(context.Background(), dir, cache, false)
	if err != nil {
		return Document{}, err
	}
	defer func() { err = errors.Join(err, x.Close()) }()
	return x.Ask(context.Background(), q)
}

// Medians and intervals are the same as in the answer of each run, and the change is found at its place.
func TestFigureOverTime(t *testing.T) {
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "x.sqlite")
	writeDays(t, dir, 20, 12)
	d := ask(t, dir, cache, Query{Arm: "l2"})
	if len(d.Series) != 1 || len(d.Warnings) > 0 {
		t.Fatalf("%d series, warnings %v", len(d.Series), d.Warnings)
	}
	s := d.Series[0]
	want := Meaning{Experiment: "overlay", Workload: "rr", Arm: "l2",
		Quantity:   figures.Quantity{Metric: "rtt", Stat: "p50", Unit: "s"},
		Definition: "rtt", Tool: "native", Mode: "rr", Protocol: "tcp", MessageBytes: 1024}
	if diff := cmp.Diff(want, s.Meaning); diff != "" {
		t.Errorf("meaning (-want +got):\n%s", diff)
	}
	if len(s.Points) != 20 {
		t.Fatalf("%d points", len(s.Points))
	}
	for i, p := range s.Points {
		run, err := rundir.Open(filepath.Join(dir, p.Run))
		if err != nil {
			t.Fatal(err)
		}
		trials, err := run.Trials()
		if err != nil {
			t.Fatal(err)
		}
		figure := answer.Make(answer.Input{Experiment: run.Manifest().Experiment, Trials: trials,
			State: "complete"}).Arms[0]
		if p.Median != figure.Median || !cmp.Equal(p.Interval, figure.Interval) || p.Trials != figure.Trials {
			t.Errorf("%s: %v %v of %d trials, and the answer has %v %v of %d", p.Run, p.Median, p.Interval, p.Trials,
				figure.Median, figure.Interval, figure.Trials)
		}
		if !p.Started.Equal(firstDay.AddDate(0, 0, i)) || p.State != "complete" || len(p.Differs) > 0 {
			t.Errorf("point %d: %+v", i, p)
		}
	}
	if len(s.Changes) != 1 || s.Changes[0].Point != 12 || s.Changes[0].Run != s.Points[12].Run ||
		s.Changes[0].PValue > 0.05 {
		t.Fatalf("changes %+v", s.Changes)
	}
	if c := s.Changes[0]; c.Before.Runs != 12 || c.After.Runs != 8 || c.Before.Interval == nil || c.Relative == nil ||
		*c.Relative < 0.45 || *c.Relative > 0.55 {
		t.Errorf("change %+v", c)
	}
}

// Each filter of a query selects the right series and points. A name that does not exist is an error with those that
// do.
func TestQuestions(t *testing.T) {
	dir := t.TempDir()
	writeDays(t, dir, 3, 99)
	for name, c := range map[string]struct {
		q              Query
		series, points int
	}{
		"headline of both arms": {Query{}, 2, 3},
		"p99":                   {Query{Metric: "rtt", Stat: "p99"}, 2, 3},
		"a rate":                {Query{Metric: "transaction_rate", Arm: "vxlan"}, 1, 3},
		"since":                 {Query{Since: firstDay.AddDate(0, 0, 1)}, 2, 2},
		"limit":                 {Query{Limit: 1}, 2, 1},
		"experiment":            {Query{Experiment: "overlay", Workload: "rr"}, 2, 3},
	} {
		d := ask(t, dir, "", c.q)
		if len(d.Series) != c.series || len(d.Series[0].Points) != c.points {
			t.Errorf("%s: %d series of %d points, want %d of %d", name, len(d.Series), len(d.Series[0].Points),
				c.series, c.points)
		}
		if last := d.Series[0].Points[c.points-1]; !last.Started.Equal(firstDay.AddDate(0, 0, 2)) {
			t.Errorf("%s: the last is of %v", name, last.Started)
		}
	}
	for name, c := range map[string]struct {
		q    Query
		want string
	}{
		"arm":        {Query{Arm: "vxlen"}, `--arm "vxlen": there is none in ` + dir + `; there are "l2", "vxlan"`},
		"workload":   {Query{Workload: "x"}, `there are "rr"`},
		"experiment": {Query{Experiment: "x"}, `there are "overlay"`},
		"metric":     {Query{Metric: "goodput"}, `there are "failures", "rtt.p50", "rtt.p99", "transaction_rate"`},
		"since":      {Query{Since: firstDay.AddDate(1, 0, 0)}, "no run in"},
	} {
		_, err := tryAsk(dir, "", c.q)
		var nothing *NothingError
		if !errors.As(err, &nothing) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// Runs with different message sizes or machines are different series. Runs with different versions or kernels are one
// series, and the differences are listed.
func TestOnlyEqualMeaningIsOneSeries(t *testing.T) {
	dir := t.TempDir()
	sampleRun{started: firstDay, level: 8e-6}.write(t, dir)
	sampleRun{started: firstDay.AddDate(0, 0, 1), level: 8e-6, version: "0.2.0", kernel: "6.19",
		state: rundir.Interrupted}.write(t, dir)
	sampleRun{started: firstDay.AddDate(0, 0, 2), level: 8e-6, bytes: 64}.write(t, dir)
	sampleRun{started: firstDay.AddDate(0, 0, 3), level: 8e-6, machine: "other"}.write(t, dir)
	d := ask(t, dir, "", Query{Arm: "l2"})
	if len(d.Series) != 3 {
		t.Fatalf("%d series, want 3: %+v", len(d.Series), d.Series)
	}
	var both *Series
	for i := range d.Series {
		if len(d.Series[i].Points) == 2 {
			both = &d.Series[i]
		}
	}
	if both == nil || both.MessageBytes != 1024 || both.Machine != "" {
		t.Fatalf("no series of two runs: %+v", d.Series)
	}
	want := []string{"lab kernel: 6.19, was 6.18", "version of nearfar: 0.2.0, was 0.1.0",
		"tool: native 0.2.0, was native 0.1.0"}
	if diff := cmp.Diff(want, both.Points[1].Differs); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
	if both.Points[1].State != rundir.Interrupted || !strings.Contains(both.Reason, "2 runs") {
		t.Errorf("%+v", both)
	}
}

// A changed declaration is listed for its own arm or workload only.
func TestDeclarationsThatDiffer(t *testing.T) {
	m := Meaning{Arm: "l2", Workload: "rr"}
	before := []condition{{armSubject("l2"), declaration, "a"}, {workloadSubject("rr"), declaration, "a"},
		{armSubject("x"), declaration, "a"}}
	now := []condition{{armSubject("l2"), declaration, "b"}, {workloadSubject("rr"), declaration, "b"},
		{armSubject("x"), declaration, "b"}}
	want := []string{"the arm is declared differently", "the workload is declared differently"}
	if diff := cmp.Diff(want, compareConditions(before, now, m)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The index follows runs that are added, continued and removed, and unchanged runs are not read again.
func TestIndexFollowsTheDirectory(t *testing.T) {
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "x.sqlite")
	writeDays(t, dir, 2, 99)
	points := func() int { return len(ask(t, dir, cache, Query{Arm: "l2"}).Series[0].Points) }
	if n := points(); n != 2 {
		t.Fatalf("%d points, want 2", n)
	}
	added := sampleRun{started: firstDay.AddDate(0, 0, 9), level: 8e-6}.write(t, dir)
	if n := points(); n != 3 {
		t.Errorf("%d points after one more run, want 3", n)
	}
	// The run is continued.
	d, err := rundir.Resume(added, declaredTools())
	if err != nil {
		t.Fatal(err)
	}
	trials, err := d.Trials()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Append(trials[0]), d.Close()); err != nil {
		t.Fatal(err)
	}
	series := ask(t, dir, cache, Query{Arm: "l2"}).Series[0]
	if got := series.Points[2].Trials; got != 8 {
		t.Errorf("%d trials after one more, want 8", got)
	}
	if err := os.RemoveAll(added); err != nil {
		t.Fatal(err)
	}
	if n := points(); n != 2 {
		t.Errorf("%d points after a run was removed, want 2", n)
	}
	// Unchanged runs are not read again: a change that keeps the file's size and time is not noticed.
	name := filepath.Join(dir, series.Points[0].Run, "trials.jsonl")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(strings.Repeat("x", int(info.Size())-1)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if d := ask(t, dir, cache, Query{Arm: "l2"}); len(d.Warnings) > 0 || len(d.Series[0].Points) != 2 {
		t.Errorf("the run was read again: %+v", d)
	}
	x, err := OpenDirectory(context.Background(), dir, cache, true)
	if err != nil {
		t.Fatal(err)
	}
	if len(x.warnings) != 1 || !strings.Contains(x.warnings[0], "trials.jsonl:1") {
		t.Errorf("after a rebuild: %v", x.warnings)
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
}

// A broken index is made again, with a warning.
func TestBrokenIndexIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	writeDays(t, dir, 3, 99)
	for name, spoil := range map[string]func(t *testing.T, cache string){
		"no database": func(t *testing.T, cache string) {
			if err := os.WriteFile(cache, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"another version": func(t *testing.T, cache string) { execute(t, cache, "pragma user_version = 99") },
		"other tables":    func(t *testing.T, cache string) { execute(t, cache, "drop table nearfar_conditions") },
		"cut short": func(t *testing.T, cache string) {
			if err := os.Truncate(cache, 5000); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			cache := filepath.Join(t.TempDir(), "x.sqlite")
			want := ask(t, dir, cache, Query{})
			spoil(t, cache)
			sampleRun{started: firstDay.AddDate(0, 0, 5), level: 8e-6}.write(t, dir)
			d := ask(t, dir, cache, Query{})
			if len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "was made again") {
				t.Errorf("warnings %v", d.Warnings)
			}
			if len(d.Series) != len(want.Series) || len(d.Series[0].Points) != len(want.Series[0].Points)+1 {
				t.Errorf("%d series of %d points", len(d.Series), len(d.Series[0].Points))
			}
			if again := ask(t, dir, cache, Query{}); len(again.Warnings) > 0 {
				t.Errorf("after that: %v", again.Warnings)
			}
		})
	}
}

// execute runs a statement in the database of an index.
func execute(t *testing.T, cache, statement string) {
	t.Helper()
	s, err := openSQLite(context.Background(), cache)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.Exec(statement); err != nil {
		t.Fatal(err)
	}
	if err := s.db.Close(); err != nil {
		t.Fatal(err)
	}
}

// If the cache cannot be written, all runs are read, with a warning.
func TestIndexThatCannotBeStored(t *testing.T) {
	dir := t.TempDir()
	writeDays(t, dir, 3, 99)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	d := ask(t, dir, filepath.Join(file, "x.sqlite"), Query{})
	if len(d.Series) != 2 || len(d.Warnings) != 1 || !strings.Contains(d.Warnings[0], "cannot be stored") {
		t.Errorf("%d series, warnings %v", len(d.Series), d.Warnings)
	}
}

// Several users of an index at the same time all get the whole answer.
func TestManyAtOnce(t *testing.T) {
	dir, cache := t.TempDir(), filepath.Join(t.TempDir(), "x.sqlite")
	writeDays(t, dir, 10, 5)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			d, err := tryAsk(dir, cache, Query{Arm: "l2"})
			if err != nil || len(d.Series) != 1 || len(d.Series[0].Points) != 10 || len(d.Warnings) > 0 {
				t.Errorf("%d series, %v, %v", len(d.Series), d.Warnings, err)
			}
		})
	}
	wait.Wait()
}

// Files and folders that are not runs are ignored. Runs that cannot be read are left out, with a warning.
func TestUnreadableRuns(t *testing.T) {
	dir := t.TempDir()
	path := sampleRun{started: firstDay, level: 8e-6}.write(t, dir)
	for name, content := range map[string]string{"notes.txt": "x", "folder/x": "x", "broken/run.json": "{",
		"other/run.json": `{"nearfar":"v9"}`} {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sampleRun{started: firstDay.AddDate(0, 0, 1), level: 8e-6, noMetrics: true}.write(t, dir)
	d := ask(t, dir, "", Query{Arm: "l2"})
	if len(d.Series) != 2 || len(d.Series[0].Points) != 1 {
		t.Errorf("%+v", d.Series)
	}
	// The run without a good trial has its failures.
	if s := d.Series[1]; s.Metric != result.Failures || len(s.Points) != 2 || s.Points[0].Median != 0 ||
		s.Points[1].Median != 1 {
		t.Errorf("%+v", s)
	}
	if len(d.Warnings) != 2 || !strings.Contains(d.Warnings[0], "broken") ||
		!strings.Contains(d.Warnings[1], `version "v9"`) {
		t.Errorf("warnings %q", d.Warnings)
	}
	var single *SingleRunError
	if _, err := tryAsk(path, "", Query{}); !errors.As(err, &single) {
		t.Errorf("a single run gave %v", err)
	}
}

// Hostile names are stored and found unchanged, but without NUL and not longer than maxText.
func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	name := "'; drop table nearfar_runs; --\"$1 \x1b[31m\u202e<script>" + strings.Repeat("x", 2000)
	sampleRun{started: firstDay, level: 8e-6, arm: name + "\x00"}.write(t, dir)
	d := ask(t, dir, "", Query{})
	if len(d.Series) != 2 {
		t.Fatalf("%d series", len(d.Series))
	}
	want := text(name)
	if d.Series[1].Arm != want && d.Series[0].Arm != want || len(want) > maxText+3 {
		t.Errorf("arms %.60q and %.60q, want %.60q", d.Series[0].Arm, d.Series[1].Arm, want)
	}
	if d := ask(t, dir, "", Query{Arm: want}); len(d.Series) != 1 {
		t.Errorf("asked by its name: %d series", len(d.Series))
	}
}

func TestCachePathIsTheDirectorys(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", "/cache")
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	a, err := CachePath(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := CachePath(link)
	if err != nil {
		t.Fatal(err)
	}
	other, err := CachePath(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if a != b || a == other || !strings.HasPrefix(a, "/cache/nearfar/history/") {
		t.Errorf("%s, %s, %s", a, b, other)
	}
}
