package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	hdrhistogram "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/rogpeppe/go-internal/testscript"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// madeRun describes a run directory like one of nearfar run, with random figures. A workload called bulk is a stream.
type madeRun struct {
	arms      []string
	workloads []string
	blocks    int
	seed      uint64
	// level is the median round trip in seconds. scatter is the standard deviation between trials, relative to level.
	level, scatter float64
	// factor multiplies the level of an arm; without an entry it is 1.
	factor map[string]float64
	// observations is how many observations each trial's histogram has; 0 for no histograms.
	observations int
	// mode, protocol and bytes apply to all workloads but bulk; empty for rr over tcp with 64 bytes.
	mode, protocol string
	bytes          int
	// text is put where texts of hosts appear: in a fact, a note, and the error of a failed trial.
	text string
	// day is the number of days that the run began after 21 November.
	day int
	// objectives are the experiment's objectives.
	objectives []string
	// expect makes each arm of it expect same-zone. refuted, unknown and silent are how many of the arm's trials refute
	// it, do not know it, or have no judgement; they come in this order. All others prove it.
	expect                   []string
	refuted, unknown, silent map[string]int
	unproved                 string
	// lab gives the arms a lab, so that the run can be resumed. failed is how many trials of each arm failed.
	lab    bool
	failed int
}

// write makes the directory.
func (m madeRun) write(path string) error {
	if m.mode == "" {
		m.mode = experiment.RR
	}
	if m.protocol == "" {
		m.protocol = experiment.TCP
	}
	if m.bytes == 0 {
		m.bytes = 64
	}
	e := &experiment.Experiment{
		Name: "made", Question: "What was made up?", Baseline: m.arms[0],
		Schedule: experiment.Schedule{Blocks: m.blocks, Seed: m.seed}, Objectives: m.objectives,
		Unproved: m.unproved,
	}
	for _, name := range m.arms {
		arm := experiment.Arm{Name: name, Layers: map[string]int{"bridge": 1}}
		if slices.Contains(m.expect, name) {
			arm.Expect = []check.Expectation{sameZone()}
		}
		if m.lab {
			arm.Lab = &experiment.Lab{Path: []experiment.Element{{Kind: experiment.Bridge}}, MTU: experiment.DefaultMTU}
		}
		e.Arms = append(e.Arms, arm)
	}
	for _, w := range m.workloads {
		e.Workloads = append(e.Workloads, experiment.Workload{
			Name: w, Tool: "native", Mode: m.mode, Protocol: m.protocol, Request: m.bytes, Response: m.bytes,
			Duration: time.Second, Placement: experiment.Placement{Kind: experiment.PlacementShared},
		})
	}
	started := time.Date(2026, 11, 21+m.day, 19, 22, 0, 0, time.UTC)
	manifest, err := json.Marshal(rundir.Manifest{
		Nearfar: "v1", Experiment: e, Seed: m.seed, State: rundir.Complete, Started: started,
		Versions: map[string]string{"native": "0.1.0"},
	})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(path, "raw"), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(path, "run.json"), manifest, 0o644); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(path, "trials.jsonl"))
	if err != nil {
		return err
	}
	buffered := bufio.NewWriter(f)
	lines := json.NewEncoder(buffered)
	random := rand.New(rand.NewPCG(m.seed, 90))
	count := map[string]int{}
	for _, slot := range e.Slots() {
		t := m.trial(slot, random)
		m.judge(&t, count[slot.Arm])
		if count[slot.Arm]++; count[slot.Arm] <= m.failed {
			t.Error, t.Metrics = "it was made to fail", []result.Metric{}
		}
		if m.observations > 0 {
			t.Histogram = fmt.Sprintf("raw/%05d.hdr", t.Trial)
			if err := m.histogram(filepath.Join(path, t.Histogram), t, random); err != nil {
				return err
			}
		}
		if err := lines.Encode(t); err != nil {
			return err
		}
	}
	return errors.Join(buffered.Flush(), f.Close())
}

func sameZone() check.Expectation { return check.Expectation{Name: check.ExpectSameZone, Value: true} }

// judge sets the judgement of trial n of its arm, from 0.
func (m madeRun) judge(t *result.Trial, n int) {
	if !slices.Contains(m.expect, t.Arm) {
		return
	}
	j := check.Judgement{Expectation: sameZone(), Outcome: check.Proved, Evidence: "both are in zone 1"}
	if n -= m.refuted[t.Arm]; n < 0 {
		j.Outcome, j.Evidence = check.Refuted, "the client is in zone 1, the server in zone 2"
	} else if n -= m.unknown[t.Arm]; n < 0 {
		j.Outcome, j.Evidence = check.Unknown, "the zone is not known of both sides"
	} else if n -= m.silent[t.Arm]; n < 0 {
		return
	}
	t.Expect = []check.Judgement{j}
}

func (m madeRun) trial(slot experiment.Slot, random *rand.Rand) result.Trial {
	level := m.level
	if factor, ok := m.factor[slot.Arm]; ok {
		level *= factor
	}
	level *= 1 + m.scatter*random.NormFloat64()
	t := result.Trial{
		Trial: slot.Trial, Block: slot.Block, Arm: slot.Arm, Workload: slot.Workload,
		Tool: result.ToolVersion{Name: "native", Version: "0.1.0"},
		Mode: m.mode, Protocol: m.protocol, MessageBytes: &m.bytes, DurationSeconds: 1,
		ReportedAs: result.DefinitionRTT, Definition: result.DefinitionRTT,
		Raw: []string{}, Treatment: map[string]string{},
		Facts: map[string]string{"placement": "shared", "path_mtu": "1500"},
	}
	if slot.Workload == "bulk" {
		t.Mode, t.ReportedAs, t.Definition = experiment.Stream, result.DefinitionRate, result.DefinitionRate
		t.Metrics = []result.Metric{{Name: result.Goodput, Unit: result.BitsPerSecond, Value: 1e5 / level}}
		return t
	}
	for i, stat := range []string{result.Mean, result.P50, result.P90, result.P99, result.P999, result.Max} {
		value := level * (1 + 0.2*float64(i))
		t.Metrics = append(t.Metrics, result.Metric{Name: result.RTT, Stat: stat, Unit: result.Seconds, Value: value})
	}
	if m.text != "" {
		t.Facts["said"], t.Notes = m.text, []string{m.text}
		if slot.Block == 1 {
			t.Error = m.text
		}
	}
	return t
}

func (m madeRun) histogram(name string, t result.Trial, random *rand.Rand) error {
	h := hdrhistogram.New(1, 100_000_000_000, 3)
	p50, _ := t.Value(result.RTT, result.P50)
	for range m.observations {
		if err := h.RecordValue(int64(p50 * 1e9 * (1 + 0.05*random.ExpFloat64()))); err != nil {
			return err
		}
	}
	data, err := h.Encode(hdrhistogram.V2CompressedEncodingCookieBase)
	if err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

// madeRunCommand makes run directories in scripts: makerun DIR arms=l2,vxlan blocks=10 seed=1 vxlan=1.2 ...
func madeRunCommand(ts *testscript.TestScript, negated bool, args []string) {
	if negated || len(args) < 1 {
		ts.Fatalf("usage: makerun DIR [KEY=VALUE...]")
	}
	m := madeRun{
		arms: []string{"l2"}, workloads: []string{"rr"}, blocks: 10, seed: 1, level: 10e-6, scatter: 0.01,
		factor: map[string]float64{}, refuted: map[string]int{}, unknown: map[string]int{}, silent: map[string]int{},
	}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		number, err := strconv.ParseFloat(value, 64)
		// refuted=vf:3
		perArm := func(to map[string]int) {
			arm, n, _ := strings.Cut(value, ":")
			to[arm], err = strconv.Atoi(n)
		}
		switch key {
		case "expect":
			m.expect, err = strings.Split(value, ","), nil
		case "refuted":
			perArm(m.refuted)
		case "unknown":
			perArm(m.unknown)
		case "silent":
			perArm(m.silent)
		case "unproved":
			m.unproved, err = value, nil
		case "lab":
			m.lab, err = strconv.ParseBool(value)
		case "failed":
			m.failed = int(number)
		case "arms":
			m.arms, err = strings.Split(value, ","), nil
		case "workloads":
			m.workloads, err = strings.Split(value, ","), nil
		case "protocol":
			m.protocol, err = value, nil
		case "blocks":
			m.blocks = int(number)
		case "objective":
			m.objectives, err = append(m.objectives, value), nil
		case "day":
			m.day = int(number)
		case "seed":
			m.seed = uint64(number)
		case "bytes":
			m.bytes = int(number)
		case "observations":
			m.observations = int(number)
		default:
			m.factor[key] = number
		}
		ts.Check(err)
	}
	ts.Check(m.write(ts.MkAbs(args[0])))
}

// made makes a run directory in a temporary directory of the test.
func made(t testing.TB, name string, m madeRun) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := m.write(path); err != nil {
		t.Fatal(err)
	}
	return path
}
