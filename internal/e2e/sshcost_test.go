//go:build linux

package e2e

import (
	"os"
	"slices"
	"testing"
	"time"

	"nearfar/internal/base/stats"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

// twoHosts are two hosts. The path between them is the path of the arm "lab" in the tests below.
func twoHosts() sshPair {
	return sshPair{"client", "server", []experiment.Element{{Kind: experiment.Bridge}}, experiment.PlacementSplit}
}

// bothWays are two arms with the same hosts and path: one made as a lab, one reached by ssh.
const bothWays = `
nearfar: v1
name: both-ways
hosts:
  client: {ssh: client, address: CLIENT}
  server: {ssh: server, address: SERVER}
baseline: lab
arms:
  lab: {lab: {path: [bridge]}, layers: {}}
  ssh: {client: client, server: server, layers: {ssh: 1}}
`

// TestSSHCostsNothing: the figures of two hosts are the same, whether they are a lab or reached by ssh. The trials of
// both are interleaved. The interval of the difference must have a value within 5 % of none: the tests' machine is
// not quiet enough for more. NEARFAR_BY_SSH=24 measures so many blocks, with sockperf and netperf too, for narrower
// intervals on a machine that does nothing else.
func TestSSHCostsNothing(t *testing.T) {
	blocks, others := "6", ""
	want := 2
	if asked := os.Getenv("NEARFAR_BY_SSH"); asked != "" {
		blocks, want = asked, 4
		others = `  - {name: sockperf, tool: sockperf, mode: rr, request: 64B, duration: 1s, placement: ONE}
  - {name: netperf, tool: netperf, mode: rr, request: 64B, duration: 1s, placement: ONE}
`
	}
	r := newSSHRig(t, twoHosts())
	// Round trips on one CPU vary least: how far two CPUs are from each other changes between trials.
	for attempt := 1; ; attempt++ {
		cmd, _ := r.run(write(t, r.dir, r.placed(r.addressed(bothWays)+`
workloads:
  - {name: native, tool: native, mode: rr, request: 64B, duration: 300ms, warmup: 100ms, placement: ONE}
  - {name: iperf3, tool: iperf3, mode: stream, duration: 1s, placement: TWO}
`+others+`schedule: {blocks: `+blocks+`, seed: 1}
`)))
		stdout, _ := r.answered(cmd)
		a := answerOf(t, stdout, r.dir)
		wantNoFailures(t, a)
		var wrong []string
		seen := 0
		for _, c := range a.Comparisons {
			if c.Stat != "p50" && c.Stat != "mean" && c.Metric != "goodput" ||
				c.Relative == nil || c.RelativeInterval == nil {
				continue
			}
			seen++
			t.Logf("%s %s %s: by ssh %+.1f %% [%+.1f, %+.1f] of the lab's", c.Workload, c.Metric, c.Stat,
				100**c.Relative, 100*c.RelativeInterval[0], 100*c.RelativeInterval[1])
			if c.RelativeInterval[1] < -0.05 || c.RelativeInterval[0] > 0.05 {
				wrong = append(wrong, c.Workload)
			}
		}
		if seen != want {
			t.Fatalf("%d comparisons, want %d: %+v", seen, want, a.Comparisons)
		}
		if len(wrong) == 0 {
			return
		}
		if attempt == attempts {
			t.Fatalf("they differ by more than 5 %%: %q", wrong)
		}
		t.Logf("attempt %d of %d: %q", attempt, attempts, wrong)
	}
}

// addedBySSH is how much longer a trial by ssh may take than one in a lab, and timesBySSH how many times as long
// trials of 100 ms may take.
const (
	addedBySSH = 30 * time.Millisecond
	timesBySSH = 1.5
)

// TestSSHTrialsAreQuick compares how long trials of 100 ms take in a lab and by ssh, with what is before and after
// them. 20 trials of each are enough: if single trials scatter by 15 ms, the medians scatter by 4 ms.
func TestSSHTrialsAreQuick(t *testing.T) {
	r := newSSHRig(t, twoHosts())
	for attempt := 1; ; attempt++ {
		cmd, _ := r.run(write(t, r.dir, r.addressed(bothWays)+`
workloads: [{name: rr, tool: native, mode: rr, request: 64B, duration: 80ms, warmup: 20ms}]
schedule: {blocks: 20, seed: 1}
`))
		stdout, _ := r.answered(cmd)
		a := answerOf(t, stdout, r.dir)
		wantNoFailures(t, a)
		took := map[string][]float64{}
		for arm, values := range untilNext(trials(t, a)) {
			took[arm] = stats.Numbers(values)
		}
		sum := func(arm string) (s float64) {
			for _, v := range took[arm] {
				s += v
			}
			return s / float64(len(took[arm])) * 100
		}
		median := func(arm string) time.Duration {
			return time.Duration(stats.Summarize(took[arm]).Median.Value * 1e9)
		}
		added, times := median("ssh")-median("lab"), sum("ssh")/sum("lab")
		t.Logf("a trial takes %.1f ms in a lab, and %.1f ms more by ssh (medians of %d and %d)",
			median("lab").Seconds()*1e3, added.Seconds()*1e3, len(took["lab"]), len(took["ssh"]))
		t.Logf("100 trials take %.2f s in a lab, %.2f s by ssh: %.2f times as long; the fastest %.1f and %.1f ms",
			sum("lab"), sum("ssh"), times, slices.Min(took["lab"])*1e3, slices.Min(took["ssh"])*1e3)
		if added <= addedBySSH && times <= timesBySSH {
			return
		}
		if attempt == attempts {
			t.Fatal("trials by ssh take too long")
		}
	}
}

// untilNext gives the seconds from the start of each trial to the start of the next one, by arm: the trial, and all
// that is done before and after it.
func untilNext(all []result.Trial) map[string][]stats.Value {
	took := map[string][]stats.Value{}
	for i, trial := range all[:len(all)-1] {
		took[trial.Arm] = append(took[trial.Arm], stats.Value{
			Block: trial.Block, Value: all[i+1].Started.Sub(trial.Started).Seconds(),
		})
	}
	return took
}
