//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// fails runs the program, which must fail, and returns its output and exit code. env is added to the environment.
func fails(t *testing.T, dir string, env []string, args ...string) (said string, code int) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("nearfar %s: %v, want it to fail\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), exit.ExitCode()
}

const killed = `
nearfar: v1
name: killed
baseline: l2
arms:
  l2: {lab: {path: [bridge]}}
  vxlan: {lab: {path: [vtep, bridge, vtep]}}
  wired: {lab: {path: [{wire: {delay: 10us}}]}}
workloads:
  - {name: rr, tool: native, mode: rr, duration: 100ms, warmup: 20ms}
  - {name: bulk, tool: iperf3, protocol: udp, rate: 20Mbit/s, duration: 1s}
schedule: {blocks: 2, seed: 11}
`

// The environment variables of the tests that kill something at some moments: each run of the tests takes a few of all
// moments, by a random seed.
const (
	// killSeed repeats the moments of an earlier run.
	killSeed = "NEARFAR_KILL_SEED"
	// killAll, if it is 1, takes all moments.
	killAll = "NEARFAR_KILL_ALL"
)

// allMoments says that the environment asks for all moments.
func allMoments() bool { return os.Getenv(killAll) == "1" }

// killRandom is the source of a test's moments. The test logs its seed.
func killRandom(t *testing.T) *rand.Rand {
	t.Helper()
	seed := numberFrom(t, killSeed, uint64(time.Now().UnixNano()))
	t.Logf("%s=%d", killSeed, seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// someMoments draws n of all moments, in their order.
func someMoments[T any](random *rand.Rand, n int, all []T) []T {
	if allMoments() {
		return all
	}
	drawn := random.Perm(len(all))[:n]
	slices.Sort(drawn)
	some := make([]T, n)
	for i, at := range drawn {
		some[i] = all[at]
	}
	return some
}

// TestKilledAtAnyMoment kills nearfar at random moments of a run. Nothing of the lab may be left, the record must be
// whole, and a resume must carry out the remaining trials in the same order. TestChaos kills other processes too.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	random := killRandom(t)
	count := 2
	if allMoments() {
		count = 10
	}
	for moment := range count {
		after := 100*time.Millisecond + time.Duration(random.Int64N(int64(7*time.Second)))
		t.Run(fmt.Sprint(moment), func(t *testing.T) {
			t.Parallel()
			before := traces(t, "")
			dir := workspace(t)
			name := write(t, dir, killed)
			cmd := exec.Command(program, "run", "--force", name)
			cmd.Dir = dir
			mark := mark(t, cmd)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			timer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
			err := cmd.Wait()
			timer.Stop()
			t.Logf("killed after %v: %v", after, err)
			waitForTraces(t, mark, before)
			runs := runsIn(t, filepath.Join(dir, "runs"))
			if len(runs) == 0 { // killed before there was anything to keep
				return
			}
			had := order(t, runs[0])
			full := answerOf(t, nearfar(t, dir, nil, "run", "-f", "json", "--resume", runs[0]), "")
			if full.State != rundir.Complete {
				t.Errorf("after the resume the run is %s", full.State)
			}
			got := order(t, runs[0])
			if want := 12; len(got) != want {
				t.Fatalf("%d trials after the resume, want %d", len(got), want)
			}
			for i, number := range got {
				if number != i+1 {
					t.Fatalf("trials ran in the order %v", got)
				}
			}
			t.Logf("%d trials before the kill, %d after the resume", len(had), len(got))
			waitForTraces(t, mark, before)
		})
	}
}

// order reads trials.jsonl and returns the numbers of the trials. Each line must be whole, except that the last may be
// torn.
func order(t *testing.T, run string) []int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(run, "trials.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var numbers []int
	lines := bytes.Split(data, []byte("\n"))
	for _, line := range lines[:len(lines)-1] {
		var tr result.Trial
		if err := json.Unmarshal(line, &tr); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		numbers = append(numbers, tr.Trial)
	}
	return numbers
}

// marker is in the environment of every process that a test's nearfar starts. It tells them from the other processes of
// the machine.
const marker = "NEARFAR_TEST_MARKER"

// mark puts the marker into a command's environment and returns it as NAME=VALUE.
func mark(t *testing.T, cmd *exec.Cmd) (value string) {
	t.Helper()
	value = fmt.Sprintf("%s=%s-%d", marker, strings.ReplaceAll(t.Name(), "/", "-"), os.Getpid())
	cmd.Env = append(os.Environ(), value)
	return value
}

// traces lists what a lab could leave on the machine: processes with the mark, named and mounted namespaces,
// interfaces, temporary files. Tests beside this one have labs too, which must not show outside of them either.
func traces(t *testing.T, mark string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	found["named namespaces"] = glob(t, "/run/netns/*")
	found["temporary files"] = glob(t, "/tmp/iperf3*")
	for _, name := range glob(t, "/dev/shm/*") {
		// Browsers of other tests come and go.
		if !strings.Contains(name, "chromium") {
			found["temporary files"] = append(found["temporary files"], name)
		}
	}
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range interfaces {
		found["interfaces"] = append(found["interfaces"], i.Name)
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	found["mounts"] = strings.Split(string(mounts), "\n")
	if mark != "" {
		for _, p := range marked(t, mark) {
			found["processes"] = append(found["processes"], p.line)
		}
	}
	for _, list := range found {
		sort.Strings(list)
	}
	return found
}

// runsIn lists the run directories in a directory. One that was being made when nearfar was killed has a hidden name,
// and the next run removes it.
func runsIn(t *testing.T, dir string) []string {
	t.Helper()
	return glob(t, filepath.Join(dir, "[^.]*"))
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// waitForTraces waits until the machine has nothing that it did not have before. The kernel removes namespaces some
// time after their last process has ended. Traces that were there before may be gone.
func waitForTraces(t *testing.T, mark string, before map[string][]string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		looked := time.Now()
		left := added(before, traces(t, mark))
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("left behind: %q", left)
		}
		rest(looked)
	}
}

// added returns, for each kind, the traces that are there more often than before.
func added(before, now map[string][]string) map[string][]string {
	more := map[string][]string{}
	for kind, list := range now {
		had := map[string]int{}
		for _, trace := range before[kind] {
			had[trace]++
		}
		for _, trace := range list {
			if had[trace]--; had[trace] < 0 {
				more[kind] = append(more[kind], trace)
			}
		}
	}
	return more
}

// TestInterrupt: Ctrl-C ends the current trial, keeps the finished ones, prints their answer and exits with 130.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	before := traces(t, "")
	dir := workspace(t)
	cmd := exec.Command(program, "run", "--force", "--progress", "plain", "-f", "json", write(t, dir, killed))
	cmd.Dir = dir
	mark := mark(t, cmd)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	said := runUntil(t, cmd, "trial 3/", func() {
		if len(traces(t, mark)["processes"]) < 2 {
			t.Error("the running lab's processes do not carry the mark: this test could not see any that is left")
		}
		if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
	})
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("exit code %d, want 130\n%s", code, said)
	}
	a := answerOf(t, stdout.Bytes(), dir)
	if a.State != rundir.Interrupted || a.Trials < 3 || a.Trials > 11 {
		t.Errorf("state %s with %d trials", a.State, a.Trials)
	}
	if !strings.Contains(said, "nearfar run --resume") {
		t.Errorf("does not say how to go on: %s", said)
	}
	waitForTraces(t, mark, before)
}
