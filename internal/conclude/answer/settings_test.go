package answer

import (
	"math"
	"slices"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/figures"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
)

func parsed(t *testing.T, text string) *experiment.Experiment {
	t.Helper()
	e, err := experimentfile.Parse("x.yaml", []byte("nearfar: v1\nname: x\n"+text), tool.Declared())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// measured makes trials as the arms declare them: 8 us plus the costs of the layers that the test gives.
func measured(e *experiment.Experiment, costs map[string]float64) []result.Trial {
	trials := model(e, nil, 5e-8)
	for i := range trials {
		t := &trials[i]
		w, _ := e.WorkloadIn(t.Arm, t.Workload)
		bytes := w.Request
		t.Protocol, t.MessageBytes, t.Set, t.Treatment = w.Protocol, &bytes,
			e.SetIn(t.Arm, t.Workload), map[string]string{}
		t.Facts = map[string]string{"wait": w.Wait, "server.wait": w.Wait}
		at := slices.IndexFunc(e.Arms, func(a experiment.Arm) bool { return a.Name == t.Arm })
		for layer, count := range e.LayersIn(t.Workload)[at] {
			t.Metrics[0].Value += float64(count) * costs[layer]
		}
		for key := range t.Set {
			t.Treatment[key] = "read back"
		}
	}
	return trials
}

func allWarned(a Answer, code string) []Warning {
	return slices.DeleteFunc(slices.Clone(a.Warnings), func(w Warning) bool { return w.Code != code })
}

const twoByTwo = `
arms:
  plain:  {lab: {path: [bridge]}, set: {congestion: cubic}}
  routed: {lab: {path: [bridge, router]}, set: {congestion: cubic}}
  bbr:    {lab: {path: [bridge]}, set: {congestion: bbr}}
  both:   {lab: {path: [bridge, router]}, set: {congestion: bbr}}
workloads: [{name: rr, tool: native}]
schedule: {blocks: 20, seed: 1}
`

// A setting combined with a path is a layer in addition to the path's layers; the rest is the residual.
func TestSettingsAreLayersBesidePaths(t *testing.T) {
	e := parsed(t, twoByTwo)
	costs := map[string]float64{"router": 2e-6, "congestion=bbr": 1e-6}
	a := Make(Input{Experiment: e, Trials: measured(e, costs), State: "complete"})
	if len(a.Layers) != 2 {
		t.Fatalf("layers %+v", a.Layers)
	}
	for _, l := range a.Layers {
		if costs[l.Layer] == 0 || math.Abs(l.Cost-costs[l.Layer]) > 1e-7 || l.Interval == nil {
			t.Errorf("%+v, want %g", l, costs[l.Layer])
		}
	}
	if len(a.Residual) != 1 || a.Residual[0].Arm != "both" || math.Abs(a.Residual[0].Whole-3e-6) > 1e-7 ||
		math.Abs(a.Residual[0].Value) > 1e-7 {
		t.Errorf("residual %+v", a.Residual)
	}
	if !strings.Contains(a.Verdict, "congestion=bbr adds ") ||
		!strings.HasPrefix(a.Verdict, "Each router adds ") {
		t.Error(a.Verdict)
	}
	var texts []string
	for _, s := range a.Settings {
		texts = append(texts, s.Arm+": "+s.Text)
	}
	if got := strings.Join(texts, "; "); got != "plain: congestion cubic; routed: congestion cubic; bbr: congestion "+
		"bbr; both: congestion bbr" {
		t.Error(got)
	}
}

// Keys that the arms set are compared; the same difference without a declaration is refused.
func TestWhatIsSetIsCompared(t *testing.T) {
	const arms = "arms: {a: {lab: {path: [bridge]}}, b: {lab: {path: [bridge]}%s}}\nworkloads: [{name: rr, tool: " +
		"native%s}]\nschedule: {blocks: 12, seed: 1}\n"
	for _, c := range []struct {
		set, workload, reason string
	}{
		{"protocol: udp", "", "protocol: udp against tcp"},
		{"request: 1KiB", "", "message size: 1024 B against 64 B"},
	} {
		e := parsed(t, strings.Replace(strings.Replace(arms, "%s", ", set: {"+c.set+"}", 1), "%s", c.workload, 1))
		trials := measured(e, map[string]float64{strings.ReplaceAll(strings.ReplaceAll(c.set, ": ", "="),
			"1KiB", "1024B"): 2e-6})
		if got := Make(Input{Experiment: e, Trials: trials,
			State: "complete"}).Comparisons[0]; got.Verdict != figures.Higher || got.Reason != "" {
			t.Errorf("%s is not compared: %+v", c.set, got)
		}
		undeclared := parsed(t, strings.Replace(strings.Replace(arms, "%s", "", 1), "%s", c.workload, 1))
		if got := Make(Input{Experiment: undeclared, Trials: trials,
			State: "complete"}).Comparisons[0]; got.Verdict != figures.NotComparable || got.Reason != c.reason {
			t.Errorf("%s is compared though nobody set it: %+v", c.set, got)
		}
		// Numbers with another definition are refused, whatever was set.
		for i := range trials {
			if trials[i].Arm == "b" {
				trials[i].Definition = result.DefinitionHalfRTT
			}
		}
		if got := Make(Input{Experiment: e, Trials: trials, State: "complete"}).Comparisons; len(got) == 0 ||
			got[0].Verdict != figures.NotComparable {
			t.Errorf("%s: another definition is compared: %+v", c.set, got[0])
		}
	}
}

// An arm over TCP and an arm over UDP are compared by their goodput, even if the tool also reports the kernel's
// smoothed round-trip time for TCP.
func TestStreamsOfTwoProtocolsAreCompared(t *testing.T) {
	e := parsed(t, `
arms: {tcp: {lab: {path: [bridge]}}, udp: {lab: {path: [bridge]}, set: {protocol: udp, rate: 1Gbit/s}}}
workloads: [{name: bulk, tool: iperf3}]
schedule: {blocks: 12, seed: 1}
`)
	for _, first := range []string{"tcp", "udp"} {
		var trials []result.Trial
		for block := 1; block <= 12; block++ {
			arms := []string{"tcp", "udp"}
			if first == "udp" {
				slices.Reverse(arms)
			}
			for _, arm := range arms {
				w, _ := e.WorkloadIn(arm, "bulk")
				trial := result.Trial{Trial: len(trials) + 1, Block: block, Arm: arm, Workload: "bulk",
					Tool: result.ToolVersion{Name: "iperf3"},
					Mode: w.Mode, Protocol: w.Protocol, Set: e.SetIn(arm, "bulk"), Definition: result.DefinitionRate,
					Metrics: []result.Metric{{Name: result.Goodput, Unit: result.BitsPerSecond,
						Value: 1e9 + float64(block%3)}}}
				if arm == "tcp" {
					trial.Definition = result.DefinitionSmoothedRTT
					trial.Metrics = append(trial.Metrics,
						result.Metric{Name: result.RTT, Stat: result.Mean, Unit: result.Seconds, Value: 1e-4})
					trial.Metrics[0].Value *= 2
				}
				trials = append(trials, trial)
			}
		}
		a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
		if len(a.Comparisons) != 1 || a.Comparisons[0].Metric != result.Goodput ||
			a.Comparisons[0].Verdict != figures.Lower {
			t.Errorf("%s first: %+v", first, a.Comparisons)
		}
	}
}

// Waiting that an arm sets gives no warning; waiting that differs within one declaration does.
func TestWaitingThatIsSet(t *testing.T) {
	e := parsed(t, `
arms: {block: {lab: {path: [bridge]}}, spin: {lab: {path: [bridge]}, set: {wait: spin}}}
workloads: [{name: rr, tool: native}]
schedule: {blocks: 12, seed: 1}
`)
	trials := measured(e, map[string]float64{"wait=spin": -2e-6})
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if w := append(allWarned(a, "waiting-differs"), allWarned(a, "setting-unproved")...); len(w) > 0 ||
		a.Comparisons[0].Verdict != figures.Lower {
		t.Errorf("%+v %+v", a.Comparisons, a.Warnings)
	}
	for i := range trials {
		if trials[i].Arm == "spin" && trials[i].Block == 3 {
			trials[i].Facts["server.wait"] = "block"
		}
	}
	if w := allWarned(Make(Input{Experiment: e, Trials: trials, State: "complete"}), "waiting-differs"); len(w) != 1 ||
		strings.Contains(w[0].Message, "client block") {
		t.Errorf("%+v", w)
	}
}

// A setting that the hosts apply gives a warning if nothing shows that it was on; so does an arm that is not pinned.
func TestSettingsThatNothingProves(t *testing.T) {
	e := parsed(t, `
arms:
  plain: {lab: {path: [bridge]}}
  free:  {lab: {path: [bridge]}, set: {placement: free, request: 1KiB}}
workloads: [{name: rr, tool: native}]
schedule: {blocks: 12, seed: 1}
`)
	trials := measured(e, nil)
	a := Make(Input{Experiment: e, Trials: trials, State: "complete"})
	if w := allWarned(a, "placement-free"); len(w) != 1 || w[0].Arm != "free" {
		t.Errorf("%+v", w)
	}
	if w := allWarned(a, "setting-unproved"); len(w) > 0 {
		t.Errorf("%+v", w)
	}
	for i := range trials {
		trials[i].Treatment = nil
	}
	w := allWarned(Make(Input{Experiment: e, Trials: trials, State: "complete"}), "setting-unproved")
	if len(w) != 1 || w[0].Arm != "free" ||
		w[0].Message != "placement free is set, and in 12 of 12 trials nothing shows that it was on" {
		t.Errorf("%+v", w)
	}
}

// A program of the experiment's own is not pinned unless the file says so, and nobody is warned of that.
func TestProgramsAreFree(t *testing.T) {
	e := parsed(t, `
arms: {only: {lab: {path: [bridge]}}}
workloads:
  - {name: own, tool: command, client: [x], metrics: {took: exit-time}}
  - {name: rr, tool: native, placement: free}
schedule: {blocks: 3, seed: 1}
`)
	if kind := e.Workloads[0].Placement.Kind; kind != "free" {
		t.Errorf("placement %s", kind)
	}
	a := Make(Input{Experiment: e, Trials: measured(e, nil), State: "complete"})
	if w := allWarned(a, "placement-free"); len(w) != 1 || w[0].Workload != "rr" {
		t.Errorf("%+v", w)
	}
}

// Users who wrote two workloads in order to compare them get advice how to compare them.
func TestWorkloadsThatWereMeantAsArms(t *testing.T) {
	e := parsed(t, `
arms: {only: {lab: {path: [bridge]}}}
workloads: [{name: cubic, tool: native, congestion: cubic}, {name: bbr, tool: native, congestion: bbr}]
schedule: {blocks: 3, seed: 1}
`)
	const hint = "Workloads are never compared: to compare them, make arms of them with set."
	if a := Make(Input{Experiment: e, Trials: measured(e, nil), State: "complete"}); !strings.HasSuffix(a.Verdict,
		hint) {
		t.Error(a.Verdict)
	}
	e.Workloads = e.Workloads[:1]
	if a := Make(Input{Experiment: e, Trials: measured(e, nil), State: "complete"}); strings.Contains(a.Verdict,
		"never compared") {
		t.Error(a.Verdict)
	}
}
