//go:build linux

package e2e

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/answer"
	"nearfar/internal/result"
	"nearfar/internal/rundir"
)

// The environment variables of TestChaos. `make chaos` sets the first.
const (
	// chaosTime is for how long new rounds begin: a duration such as 1h. Without it, there are chaosRounds rounds.
	chaosTime   = "NEARFAR_CHAOS_TIME"
	chaosRounds = 5
	// chaosSeed repeats the rounds of an earlier run, chaosRound only one of them.
	chaosSeed  = "NEARFAR_CHAOS_SEED"
	chaosRound = "NEARFAR_CHAOS_ROUND"
)

// chaosHang is how long a run may go on after its victim was hit. nearfar gives up a lab that hangs sooner.
const chaosHang = 3 * time.Minute

// TestChaos kills or stops a random process of a random run at a random moment. Nothing may be left behind, the
// directory must be whole, a resume must complete the run, and its trials must be those of an undisturbed run.
func TestChaos(t *testing.T) {
	t.Parallel()
	seed, most := numberFrom(t, chaosSeed, uint64(time.Now().UnixNano())), time.Duration(0)
	if text := os.Getenv(chaosTime); text != "" {
		var err error
		if most, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", chaosTime, err)
		}
	}
	t.Logf("%s=%d", chaosSeed, seed)
	if only := numberFrom(t, chaosRound, 0); only > 0 {
		newChaos(t, seed, only).round(t)
		return
	}
	ends := map[string]int{}
	rounds := uint64(0)
	for until := time.Now().Add(most); !t.Failed(); {
		if most > 0 && time.Now().After(until) || most == 0 && rounds == chaosRounds {
			break
		}
		rounds++
		t.Run(fmt.Sprint(rounds), func(t *testing.T) {
			c := newChaos(t, seed, rounds)
			defer func() {
				if t.Failed() {
					t.Logf("again: %s=%d %s=%d", chaosSeed, seed, chaosRound, rounds)
				}
			}()
			ends[c.round(t)]++
		})
	}
	t.Logf("%d rounds, by victim and end: %v", rounds, ends)
}

// numberFrom reads a number from an environment variable that need not be set.
func numberFrom(t *testing.T, variable string, otherwise uint64) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return n
}

// A chaos is one round: an experiment, a victim, what happens to it, and when.
type chaos struct {
	random *rand.Rand
	plan   chaosPlan
	victim string
	// after is the moment, from the start of the run; signal is sent to the victim. After pause the victim gets
	// SIGCONT, unless pause is 0.
	after  time.Duration
	signal syscall.Signal
	pause  time.Duration
	// struck says that the victim existed at that moment and got the signal.
	struck bool
	// struckAt is the time of the signal.
	struckAt time.Time
}

func newChaos(t *testing.T, seed, round uint64) *chaos {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, round))
	c := &chaos{random: random, plan: drawPlan(t, random)}
	c.victim = chaosVictims[random.IntN(len(chaosVictims))]
	if c.victim == victimWire && !strings.Contains(c.plan.text, "wire:") {
		c.victim = victimInit
	}
	c.after = time.Duration(random.Int64N(int64(c.plan.takes)))
	switch n := random.IntN(10); {
	case n < 6:
		c.signal = syscall.SIGKILL
	case n < 9 || c.victim != victimMain:
		c.signal, c.pause = syscall.SIGSTOP, time.Millisecond+time.Duration(random.Int64N(int64(1500*time.Millisecond)))
	default:
		c.signal = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[random.IntN(3)]
	}
	return c
}

// round carries out the round, and says in a few words which process was hit and how the run ended.
func (c *chaos) round(t *testing.T) string {
	before := traces(t, "")
	dir := workspace(t)
	cmd := exec.Command(program, "run", "--force", "--progress", "plain", write(t, dir, c.plan.text))
	cmd.Dir = dir
	mark := mark(t, cmd)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }() // if the test gives up
	victim, err := c.strike(t, cmd.Process.Pid, mark, ended)
	if err == nil {
		select {
		case err = <-ended:
		case <-time.After(chaosHang):
			t.Fatalf("%s: the run hangs for %v after it\n%s\n%s", victim, chaosHang, said.Bytes(), c.plan.text)
		}
	}
	if errors.Is(err, errEnded) {
		err = nil
	}
	t.Logf("%s; the run ended with %d (%v)", victim, cmd.ProcessState.ExitCode(), err)
	c.nothingLeft(t, mark, before)
	end := c.whole(t, dir, cmd.ProcessState.ExitCode())
	if end != "" {
		c.resumes(t, dir, mark, before)
	}
	if t.Failed() {
		t.Logf("%s\n%s", said.Bytes(), c.plan.text)
	}
	if !c.struck {
		return "nobody"
	}
	what := map[bool]string{true: "stopped", false: "ended"}[c.pause > 0]
	return fmt.Sprintf("%s %s: %s", c.victim, what, cmp.Or(end, "nothing"))
}

// whole checks what the run left: a manifest that says how the run ended, whole lines, and the files that they name. It
// returns the state, or "" if the run was killed before it kept anything.
func (c *chaos) whole(t *testing.T, dir string, code int) string {
	t.Helper()
	runs := glob(t, dir+"/runs/*")
	if len(runs) == 0 || !exists(runs[0]+"/run.json") && !exists(runs[0]+"/trials.jsonl") {
		return ""
	}
	kept := c.kept(t, runs[0])
	for _, trial := range kept {
		for _, name := range append(trial.Raw, trial.Histogram) {
			if name != "" && !exists(runs[0]+"/"+name) {
				t.Errorf("trial %d names %s, which is not there", trial.Trial, name)
			}
		}
		if trial.Error == "" {
			continue
		}
		t.Logf("trial %d (%s, %s): %s", trial.Trial, trial.Arm, trial.Workload, trial.Error)
		// On a busy machine a trial can fail by itself. It had ended if another trial started before the signal.
		ended := slices.ContainsFunc(kept, func(other result.Trial) bool {
			return other.Started.After(trial.Started) && other.Started.Before(c.struckAt)
		})
		if ended {
			continue
		}
		if c.signal == syscall.SIGKILL && (c.victim == victimMain || c.victim == victimInit || c.victim == victimWire) {
			t.Errorf("trial %d was not carried out, and is kept: %s", trial.Trial, trial.Error)
		}
	}
	run, err := rundir.Open(runs[0])
	if err != nil {
		t.Fatal(err)
	}
	state := run.Manifest().State
	wants := map[int]string{0: rundir.Complete, 130: rundir.Interrupted, -1: rundir.Running}
	if code == -1 && state == rundir.Complete {
		wants[code] = state // killed while it printed the answer
	}
	if want := wants[code]; want != "" && state != want {
		t.Errorf("a run that ended with %d is %s", code, state)
	}
	return state
}

// resumes resumes the run until it is complete, repeats the trials that failed, and compares all trials with the
// schedule.
func (c *chaos) resumes(t *testing.T, dir, mark string, before map[string][]string) {
	t.Helper()
	run := onlyRun(t, dir)
	a := c.resume(t, mark, run)
	if a.State == rundir.Complete && a.Failed > a.Replaced {
		a = c.resume(t, mark, run, "--retry-failed")
		if a.Failed > a.Replaced {
			t.Errorf("trials fail also when nobody disturbs them: %d failed, %d replaced", a.Failed, a.Replaced)
		}
	}
	if a.State != rundir.Complete {
		t.Errorf("after the resume the run is %s", a.State)
	}
	c.sameTrials(t, run, a)
	c.nothingLeft(t, mark, before)
}

func (c *chaos) resume(t *testing.T, mark, run string, flags ...string) answer.Answer {
	t.Helper()
	cmd := exec.Command(program, append([]string{"run", "-f", "json", "--resume", run}, flags...)...)
	cmd.Env = append(os.Environ(), mark)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 && stdout.Len() > 0 {
		err = nil // most of its few trials failed
	}
	if err != nil {
		t.Fatalf("the resume: %v\n%s", err, stderr.Bytes())
	}
	return answerOf(t, stdout.Bytes(), "")
}

// nothingLeft waits until the run has left nothing on the machine.
func (c *chaos) nothingLeft(t *testing.T, mark string, before map[string][]string) {
	t.Helper()
	waitForTraces(t, mark, before)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
