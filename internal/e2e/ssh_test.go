//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/agent/binaries"
	"nearfar/internal/onhost/host"
)

// zoneDelay is the delay of the wire between the two zones, in each direction.
const zoneDelay = 40 * time.Microsecond

// TestAgentInPlace measures between two hosts on which the agent is already: nearfar copies nothing.
func TestAgentInPlace(t *testing.T) {
	t.Parallel()
	a, err := binaries.For(host.System{OS: "linux", Arch: runtime.GOARCH})
	if errors.Is(err, binaries.ErrMissing) {
		t.Skipf("%v", err)
	}
	r := newSSHRigWith(t, nil, twoHosts())
	r.must(err)
	program := filepath.Join(r.dir, "placed-agent")
	r.must(os.WriteFile(program, a.Content, 0o755))
	command := "{command: '" + program + " --stdio', "
	text := strings.NewReplacer("SILENCE", "1m", "{ssh: client, ", command+"ssh: client, ",
		"{ssh: server, ", command+"ssh: server, ").Replace(r.addressed(faulty))
	cmd, mark := r.run(write(t, r.dir, text))
	stdout, _ := r.answered(cmd)
	wantNoFailures(t, answerOf(t, stdout, r.dir))
	r.wantNothingLeft(leftLimit)
	if left := marked(t, mark); len(left) > 0 {
		t.Errorf("left on nearfar's side: %v", left)
	}
}

// newZones makes the four hosts of labs/azure-zones.
func newZones(t *testing.T, placement string) *sshRig {
	wire := func(delay time.Duration) []experiment.Element {
		return []experiment.Element{{Kind: experiment.Wire, Delay: delay}}
	}
	return newSSHRig(t, sshPair{"set-client", "set-server", wire(0), placement},
		sshPair{"zone-client", "zone-server", wire(zoneDelay), placement})
}

// runZones is the command line of a run of labs/azure-zones with short trials. more are further texts to replace, as
// for ofLab.
func (r *sshRig) runZones(blocks string, more ...string) (cmd *exec.Cmd, mark string) {
	r.t.Helper()
	text := ofLab(r.t, "azure-zones", append([]string{
		"tool: sockperf, mode: rr, protocol: tcp, request: 1400B, duration: 5s",
		"tool: sockperf, mode: rr, protocol: tcp, request: 1400B, duration: 1s",
		"tool: sockperf, mode: rr, protocol: tcp, request: 350B, duration: 5s",
		"tool: sockperf, mode: rr, protocol: tcp, request: 350B, duration: 1s",
		"tool: ping, duration: 5s, interval: 100ms", "tool: ping, duration: 500ms, interval: 10ms",
		"tool: iperf3, duration: 5s", "tool: iperf3, duration: 1s",
		"duration: 5s", "duration: 300ms, warmup: 100ms",
		"blocks: 12", "blocks: " + blocks,
	}, more...)...)
	cmd, mark = r.run(write(r.t, r.dir, text), "--set", "SET_CLIENT=set-client", "--set", "SET_SERVER=set-server",
		"--set", "ZONE_CLIENT=zone-client", "--set", "ZONE_SERVER=zone-server")
	return cmd, mark
}

// TestZonesBySSH runs labs/azure-zones on four hosts with real sshd, with a wire of known delay between the zones. The
// difference must be twice the delay.
func TestZonesBySSH(t *testing.T) {
	r := newZones(t, experiment.PlacementShared)
	truth := 2 * zoneDelay.Seconds()
	for attempt := 1; ; attempt++ {
		// TestCutsLoseNoTrial runs the whole file. The native engine's round trips show the delay in the shortest
		// time: a trial of sockperf takes more than four seconds, of which it sleeps three.
		cmd, mark := r.runZones("6",
			"  - {name: sockperf-1400, tool: sockperf, mode: rr, protocol: tcp, request: 1400B, duration: 1s}\n", "",
			"  - {name: sockperf-350, tool: sockperf, mode: rr, protocol: tcp, request: 350B, duration: 1s}\n", "",
			"  - {name: ping, tool: ping, duration: 500ms, interval: 10ms}\n", "",
			"  - {name: bulk, tool: iperf3, duration: 1s}\n", "",
			// On one CPU with both sides, the wire wakes them without an interrupt to another CPU.
			"warmup: 100ms}\n", r.placed("warmup: 100ms, placement: ONE}\n"))
		stdout, _ := r.answered(cmd)
		a := answerOf(t, stdout, r.dir)
		wantNoFailures(t, a)
		r.wantNothingLeft(leftLimit)
		if left := marked(t, mark); len(left) > 0 {
			t.Errorf("left on nearfar's side: %v", left)
		}
		r.logWires()
		wrong := differsFrom(t, a, truth)
		if len(wrong) == 0 {
			break
		}
		if attempt == attempts {
			t.Fatalf("%q", wrong)
		}
		t.Logf("attempt %d of %d: %q", attempt, attempts, wrong)
	}
}

// logWires says how late the rig's wires were.
func (r *sshRig) logWires() {
	r.t.Helper()
	for _, arm := range r.lab.Facts().Arms {
		elements, err := r.lab.Observe(r.t.Context(), arm.Arm)
		r.must(err)
		for _, e := range elements {
			if e.Wire != nil {
				r.t.Logf("wire of %s: %d packets, late by %v at the median, %v at p99", arm.Arm, e.Wire.Packets,
					e.Wire.LatenessP50, e.Wire.LatenessP99)
			}
		}
	}
}

// differsFrom says which round trips do not differ by the truth, in seconds, within 5 us. As in TestDelayIsFound, other
// work on the machine only adds to a round trip.
func differsFrom(t *testing.T, a answer.Answer, truth float64) (wrong []string) {
	t.Helper()
	const tolerance = 5e-6
	seen := 0
	for _, c := range a.Comparisons {
		if c.Stat != "p50" || c.Metric != "rtt" || c.Difference == nil || c.Interval == nil {
			continue
		}
		seen++
		t.Logf("%s: the zones add %.2f us [%.2f, %.2f], want %.0f", c.Workload, *c.Difference*1e6, c.Interval[0]*1e6,
			c.Interval[1]*1e6, truth*1e6)
		if c.Interval[1] < truth-tolerance || c.Interval[0] > 1.02*truth+tolerance {
			wrong = append(wrong, c.Workload)
		}
	}
	if seen != 2 {
		t.Errorf("only %d workloads have a difference of the round trip: %+v", seen, a.Comparisons)
	}
	return wrong
}

// leftLimit is how long something of a run may be left on a host.
const leftLimit = 30 * time.Second

// TestCutsLoseNoTrial ends all of nearfar's ssh processes three times in mid-trial. The agents stay, nearfar comes back
// to them, and each trial ends as if nothing had happened.
func TestCutsLoseNoTrial(t *testing.T) {
	t.Parallel()
	r := newZones(t, experiment.PlacementSplit)
	cmd, mark := r.runZones("1")
	cuts := 0
	said, stdout := r.follow(cmd, func(line string) {
		if cuts == 3 || !regexp.MustCompile(`trial (1|3|6)/`).MatchString(line) {
			return
		}
		cuts++
		// nearfar may still be coming back after the cut before.
		waitUntil(t, "an ssh process for each host", func() []bool {
			if len(r.clients(mark)) == len(r.hosts) {
				return []bool{true}
			}
			return nil
		})
		r.inMidTrial()
		killed := 0
		for _, pid := range r.clients(mark) {
			switch err := syscall.Kill(pid, syscall.SIGKILL); err {
			case nil:
				killed++
			case syscall.ESRCH: // it has ended since
			default:
				t.Error(err)
			}
		}
		t.Logf("cut %d: %d ssh processes killed", cuts, killed)
		if killed == 0 {
			t.Errorf("cut %d met no ssh process", cuts)
		}
	})
	if cuts != 3 || cmd.ProcessState.ExitCode() != 0 {
		t.Fatalf("%d cuts, %v\n%s", cuts, cmd.ProcessState, said)
	}
	a := answerOf(t, stdout, r.dir)
	wantNoFailures(t, a)
	if a.Trials != 12 || a.Failed != 0 || a.Replaced != 0 {
		t.Errorf("%d trials, %d failed, %d replaced: want 12 trials", a.Trials, a.Failed, a.Replaced)
	}
	if got := order(t, a.Run); !slices.Equal(got, []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}) {
		t.Errorf("the record has trials %v", got)
	}
	r.wantNothingLeft(leftLimit)
}

// inMidTrial waits until a measuring client runs on a host.
func (r *sshRig) inMidTrial() {
	r.t.Helper()
	waitUntil(r.t, "a measuring client on a host", func() (found []markedProcess) {
		for _, p := range r.onHosts("") {
			if measuringClient.MatchString(p.line) {
				found = append(found, p)
			}
		}
		return found
	})
}

// follow runs a command to its end, and hands each line of its standard error to heard.
func (r *sshRig) follow(cmd *exec.Cmd, heard func(line string)) (said string, stdout []byte) {
	r.t.Helper()
	var out bytes.Buffer
	cmd.Stdout = &out
	stderr, err := cmd.StderrPipe()
	r.must(err)
	r.must(cmd.Start())
	limit := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	lines := make(chan string, 10_000)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			lines <- s.Text()
		}
	}()
	var all strings.Builder
	defer func() {
		_ = cmd.Process.Kill() // if the test gives up
		if r.t.Failed() {
			for line := range lines {
				all.WriteString(line + "\n")
			}
			r.t.Logf("it said:\n%s", all.String())
		}
	}()
	for line := range lines {
		all.WriteString(line + "\n")
		heard(line)
	}
	_ = cmd.Wait() // the caller looks at the exit code
	if !cmd.ProcessState.Success() {
		for name := range r.hosts {
			b, _ := os.ReadFile(filepath.Join(r.dir, "sshd-"+name+".log"))
			r.t.Logf("sshd of %s: %s", name, b)
		}
	}
	return all.String(), out.Bytes()
}

// TestMeasuringClients: command lines of tools, as a host has them, are those of a client or not.
func TestMeasuringClients(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"iperf3 -J -c 10.1.0.2 -p 7771 -t 1 ": true, "iperf3 -s -1 -p 7771 ": false, "netserver -D -f -L 10.1.0.2 ": false,
		"netperf -H 10.1.0.2 -Z x ": true, "ping -n -c 10 10.1.0.2 ": true, "sockperf sr --tcp ": false,
		"sockperf pp -i 10.1.0.2 ": true, "/tmp/nearfar-agent engine rr --connect 10.1.0.2 ": true,
		"/tmp/nearfar-agent engine serve ": false,
	} {
		if got := measuringClient.MatchString(line); got != want {
			t.Errorf("%q is a client: %t", line, got)
		}
	}
}
