package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// sample describes a run that has everything that the page shows: request/response with histograms and intervals, a
// stream, a series of loads, and a failed trial.
type sample struct {
	arms   []string
	blocks int
	// rounds is the number of observations in a trial.
	rounds int
	// plain leaves out all workloads but request/response.
	plain bool
	// change changes each trial before it is written; nil for none.
	change func(t *result.Trial)
}

func small() sample {
	return sample{arms: []string{"l2", "routed", "vxlan", "full"}, blocks: 8, rounds: 2000}
}

// experiment gives the run's experiment.
func (s sample) experiment() *experiment.Experiment {
	e := &experiment.Experiment{
		Name: "sample", Question: "How much do routing & VXLAN <add> between two VMs?", Baseline: s.arms[0],
		Schedule: experiment.Schedule{Blocks: s.blocks, Seed: 7},
	}
	for i, name := range s.arms {
		path := []experiment.Element{{Kind: experiment.Bridge}}
		layers := map[string]int{"bridge": 1}
		for range i % 3 {
			path = append(path, experiment.Element{Kind: experiment.Router})
			layers["router"]++
		}
		if i >= 2 {
			path = append(path, experiment.Element{Kind: experiment.Firewall, Rules: 100})
			layers["firewall"] = 1
		}
		e.Arms = append(e.Arms, experiment.Arm{Name: name, Lab: &experiment.Lab{Path: path, MTU: 1500}, Layers: layers})
	}
	shared := experiment.Placement{Kind: experiment.PlacementShared}
	e.Workloads = []experiment.Workload{
		{Name: "rr-1k", Tool: "native", Mode: experiment.RR, Protocol: experiment.TCP, Request: 1024, Response: 1024,
			Duration: 3 * time.Second, Placement: shared},
	}
	if s.plain {
		return e
	}
	for _, rate := range []float64{1000, 5000, 10000} {
		e.Workloads = append(e.Workloads, experiment.Workload{
			Name: fmt.Sprintf("load-%.0f", rate), Tool: "native", Mode: experiment.Load, Protocol: experiment.TCP,
			Request: 64, Response: 64,
			OfferedRate: rate, Arrivals: experiment.PoissonArrivals, Connections: 10, Duration: 3 * time.Second,
			Placement: shared,
		})
	}
	e.Workloads = append(e.Workloads, experiment.Workload{Name: "bulk", Tool: "iperf3", Mode: experiment.Stream,
		Protocol: experiment.TCP, Duration: 3 * time.Second, Placement: shared})
	return e
}

// write makes the run directory. Its trials are the same each time.
func (s sample) write(t testing.TB) *rundir.Dir {
	t.Helper()
	e := s.experiment()
	hosts, err := json.Marshal(map[string]any{
		"lab": map[string]any{"kernel": "6.18", "features": map[string]bool{"vxlan": true, "bridge": true},
			"cpus": []int{0, 1}, "arms": hostFacts(s.arms)},
	})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := rundir.Create(t.TempDir(), rundir.Manifest{
		Nearfar: "v1", Experiment: e, Seed: 7, Versions: map[string]string{"nearfar": "test"}, State: rundir.Complete,
		Hosts: hosts, Started: time.Date(2026, 11, 21, 19, 22, 0, 0, time.UTC),
		Ended: time.Date(2026, 11, 21, 19, 32, 0, 0, time.UTC),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dir.Close() })
	random := rand.New(rand.NewPCG(3, 4))
	var lines bytes.Buffer
	for _, slot := range e.Slots() {
		trial := s.trial(t, dir, e, slot, random)
		if len(s.arms) > 1 && slot.Block == 3 && slot.Arm == s.arms[1] && slot.Workload == "rr-1k" {
			trial.Error, trial.Metrics, trial.Histogram = "connection refused", []result.Metric{}, ""
		}
		if s.change != nil {
			s.change(&trial)
		}
		if err := json.NewEncoder(&lines).Encode(trial); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir.Path, "trials.jsonl"), lines.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// writeRaw is rundir.Dir.WriteRaw without waiting for the disk.
func writeRaw(t testing.TB, dir *rundir.Dir, name string, data []byte) string {
	t.Helper()
	name = "raw/" + name
	if err := os.WriteFile(filepath.Join(dir.Path, name), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

func hostFacts(arms []string) []map[string]any {
	var all []map[string]any
	for i, name := range arms {
		all = append(all, map[string]any{"arm": name, "client": fmt.Sprintf("10.%d.0.1", i),
			"host_mtu": 1500 - 50*(i%2), "underlay_mtu": 1500})
	}
	return all
}

// trial makes one trial of the run, and writes its files.
func (s sample) trial(t testing.TB, dir *rundir.Dir, e *experiment.Experiment, slot experiment.Slot,
	random *rand.Rand) result.Trial {
	t.Helper()
	w, _ := e.Workload(slot.Workload)
	arm := 0
	for i, name := range s.arms {
		if name == slot.Arm {
			arm = i
		}
	}
	trial := result.Trial{
		Trial: slot.Trial, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload,
		Tool: result.ToolVersion{Name: w.Tool, Version: "1"},
		Mode: w.Mode, Protocol: w.Protocol, Started: time.Date(2026, 11, 21, 19, 22, slot.Trial, 0, time.UTC),
		DurationSeconds: 3,
		Treatment:       map[string]string{}, Facts: map[string]string{"tcp_mss": fmt.Sprint(1448 - 50*(arm%2)),
			"tcp_congestion": "cubic", "server.transactions": fmt.Sprint(slot.Trial)},
		Commands: []string{"server --listen " + slot.Arm, "client --to " + slot.Arm + " --workload " + slot.Workload},
	}
	stem := fmt.Sprintf("%05d-%s-%s", slot.Trial, slot.Arm, slot.Workload)
	var printed []byte
	if w.Mode == experiment.Stream {
		trial.Definition, trial.ReportedAs = result.DefinitionRate, result.DefinitionRate
		goodput := 9e9 - 1e9*float64(arm%5) + 1e8*random.NormFloat64()
		trial.Metrics = []result.Metric{{Name: result.Goodput, Unit: result.BitsPerSecond, Value: goodput}}
		interval := `{"sum":{"start":%d,"end":%d,"bits_per_second":%g}}`
		printed = fmt.Appendf(nil, `{"intervals":[`+interval+`,`+interval+`]}`, 0, 1, goodput*0.9, 1, 2, goodput*1.1)
	} else {
		metric := result.RTT
		base := 8e-6 + 3e-6*float64(arm)
		if w.Mode == experiment.Load {
			metric = result.ResponseTime
			base *= 1 + w.OfferedRate/4000
		}
		trial.Definition, trial.ReportedAs = metric, metric
		base += 2e-7*random.NormFloat64() + 1e-7*float64(slot.Block)
		h := hdrhistogram.New(1, 1e11, 3)
		for range s.rounds {
			if err := h.RecordValue(int64(1e9 * base * math.Exp(0.1*random.NormFloat64()))); err != nil {
				t.Fatal(err)
			}
		}
		for _, p := range []float64{50, 90, 99} {
			trial.Metrics = append(trial.Metrics, result.Metric{
				Name: metric, Stat: result.PercentileStat(p), Unit: result.Seconds,
				Value: float64(h.ValueAtPercentile(p)) / 1e9,
			})
		}
		if w.Mode == experiment.Load {
			trial.Metrics = append(trial.Metrics,
				result.Metric{Name: result.TransactionRate, Unit: result.PerSecond, Value: w.OfferedRate})
			trial.Facts["schedule"] = fmt.Sprintf("poisson %g/s", w.OfferedRate)
		}
		encoded, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		trial.Histogram = writeRaw(t, dir, stem+".hdr", encoded)
		printed = nativeOutput(metric, base, encoded)
	}
	trial.Raw = []string{writeRaw(t, dir, stem+".client.out", printed)}
	return trial
}

// nativeOutput gives an output of the engine, with three intervals.
func nativeOutput(metric string, base float64, histogram []byte) []byte {
	var b bytes.Buffer
	b.WriteString(`{"type":"start","version":"1"}` + "\n")
	for i := range 3 {
		value := base * (1 + 0.1*float64(i))
		times := `"response_time":{"p50":%g,"p99":%g}`
		if metric == result.RTT {
			times = `"rtt_p50":%g,"rtt_p99":%g`
		}
		fmt.Fprintf(&b, `{"type":"interval","second":%d,"start_seconds":%d,"end_seconds":%d,"count":5000,`+times+"}\n",
			i+1, i, i+1, value, 2*value)
	}
	fmt.Fprintf(&b, `{"type":"result","histogram":"%s","duration_seconds":3}`+"\n", histogram)
	return b.Bytes()
}

// collected gives the page's data of a run directory, and its answer.
func collected(t testing.TB, dir *rundir.Dir) (Data, answer.Answer) {
	t.Helper()
	trials, err := dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	m := dir.Manifest()
	a := answer.Make(answer.Input{Experiment: m.Experiment, Trials: trials, Run: "runs/sample", State: m.State,
		Seed: m.Seed})
	d, err := Collect(dir, a)
	if err != nil {
		t.Fatal(err)
	}
	return d, a
}
