package main

import (
	"bytes"
	"context"
	"io"
	"math"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/result"
	"nearfar/internal/tool"
)

// proofOf is a proof about the workload "theirs" of made.
func proofOf(b *span) proof {
	return proof{What: "the p50", With: "other", Workloads: []string{"theirs"}, Value: metric("theirs", result.RTT, result.P50),
		Unit: result.Seconds, Arithmetic: 1e-5, Bound: b}
}

func TestProve(t *testing.T) {
	same := made(nil, []float64{2, 2, 2, 2, 2, 2})
	apart := made(nil, []float64{1, 2, 3, 1, 2, 3})
	once := proofOf(upTo(2))
	once.Once = true
	for _, c := range []struct {
		name            string
		proof           proof
		trials          trials
		verdict, within string
	}{
		{"kept", proofOf(upTo(2)), same, reached, "wholly within"},
		{"exactly", proofOf(exactly(2)), same, reached, "wholly within"},
		{"not exactly", proofOf(exactly(0)), same, short, "wholly outside"},
		{"too much", proofOf(upTo(1.9)), same, short, "wholly outside"},
		{"too little", proofOf(&span{Low: 2.1, High: 3}), same, short, "wholly outside"},
		{"around", proofOf(upTo(2)), apart, reached, "on both sides"},
		{"the interval holds the span", proofOf(near(2, 0.05)), apart, reached, "on both sides"},
		{"for information", proofOf(nil), same, noBound, ""},
		{"too few blocks", proofOf(upTo(2)), made(nil, []float64{2, 2, 2, 2, 2, 0}), cannotTell, ""},
		{"once", once, made(nil, []float64{2}), reached, ""},
		{"once too much", once, made(nil, []float64{2.1}), short, ""},
		{"failed", once, made(nil, []float64{0}), "not measured: no block has it", ""},
	} {
		p := prove(c.proof, c.trials)
		if p.verdict() != c.verdict || p.within() != c.within {
			t.Errorf("%s: %q, %q; want %q, %q", c.name, p.verdict(), p.within(), c.verdict, c.within)
		}
	}
}

// Every proof's workloads are there, and can be planned by their tools.
func TestProofsAreComplete(t *testing.T) {
	tools := newTools()
	server := host.Endpoint{Name: "bridge/server", Address: netip.MustParseAddr("10.1.0.2")}
	bounded := 0
	for _, g := range proofs(1, true) {
		var names []string
		for _, w := range g.Workloads {
			names = append(names, w.Name)
			one, ok := tools.Lookup(w.Tool)
			if !ok {
				t.Fatalf("%s: no tool %s", w.Name, w.Tool)
			}
			if _, err := one.Plan(w, server); err != nil {
				t.Errorf("%s: %v", w.Name, err)
			}
		}
		if g.Local != nil {
			names = append(names, g.Local.Name)
		}
		for _, p := range g.Proofs {
			if p.Bound != nil {
				bounded++
			}
			for _, name := range p.needs() {
				if !slices.Contains(names, name) {
					t.Errorf("%s: no workload %s", p.What, name)
				}
			}
			if v, ok := p.Value(map[string]result.Trial{}); ok {
				t.Errorf("%s: nothing was measured, and it is %v", p.What, v)
			}
			if (g.Blocks == 1) != p.Once || g.Blocks > 1 && g.Blocks < fewestBlocks() {
				t.Errorf("%s: measured in %d blocks", p.What, g.Blocks)
			}
		}
	}
	if bounded != 14 {
		t.Errorf("%d proofs have a bound, want the 14 that must be shown", bounded)
	}
	if all, short := proofs(1, true), proofs(1, false); len(short) != len(all)-1 {
		t.Errorf("without what is long, %d of %d groups are left", len(short), len(all))
	}
}

// The arithmetic of the stall against the waits of every single request, wherever in the first millisecond the stall
// begins: requests that are one millisecond apart make it up to that much less.
func TestStalledIsWhatRequestsWait(t *testing.T) {
	interval := float64(time.Second) / stallRate
	for phase := 0.0; phase < interval; phase += interval / 8 {
		var waits []float64
		for n := range int(stallWindow.Seconds() * stallRate) {
			at := math.Mod(float64(n)*interval+phase, float64(stallPeriod))
			waits = append(waits, max(0, at-float64(stallPeriod-stallLength)))
			if w := waits[n]; w > 0 {
				waits[n] = float64(stallPeriod) - at
			}
		}
		slices.Sort(waits)
		for q, want := range map[float64]float64{0.9: 0.1, 0.99: 0.19, 0.999: 0.199} {
			got := waits[int(math.Ceil(q*float64(len(waits))-1e-9))-1] / 1e9
			if less := stalled(q) - got; less < -1e-9 || less > interval/1e9+1e-9 || math.Abs(stalled(q)-want) > 1e-12 {
				t.Errorf("the longest but %v wait %v s, arithmetic says %v s, which should be %v s", q, got, stalled(q), want)
			}
		}
	}
}

func TestApartOf(t *testing.T) {
	of := func(scope string, v float64) result.Metric {
		return result.Metric{Name: result.RTT, Stat: result.Mean, Unit: result.Seconds, Scope: scope, Value: v}
	}
	whole := []result.Metric{of("", 10e-6), of("client", 4e-6), of("network", 3e-6), of("server-stack", 2e-6), of("server-application", 0.5e-6)}
	if apart, ok := apartOf(result.Trial{Metrics: whole}); !ok || math.Abs(apart-0.5e-6) > 1e-12 {
		t.Errorf("%v, %v; want 0.5 us", apart, ok)
	}
	if apart, ok := apartOf(result.Trial{Metrics: whole[:4]}); ok {
		t.Errorf("without a part it is %v", apart)
	}
}

func TestRecording(t *testing.T) {
	trial := localTrial(*recordingProofs().Local, 3)
	took, timed := trial.Value(recordTime, "")
	merge, merged := trial.Value(mergeTime, "")
	if allocations, ok := trial.Value(recordAllocations, ""); !ok || allocations != 0 || !timed || !merged || took <= 0 || merge <= 0 || trial.Block != 3 || trial.Error != "" {
		t.Errorf("%+v", trial)
	}
}

func TestUnderLoadPlan(t *testing.T) {
	w := stallProofs().Workloads[2]
	p, err := underLoad{tool.NewSockperf()}.Plan(w, host.Endpoint{Address: netip.MustParseAddr("10.1.0.2")})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Server.Argv[1:5], " "); got != "bench-stall 200ms 1s sockperf" {
		t.Errorf("the server is %q", p.Server.Argv)
	}
	for _, want := range []string{"--mps=1000", "--reply-every=1", "--full-rtt", "6", "--tcp"} {
		if !slices.Contains(p.Client.Argv, want) {
			t.Errorf("the client is %q, without %s", p.Client.Argv, want)
		}
	}
	w.Protocol = experiment.UDP
	if _, err := (underLoad{tool.NewSockperf()}).Plan(w, host.Endpoint{}); err == nil {
		t.Error("it is planned over udp")
	}
}

// What sockperf's under-load mode printed is read as round trips.
func TestUnderLoadParse(t *testing.T) {
	printed, err := os.ReadFile(filepath.Join("testdata", "sockperf-under-load.txt"))
	if err != nil {
		t.Fatal(err)
	}
	w := stallProofs().Workloads[2]
	m, err := underLoad{tool.NewSockperf()}.Parse(tool.Output{Workload: &w, Stdout: printed})
	if err != nil || m.Definition != result.DefinitionRTT || m.ReportedAs != result.DefinitionRTT {
		t.Fatalf("%+v, %v", m, err)
	}
	trial := result.Trial{Metrics: m.Metrics}
	for stat, share := range map[string]float64{result.P90: 0.9, result.P99: 0.99, result.P999: 0.999} {
		// It was recorded on a busy machine, which adds to the times.
		if v, ok := trial.Value(result.RTT, stat); !ok || v < stalled(share)*0.95 || v > stalled(share)*1.3 {
			t.Errorf("%s is %v, arithmetic says %v", stat, v, stalled(share))
		}
	}
}

// A stopped process is stopped, goes on, and ends when asked to, also where it is stopped just then.
func TestStall(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sleep", "600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it is ended by a signal
	}()
	ctx, end := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		stopAgainAndAgain(ctx, cmd.Process, 50*time.Millisecond, 100*time.Millisecond, ended)
	}()
	deadline := time.Now().Add(time.Minute)
	for _, want := range "TSTST" {
		for stateOf(t, cmd.Process.Pid) != want {
			if time.Now().After(deadline) {
				t.Fatalf("it is never in state %c", want)
			}
			time.Sleep(time.Millisecond) // until the kernel says so
		}
	}
	end()
	<-done
	if cmd.ProcessState.Exited() {
		t.Errorf("it ended by itself: %v", cmd.ProcessState)
	}
}

// stateOf reads the state of a process: the letter after its name in /proc/PID/stat.
func stateOf(t *testing.T, pid int) rune {
	t.Helper()
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), ") ")
	return rune(rest[0])
}

func TestStallVerb(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := start([]string{stallVerb, "10ms", "1s", "sh", "-c", "echo words; exit 3"}, nil, &stdout, &stderr); code != 3 || stdout.String() != "words\n" {
		t.Errorf("exit %d, %q, %q", code, &stdout, &stderr)
	}
	for _, args := range []string{"", "10ms 1s", "x 1s sh", "1s 1s sh", "0s 1s sh", "10ms 1s /nowhere/program"} {
		if code := start(append([]string{stallVerb}, strings.Fields(args)...), nil, io.Discard, io.Discard); code == 0 {
			t.Errorf("%q ended well", args)
		}
	}
}

// What a program takes is told after its own output, and its exit status passed on.
func TestPeak(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if code := start([]string{peakVerb, "sh", "-c", "sleep 1; echo oops >&2; exit 3"}, nil, &stdout, &stderr); code != 3 {
		t.Errorf("exit %d, %q", code, &stderr)
	}
	m := peakLine.FindStringSubmatch(stderr.String())
	if m == nil {
		t.Fatal(stderr.String())
	}
	if n, err := strconv.Atoi(m[1]); err != nil || n < 100_000 || n > 100e6 {
		t.Errorf("a shell took %s bytes", m[1])
	}
	for _, argv := range [][]string{{peakVerb}, {peakVerb, "/nowhere/program"}} {
		if code := start(argv, nil, io.Discard, io.Discard); code == 0 {
			t.Errorf("%q ended well", argv)
		}
	}
}

func TestHighWater(t *testing.T) {
	const status = "Name:\tx\nPPid:\t7\nVmPeak:\t  900 kB\nVmHWM:\t   12 kB\n"
	if n, ok := highWater([]byte(status), 7); !ok || n != 12<<10 {
		t.Errorf("%d, %v", n, ok)
	}
	for name, text := range map[string]string{"none": "", "ended": "PPid:\t7\n", "other": "PPid:\t70\nVmHWM:\t12 kB\n"} {
		if n, ok := highWater([]byte(text), 7); ok {
			t.Errorf("%s: %d", name, n)
		}
	}
}

// said is a tool that reads nothing.
type said struct{ tool.Tool }

func (said) Parse(out tool.Output) (result.Measurement, error) {
	return result.Measurement{Notes: []string{string(out.Stderr)}}, nil
}

func TestPeakedParse(t *testing.T) {
	m, err := peaked{said{}}.Parse(tool.Output{Stderr: []byte("words\n\nbench-peak: 4096 bytes\n")})
	if err != nil || len(m.Metrics) != 1 || m.Metrics[0].Value != 4096 || m.Notes[0] != "words\n\n" {
		t.Errorf("%+v, %v", m, err)
	}
	for _, text := range []string{"", "bench-peak: 0 bytes\n"} {
		if m, err := (peaked{said{}}).Parse(tool.Output{Stderr: []byte(text)}); err == nil {
			t.Errorf("%q gave %+v", text, m)
		}
	}
}

func FuzzHighWater(f *testing.F) {
	f.Add([]byte("PPid:\t7\nVmHWM:\t   12 kB\n"))
	f.Fuzz(func(t *testing.T, status []byte) {
		if n, ok := highWater(status, 7); ok && n < 0 {
			t.Error(n)
		}
	})
}
