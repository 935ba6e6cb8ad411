package answer

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// recordedTrial is a trial of sockperf over TCP as import makes it, with a mean and percentiles.
func recordedTrial(n int, arm string, seconds float64) result.Trial {
	metric := func(stat string, value float64) result.Metric {
		return result.Metric{Name: result.RTT, Stat: stat, Unit: result.Seconds, Value: value}
	}
	bytes := 1400
	return result.Trial{
		Trial: n, Arm: arm, Workload: "sockperf-rr-tcp-1400B", Tool: result.ToolVersion{Name: "sockperf"},
		Mode: "rr", Protocol: "tcp",
		MessageBytes: &bytes, Definition: result.DefinitionRTT, ReportedAs: result.DefinitionRTT,
		Metrics: []result.Metric{metric(result.Mean, seconds), metric(result.P50, 0.9*seconds),
			metric(result.P99, 2*seconds)},
	}
}

func recordedExperiment(t *testing.T, trials []result.Trial) *experiment.Experiment {
	t.Helper()
	var workloads []experiment.Workload
	for _, trial := range trials {
		if len(workloads) == 0 || workloads[len(workloads)-1].Name != trial.Workload {
			workloads = append(workloads, experiment.Workload{Name: trial.Workload})
		}
	}
	e, err := experiment.Recorded("zones", "", "set", []string{"zones", "set"}, workloads)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// With one trial on each side, the answer has the difference, of the mean first, and says that there is no interval.
func TestOneRecordedTrialASide(t *testing.T) {
	trials := []result.Trial{recordedTrial(1, "zones", 94.790e-6), recordedTrial(2, "set", 54.516e-6)}
	a := Make(Input{Experiment: recordedExperiment(t, trials), Trials: trials, State: "complete"})
	if !a.Imported || len(a.Comparisons) != 3 || a.Comparisons[0].Stat != result.Mean {
		t.Fatalf("%+v", a)
	}
	c := a.Comparisons[0]
	if c.Difference == nil || math.Abs(*c.Difference-40.274e-6) > 1e-12 || c.Relative == nil ||
		math.Abs(*c.Relative-40.274/54.516) > 1e-9 {
		t.Errorf("difference %v, relative %v", c.Difference, c.Relative)
	}
	if c.Interval != nil || c.RelativeInterval != nil || c.PValue != nil || c.Detectable != nil ||
		c.Verdict != figures.SingleTrial || c.Better != "" || c.Blocks != 0 {
		t.Errorf("more is said than one trial a side can say: %+v", c)
	}
	if want := "one trial a side: no interval can be given"; c.Reason != want {
		t.Errorf("reason %q, want %q", c.Reason, want)
	}
	want := "With zones, the average round trip takes 40 us longer than with set, 74 %; how sure that is, is unknown. " +
		"One trial a side: no interval can be given. The results were recorded elsewhere: other differences between the " +
		"arms are unknown. 2 more comparisons below."
	if a.Verdict != want {
		t.Errorf("verdict %q, want %q", a.Verdict, want)
	}
	if len(a.Warnings) != 1 || a.Warnings[0].Code != "imported" {
		t.Errorf("warnings %+v", a.Warnings)
	}
	if _, err := json.Marshal(a); err != nil {
		t.Error(err)
	}
}

// Trials are not paired by the order of reading. Here the differences of equal numbers are all exactly 1 us, which
// pairing would call certain. But each side scatters by more than that.
func TestRecordedTrialsAreNotPaired(t *testing.T) {
	var trials []result.Trial
	for i := range 8 {
		level := float64(50+10*i) * 1e-6
		trials = append(trials, recordedTrial(2*i+1, "set", level), recordedTrial(2*i+2, "zones", level+1e-6))
	}
	a := Make(Input{Experiment: recordedExperiment(t, trials), Trials: trials, State: "complete"})
	for _, c := range a.Comparisons {
		if c.Verdict != figures.NoDifference || c.Interval == nil || c.Interval[0] >= 0 || c.Interval[1] <= 0 {
			t.Errorf("%s: %+v", c.Name(), c)
		}
		if c.Trials == nil || *c.Trials != [2]int{8, 8} || c.Blocks != 0 {
			t.Errorf("%s rests on %v trials and %d blocks", c.Name(), c.Trials, c.Blocks)
		}
	}
	for _, f := range a.Arms {
		if f.Trials != 8 || f.Interval == nil {
			t.Errorf("%+v", f)
		}
	}
}

// Enough trials show a difference far larger than their scatter, with an interval.
func TestRecordedTrialsShowADifference(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var trials []result.Trial
	for i := range 10 {
		trials = append(trials, recordedTrial(i+1, "zones", 94e-6+1e-6*random.NormFloat64()))
	}
	for i := range 9 {
		trials = append(trials, recordedTrial(i+11, "set", 54e-6+1e-6*random.NormFloat64()))
	}
	a := Make(Input{Experiment: recordedExperiment(t, trials), Trials: trials, State: "complete"})
	for _, c := range a.Comparisons {
		if c.Verdict != figures.Higher || c.Better != "baseline" || c.Interval == nil || c.PValue == nil {
			t.Errorf("%s: %+v", c.Name(), c)
		}
	}
	if c := a.Comparisons[0]; c.Interval[0] > 40e-6 || c.Interval[1] < 40e-6 {
		t.Errorf("the interval %v misses 40 us", *c.Interval)
	}
}

// Different measurements are refused, whatever their names.
func TestRecordedTrialsThatMeasureDifferently(t *testing.T) {
	for reason, change := range map[string]func(*result.Trial){
		"tool: ping against sockperf":          func(t *result.Trial) { t.Tool.Name = "ping" },
		"protocol: icmp against tcp":           func(t *result.Trial) { t.Protocol = "icmp" },
		"definition: smoothed-rtt against rtt": func(t *result.Trial) { t.Definition = result.DefinitionSmoothedRTT },
		"definition: half-rtt against rtt":     func(t *result.Trial) { t.Definition = result.DefinitionHalfRTT },
		"mode: crr against rr":                 func(t *result.Trial) { t.Mode = "crr" },
		"message size: 350 B against 1400 B":   func(t *result.Trial) { bytes := 350; t.MessageBytes = &bytes },
		"message size: unknown against 1400 B": func(t *result.Trial) { t.MessageBytes = nil },
		"no good trials on one side":           func(t *result.Trial) { t.Error = "connection refused" },
	} {
		far := recordedTrial(2, "zones", 94e-6)
		change(&far)
		trials := []result.Trial{recordedTrial(1, "set", 54e-6), far}
		a := Make(Input{Experiment: recordedExperiment(t, trials), Trials: trials, State: "complete"})
		if len(a.Comparisons) == 0 {
			t.Errorf("%s: nothing is said", reason)
		}
		for _, c := range a.Comparisons {
			if c.Difference != nil || c.Verdict != figures.NotComparable || c.Reason != reason {
				t.Errorf("%s: %+v", reason, c)
			}
		}
	}
}

// A workload that one arm lacks does not hide those that both have.
func TestVerdictUsesWorkloadsOfBothArms(t *testing.T) {
	one := recordedTrial(1, "zones", 1e-3)
	one.Workload, one.Tool.Name, one.Protocol, one.Mode = "ping-icmp", "ping", "icmp", "ping"
	trials := []result.Trial{one, recordedTrial(2, "zones", 94e-6), recordedTrial(3, "set", 54e-6)}
	a := Make(Input{Experiment: recordedExperiment(t, trials), Trials: trials, State: "complete"})
	if !strings.HasPrefix(a.Verdict, "With zones, the average round trip of sockperf-rr-tcp-1400B takes 40 us longer") {
		t.Errorf("verdict %q", a.Verdict)
	}
	if c := a.Comparisons[0]; c.Workload != "ping-icmp" || c.Reason != "no good trials on one side" {
		t.Errorf("%+v", c)
	}
}

// Three outputs a side, which is what most people bring: the run is the unit. A large difference is found with its
// interval, which is Welch's of these six numbers, and a small one is told from none.
func TestThreeRecordedRunsASide(t *testing.T) {
	outputs := func(set, zones [3]float64) Answer {
		var trials []result.Trial
		for i := range 3 {
			trials = append(trials, recordedTrial(i+1, "set", set[i]), recordedTrial(i+4, "zones", zones[i]))
		}
		return Make(Input{Experiment: recordedExperiment(t, trials), Trials: trials, State: "complete"})
	}
	a := outputs([3]float64{50e-6, 51e-6, 52e-6}, [3]float64{93e-6, 95e-6, 97e-6})
	c := a.Comparisons[0]
	// By hand: the means are 51 and 95, the variances 1 and 4, so the error is sqrt(5/3) = 1.291 with 25/9 / (1/18 +
	// 16/18) = 2.941 degrees of freedom, for which t is 3.220.
	if c.Verdict != figures.Higher || c.Better != "baseline" || c.Interval == nil ||
		math.Abs(*c.Difference-44e-6) > 1e-12 || math.Abs(c.Interval[0]-39.84e-6) > 0.02e-6 ||
		math.Abs(c.Interval[1]-48.16e-6) > 0.02e-6 {
		t.Errorf("%+v, interval %v", c, c.Interval)
	}
	if c.Runs == nil || *c.Runs != [2]int{3, 3} || c.About != "runs" {
		t.Errorf("the unit is not the run: %+v", c)
	}
	if len(a.Warnings) != 2 || a.Warnings[1].Code != "recorded-runs" {
		t.Errorf("warnings %+v", a.Warnings)
	}
	a = outputs([3]float64{50e-6, 51e-6, 52e-6}, [3]float64{50.2e-6, 51.1e-6, 51.6e-6})
	if c := a.Comparisons[0]; c.Verdict != figures.NoDifference || c.Detectable == nil || c.Interval == nil {
		t.Errorf("%+v", c)
	}
}

// A failed output is the worst run, which no mean can hold: ranks can, and three a side are too few for them.
func TestThreeRecordedRunsWithAFailedOne(t *testing.T) {
	var trials []result.Trial
	for i := range 3 {
		trials = append(trials, recordedTrial(i+1, "set", 50e-6+1e-6*float64(i)),
			recordedTrial(i+4, "zones", 95e-6+1e-6*float64(i)))
	}
	trials[5].Error, trials[5].Metrics = "connection refused", nil
	a := Make(Input{Experiment: recordedExperiment(t, trials), Trials: trials, State: "complete"})
	if c := a.Comparisons[0]; c.Verdict != figures.FewTrials || c.Interval != nil || c.Runs != nil {
		t.Errorf("%+v", c)
	}
}
