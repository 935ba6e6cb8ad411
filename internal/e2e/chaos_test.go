//go:build linux

package e2e

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/result"
	"nearfar/internal/declare/rundir"
)

// The environment variables of TestChaos. `make chaos` sets the first.
const (
	// chaosFor is for how long new rounds begin (a duration such as 1h), or how many rounds there are (a number such as
	// 200). Without it, there are chaosRounds rounds.
	chaosFor    = "NEARFAR_CHAOS"
	chaosRounds = 5
	// chaosPlaces are the places from which rounds draw theirs, with commas between them; all by default.
	chaosPlaces = "NEARFAR_CHAOS_PLACES"
	// chaosSeed repeats the rounds of an earlier run, chaosRound only one of them.
	chaosSeed  = "NEARFAR_CHAOS_SEED"
	chaosRound = "NEARFAR_CHAOS_ROUND"
)

// chaosHang is how long a run may go on after its victim was hit. nearfar gives up a lab that hangs sooner.
const chaosHang = 3 * time.Minute

// The places in which the hosts of a round are: namespaces of a lab, hosts with sshd, hosts with TLS agents, and one of
// each of these two.
const (
	placeLab   = "lab"
	placeSSH   = "ssh"
	placeTLS   = "tls"
	placeMixed = "mixed"
)

// TestChaos kills, stops or cuts off a random process of a random run at a random moment. Nothing may be left behind,
// the directory must be whole, a resume must complete the run, and its trials must be those of an undisturbed run.
func TestChaos(t *testing.T) {
	t.Parallel()
	w := chaosWorld{seed: numberFrom(t, chaosSeed, uint64(time.Now().UnixNano()))}
	most, count := chaosLength(t)
	w.places = []string{placeLab}
	if os.Getuid() == 0 {
		w.places = []string{placeLab, placeSSH, placeTLS, placeMixed}
	}
	if text := os.Getenv(chaosPlaces); text != "" {
		w.places = strings.Split(text, ",")
	}
	if !slices.Equal(w.places, []string{placeLab}) {
		w.rig = newSSHRig(t, twoHosts())
	}
	t.Logf("%s=%d", chaosSeed, w.seed)
	if only := numberFrom(t, chaosRound, 0); only > 0 {
		w.newChaos(t, only).round(t)
		return
	}
	ends := map[string]int{}
	rounds := uint64(0)
	for until := time.Now().Add(most); !t.Failed(); {
		if most > 0 && time.Now().After(until) || most == 0 && rounds == count {
			break
		}
		rounds++
		t.Run(fmt.Sprint(rounds), func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("again: %s=%d %s=%d %s=%s", chaosSeed, w.seed, chaosRound, rounds, chaosPlaces,
						strings.Join(w.places, ","))
				}
			}()
			ends[w.newChaos(t, rounds).round(t)]++
		})
	}
	t.Logf("%d rounds", rounds)
	for _, end := range slices.Sorted(maps.Keys(ends)) {
		t.Logf("%4d %s", ends[end], end)
	}
}

// chaosLength says for how long new rounds begin, or, if that is 0, how many there are.
func chaosLength(t *testing.T) (most time.Duration, count uint64) {
	t.Helper()
	text := os.Getenv(chaosFor)
	if text == "" {
		return 0, chaosRounds
	}
	if n, err := strconv.ParseUint(text, 10, 64); err == nil && n > 0 {
		return 0, n
	}
	most, err := time.ParseDuration(text)
	if err != nil || most <= 0 {
		t.Fatalf("%s=%s: want a number of rounds such as 200, or a duration such as 1h", chaosFor, text)
	}
	return most, 0
}

// A chaosWorld is what all rounds share. rig has the hosts that are not a lab's; nil for none.
type chaosWorld struct {
	seed   uint64
	places []string
	rig    *sshRig
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
	place  string
	plan   chaosPlan
	victim string
	// remote is the hosts; nil for a lab's.
	remote *remote
	// trials is how many trials are in the record before after begins; 0 if it begins at the start of the run.
	trials int
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

func (w chaosWorld) newChaos(t *testing.T, round uint64) *chaos {
	t.Helper()
	random := rand.New(rand.NewPCG(w.seed, round))
	c := &chaos{random: random, place: w.places[random.IntN(len(w.places))]}
	victims := chaosVictims
	if c.place == placeLab {
		c.plan = drawPlan(t, random, "", chaosArms, chaosWorkloads)
	} else {
		c.remote = drawRemote(w.rig, random, c.place).on(t)
		victims = c.remote.victims()
		workloads := append(slices.Clone(chaosWorkloads), remoteWorkloads...)
		c.plan = drawPlan(t, random, c.remote.hosts(), remoteArms, workloads)
	}
	c.victim = victims[random.IntN(len(victims))]
	if c.victim == victimWire && !strings.Contains(c.plan.text, "wire:") {
		c.victim = victimInit
	}
	c.after = time.Duration(random.Int64N(int64(c.plan.takes)))
	if c.remote != nil {
		// How long the start takes depends on how busy the machine is.
		if c.trials = random.IntN(len(c.plan.slots)); c.trials > 0 {
			c.after = time.Duration(random.Int64N(int64(600 * time.Millisecond)))
		}
	}
	c.drawSignal()
	return c
}

// drawSignal draws what happens to the victim.
func (c *chaos) drawSignal() {
	n := c.random.IntN(10)
	pause := time.Millisecond + time.Duration(c.random.Int64N(int64(1500*time.Millisecond)))
	switch {
	case c.victim == victimLink || c.victim == victimSSHD:
		c.pause = pause
	case n < 6:
		c.signal = syscall.SIGKILL
	case n < 9 || c.victim != victimMain:
		c.signal, c.pause = syscall.SIGSTOP, pause
	default:
		c.signal = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}[c.random.IntN(3)]
	}
}

// command is nearfar with arguments, and the mark of all that it starts.
func (c *chaos) command(t *testing.T, dir string, args ...string) (cmd *exec.Cmd, own string) {
	t.Helper()
	if c.remote != nil {
		cmd, own = c.remote.command(args...)
	} else {
		cmd = exec.Command(program, args...)
		own = mark(t, cmd)
	}
	cmd.Dir = dir
	return cmd, own
}

// round carries out the round, and says in a few words which process was hit and how the run ended.
func (c *chaos) round(t *testing.T) string {
	before := traces(t, "")
	dir := workspace(t)
	cmd, mark := c.command(t, dir, "run", "--force", "--progress", "plain", write(t, dir, c.plan.text))
	var answered, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &answered, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }() // if the test gives up
	victim, err := c.strike(t, cmd.Process.Pid, mark, dir, ended)
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
	code := cmd.ProcessState.ExitCode()
	after := ""
	if c.struck {
		after = fmt.Sprintf(" %.1f s after", time.Since(c.struckAt).Seconds())
	}
	t.Logf("%s: %s; the run ended with %d (%v)%s", c.place, victim, code, err, after)
	c.nothingLeft(t, mark, before)
	end := c.whole(t, dir, code)
	if end != "" {
		c.says(t, dir, code, end, answered.String(), said.String())
		c.resumes(t, dir, before)
	}
	if t.Failed() {
		t.Logf("%s%s\n%s", answered.Bytes(), said.Bytes(), c.plan.text)
	}
	if !c.struck {
		return c.place + ": nobody"
	}
	what := map[bool]string{true: "stopped", false: "ended"}[c.pause > 0]
	return fmt.Sprintf("%s: %s %s: %s", c.place, c.victim, what, cmp.Or(end, "nothing"))
}

// says checks what a run said at its end, unless it was killed: its answer, and how it goes on.
func (c *chaos) says(t *testing.T, dir string, code int, state, answered, said string) {
	t.Helper()
	if code == -1 {
		return
	}
	if len(c.kept(t, onlyRun(t, dir))) > 0 && !strings.Contains(answered, "trials") {
		t.Errorf("a run that ended with %d printed no answer: %q", code, answered)
	}
	if state == rundir.Interrupted && !strings.Contains(answered+said, "nearfar run --resume ") {
		t.Errorf("a run that ended with %d does not say how it goes on", code)
	}
	if c.remote != nil && c.struck && c.trials > 0 && harmless(c.victim) && code != 0 {
		t.Errorf("the end of a connection ended the run with %d", code)
	}
}

// whole checks what the run left: a manifest that says how the run ended, whole lines, and the files that they name. It
// returns the state, or "" if the run was killed before it kept anything.
func (c *chaos) whole(t *testing.T, dir string, code int) string {
	t.Helper()
	runs := runsIn(t, dir+"/runs")
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
		if c.remote != nil && c.struck && c.trials > 0 && harmless(c.victim) {
			t.Errorf("trial %d was lost with a connection: %s", trial.Trial, trial.Error)
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
func (c *chaos) resumes(t *testing.T, dir string, before map[string][]string) {
	t.Helper()
	run := onlyRun(t, dir)
	a := c.resume(t, run, before)
	if a.State == rundir.Complete && a.Failed > a.Replaced {
		a = c.resume(t, run, before, "--retry-failed")
		if a.Failed > a.Replaced {
			t.Errorf("trials fail also when nobody disturbs them: %d failed, %d replaced", a.Failed, a.Replaced)
		}
	}
	if a.State != rundir.Complete {
		t.Errorf("after the resume the run is %s", a.State)
	}
	c.sameTrials(t, run, a)
}

func (c *chaos) resume(t *testing.T, run string, before map[string][]string, flags ...string) answer.Answer {
	t.Helper()
	cmd, mark := c.command(t, "", append([]string{"run", "-f", "json", "--resume", run}, flags...)...)
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
	c.nothingLeft(t, mark, before)
	return answerOf(t, stdout.Bytes(), "")
}

// nothingLeft waits until the run has left nothing on the machine.
func (c *chaos) nothingLeft(t *testing.T, mark string, before map[string][]string) {
	t.Helper()
	if c.remote != nil {
		c.remote.nothingLeft(mark)
		return
	}
	waitForTraces(t, mark, before)
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}
