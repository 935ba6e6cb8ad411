package page

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// unpack reverses pack.
func unpack[T any](t testing.TB, p Packed) T {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(string(p))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := json.NewDecoder(z).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// Each trial is on the page, with its values from trials.jsonl or the reason why it failed.
func TestTrials(t *testing.T) {
	s := small()
	dir := s.write(t)
	d, a := collected(t, dir)
	records, err := dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	trials := unpack[[]Trial](t, d.Trials)
	if len(trials) != len(records) || a.Failed != 1 {
		t.Fatalf("%d trials of %d, %d failed", len(trials), len(records), a.Failed)
	}
	checked := 0
	for i, short := range trials {
		whole := records[i]
		if short.Trial != whole.Trial || s.arms[short.Arm] != whole.Arm ||
			d.Workloads[short.Workload].Name != whole.Workload || short.Error != whole.Error {
			t.Fatalf("%+v is not %+v", short, whole)
		}
		n := 0
		for _, q := range d.Quantities {
			if q.Workload != short.Workload {
				continue
			}
			want, ok := q.Of(whole)
			if got := short.Values[n]; ok != (got != nil) || ok && *got != want {
				t.Errorf("trial %d, %s: %v, want %v", short.Trial, q.Name(), got, want)
			}
			checked++
			n++
		}
	}
	if checked == 0 {
		t.Error("nothing was compared")
	}
}

// A curve has the same value as the answer at each percentile in the answer, because both are medians over the trials.
func TestCurvesAgreeWithTheAnswer(t *testing.T) {
	dir := small().write(t)
	d, a := collected(t, dir)
	checked := 0
	for _, c := range unpack[[]Curve](t, d.Curves) {
		if c.Printed || c.Trials < 7 {
			t.Errorf("%+v: printed %v, %d trials", c.Workload, c.Printed, c.Trials)
		}
		if last := c.Points[len(c.Points)-1]; last.At > 99.5+1e-9 {
			t.Errorf("p%v of 2000 observations is on the page", last.At)
		}
		for _, f := range a.Arms {
			if f.Arm != d.Arms[c.Arm].Name || f.Workload != d.Workloads[c.Workload].Name || f.Metric != c.Metric {
				continue
			}
			for _, p := range c.Points {
				if f.Stat != result.PercentileStat(p.At) {
					continue
				}
				checked++
				if math.Abs(p.Median-f.Median) > 1e-5*f.Median {
					t.Errorf("%s %s %s: the curve has %g, the answer %g", f.Arm, f.Workload, f.Stat, p.Median, f.Median)
				}
				if p.Low > p.Median || p.High < p.Median {
					t.Errorf("%s %s: the band %g to %g is beside the median %g", f.Arm, f.Workload, p.Low, p.High,
						p.Median)
				}
			}
		}
	}
	if want := 4 * 4 * 2; checked != want { // arms, workloads with histograms, p50 and p99
		t.Errorf("%d points were compared, want %d", checked, want)
	}
}

// Without histograms, a curve has the percentiles that the tool printed.
func TestPrintedPercentiles(t *testing.T) {
	trial := func(p50, p99 float64) *result.Trial {
		return &result.Trial{Metrics: []result.Metric{
			{Name: result.RTT, Stat: "p50", Value: p50}, {Name: result.RTT, Stat: "p99", Value: p99},
			{Name: result.RTT, Stat: "mean", Value: 1},
			{Name: result.RTT, Stat: "p90", Value: 1, Scope: "client"},
		}}
	}
	points, inner, n := printedPoints([]*result.Trial{trial(1, 5), trial(2, 7), trial(3, 6)}, 0, result.RTT)
	want := []Spread{{50, 2, 1, 3}, {99, 6, 5, 7}}
	if !slices.Equal(points, want) || inner != 1 || n != 3 {
		t.Errorf("%v, %v, %d, want %v", points, inner, n, want)
	}
}

func TestBandLeavesOutTheOutermostTenthOfManyTrials(t *testing.T) {
	var values []float64
	for i := range 21 {
		values = append(values, float64(i))
	}
	if s, inner := spread(1, values, 0); inner != 0.8 || s.Low != 2 || s.High != 18 || s.Median != 10 {
		t.Errorf("%+v, %v", s, inner)
	}
}

func TestCourses(t *testing.T) {
	d, _ := collected(t, small().write(t))
	courses := unpack[[]Course](t, d.Courses)
	got := map[string]int{}
	for _, c := range courses {
		got[d.Workloads[c.Workload].Name+" "+c.Metric+" "+c.Stat]++
		want := 3
		if c.Metric == result.Goodput {
			want = 2
		}
		if len(c.Points) != want || c.Points[0].At != 0.5 || c.Points[1].Median <= c.Points[0].Median {
			t.Errorf("%+v", c)
		}
	}
	for _, name := range []string{"rr-1k rtt p50", "rr-1k rtt p99", "load-1000 response_time p50", "bulk goodput "} {
		if got[name] != 4 {
			t.Errorf("%d courses of %s, want one for each arm: %v", got[name], name, got)
		}
	}
}

// Percentiles of too few observations are left out. Invalid lines are skipped, and the lines after them are read.
func TestIntervalsOfTheEngine(t *testing.T) {
	parts := nativeParts([]byte(`{"type":"interval","start_seconds":0,"end_seconds":1,"count":500,"rtt_p50":1e-6,"rtt_p99":2e-6}
{"type":"interval","start_seconds":1,
{"type":"interval","start_seconds":2,"end_seconds":1,"count":500,"rtt_p50":1e-6}
{"type":"interval","start_seconds":1,"end_seconds":2,"count":5000,"rtt_p50":1e-6,"rtt_p99":2e-6}
{"type":"interval","start_seconds":2,"end_seconds":2.1,"count":5000,"rtt_p50":1e-6}
`))
	if len(parts) != 2 || len(parts[0].values) != 1 || len(parts[1].values) != 2 {
		t.Errorf("%+v", parts)
	}
}

func TestLoadsAreWorkloadsThatDifferInTheRateAlone(t *testing.T) {
	d, _ := collected(t, small().write(t))
	if len(d.Loads) != 1 || len(d.Loads[0].Rates) != 3 {
		t.Fatalf("%+v", d.Loads)
	}
	for i, want := range []float64{1000, 5000, 10000} {
		if got := d.Loads[0].Rates[i]; got.Offered != want || got.Workload != i+1 {
			t.Errorf("%+v, want %g", got, want)
		}
	}
}

func TestHosts(t *testing.T) {
	d, _ := collected(t, small().write(t))
	find := func(list []ArmFact, name string) ArmFact {
		i := slices.IndexFunc(list, func(f ArmFact) bool { return f.Name == name })
		if i < 0 {
			t.Fatalf("no fact %s in %+v", name, list)
		}
		return list[i]
	}
	if f := find(d.Hosts.Arms, "lab.arms.host_mtu"); !f.Differs || f.Own ||
		strings.Join(f.Values, " ") != "1500 1450 1500 1450" {
		t.Errorf("%+v", f)
	}
	if f := find(d.Hosts.Arms, "lab.arms.client"); !f.Own {
		t.Errorf("an address counts as a difference between arms: %+v", f)
	}
	if f := find(d.Hosts.Arms, "lab.arms.underlay_mtu"); f.Differs {
		t.Errorf("%+v", f)
	}
	if f := find(d.Hosts.Trials, "tcp_mss"); !f.Differs {
		t.Errorf("%+v", f)
	}
	if f := find(d.Hosts.Trials, "tcp_congestion"); f.Differs {
		t.Errorf("%+v", f)
	}
	if !slices.Equal(d.Hosts.Varying, []string{"server.transactions"}) {
		t.Errorf("varying: %v", d.Hosts.Varying)
	}
	// "vxlan" is also the name of an arm, but this fact is not about the arm.
	if !slices.Contains(d.Hosts.Run, Fact{"lab.features.vxlan", "true"}) {
		t.Errorf("%+v", d.Hosts.Run)
	}
}

func TestRecords(t *testing.T) {
	d, _ := collected(t, small().write(t))
	if len(d.Records) != 4*5 || len(d.Commands) != 4*5 || len(d.Notes) != 0 {
		t.Fatalf("%d groups, %d commands, notes %v", len(d.Records), len(d.Commands), d.Notes)
	}
	records := unpack[[]Record](t, d.Records[0].Trials)
	if len(records) != 8 {
		t.Fatalf("%d records", len(records))
	}
	o := records[0].Outputs[0]
	if !strings.HasPrefix(o.Head, `{"type":"start"`) || !strings.Contains(o.Head, `characters: see the .hdr file)"`) ||
		o.Cut != 0 {
		t.Errorf("%+v", o)
	}
}

// If a trial's files are missing or outside of the run directory, only they are missing on the page.
func TestFilesThatAreNotThere(t *testing.T) {
	dir := small().write(t)
	outside := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir.Path, "raw", "link")); err != nil {
		t.Fatal(err)
	}
	trial := result.Trial{
		Trial: 9999, Block: 1, Arm: "l2", Workload: "rr-1k", Tool: result.ToolVersion{Name: "native"},
		Definition: result.RTT,
		Metrics:    []result.Metric{{Name: result.RTT, Stat: "p50", Unit: "s", Value: 1e-5}},
		Histogram:  "raw/gone.hdr", Raw: []string{"raw/gone.client.out", "../secret", outside, "raw/link", "raw"},
	}
	if err := dir.Append(trial); err != nil {
		t.Fatal(err)
	}
	d, _ := collected(t, dir)
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "1 histograms cannot be read") {
		t.Errorf("notes %v", d.Notes)
	}
	records := unpack[[]Record](t, d.Records[0].Trials)
	last := records[len(records)-1]
	if len(last.Outputs) != 5 {
		t.Fatalf("%+v", last)
	}
	for _, o := range last.Outputs {
		if o.Bytes != -1 || strings.Contains(o.Head, "secret\x00") || o.Head == "secret" {
			t.Errorf("%+v", o)
		}
	}
}

// Long outputs are cut in the middle, and the number of bytes left out is known.
func TestOutputsAreBounded(t *testing.T) {
	dir := small().write(t)
	for _, c := range []struct {
		size, head, tail int
	}{
		{100, 100, 0}, {20 << 10, 20 << 10, 0}, {30 << 10, 16 << 10, 4 << 10}, {10 << 20, 16 << 10, 4 << 10},
	} {
		data := bytes.Repeat([]byte("x"), c.size)
		data[len(data)-1] = 'y'
		name, err := dir.WriteRaw("long", data)
		if err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir.Path)
		if err != nil {
			t.Fatal(err)
		}
		o := (&collector{files: &files{root: root}}).output(name, steps()[0])
		if len(o.Head) != c.head || len(o.Tail) != c.tail || o.Bytes != int64(c.size) ||
			o.Cut != int64(c.size-c.head-c.tail) || !strings.HasSuffix(o.Head+o.Tail, "y") {
			t.Errorf("of %d bytes: %d, %d cut, %d", c.size, len(o.Head), o.Cut, len(o.Tail))
		}
		if err := root.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// firstLines gives the first n lines of a text.
func firstLines(text []byte, n int) []byte {
	return bytes.Join(bytes.SplitAfterN(text, []byte("\n"), n+1)[:n], nil)
}

// An interrupted run has a page, also without any trial.
func TestEveryPrefixOfARunHasAPage(t *testing.T) {
	dir := small().write(t)
	name := filepath.Join(dir.Path, "trials.jsonl")
	lines, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{0, 1, 2, 5, 30} {
		if err := os.WriteFile(name, firstLines(lines, n), 0o644); err != nil {
			t.Fatal(err)
		}
		d, _ := collected(t, dir)
		if got := len(unpack[[]Trial](t, d.Trials)); got != n {
			t.Errorf("%d trials, want %d", got, n)
		}
		if _, err := json.Marshal(d); err != nil {
			t.Errorf("%d trials: %v", n, err)
		}
	}
}

// If the outputs are too large for the page, those of failed trials are kept, and as many others as fit. A note says
// so.
func TestOutputsOfManyTrials(t *testing.T) {
	s := sample{arms: []string{"l2", "routed"}, blocks: 40, rounds: 50, plain: true}
	dir := s.write(t)
	records, err := dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	for _, r := range records {
		noise := make([]byte, 200<<10)
		for i := range noise {
			noise[i] = byte(32 + random.IntN(90))
		}
		if err := os.WriteFile(filepath.Join(dir.Path, r.Raw[0]), noise, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d, _ := collected(t, dir)
	size, outputs := 0, 0
	for _, group := range d.Records {
		size += len(group.Trials)
		for _, r := range unpack[[]Record](t, group.Trials) {
			outputs += len(r.Outputs)
		}
	}
	if size > recordBudget || outputs != len(records) {
		t.Errorf("%d bytes, %d outputs of %d", size, outputs, len(records))
	}
	if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "shortened to its first 4096 and last 1024 bytes") {
		t.Errorf("notes %q", d.Notes)
	}

	// With a limit on the number of trials, the failed trial is among those that are kept.
	root, err := os.OpenRoot(dir.Path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	c := newCollector(dir.Manifest(), d.Answer, records, &files{root: root})
	c.sorted()
	groups, _, err := c.recordsWithin(bounds{1 << 10, 512, 3})
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range groups {
		outputs, failed := 0, 0
		for _, r := range unpack[[]Record](t, group.Trials) {
			outputs += len(r.Outputs)
			if r.Error != "" && len(r.Outputs) == 1 {
				failed++
			}
		}
		if outputs != 3 || failed != group.Arm {
			t.Errorf("arm %d: %d outputs, %d of failed trials", group.Arm, outputs, failed)
		}
	}
}

func FuzzIntervals(f *testing.F) {
	f.Add(nativeOutput(result.RTT, 1e-5, nil))
	f.Add(nativeOutput(result.ResponseTime, 1e-5, nil))
	f.Add([]byte(`{"intervals":[{"sum":{"start":0,"end":1,"bits_per_second":1e9}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, parts := range [][]part{nativeParts(data), iperf3Parts(data)} {
			if len(parts) > maxIntervals {
				t.Fatalf("%d intervals", len(parts))
			}
			for _, p := range parts {
				for what, v := range p.values {
					if !(v >= 0) || math.IsInf(v, 0) || !(p.end > p.start) || what.metric == "" {
						t.Errorf("%+v", p)
					}
				}
			}
			for _, what := range statistics([][]part{parts, parts}) {
				if _, err := json.Marshal(courseOf([][]part{parts, parts}, what)); err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func FuzzHosts(f *testing.F) {
	f.Add([]byte(`{"lab":{"arms":[{"arm":"l2","client":"10.0.0.1"},{"arm":"routed"}],"cpus":[0,1]},"elements":{"l2":[{"kind":"bridge","counters":{"a":1}}],"routed":[]}}`))
	f.Add([]byte(`{"arm":{"arm":"l2"},"l2":{"l2":{"routed":null}}}`))
	f.Add([]byte(`[[[1,true,"x"],{}],{"arm":5}]`))
	e := sample{arms: []string{"l2", "routed"}}.experiment()
	f.Fuzz(func(t *testing.T, data []byte) {
		h := newCollector(rundir.Manifest{Experiment: e, Hosts: data}, answer.Answer{}, nil, nil).hosts()
		if len(h.Run)+len(h.Arms) > maxFacts {
			t.Errorf("%d facts", len(h.Run)+len(h.Arms))
		}
		for _, fact := range h.Arms {
			if len(fact.Values) != len(e.Arms) {
				t.Errorf("%+v", fact)
			}
		}
	})
}
