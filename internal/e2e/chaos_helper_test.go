//go:build linux

package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
)

// The processes that a round can hit: nearfar, the lab's init, a process that forwards for wires, a trial's server and
// its client.
const (
	victimMain   = "main"
	victimInit   = "init"
	victimWire   = "wire"
	victimServer = "server"
	victimClient = "client"
)

var chaosVictims = []string{victimMain, victimInit, victimWire, victimServer, victimClient}

// Experiments are drawn from these: small trials of every mode of the engine, and of one other tool.
var (
	chaosArms = []string{
		"l2: {lab: {path: [bridge]}}",
		"vxlan: {lab: {path: [vtep, bridge, vtep]}}",
		"routed: {lab: {path: [bridge, router, bridge]}}",
		"wired: {lab: {path: [{wire: {delay: 10us}}]}}",
		"far: {lab: {path: [bridge, {wire: {delay: 200us, rate: 100Mbit/s}}]}}",
	}
	chaosWorkloads = []string{
		"{name: rr, tool: native, mode: rr, duration: 80ms, warmup: 20ms}",
		"{name: udp, tool: native, mode: rr, protocol: udp, duration: 80ms, warmup: 20ms}",
		"{name: crr, tool: native, mode: crr, duration: 80ms, warmup: 20ms}",
		"{name: bulk, tool: native, mode: stream, duration: 100ms, warmup: 50ms}",
		"{name: load, tool: native, mode: load, rate: 1000/s, connections: 4, duration: 100ms, warmup: 50ms}",
		"{name: messages, tool: native, mode: messages, protocol: udp, rate: 5000/s, duration: 100ms, warmup: 50ms}",
		"{name: iperf, tool: iperf3, duration: 1s}",
	}
)

// A chaosPlan is an experiment with its schedule; takes is about how long a run of it takes.
type chaosPlan struct {
	text  string
	slots []experiment.Slot
	takes time.Duration
}

var joinVariable = regexp.MustCompile(`agent: '[^']*'`)

// drawPlan draws an experiment from arms and workloads. hosts is the part of it that declares hosts.
func drawPlan(t *testing.T, random *rand.Rand, hosts string, ofArms, ofWorkloads []string) chaosPlan {
	t.Helper()
	some := func(all []string, most int) []string {
		var drawn []string
		for _, i := range random.Perm(len(all))[:1+random.IntN(most)] {
			drawn = append(drawn, all[i])
		}
		return drawn
	}
	arms, workloads := some(ofArms, min(3, len(ofArms))), some(ofWorkloads, 2)
	baseline, _, _ := strings.Cut(arms[0], ":")
	text := fmt.Sprintf("nearfar: v1\nname: chaos\n%sbaseline: %s\narms:\n  %s\nworkloads:\n  - %s\n",
		hosts, baseline, strings.Join(arms, "\n  "), strings.Join(workloads, "\n  - "))
	text += fmt.Sprintf("schedule: {blocks: %d, seed: %d}\n", 1+random.IntN(3), 1+random.IntN(1000))
	// The schedule does not depend on how hosts are reached, and there is no join string yet.
	e, err := experimentfile.Parse("chaos", joinVariable.ReplaceAll([]byte(text), []byte("ssh: x")), tool.Declared())
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	p := chaosPlan{text: text, slots: e.Slots()}
	p.takes = 500*time.Millisecond + time.Duration(len(arms))*100*time.Millisecond
	for _, slot := range p.slots {
		p.takes += 200 * time.Millisecond
		if slot.Workload == "iperf" || slot.Workload == "netperf" {
			p.takes += time.Second
		}
	}
	return p
}

// errEnded says that the run ended before anything happened to it.
var errEnded = errors.New("the run had ended")

// strike waits for the moment and for the victim, and sends it the signal. It says what it did. If the run ended before
// that, the error is the run's, or errEnded.
func (c *chaos) strike(t *testing.T, main int, mark, dir string, ended <-chan error) (did string, err error) {
	t.Helper()
	ending := func(err error) (string, error) {
		if err == nil {
			err = errEnded
		}
		return "nothing happened to " + c.victim, err
	}
	for c.trials > triedIn(t, dir) {
		select {
		case err := <-ended:
			return ending(err)
		case <-time.After(10 * time.Millisecond):
		}
	}
	select {
	case err := <-ended:
		return ending(err)
	case <-time.After(c.after):
	}
	if c.signal == 0 {
		c.struck, c.struckAt = true, time.Now()
		c.remote.cut(c.victim, c.pause)
		return fmt.Sprintf("%s of %s was cut for %v, %v after trial %d", c.victim, c.remote.host.name, c.pause, c.after,
			c.trials), nil
	}
	pid := 0
	for pid == 0 {
		looked := time.Now()
		if pid = c.find(t, main, mark); pid != 0 {
			break
		}
		select {
		case err := <-ended:
			return ending(err)
		case <-time.After(restAfter(looked)):
		}
	}
	c.struck, c.struckAt = true, time.Now()
	did = fmt.Sprintf("%s (process %d) got %v, %v after trial %d", c.victim, pid, c.signal, c.after, c.trials)
	// A signal to one thread stops or ends the whole process.
	thread := pid
	if threads := threadsOf(pid); len(threads) > 0 {
		thread = threads[c.random.IntN(len(threads))]
	}
	if err := tgkill(pid, thread, c.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("%s: %v", did, err)
	}
	if c.pause == 0 {
		return did, nil
	}
	did += fmt.Sprintf(", and went on after %v", c.pause)
	var early error
	over := false
	select {
	case early = <-ended:
		over = true
	case <-time.After(c.pause):
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatalf("%s: %v", did, err)
	}
	if over && early == nil {
		early = errEnded
	}
	return did, early
}

// find returns the PID of the victim, 0 if there is none at the moment.
func (c *chaos) find(t *testing.T, main int, mark string) int {
	t.Helper()
	if c.victim == victimMain {
		return main
	}
	var found []int
	if c.remote != nil {
		found = c.remote.find(c.victim, mark)
	} else {
		for _, p := range marked(t, mark) {
			if p.pid != main && kindOf(p.line) == c.victim {
				found = append(found, p.pid)
			}
		}
	}
	if len(found) == 0 {
		return 0
	}
	return found[c.random.IntN(len(found))]
}

// kindOf says from the command line of a run's process which kind of victim it is; "" for none.
func kindOf(line string) string {
	switch {
	case strings.Contains(line, " lab-init"):
		return victimInit
	case strings.Contains(line, " lab-wire"):
		return victimWire
	case strings.Contains(line, " engine serve"), strings.HasPrefix(line, "iperf3 -s"),
		strings.Contains(line, "iperf3 --server"):
		return victimServer
	case strings.Contains(line, " engine "), strings.HasPrefix(line, "iperf3 "):
		return victimClient
	}
	return ""
}

// threadsOf lists the threads of a process; none if it has ended.
func threadsOf(pid int) (threads []int) {
	names, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/[0-9]*", pid))
	if err != nil {
		return nil
	}
	for _, name := range names {
		if n, err := strconv.Atoi(filepath.Base(name)); err == nil {
			threads = append(threads, n)
		}
	}
	return threads
}

// tgkill sends a signal to a thread, or to its process if the thread has ended.
func tgkill(pid, thread int, signal syscall.Signal) error {
	_, _, errno := syscall.Syscall(syscall.SYS_TGKILL, uintptr(pid), uintptr(thread), uintptr(signal))
	if errno == syscall.ESRCH {
		return syscall.Kill(pid, signal)
	}
	if errno != 0 {
		return errno
	}
	return nil
}

// kept reads the trials of a run. Each line must be whole, except that the last may be torn.
func (c *chaos) kept(t *testing.T, run string) (trials []result.Trial) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(run, "trials.jsonl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	lines := bytes.Split(data, []byte("\n"))
	for _, line := range lines[:len(lines)-1] {
		var trial result.Trial
		if err := json.Unmarshal(line, &trial); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		trials = append(trials, trial)
	}
	return trials
}

// sameTrials checks that a completed run has each trial of its schedule once and in order, and apart from them only
// trials that replace failed ones.
func (c *chaos) sameTrials(t *testing.T, run string, a answer.Answer) {
	t.Helper()
	all := c.kept(t, run)
	var scheduled []experiment.Slot
	for _, trial := range all {
		slot := experiment.Slot{Trial: trial.Trial, Block: trial.Block, Deployment: trial.DeploymentNumber(),
			Arm: trial.Arm, Workload: trial.Workload}
		if trial.Replaces == 0 {
			scheduled = append(scheduled, slot)
			continue
		}
		place := c.plan.slots[trial.Replaces-1]
		same := place.Block == slot.Block && place.Arm == slot.Arm && place.Workload == slot.Workload
		if !same || trial.Trial <= len(c.plan.slots) {
			t.Errorf("trial %+v replaces %+v", slot, place)
		}
	}
	if fmt.Sprint(scheduled) != fmt.Sprint(c.plan.slots) {
		t.Errorf("the trials are %v\nwant the schedule %v", scheduled, c.plan.slots)
	}
	if a.Trials != len(all) {
		t.Errorf("the answer has %d trials, the run %d", a.Trials, len(all))
	}
}
