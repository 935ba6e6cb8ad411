//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/declare/rundir"
)

const twoArms = `
nearfar: v1
name: lost
baseline: l2
arms:
  l2: {lab: {path: [bridge]}}
  wired: {lab: {path: [{wire: {delay: 10us}}]}}
workloads: [{name: rr, tool: native, mode: rr, duration: 100ms, warmup: 20ms}]
schedule: {blocks: 6, seed: 5}
`

// A disturbedRun is a run of twoArms to which something happened when its third trial had ended.
type disturbedRun struct {
	cmd  *exec.Cmd
	mark string
	// said is what it printed on standard error, dir the directory that it ran in.
	said, dir string
}

// disturbRun starts a run of twoArms, calls do when its third trial has ended, and waits for the end of the run. The
// command line may begin with a program that starts nearfar. On a machine so busy that a trial fails before, the run
// has more trials: it is not disturbed, and another one is started.
func disturbRun(t *testing.T, do func(r *disturbedRun), before ...string) *disturbedRun {
	t.Helper()
	const attempts = 3
	for attempt := 1; ; attempt++ {
		r := &disturbedRun{dir: workspace(t)}
		argv := append(slices.Clone(before), program, "run", "--force", "--progress", "plain", write(t, r.dir, twoArms))
		r.cmd = exec.Command(argv[0], argv[1:]...)
		r.cmd.Dir = r.dir
		r.mark = mark(t, r.cmd)
		disturbed := false
		r.said = runUntil(t, r.cmd, "trial 3/12", func() {
			disturbed = true
			do(r)
		})
		if disturbed {
			return r
		}
		if attempt == attempts {
			t.Fatalf("no run could be disturbed; the last one said\n%s", r.said)
		}
	}
}

// signal sends a signal to nearfar itself.
func (r *disturbedRun) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := r.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// wantInterrupted is wantStopped for a run without trials that failed.
func (r *disturbedRun) wantInterrupted(t *testing.T, before map[string][]string, code int, texts ...string) string {
	t.Helper()
	return r.wantStopped(t, before, code, 0, texts...)
}

// wantStopped sees that the run ended with an exit code, said the texts, was kept as interrupted, with so many trials
// that failed, and left nothing on the machine. It returns the run directory.
func (r *disturbedRun) wantStopped(
	t *testing.T, before map[string][]string, code, failing int, texts ...string,
) string {
	t.Helper()
	if got := r.cmd.ProcessState.ExitCode(); got != code {
		t.Errorf("exit code %d, want %d", got, code)
	}
	for _, text := range texts {
		if !strings.Contains(r.said, text) {
			t.Errorf("does not say %q:\n%s", text, r.said)
		}
	}
	waitForTraces(t, r.mark, before)
	run := onlyRun(t, r.dir)
	if state, failed := stateOf(t, run); state != rundir.Interrupted || failed != failing {
		t.Fatalf("the run is %s, and %d trials failed, want %d", state, failed, failing)
	}
	return run
}

// TestLostLabStopsTheRun: a run whose lab dies stops at once, keeps no trial that was not carried out, says what died,
// and can be resumed.
func TestLostLabStopsTheRun(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ verb, says string }{
		{"lab-init", "the lab's init ended (killed"},
		{"lab-wire", "arm wired: the process that plays the wires"},
	} {
		t.Run(c.verb, func(t *testing.T) {
			t.Parallel()
			before := traces(t, "")
			r := disturbRun(t, func(r *disturbedRun) {
				victims := processesOf(t, r.mark, c.verb)
				if len(victims) == 0 {
					t.Skip("no process of this kind: the kernel plays the wires")
				}
				if err := syscall.Kill(victims[0], syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			})
			run := r.wantInterrupted(t, before, 1,
				"the lab is lost: ", c.says, "was given up", "continue with: nearfar run --resume")
			a := answerOf(t, nearfar(t, r.dir, nil, "run", "-f", "json", "--resume", run), "")
			wantNoFailures(t, a)
			if count := len(trials(t, a)); a.State != rundir.Complete || count != 12 {
				t.Errorf("after the resume the run is %s with %d trials", a.State, count)
			}
		})
	}
}

// TestStoppedLabStopsTheRun: a lab that hangs delays a run for a bounded time.
func TestStoppedLabStopsTheRun(t *testing.T) {
	t.Parallel()
	before := traces(t, "")
	r := disturbRun(t, func(r *disturbedRun) {
		if err := syscall.Kill(processesOf(t, r.mark, "lab-init")[0], syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	})
	r.wantInterrupted(t, before, 1, "it is stopped (SIGSTOP)")
}

// TestHangup: a closed terminal or login ends a run as Ctrl-C does.
func TestHangup(t *testing.T) {
	t.Parallel()
	// If the tests themselves run under nohup, the run would inherit that the signal is ignored. A program that handles
	// a signal starts others with the signal's default.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	defer signal.Stop(handled)
	before := traces(t, "")
	r := disturbRun(t, func(r *disturbedRun) { r.signal(t, syscall.SIGHUP) })
	r.wantInterrupted(t, before, 130, "nearfar run --resume")
}

// TestHangupIgnored: a run that was started with nohup outlives its terminal.
func TestHangupIgnored(t *testing.T) {
	t.Parallel()
	r := disturbRun(t, func(r *disturbedRun) { r.signal(t, syscall.SIGHUP) }, "nohup")
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, r.said)
	}
}

// TestFewFiles: wherever file descriptors run out, the message says so and how to raise the limit. It must not blame a
// container.
func TestFewFiles(t *testing.T) {
	t.Parallel()
	dir := workspace(t)
	name := write(t, dir, twoArms)
	for _, files := range []int{8, 10, 12, 14, 16, 18, 20, 22} {
		limited := "ulimit -n " + strconv.Itoa(files) + `; exec "$0" "$@"`
		cmd := exec.Command("sh", "-c", limited, program, "run", "--force", "--blocks", "1", name)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Logf("%d files are enough", files)
			continue
		}
		said := string(out)
		named := strings.Contains(said, "too many open files") && strings.Contains(said, "ulimit -n")
		if !named || strings.Contains(said, "container") {
			t.Errorf("%d files: %s", files, said)
		}
	}
}

// runUntil starts a command, calls do once it has printed a text on standard error, waits for its end, and returns all
// that it printed there.
func runUntil(t *testing.T, cmd *exec.Cmd, text string, do func()) (said string) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// Longer than a lab that hangs takes to be given up.
	limit := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	defer func() { _ = cmd.Process.Kill() }() // if the test gives up
	var all strings.Builder
	lines := bufio.NewScanner(stderr)
	for done := false; lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if !done && strings.Contains(lines.Text(), text) {
			done = true
			do()
		}
	}
	_ = cmd.Wait() // the caller looks at the exit code
	return all.String()
}

// processesOf lists the processes with the mark that run a verb of nearfar.
func processesOf(t *testing.T, mark, verb string) (pids []int) {
	t.Helper()
	for _, p := range marked(t, mark) {
		if strings.Contains(p.line, " "+verb) {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// A markedProcess has the mark in its environment; line is its command line.
type markedProcess struct {
	pid  int
	line string
}

// marked lists the processes with the mark.
func marked(t *testing.T, mark string) (all []markedProcess) {
	t.Helper()
	for _, pid := range machinePIDs(t) {
		environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || !bytes.Contains(environment, []byte(mark+"\x00")) {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			continue // the process has ended
		}
		all = append(all, markedProcess{pid, strings.ReplaceAll(string(line), "\x00", " ")})
	}
	return all
}

// machinePIDs lists the processes of the machine. filepath.Glob would also read the folder of each process, which takes
// ten times as long.
func machinePIDs(t *testing.T) (pids []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// onlyRun finds the one run directory of a workspace.
func onlyRun(t *testing.T, dir string) string {
	t.Helper()
	runs := runsIn(t, filepath.Join(dir, "runs"))
	if len(runs) != 1 {
		t.Fatalf("run directories: %q", runs)
	}
	return runs[0]
}

// stateOf returns the state of a run and how many of its trials failed.
func stateOf(t *testing.T, run string) (state string, failed int) {
	t.Helper()
	dir, err := rundir.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	return dir.Manifest().State, len(failures(t, run))
}

// failures are the reasons of a run's failed trials, as trialsOf reads them.
func failures(t *testing.T, run string) (reasons []string) {
	t.Helper()
	for _, trial := range trialsOf(t, run) {
		if trial.Error != "" {
			t.Logf("trial %d: %s", trial.Trial, trial.Error)
			reasons = append(reasons, trial.Error)
		}
	}
	return reasons
}
