package inside_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"nearfar/internal/conclude/answer/inside"
	recorded "nearfar/internal/declare/inside"
	"nearfar/internal/declare/result"
)

// world is a run in memory.
type world struct {
	trials []result.Trial
	files  map[string][]byte
}

func (w *world) open(name string) (io.ReadCloser, error) {
	data, ok := w.files[name]
	if !ok {
		return nil, fmt.Errorf("there is no %s", name)
	}
	return io.NopCloser(bytes.NewReader(data)), nil
}

// add adds the two trials of an arm in a block: plain and watched, with the recordings.
func (w *world) add(t *testing.T, arm string, block int, plain, watched float64, recordings ...recorded.Recording) {
	t.Helper()
	for _, name := range []string{"rr", "rr-inside"} {
		value := plain
		trial := result.Trial{Trial: len(w.trials) + 1, Block: block, Arm: arm, Workload: name}
		if name == "rr-inside" {
			value = watched
			for i, r := range recordings {
				file := fmt.Sprintf("raw/%d.%d.json", trial.Trial, i)
				data, err := json.Marshal(r)
				if err != nil {
					t.Fatal(err)
				}
				if w.files == nil {
					w.files = map[string][]byte{}
				}
				w.files[file], trial.Inside = data, append(trial.Inside, file)
			}
		}
		trial.Metrics = []result.Metric{{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: value}}
		w.trials = append(w.trials, trial)
	}
}

func (w *world) of(subtracted map[string]inside.Subtracted, arms ...string) inside.Inside {
	in := w.input(arms...)
	in.Subtracted = subtracted
	return inside.Of(in)
}

func (w *world) input(arms ...string) inside.Input {
	return inside.Input{
		Workload: "rr", Watched: "rr-inside", Quantity: "rtt p50", Arms: arms, Baseline: arms[0], Trials: w.trials,
		Value: func(t result.Trial) (float64, bool) { return t.Value(result.RTT, result.P50) },
		Open:  w.open,
	}
}

// recording has the same trip n times.
func recording(side string, n int, steps []recorded.Step, spans ...int64) recorded.Recording {
	p := recorded.Path{Steps: steps}
	for i := range n {
		p.Trips = append(p.Trips, recorded.Trip{At: int64(i), Spans: spans})
	}
	return recorded.Recording{
		Version: recorded.Version, Side: side, Sampled: n, Complete: n, Events: 10 * n, Paths: []recorded.Path{p},
	}
}

func step(way string, kind recorded.Kind, place string) recorded.Step {
	return recorded.Step{Way: way, Kind: kind, Place: place}
}

func short() []recorded.Step {
	return []recorded.Step{
		step(recorded.Request, recorded.Send, "client"), step(recorded.Request, recorded.Deliver, "server"),
		step(recorded.Reply, recorded.Deliver, "client"), step(recorded.Reply, recorded.Wake, "client"),
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestName(t *testing.T) {
	for want, s := range map[string]recorded.Step{
		"forward in 1-router (request)": {Way: recorded.Request, Kind: recorded.Forward, Place: "1-router"},
		"queue tun [vxlan] (reply)":     {Way: recorded.Reply, Kind: recorded.Queue, Device: "tun", DeviceKind: "vxlan"},
		"encapsulate tun [vxlan, VNI 42] in n1 (request)": {
			Way: recorded.Request, Kind: recorded.Encapsulate, Device: "tun", DeviceKind: "vxlan", Place: "n1",
			Tunnel: "VNI 42",
		},
		"decapsulate eth0 [key 7] in n2 (request)": {
			Way: recorded.Request, Kind: recorded.Decapsulate, Device: "eth0", DeviceKind: "veth", Place: "n2",
			Tunnel: "key 7",
		},
	} {
		if got := inside.Name(s); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestElementsOfAnArm(t *testing.T) {
	w := &world{}
	for block := 1; block <= 8; block++ {
		r := recording(recorded.Both, 1000, short(), 1000, 2000, 3000, int64(4000+100*block))
		r.Sampled, r.Lost = 1010, 3
		slow := &r.Paths[0].Trips[block]
		slow.Spans = []int64{1000, 2000, 3000, 90_000}
		slow.Cause, slow.Step, slow.Excess = recorded.CauseCPU, 3, 85_500
		other := recorded.Path{Steps: short()[:3], Trips: []recorded.Trip{{
			Spans: []int64{1, 2, int64(100_000 + block)}, Cause: recorded.CauseUnknown}}}
		r.Paths, r.Complete = append(r.Paths, other), 1001
		w.add(t, "base", block, 9e-6, 10e-6, r)
	}
	got := w.of(nil, "base").Arms[0]
	m := got.Machines[0]
	if got.Trials != 8 || m.Trials != 8 || m.Paths != 2 || m.Sampled != 8080 || m.Lost != 24 || m.Events != 80_000 {
		t.Errorf("the counts are %+v", m)
	}
	near(t, "the share", m.Share, 1000.0/1001)
	for i, want := range []float64{1e-6, 2e-6, 3e-6, 4.45e-6} {
		near(t, fmt.Sprintf("element %d", i), m.Elements[i].Median, want)
		if m.Elements[i].Interval == nil || m.Elements[i].P99 == nil {
			t.Errorf("element %d lacks its interval or its p99: %+v", i, m.Elements[i])
		}
	}
	near(t, "the interval", m.Elements[3].Interval[0], 4.1e-6)
	near(t, "the interval", m.Elements[3].Interval[1], 4.8e-6)
	near(t, "the p99", *m.Elements[3].P99, 4.45e-6)
	near(t, "the sum", m.Sum.Median, 10.45e-6)
	near(t, "the ratio", got.Ratio.Median, 1.045)
	near(t, "the cost", got.Cost.Median, 1e-6)
	if m.Slow != 16 || len(m.Causes) != 2 || m.Causes[0].Trips != 8 || m.Causes[0].Share != 0.5 {
		t.Errorf("the causes are %d: %+v", m.Slow, m.Causes)
	}
	if len(m.Slowest) != 10 || m.Slowest[0].Spans != nil || m.Slowest[0].Cause != recorded.CauseUnknown ||
		len(m.Slowest[9].Spans) != 4 || m.Slowest[9].At.Kind != recorded.Wake {
		t.Errorf("the slowest are %+v", m.Slowest)
	}
	near(t, "the slowest", m.Slowest[0].Took, 100_011e-9)
	near(t, "an excess", m.Slowest[9].Excess, 85.5e-6)
}

func TestTwoMachinesHaveTwoClocks(t *testing.T) {
	w := &world{}
	client := []recorded.Step{
		step(recorded.Request, recorded.Send, "a"), step(recorded.Request, recorded.Device, "a"),
		step(recorded.Reply, recorded.Deliver, "a"),
	}
	server := []recorded.Step{step(recorded.Request, recorded.Deliver, "b"), step(recorded.Reply, recorded.Send, "b")}
	for block := 1; block <= 6; block++ {
		w.add(t, "base", block, 60e-6, 63e-6, recording(recorded.Client, 20, client, 2000, 57_000, 3000),
			recording(recorded.Server, 20, server, 4000, 3000))
	}
	got := w.of(nil, "base").Arms[0]
	if len(got.Machines) != 2 || got.Machines[0].Side != recorded.Client || got.Machines[1].Side != recorded.Server {
		t.Fatalf("the machines are %+v", got.Machines)
	}
	near(t, "the time between", got.Between.Median, 50e-6)
	near(t, "the client's sum", got.Machines[0].Sum.Median, 62e-6)
	near(t, "the server's sum", got.Machines[1].Sum.Median, 7e-6)
	near(t, "the ratio", got.Ratio.Median, 62.0/63)
	if got.Machines[0].Elements[0].P99 != nil {
		t.Error("20 trips have a p99")
	}
}

// firewalled has a path with a router, where rules take so long in the request, and the reply's wake-up takes longer.
func firewalled(rules, wake int64) recorded.Recording {
	steps := short()
	steps = append(steps[:1:1], append([]recorded.Step{step(recorded.Request, recorded.Forward, "router")},
		steps[1:]...)...)
	return recording(recorded.Both, 50, steps, 1000, rules, 2000, 3000, 4000+wake)
}

func TestWhereADifferenceArises(t *testing.T) {
	for name, c := range map[string]struct {
		wake       int64
		subtracted float64
		disagree   string
	}{
		"agree": {0, 2.5, ""},
		"disagree": {600, 3.1, "the elements of router, less what recording them costs, " +
			"say +2.50 us [+2.50, +2.50], and subtraction says +3.10 us " +
			"[+3.05, +3.15]; what else changed most: wake in client (reply) by +0.60 us [+0.60, +0.60]"},
		"nothing else": {0, 9, "the elements of router, less what recording them costs, " +
			"say +2.50 us [+2.50, +2.50], and subtraction says +9.00 us " +
			"[+8.95, +9.05]; no other element surely changed"},
	} {
		w := &world{}
		for block := 1; block <= 8; block++ {
			w.add(t, "base", block, 10e-6, 10e-6, recording(recorded.Both, 50, short(), 1000, 2000, 3000, 4000))
			w.add(t, "routed", block, 13e-6, 13e-6, firewalled(2500, c.wake))
		}
		all := w.of(map[string]inside.Subtracted{"routed": {Layers: []string{"router"}, Difference: inside.Measure{
			Median: c.subtracted * 1e-6, Interval: &[2]float64{(c.subtracted - 0.05) * 1e-6, (c.subtracted + 0.05) * 1e-6},
		}}}, "base", "routed")
		if len(all.Against) != 1 {
			t.Fatalf("%s: %+v", name, all.Against)
		}
		a := all.Against[0]
		near(t, name+": own", a.Own.Median, 2.5e-6)
		near(t, name+": sum", a.Sum.Median, 2.5e-6+float64(c.wake)*1e-9)
		first := a.Elements[0]
		if first.Kind != recorded.Forward || first.Only != inside.OnlyArm || !first.Own || len(a.Elements) != 5 {
			t.Errorf("%s: the elements are %+v", name, a.Elements)
		}
		if a.Disagree != c.disagree {
			t.Errorf("%s: got  %s\nwant %s", name, a.Disagree, c.disagree)
		}
	}
}

// What it costs to record the events of an arm's own elements is taken from them. The cost is what trips of the
// baseline take longer than unwatched ones, shared among their events.
func TestCostOfEventsIsTakenAway(t *testing.T) {
	w := &world{}
	for block := 1; block <= 8; block++ {
		// 3.25 us for the steps' events: one at a system call, and three others
		w.add(t, "base", block, 6.75e-6, 10e-6, recording(recorded.Both, 50, short(), 1000, 2000, 3000, 4000))
		w.add(t, "routed", block, 8.75e-6, 12.5e-6, firewalled(2500, 0))
	}
	all := w.of(map[string]inside.Subtracted{"routed": {Layers: []string{"router"}, Difference: inside.Measure{
		Median: 2e-6, Interval: &[2]float64{1.95e-6, 2.05e-6},
	}}}, "base", "routed")
	a := all.Against[0]
	near(t, "own", a.Own.Median, 2.5e-6)
	near(t, "corrected", a.Corrected.Median, 2e-6)
	if a.Disagree != "" {
		t.Errorf("the methods disagree: %s", a.Disagree)
	}
}

// The elements of a layer with parameters are its own, as those of one without.
func TestElementsOfLayersWithParameters(t *testing.T) {
	for layers, own := range map[string]bool{
		"firewall": true, "firewall firewall(rules=1000)": true, "firewall(at=router)": true,
		"firewall wait=spin": false, "wait=spin(firewall)": false,
	} {
		w := &world{}
		for block := 1; block <= 8; block++ {
			w.add(t, "base", block, 10e-6, 10e-6, recording(recorded.Both, 50, short(), 1000, 2000, 3000, 4000))
			w.add(t, "guarded", block, 11e-6, 11e-6, recording(recorded.Both, 50, short(), 2000, 2000, 3000, 4000))
		}
		a := w.of(map[string]inside.Subtracted{"guarded": {Layers: strings.Fields(layers)}}, "base", "guarded").Against[0]
		if (a.Own != nil) != own {
			t.Errorf("%s: own is %+v", layers, a.Own)
		}
		if own {
			near(t, layers, a.Own.Median, 1e-6)
		}
	}
}

// Both methods are compared layer by layer, in arms that differ in one layer alone; of several such arms, in the
// nearest. A layer whose elements are not known is left out.
func TestLayersByBothMethods(t *testing.T) {
	routers := func(n int, send int64) recorded.Recording {
		steps, spans := short()[:1], []int64{send}
		for i := range n {
			steps = append(steps, step(recorded.Request, recorded.Forward, fmt.Sprintf("router%d", i)))
			spans = append(spans, 2500)
		}
		return recording(recorded.Both, 50, append(steps, short()[1:]...), append(spans, 2000, 3000, 4000)...)
	}
	w := &world{}
	for block := 1; block <= 8; block++ {
		scatter := (float64(block) - 4.5) * 1e-8
		w.add(t, "base", block, 10e-6, 10e-6, routers(0, 1000))
		w.add(t, "two", block, 15e-6+scatter, 15e-6, routers(2, 1000))
		w.add(t, "three", block, 17.5e-6-scatter, 17.5e-6, routers(3, 1000))
		w.add(t, "guarded", block, 20.5e-6, 20.5e-6, routers(3, 1500))
		w.add(t, "spin", block, 9e-6, 9e-6, routers(0, 500))
	}
	in := w.input("base", "two", "three", "guarded", "spin")
	in.Crosses = map[string]map[string]int{
		"two": {"router": 2}, "three": {"router": 3}, "guarded": {"router": 3, "firewall": 1}, "spin": {"wait=spin": 1},
	}
	in.Attributed = map[string]inside.Measure{"router": {Median: 2.4e-6, Interval: &[2]float64{2.3e-6, 2.5e-6}}}
	layers := inside.Of(in).Layers
	for i, want := range []struct {
		name, arm, other string
		own, subtracted  float64
		elements         int
	}{
		{"2 router", "two", "base", 5e-6, 5e-6, 2},
		{"router", "three", "two", 2.5e-6, 2.5e-6, 3},
		{"firewall", "guarded", "three", 0.5e-6, 3e-6, 6},
	} {
		if len(layers) != 3 {
			t.Fatalf("%d layers: %+v", len(layers), layers)
		}
		l := layers[i]
		if l.Name() != want.name || l.Arm != want.arm || l.Other != want.other || len(l.Elements) != want.elements {
			t.Errorf("layer %d is %+v, want %+v", i, l, want)
		}
		near(t, want.name+": own", l.Own.Median, want.own)
		if d := l.Corrected.Median - want.own; math.Abs(d) > 2e-8 { // the scatter is a cost of events
			t.Errorf("%s: without recording it is %v, want %v", want.name, l.Corrected.Median, want.own)
		}
		near(t, want.name+": subtracted", l.Subtracted.Median, want.subtracted)
		if disagrees := want.name == "firewall"; (l.Disagree != "") != disagrees ||
			disagrees && !strings.HasPrefix(l.Disagree, "the elements of firewall, less what recording them costs") {
			t.Errorf("%s: it says %q", want.name, l.Disagree)
		}
	}
	near(t, "two routers over all arms", layers[0].Attributed.Median, 4.8e-6)
	near(t, "its interval", layers[0].Attributed.Interval[1], 5e-6)
	if layers[2].Attributed != nil {
		t.Errorf("nothing was said of the firewall over all arms: %+v", layers[2].Attributed)
	}
}

// What only the baseline has counts against the arm. What a setting does, no element is known to own.
func TestElementsThatTheArmLacks(t *testing.T) {
	w := &world{}
	for block := 1; block <= 8; block++ {
		w.add(t, "base", block, 10e-6, 10e-6, firewalled(2500, 0))
		w.add(t, "plain", block, 9e-6, 9e-6, recording(recorded.Both, 50, short(), 1000, 2000, 3000, 4000))
	}
	layers := inside.Subtracted{Layers: []string{"router", "wait=spin"}}
	a := w.of(map[string]inside.Subtracted{"plain": layers}, "base", "plain").Against[0]
	if a.Own != nil || a.Elements[0].Only != inside.OnlyBaseline {
		t.Errorf("got %+v", a)
	}
	near(t, "the sum", a.Sum.Median, -2.5e-6)
	near(t, "the difference", a.Elements[0].Median, -2.5e-6)
}

func TestWhatCannotBeSeenIsSaid(t *testing.T) {
	w := &world{}
	nothing := recorded.Recording{
		Version: recorded.Version, Side: recorded.Both, Problem: "no right", Paths: []recorded.Path{},
	}
	none := nothing
	none.Problem, none.Sampled = "", 7
	w.add(t, "base", 1, 1e-6, 1e-6, nothing)
	w.add(t, "base", 2, 1e-6, 1e-6, nothing)
	w.add(t, "base", 3, 1e-6, 1e-6, none)
	w.add(t, "base", 4, 1e-6, 1e-6)
	w.files["raw/2.0.json"] = []byte("{")
	got := w.of(nil, "base").Arms[0]
	var texts []string
	for _, p := range got.Problems {
		texts = append(texts, fmt.Sprintf("%d %s", p.Trials, p.Text))
	}
	const want = "1 the recording cannot be read: unexpected end of JSON input; 1 no right; " +
		"1 no round trip was seen whole, of 7 that were followed; 1 there is no recording"
	if text := strings.Join(texts, "; "); text != want || len(got.Machines) > 0 || got.Ratio != nil {
		t.Errorf("got %s, %+v", text, got)
	}
}

// TestCoverageOfElements: the interval of an element contains the median of the trials' medians in 95 % of runs or
// more, also if trials differ by more than trips, and if a few trials are far off.
func TestCoverageOfElements(t *testing.T) {
	const runs, trials, trips = 400, 12, 25
	r := rand.New(rand.NewPCG(7, 25))
	covered, known := 0, 0
	for range runs {
		w := &world{}
		for block := 1; block <= trials; block++ {
			centre := 4000 * math.Exp(0.2*r.NormFloat64())
			if r.IntN(10) == 0 {
				centre *= 1 + 0.5*float64(r.IntN(2)*2-1) // symmetric in its rank: the median stays
			}
			one := recording(recorded.Both, trips, short(), 1000, 2000, 3000, 4000)
			for i := range one.Paths[0].Trips {
				one.Paths[0].Trips[i].Spans = []int64{1000, 2000, 3000, int64(centre * math.Exp(0.3*r.NormFloat64()))}
			}
			w.add(t, "base", block, 1, 1, one)
		}
		e := w.of(nil, "base").Arms[0].Machines[0].Elements[3]
		if e.Interval == nil {
			continue
		}
		known++
		if e.Interval[0] <= 4e-6 && 4e-6 <= e.Interval[1] {
			covered++
		}
	}
	if known != runs || covered < runs*94/100 || covered == runs {
		t.Errorf("%d of %d runs have an interval, and %d contain the truth", known, runs, covered)
	}
}
