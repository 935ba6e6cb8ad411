package tool

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	diff "github.com/google/go-cmp/cmp"

	"nearfar/internal/base/hdr"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/agent/allow"
	"nearfar/internal/onhost/host"
)

// ownWorkload is a workload of the program with these figures.
func ownWorkload(metrics ...experiment.CommandMetric) experiment.Workload {
	return experiment.Workload{
		Name: "own", Tool: CommandName, Mode: experiment.CommandMode, Protocol: experiment.AnyProtocol,
		Duration:  1500 * time.Millisecond,
		Placement: experiment.Placement{Kind: experiment.PlacementFree},
		Command:   &experiment.Command{Client: []string{"/usr/bin/bench", "{server}"}, Metrics: metrics},
	}
}

// TestCommandPlan: placeholders get the addresses and ports of the pair, and other braces stay.
func TestCommandPlan(t *testing.T) {
	w := ownWorkload(experiment.CommandMetric{Name: "took", ExitTime: true})
	w.Iterations = 7
	w.Command.Client = []string{"bench", "{server}", "http://{url}:{port}/", "-T{seconds}", "-n", "{iterations}", "{x}{}"}
	w.Command.Server = []string{"serve", "{bind}", "{port2}"}
	w.Command.Ready = experiment.CommandReady{TCP: "{port2}"}
	p, err := NewCommand().Plan(w, at("10.0.0.2"))
	if err != nil {
		t.Fatal(err)
	}
	want := Plan{
		Server: &Command{Argv: []string{"serve", "10.0.0.2", "7778"}}, Ready: Ready{"tcp", 7778},
		Sockets:  []host.Socket{{Protocol: "tcp", Port: 7778}},
		Client:   Command{Argv: []string{"bench", "10.0.0.2", "http://10.0.0.2:7777/", "-T1.5", "-n", "7", "{x}{}"}},
		Expected: 1800 * time.Millisecond,
	}
	if d := diff.Diff(want, p); d != "" {
		t.Error(d)
	}
	w.IP, w.Command.Ready = experiment.IPv6, experiment.CommandReady{Command: []string{"ask", "{bind}"}}
	if p, err = NewCommand().Plan(w, at("fd00::2")); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(p.Client.Argv[1:3], p.ReadyCommand, p.Sockets)
	if want := "[fd00::2 http://[fd00::2]:7777/] [ask fd00::2] []"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	w.Command.Metrics = nil
	if _, err = NewCommand().Plan(w, at("fd00::2")); err == nil || !strings.Contains(err.Error(), "no figures") {
		t.Errorf("a program without figures: %v", err)
	}
}

// TestAgentsRunNoCommands: an agent on a host that nothing can log in to refuses every program of an experiment's own,
// and says so before anything is measured; started with --allow-command, it runs all of them.
func TestAgentsRunNoCommands(t *testing.T) {
	question := host.Cmd{Argv: []string{host.Self, "absent", "--commands", "--", "/usr/bin/bench"}}
	for _, argv := range [][]string{{"sh", "-c", "id\ndate"}, {"/usr/bin/bench"}, {"iperf3", "--logfile", "/etc/x"}} {
		closed, open := allow.New("linux"), allow.New("linux")
		open.AllowCommands()
		if closed.Check(host.Cmd{Argv: argv}) == nil {
			t.Errorf("%q runs without --allow-command", argv)
		}
		if err := closed.Check(question); err == nil || !strings.Contains(err.Error(), "--allow-command") {
			t.Errorf("the refusal does not say what to do: %v", err)
		}
		for _, c := range []host.Cmd{question, {Argv: argv}} {
			if err := open.Check(c); err != nil {
				t.Errorf("%q with --allow-command: %v", c.Argv, err)
			}
		}
		if open.Check(host.Cmd{Argv: []string{host.Self, "run", "x.yaml"}}) == nil {
			t.Error("verbs that are not for agents run, too")
		}
	}
}

// histogramLine is a line of a log of HdrHistogram.
func histogramLine(t testing.TB, values ...int64) string {
	t.Helper()
	counts := make([]int64, hdr.Slots)
	for _, v := range values {
		counts[hdr.SlotOf(v)]++
	}
	var e hdr.Encoder
	encoded, err := e.Encode(counts)
	if err != nil {
		t.Fatal(err)
	}
	return "0.1,1.0,2.0," + string(encoded) + "\n"
}

// TestCommandFigures: every reader gives its figure in base units, with its better side.
func TestCommandFigures(t *testing.T) {
	lines := ""
	for i := range 1000 {
		lines += fmt.Sprintf("%d.5 ms\n", i+1)
	}
	value := func(m experiment.CommandMetric, stdout, stderr string) string {
		w := ownWorkload(m)
		got, err := NewCommand().Parse(Output{Workload: &w, Stdout: []byte(stdout), Stderr: []byte(stderr),
			Ran: 2500 * time.Millisecond})
		if err != nil {
			return err.Error()
		}
		if got.Definition != "as printed by bench" && got.Definition != "wall time of bench" ||
			got.Definition != got.ReportedAs {
			t.Errorf("definition %q, reported as %q", got.Definition, got.ReportedAs)
		}
		var all []string
		for _, m := range got.Metrics {
			all = append(all, fmt.Sprintf("%s %.6g %s %s", strings.TrimSpace(m.Name+" "+m.Stat), m.Value, m.Unit,
				m.BetterIf))
		}
		return strings.Join(append(all, got.Facts["x.count"]), "; ")
	}
	x := experiment.CommandMetric{Name: "x", Unit: "ms"}
	json := func(pointer string) experiment.CommandMetric {
		return experiment.CommandMetric{Name: "x", Unit: "us", JSON: pointer}
	}
	regex := func(expression, unit, better string) experiment.CommandMetric {
		return experiment.CommandMetric{Name: "x", Unit: unit, Better: better, Regex: expression}
	}
	observed := x
	observed.Lines = true
	few := regex(`t=(\S+)`, "s", "")
	few.Lines = true
	log := experiment.CommandMetric{Name: "x", Unit: "us", HDR: true}
	for _, c := range []struct {
		name, stdout, stderr string
		metric               experiment.CommandMetric
		want                 string
	}{
		{"wall time", "", "", experiment.CommandMetric{Name: "x", ExitTime: true}, "x 2.5 s lower; "},
		{"regex", "tps = 10\ntps = 1234.5 (all)", "", regex(`tps = ([0-9.]+)`, "/s", ""), "x 1234.5 1/s higher; "},
		{"on standard error", "", "took 3,5 ms", regex(`took (\S+)`, "ms", ""), "x 0.0035 s lower; "},
		{"unit of the program", "Latency  600.50us", "", regex(`Latency +(\S+)`, "ms", ""), "x 0.0006005 s lower; "},
		{"bytes a second", "10", "", regex(`(\d+)`, "MB/s", ""), "x 8e+07 bit/s higher; "},
		{"share", "hits: 12.5%", "", regex(`hits: (\S+)`, "%", "higher"), "x 0.125 1 higher; "},
		{"size", "2", "", regex(`(\d)`, "KiB", "lower"), "x 2048 B lower; "},
		{"nothing matches", "abc", "def", regex(`tps = (\d+)`, "/s", ""),
			`no figure x: "tps = (\\d+)" matches nothing of what the program printed`},
		{"no number", "tps = many", "", regex(`tps = (\w+)`, "/s", ""), `no figure x: "many" is no number in /s`},
		{"another unit", "tps = 5ms", "", regex(`tps = (\w+)`, "/s", ""), `no figure x: "5ms" is no number in /s`},
		{"negative", "t=-1", "", regex(`t=(\S+)`, "s", ""), `no figure x: "-1" is below zero`},
		{"not finite", "t=1e999", "", regex(`t=(\S+)`, "s", ""), `no figure x: "1e999" is no number`},
		{"too many", strings.Repeat("1 ", maxMatches+1), "", regex(`(1)`, "s", ""),
			`no figure x: "(1)" matches too often; write an expression that matches once, or add lines: true`},
		{"json", `{"a/b": [{"m~n": 25}]}`, "", json("/a~1b/0/m~0n"), "x 2.5e-05 s lower; "},
		{"json as text", `{"a": "1.5"}`, "", json("/a"), "x 1.5e-06 s lower; "},
		{"json last", "starting\n{\"a\": 1}\n{\"a\": 2}\n", "", json("/a"), "x 2e-06 s lower; "},
		{"json beside", `{"b": 1}`, "", json("/a"), `no figure x: the program's JSON has no "/a"`},
		{"json index", `[1]`, "", json("/01"), `no figure x: the program's JSON has no "/01"`},
		{"json list", `{"a": [1]}`, "", json("/a"), `no figure x: "/a" is no number in the program's JSON`},
		{"no json", `hello`, "", json("/a"), `no figure x: neither standard output nor its last line is JSON`},
		{"lines", lines, "", observed, "x mean 0.501 s lower; x stddev 0.288675 s lower; x min 0.0015 s lower; " +
			"x p50 0.5005 s lower; x p90 0.9005 s lower; x p99 0.9905 s lower; x max 1.0005 s lower; 1000"},
		{"few lines", "a\nt=1\nt=3\nu=9", "", few,
			"x mean 2 s lower; x stddev 1 s lower; x min 1 s lower; x max 3 s lower; 2"},
		{"a line without", "1\nabc\n", "", observed, `no figure x: "abc" is no number in ms`},
		{"no lines", "\n\n", "", observed, `no figure x: no line of standard output has one`},
		{"histogram log", "#[log]\n\"StartTimestamp\",\"x\"\n" + histogramLine(t, 10, 20) + histogramLine(t, 30), "", log,
			"x mean 2e-05 s lower; x stddev 8.16497e-06 s lower; x min 1e-05 s lower; x max 3e-05 s lower; 3"},
		{"no histogram", "10", "", log, "no figure x: standard output has no histogram log with values"},
		{"broken histogram", "1,1,1,HISTabc", "", log, "no figure x: a histogram cannot be read: "},
	} {
		got := value(c.metric, c.stdout, c.stderr)
		if begins := strings.HasSuffix(c.want, ": ") && strings.HasPrefix(got, c.want); got != c.want && !begins {
			t.Errorf("%s:\n%s, not\n%s", c.name, got, c.want)
		}
	}
}

// TestCommandHistograms: the first figure that is a time and has observations is the trial's histogram, in nanoseconds.
func TestCommandHistograms(t *testing.T) {
	figure := func(name, unit string, change func(*experiment.CommandMetric)) experiment.CommandMetric {
		m := experiment.CommandMetric{Name: name, Unit: unit, Better: "lower"}
		change(&m)
		return m
	}
	lines := func(m *experiment.CommandMetric) { m.Lines = true }
	log := func(m *experiment.CommandMetric) { m.HDR = true }
	single := func(m *experiment.CommandMetric) { m.Regex = `(\d+)` }
	third := func(m *experiment.CommandMetric) { m.Lines, m.Regex = true, `(3)` }
	three := "1\n2.5\n3\n"
	for _, c := range []struct {
		name, stdout string
		metrics      []experiment.CommandMetric
		want         []int64 // median and largest, in nanoseconds; nil for no histogram
		of           string
	}{
		{"lines", three, []experiment.CommandMetric{figure("x", "ms", lines)}, []int64{2_500_000, 3_000_000}, "x"},
		{"a log", histogramLine(t, 10, 20) + histogramLine(t, 30), []experiment.CommandMetric{figure("x", "us", log)},
			[]int64{20_000, 30_000}, "x"},
		{"the first of two", three, []experiment.CommandMetric{figure("z", "B", lines), figure("y", "s", single),
			figure("x", "us", lines), figure("w", "ms", third)}, []int64{2_500, 3_000}, "x"},
		{"sizes", three, []experiment.CommandMetric{figure("x", "kB", lines)}, nil, ""},
		{"too long", three, []experiment.CommandMetric{figure("x", "min", lines)}, nil, "x"},
		{"one value", three, []experiment.CommandMetric{figure("x", "ms", single)}, nil, ""},
		{"a figure is missing", three, []experiment.CommandMetric{figure("x", "ms", lines), figure("y", "ms", log)}, nil, ""},
	} {
		w := ownWorkload(c.metrics...)
		m, _ := NewCommand().Parse(Output{Workload: &w, Stdout: []byte(c.stdout), Ran: time.Second})
		if of, _ := (&result.Trial{Definition: m.Definition, Metrics: m.Metrics}).Distributed(); of != c.of {
			t.Errorf("%s: it would be of %q, want %q", c.name, of, c.of)
		}
		if len(m.Histogram) == 0 || len(c.want) == 0 {
			if len(m.Histogram) != len(c.want) {
				t.Errorf("%s: a histogram of %d bytes", c.name, len(m.Histogram))
			}
			continue
		}
		h, err := hdr.Decode(m.Histogram)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range h.Quantiles([]float64{50, 100}) {
			if d := math.Abs(float64(got-c.want[i])) / float64(c.want[i]); d > 0.001 || h.Total() != 3 {
				t.Errorf("%s: %d of %d values, want %d", c.name, got, h.Total(), c.want[i])
			}
		}
	}
}

// TestCommandFails: a program that failed has no figures, also where it printed some.
func TestCommandFails(t *testing.T) {
	w := ownWorkload(experiment.CommandMetric{Name: "x", Regex: `(\d)`, Unit: "s"},
		experiment.CommandMetric{Name: "y", Regex: `y=(\d)`, Unit: "s"})
	for _, out := range []Output{
		{Stdout: []byte("1 y=2\nno more"), ExitCode: 1}, {Stdout: []byte("1 y=2"), Stderr: []byte("x"), ExitCode: -1},
		{Stdout: []byte("1")},
	} {
		out.Workload = &w
		m, err := NewCommand().Parse(out)
		if len(m.Metrics) > 0 || err == nil && out.ExitCode == 0 {
			t.Errorf("%+v: %v, %v", out, m.Metrics, err)
		}
	}
	if _, err := NewCommand().Parse(Output{Stdout: []byte("1")}); err == nil {
		t.Error("an output without its experiment was read")
	}
}

// FuzzCommand: whatever a program prints, and whatever reader the file names, there is a figure in base units or an
// error.
func FuzzCommand(f *testing.F) {
	f.Add([]byte("tps = 12.5ms\n"), `tps = (\S+)`, "/a/0")
	f.Add([]byte(`{"a": [1, "2", {}]}`), `(\d)`, "/a~1/1")
	f.Add([]byte("1\n2\n"), `(`, "a")
	f.Add([]byte(histogramLine(f, 1, 2)), `^(.*)$`, "/")
	f.Fuzz(func(t *testing.T, stdout []byte, expression, pointer string) {
		for _, m := range []experiment.CommandMetric{
			{Name: "x", Regex: expression, Unit: "ms"}, {Name: "x", Regex: expression, Lines: true, Unit: "ms"},
			{Name: "x", Lines: true, Unit: "%", Better: "lower"}, {Name: "x", JSON: pointer, Unit: "B", Better: "lower"},
			{Name: "x", HDR: true, Unit: "us"},
		} {
			w := ownWorkload(m)
			got, err := NewCommand().Parse(Output{Workload: &w, Stdout: stdout, Stderr: stdout, Ran: 1})
			if (err == nil) == (len(got.Metrics) == 0) {
				t.Errorf("%+v: %d figures, %v", m, len(got.Metrics), err)
			}
			unit, _ := m.Scale()
			for _, one := range got.Metrics {
				bad := math.IsNaN(one.Value) || math.IsInf(one.Value, 0) || one.Value < 0
				if bad || one.Unit != unit || one.Name != "x" || !slices.Contains(experiment.BetterWords(), one.BetterIf.String()) {
					t.Errorf("%+v: %+v", m, one)
				}
			}
		}
	})
}
