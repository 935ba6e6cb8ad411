package contrast

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// model is an invented run.
type model struct {
	side   string
	id     string
	arms   []string
	blocks int
	seed   uint64
	// level is the median round-trip time of an arm in seconds, noise the standard deviation between trials.
	level func(arm string) float64
	noise float64
	// change is called on each trial.
	change func(*result.Trial)
	// workload changes the declaration.
	workload func(*experiment.Workload)
}

func (m model) make() *Side {
	w := experiment.Workload{Name: "rr", Tool: "native", Mode: "rr", Protocol: "tcp", Request: 64, Response: 64,
		Placement: experiment.Placement{Kind: "shared"}}
	if m.workload != nil {
		m.workload(&w)
	}
	e := &experiment.Experiment{Name: "model", Workloads: []experiment.Workload{w},
		Schedule: experiment.Schedule{Blocks: m.blocks}}
	r := rand.New(rand.NewPCG(m.seed, 50))
	s := &Side{Name: m.side, Source: "runs/" + m.side, Kind: Run, ID: m.id, Experiment: e, State: "complete"}
	if m.id == "" {
		s.ID = "/" + m.side
	}
	for _, arm := range m.arms {
		e.Arms = append(e.Arms, experiment.Arm{Name: arm, Layers: map[string]int{"bridge": 1}})
	}
	for block := 1; block <= m.blocks; block++ {
		for _, arm := range m.arms {
			level := 10e-6
			if m.level != nil {
				level = m.level(arm)
			}
			bytes := 64
			t := result.Trial{
				Trial: len(s.Trials) + 1, Block: block, Arm: arm, Workload: "rr",
				Tool: result.ToolVersion{Name: "native", Version: "1"},
				Mode: "rr", Protocol: "tcp", MessageBytes: &bytes, Definition: result.DefinitionRTT,
				ReportedAs: result.DefinitionRTT,
			}
			for i, stat := range []string{result.Mean, result.P50, result.P99} {
				t.Metrics = append(t.Metrics, result.Metric{Name: result.RTT, Stat: stat, Unit: result.Seconds,
					Value: float64(i+1)*level + m.noise*r.NormFloat64()})
			}
			if m.change != nil {
				m.change(&t)
			}
			s.Trials = append(s.Trials, t)
		}
	}
	return s
}

func contrastOfModels(t *testing.T, base, other model) *Contrast {
	t.Helper()
	base.side, other.side = "A", "B"
	c, err := Match(base.make(), other.make())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func warned(a answer.Answer, code string) *answer.Warning {
	for i := range a.Warnings {
		if a.Warnings[i].Code == code {
			return &a.Warnings[i]
		}
	}
	return nil
}

func TestArmsOfTheSameNameAreCompared(t *testing.T) {
	base := model{arms: []string{"l2", "vxlan", "old"}, blocks: 10, seed: 1, noise: 1e-7}
	other := model{arms: []string{"new", "l2", "vxlan"}, blocks: 12, seed: 2, noise: 1e-7,
		level: func(arm string) float64 {
			if arm == "vxlan" {
				return 11e-6
			}
			return 10e-6
		}}
	a := contrastOfModels(t, base, other).Answer()
	if len(a.Comparisons) != 4 { // two arms, p50 and p99
		t.Fatalf("%d comparisons: %+v", len(a.Comparisons), a.Comparisons)
	}
	for _, c := range a.Comparisons {
		want := figures.NoDifference
		if c.Arm == "vxlan" {
			want = figures.Higher
		}
		if c.Verdict != want || c.Blocks != 0 || c.Trials == nil || *c.Trials != [2]int{12, 10} || c.Interval == nil {
			t.Errorf("%s %s: %+v", c.Arm, c.Name(), c)
		}
		if c.Arm == "vxlan" && c.Stat == result.P50 &&
			(math.Abs(*c.Difference-2e-6) > 2e-7 || math.Abs(*c.Relative-0.1) > 0.01 || c.Better != "baseline") {
			t.Errorf("%+v", c)
		}
	}
	var only []string
	for _, w := range a.Warnings {
		if w.Code == "one-side-only" {
			only = append(only, w.Arm+" "+w.Message)
		}
	}
	if !slices.Equal(only, []string{"new only in B; A has nothing to compare it with",
		"old only in A; B has nothing to compare it with"}) {
		t.Errorf("%q", only)
	}
	if w := warned(a, "two-runs"); w == nil ||
		!strings.Contains(w.Message, "the intervals do not include the scatter between runs") {
		t.Errorf("%+v", a.Warnings)
	}
	if want := "With vxlan in B, the median round trip takes 2.0"; !strings.HasPrefix(a.Headline, want) ||
		!strings.Contains(a.Basis, " It holds for these two runs: ") ||
		!strings.Contains(a.Also, "With l2 in B, no difference seen in the median round trip; one above 0.2") {
		t.Errorf("verdict %q", a.Verdict)
	}
	if len(a.Arms) != 8 || a.Arms[0].Side != "A" || a.Arms[1].Side != "B" || len(a.Sources) != 2 {
		t.Errorf("%+v", a.Arms)
	}
}

// TestArmsOfOneRunArePaired: a block effect that is a hundred times the difference does not hide it.
func TestArmsOfOneRunArePaired(t *testing.T) {
	m := model{id: "/one", arms: []string{"l2", "vxlan"}, blocks: 8, seed: 3, change: func(t *result.Trial) {
		for i := range t.Metrics {
			t.Metrics[i].Value += float64(t.Block%4) * 1e-6
			if t.Arm == "vxlan" {
				t.Metrics[i].Value += 1e-8
			}
		}
	}}
	base, other := m, m
	base.side, other.side = "A", "B"
	b, n := base.make(), other.make()
	b.Arm, n.Arm = "l2", "vxlan"
	c, err := Match(b, n)
	if err != nil {
		t.Fatal(err)
	}
	a := c.Answer()
	if got := a.Comparisons[0]; got.Blocks != 8 || got.Trials != nil || got.Verdict != figures.Higher ||
		math.Abs(*got.Difference-1e-8) > 1e-12 {
		t.Errorf("%+v", got)
	}
	if warned(a, "two-runs") != nil {
		t.Errorf("%+v", a.Warnings)
	}
	// Imported results have no blocks.
	b.Experiment.Imported, n.Experiment.Imported = true, true
	if c, err = Match(b, n); err != nil {
		t.Fatal(err)
	}
	if a = c.Answer(); a.Comparisons[0].Blocks != 0 || a.Comparisons[0].Verdict == figures.Higher ||
		warned(a, "not-paired") == nil {
		t.Errorf("%+v", a.Comparisons[0])
	}
}

func TestOneTrialASide(t *testing.T) {
	a := contrastOfModels(t, model{arms: []string{"x"}, blocks: 1},
		model{arms: []string{"x"}, blocks: 1, level: func(string) float64 { return 12e-6 }}).Answer()
	c := a.Comparisons[0]
	if c.Difference == nil || math.Abs(*c.Difference-4e-6) > 1e-12 || math.Abs(*c.Relative-0.2) > 1e-12 ||
		c.Interval != nil || c.PValue != nil {
		t.Errorf("%+v", c)
	}
	if c.Verdict != figures.SingleTrial || !strings.Contains(c.Reason, "no interval can be given") ||
		!strings.Contains(a.Verdict, "no interval can be given") {
		t.Errorf("%+v, verdict %q", c, a.Verdict)
	}
}

// TestRefusals: different measurements are refused, with the reason.
func TestRefusals(t *testing.T) {
	of := func(change func(*result.Trial)) model {
		return model{arms: []string{"x"}, blocks: 8, noise: 1e-8, change: change}
	}
	declared := func(workload func(*experiment.Workload)) model {
		return model{arms: []string{"x"}, blocks: 8, noise: 1e-8, workload: workload}
	}
	bytes := 1024
	for _, test := range []struct {
		name   string
		other  model
		reason string
	}{
		{"half RTT", of(func(t *result.Trial) { t.Definition = result.DefinitionHalfRTT }),
			"definition: half-rtt against rtt"},
		{"smoothed", of(func(t *result.Trial) { t.Definition = result.DefinitionSmoothedRTT }),
			"definition: smoothed-rtt against rtt"},
		{"response time", of(func(t *result.Trial) { t.Definition = result.DefinitionResponseTime }),
			"definition: response_time against rtt"},
		{"ICMP", of(func(t *result.Trial) { t.Protocol, t.Mode = "icmp", "ping" }),
			"protocol: icmp against tcp; mode: ping against rr"},
		{"UDP", of(func(t *result.Trial) { t.Protocol = "udp" }), "protocol: udp against tcp"},
		{"crr", of(func(t *result.Trial) { t.Mode = "crr" }), "mode: crr against rr"},
		{"other size", of(func(t *result.Trial) { t.MessageBytes = &bytes }), "message size: 1024 B against 64 B"},
		{"unknown size", of(func(t *result.Trial) { t.MessageBytes = nil }), "message size: unknown against 64 B"},
		{"mixed sizes", of(func(t *result.Trial) {
			if t.Block > 4 {
				t.MessageBytes = &bytes
			}
		}), "message size: 1024 B, 64 B against 64 B"},
		{"other load", of(func(t *result.Trial) { t.Facts = map[string]string{"schedule": "10000/s"} }),
			"offered load: 10000/s against "},
		{"all failed", of(func(t *result.Trial) { t.Error = "refused" }), "no good trials on one side"},
		{"other IP", declared(func(w *experiment.Workload) { w.IP = experiment.IPv6 }), "ip: 6 against 4"},
		{"other response", declared(func(w *experiment.Workload) { w.Response = 65536 }), "response: 65536 against 64"},
		{"timestamps", declared(func(w *experiment.Workload) { w.Timestamps = true }),
			"timestamps: true against false"},
		{"other connections", declared(func(w *experiment.Workload) { w.Connections = 8 }), "connections: 8 against 0"},
		{"background", declared(func(w *experiment.Workload) { w.Background = &experiment.Workload{Tool: "iperf3"} }),
			"background: "},
	} {
		c := contrastOfModels(t, of(nil), test.other)
		a := c.Answer()
		if len(a.Comparisons) != 1 || a.Comparisons[0].Verdict != figures.NotComparable ||
			a.Comparisons[0].Difference != nil ||
			!strings.Contains(a.Comparisons[0].Reason, test.reason) || !strings.Contains(a.Verdict, test.reason) ||
			c.Comparable() || len(a.Arms) != 0 {
			t.Errorf("%s: %+v, verdict %q", test.name, a.Comparisons, a.Verdict)
		}
	}
	spin := func(way string) model {
		return of(func(t *result.Trial) { t.Facts = map[string]string{"wait": way, "server.wait": "block"} })
	}
	if a := contrastOfModels(t, spin("block"), spin("spin")).Answer(); !strings.Contains(a.Comparisons[0].Reason,
		"waiting: client spin, server block against client block, server block") {
		t.Errorf("waiting: %+v", a.Comparisons[0])
	}
}

// TestWarnings: differences that can influence figures, but still allow a comparison, give warnings.
func TestWarnings(t *testing.T) {
	of := func(change func(*result.Trial)) model {
		return model{arms: []string{"x"}, blocks: 8, noise: 1e-8, change: change}
	}
	for code, test := range map[string]struct {
		other   model
		message string
	}{
		"tools-differ": {of(func(t *result.Trial) { t.Tool.Name = "sockperf" }),
			"B was measured with sockperf, A with native"},
		"versions-differ": {of(func(t *result.Trial) { t.Tool.Version = "2" }), "2 in B, 1 in A"},
		"reported-as-differs": {of(func(t *result.Trial) { t.ReportedAs = result.DefinitionHalfRTT }),
			"half-rtt in B, rtt in A"},
		"waiting-differs": {of(func(t *result.Trial) { t.Facts = map[string]string{"wait": "spin"} }),
			"client spin, server unknown in B, unknown in A"},
		"placement-differs": {of(func(t *result.Trial) { t.Facts = map[string]string{"placement": "free"} }),
			"free in B, unknown in A"},
		"failed-trials": {of(func(t *result.Trial) {
			if t.Block == 3 {
				t.Error = "timeout"
			}
		}), "1 of 8 trials of B failed; the first: timeout"},
		"note": {of(func(t *result.Trial) { t.Notes = []string{"Halved."} }), "B: Halved."},
		"zero-spread": {of(func(t *result.Trial) { t.Metrics[1].Value = 2e-5 }),
			"B: all 8 trials gave the same rtt p50"},
		"workload-differs": {model{arms: []string{"x"}, blocks: 8, noise: 1e-8,
			workload: func(w *experiment.Workload) { w.Warmup = 5e9 }}, "warm-up 5s against 0s"},
	} {
		a := contrastOfModels(t, of(nil), test.other).Answer()
		if w := warned(a, code); w == nil || !strings.Contains(w.Message, test.message) ||
			a.Comparisons[0].Interval == nil {
			t.Errorf("%s: %+v, want %q; %+v", code, a.Warnings, test.message, a.Comparisons[0])
		}
	}
	// Two runs that are alike have only the warning that they are two.
	if a := contrastOfModels(t, of(nil), of(nil)).Answer(); len(a.Warnings) != 1 || a.Warnings[0].Code != "two-runs" {
		t.Errorf("alike: %+v", a.Warnings)
	}
	base, other := of(nil), of(nil)
	base.side, other.side = "A", "B"
	b, n := base.make(), other.make()
	b.Hosts, n.Hosts = []byte(`{"lab":{"kernel":"6.1","cpus":[0,1],"arms":[1]}}`),
		[]byte(`{"lab":{"kernel":"6.9","cpus":[0,1],"arms":[2]}}`)
	n.Experiment.Arms[0].Layers = map[string]int{"router": 1}
	n.State = "interrupted"
	b.Machine, n.Machine = "one", "two"
	b.Versions, n.Versions = map[string]string{"nearfar": "1.0"}, map[string]string{"nearfar": "1.1"}
	c, err := Match(b, n)
	if err != nil {
		t.Fatal(err)
	}
	a := c.Answer()
	for code, message := range map[string]string{
		"hosts-differ": "machine one -> two", "arm-differs": "{router:1} in B, {bridge:1} in A",
		"incomplete": "B is interrupted", "versions-differ": "version of nearfar: 1.1 in B, 1.0 in A",
	} {
		if w := warned(a, code); w == nil || !strings.Contains(w.Message, message) {
			t.Errorf("%s: %+v", code, a.Warnings)
		}
	}
}

// fileSide is the output of a tool, recorded elsewhere.
func fileSide(name, tool, mode, protocol string, bytes int, values ...float64) *Side {
	s := &Side{Name: name, Source: tool + ".txt", Kind: File, Arm: tool + ".txt"}
	for _, v := range values {
		t := result.Trial{Tool: result.ToolVersion{Name: tool}, Mode: mode, Protocol: protocol,
			Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT,
			Metrics: []result.Metric{{Name: result.RTT, Stat: result.Mean, Unit: result.Seconds, Value: v}}}
		if bytes > 0 {
			t.MessageBytes = &bytes
		}
		s.Trials = append(s.Trials, t)
	}
	return s
}

func TestFilesMatchByWhatTheyMeasure(t *testing.T) {
	run := model{side: "A", arms: []string{"l2"}, blocks: 8, noise: 1e-8}.make()
	c, err := Match(run, fileSide("B", "sockperf", "rr", "tcp", 64, 12e-6))
	if err != nil {
		t.Fatal(err)
	}
	a := c.Answer()
	if got := a.Comparisons[0]; got.Workload != "rr" || got.Stat != result.Mean || got.Difference == nil ||
		got.Baseline != "l2" || got.Arm != "sockperf.txt" ||
		math.Abs(*got.Difference-2e-6) > 1e-7 || warned(a, "tools-differ") == nil {
		t.Errorf("%+v", a)
	}
	// An imported run has its own names of workloads.
	imported := model{side: "B", arms: []string{"l2"}, blocks: 8, noise: 1e-8}.make()
	imported.Experiment.Imported, imported.Experiment.Workloads[0].Name = true, "native-rr-tcp-64B"
	for i := range imported.Trials {
		imported.Trials[i].Workload = "native-rr-tcp-64B"
	}
	if c, err = Match(run, imported); err != nil {
		t.Fatal(err)
	}
	if a = c.Answer(); len(a.Comparisons) != 3 || a.Comparisons[0].Difference == nil {
		t.Errorf("imported: %+v", a.Comparisons)
	}
	// The nearest group explains why nothing matches.
	if c, err = Match(run, fileSide("B", "ping", "ping", "icmp", 0, 12e-6)); err != nil {
		t.Fatal(err)
	}
	if a = c.Answer(); c.Comparable() || !strings.Contains(a.Comparisons[0].Reason, "protocol: icmp against tcp") {
		t.Errorf("%+v", a.Comparisons)
	}
	// With several arms the user must name one.
	several := model{side: "A", arms: []string{"l2", "vxlan"}, blocks: 2}.make()
	if _, err := Match(several, fileSide("B", "sockperf", "rr", "tcp", 64, 1)); err == nil ||
		!strings.Contains(err.Error(), "runs/A has 2 arms: say which one, for example runs/A:l2") {
		t.Errorf("%v", err)
	}
	// If two workloads measure the same, the one of the same tool is used.
	two := model{side: "A", arms: []string{"l2"}, blocks: 8, noise: 1e-8}.make()
	two.Experiment.Workloads = append(two.Experiment.Workloads, experiment.Workload{Name: "sp", Tool: "sockperf"})
	for _, trial := range slices.Clone(two.Trials) {
		trial.Workload, trial.Tool.Name = "sp", "sockperf"
		two.Trials = append(two.Trials, trial)
	}
	if c, err = Match(two, fileSide("B", "sockperf", "rr", "tcp", 64, 12e-6)); err != nil {
		t.Fatal(err)
	}
	if a = c.Answer(); len(a.Comparisons) != 1 || a.Comparisons[0].Workload != "sp" {
		t.Errorf("%+v", a.Comparisons)
	}
}

func TestNothingInCommon(t *testing.T) {
	side := func(name string, arms ...string) *Side { return model{side: name, arms: arms, blocks: 2}.make() }
	for _, test := range []struct {
		name        string
		base, other *Side
		nothing     bool
		want        string
	}{
		{"arms", side("A", "a", "b"), side("B", "c", "d"), true, "no arm is in both. A has a, b, B has c, d"},
		{"one run", side("A", "a", "b"), side("A", "a", "b"), false,
			"are the same run: name two of its arms, for example runs/A:a runs/A:b"},
	} {
		_, err := Match(test.base, test.other)
		if err == nil || errors.Is(err, ErrNothing) != test.nothing || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	other := side("B", "a")
	other.Experiment.Workloads[0].Name = "bulk"
	for i := range other.Trials {
		other.Trials[i].Workload = "bulk"
	}
	if _, err := Match(side("A", "a"), other); !errors.Is(err, ErrNothing) ||
		!strings.Contains(err.Error(), "A has rr") || !strings.Contains(err.Error(), "B has bulk") {
		t.Errorf("%v", err)
	}
	one := side("A", "a", "b")
	one.Arm = "a"
	same := *one
	same.Name = "B"
	if _, err := Match(one, &same); err == nil || !strings.Contains(err.Error(), "the same arm of the same run") {
		t.Errorf("%v", err)
	}
}

// histogramFiles gives each trial a histogram: normal around the trial's p50.
func histogramFiles(t *testing.T, s *Side, count int) {
	t.Helper()
	r := rand.New(rand.NewPCG(60, uint64(len(s.Name)+len(s.Trials))))
	files := map[string][]byte{}
	for i := range s.Trials {
		var values []int64
		for range count {
			values = append(values, int64(s.Trials[i].Metrics[1].Value*1e9+500*r.NormFloat64()))
		}
		name := "raw/" + string(rune('a'+i)) + ".hdr"
		s.Trials[i].Histogram = name
		files[name] = encoded(t, 1, 100_000_000_000, 3, values...)
	}
	s.Open = func(name string) (io.ReadCloser, error) {
		data, ok := files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return io.NopCloser(bytes.NewReader(data)), nil
	}
}

func TestDistributions(t *testing.T) {
	base := model{side: "A", arms: []string{"x"}, blocks: 8, seed: 1, noise: 1e-7}.make()
	other := model{side: "B", arms: []string{"x"}, blocks: 8, seed: 2, noise: 1e-7,
		level: func(string) float64 { return 10.5e-6 }}.make()
	histogramFiles(t, base, 500)
	histogramFiles(t, other, 500)
	c, err := Match(base, other)
	if err != nil {
		t.Fatal(err)
	}
	a := c.Answer()
	if len(a.Distributions) != 1 {
		t.Fatalf("%+v, %+v", a.Distributions, a.Warnings)
	}
	d := a.Distributions[0]
	if d.Trials != [2]int{8, 8} || d.Observations != [2]int64{4000, 4000} || d.Metric != result.RTT {
		t.Errorf("%+v", d)
	}
	// 500 observations a trial support p90, 4,000 together p99.
	var stats []string
	for _, q := range d.Quantiles {
		stats = append(stats, q.Stat)
		if (q.Difference != nil) != (q.Stat != result.P99) ||
			(q.Interval != nil) != (q.Difference != nil) || q.Pooled == nil {
			t.Errorf("%+v", q)
		}
	}
	if !slices.Equal(stats, []string{result.P50, result.P90, result.P99}) {
		t.Errorf("%q", stats)
	}
	if q := d.Quantiles[0]; math.Abs(*q.Difference-1e-6) > 2e-7 || q.Interval[0] > 1e-6 || q.Interval[1] < 1e-6 {
		t.Errorf("%+v", q)
	}
	// A shift of two standard deviations separates the distributions by 68 % about halfway.
	if math.Abs(d.Distance.Share+0.68) > 0.05 || math.Abs(d.Distance.At-20.5e-6) > 3e-7 {
		t.Errorf("%+v", d.Distance)
	}
	// A stalled trial has too few observations for a p90: it counts as the slowest.
	whole := other.Open
	other.Open = func(name string) (io.ReadCloser, error) {
		if name == other.Trials[0].Histogram {
			return io.NopCloser(bytes.NewReader(encoded(t, 1, 100_000_000_000, 3,
				slices.Repeat([]int64{19_000}, 60)...))), nil
		}
		return whole(name)
	}
	if q := c.remade(t).Answer().Distributions[0].Quantiles[1]; q.Stat != result.P90 || q.Missing == nil ||
		*q.Missing != [2]int{1, 0} || q.Difference == nil ||
		*q.Difference < *d.Quantiles[1].Difference {
		t.Errorf("%+v, and without a stall %+v", q, d.Quantiles[1])
	}
	other.Open = whole
	// If one trial has no histogram, nothing is compared; an unreadable one gives a warning.
	other.Trials[3].Histogram = "raw/gone.hdr"
	if a := c.remade(t).Answer(); len(a.Distributions) != 0 || warned(a, "histogram-unread") == nil {
		t.Errorf("%+v", a.Warnings)
	}
	other.Trials[3].Histogram = ""
	if a := c.remade(t).Answer(); len(a.Distributions) != 0 || warned(a, "histogram-unread") != nil {
		t.Errorf("%+v", a.Warnings)
	}
}

// remade matches the same sides again.
func (c *Contrast) remade(t *testing.T) *Contrast {
	t.Helper()
	again, err := Match(c.Base, c.New)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// encoded writes a histogram as HdrHistogram's own library does.
func encoded(t testing.TB, lowest, highest int64, digits int, values ...int64) []byte {
	t.Helper()
	h := hdrhistogram.New(lowest, highest, digits)
	for _, v := range values {
		if err := h.RecordValue(v); err != nil {
			t.Fatal(err)
		}
	}
	data, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Hosts of two runs are compared by the facts of the arms that are compared; two arms of one run are not two runs.
func TestHostsOfArms(t *testing.T) {
	lines := func(base, other model) (lines []string) {
		t.Helper()
		base.side, other.side = "A", "B"
		b, n := base.make(), other.make()
		b.Hosts = []byte(`{"facts":[{"sides":["x/client","y/server"],"facts":{"kernel":"6.1"}}]}`)
		n.Hosts = []byte(`{"facts":[{"sides":["x/client","y/server"],"facts":{"kernel":"6.9"}}]}`)
		if base.id != "" {
			b.Arm, n.Arm = "x", "y"
		}
		c, err := Match(b, n)
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range c.Warnings() {
			if w.Code == "hosts-differ" {
				lines = append(lines, w.Message)
			}
		}
		return lines
	}
	one := model{arms: []string{"x"}, blocks: 8, noise: 1e-8}
	if got := lines(one, one); !slices.Equal(got, []string{"kernel 6.1 -> 6.9"}) {
		t.Errorf("two runs: %q", got)
	}
	two := model{id: "run", arms: []string{"x", "y"}, blocks: 8, noise: 1e-8}
	if got := lines(two, two); len(got) > 0 {
		t.Errorf("one run: %q", got)
	}
}
