//go:build linux

package e2e

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/rundir"
)

const bridgeAndWire = `
nearfar: v1
name: bridge-and-wire
baseline: l2
arms:
  l2: {lab: {path: [bridge]}}
  wired: {lab: {path: [{wire: {delay: 10us}}]}}
workloads: [{name: rr, tool: native, mode: rr, duration: 100ms, warmup: 20ms}]
schedule: {blocks: 6, seed: 5}
`

// A run whose lab dies under it stops at once, keeps no trial that was not tried, says what died, and can be resumed.
func TestLostLabStopsTheRun(t *testing.T) {
	for _, c := range []struct{ verb, says string }{
		{"lab-init", "the lab's init ended (killed"},
		{"lab-wire", "arm wired: the process that plays the wires"},
	} {
		t.Run(c.verb, func(t *testing.T) {
			before := traces(t, "")
			dir := workspace(t)
			cmd := exec.Command(program, "run", "--force", "--progress", "plain", write(t, dir, bridgeAndWire))
			cmd.Dir = dir
			mark := mark(t, cmd)
			said := runUntil(t, cmd, "trial 3/12", func() {
				victims := processesOf(t, mark, c.verb)
				if len(victims) == 0 {
					t.Skip("no process of this kind: the kernel plays the wires")
				}
				if err := syscall.Kill(victims[0], syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			})
			if code := cmd.ProcessState.ExitCode(); code != 1 {
				t.Errorf("exit code %d, want 1", code)
			}
			for _, text := range []string{
				"the lab is lost: ", c.says, "was given up", "continue with: nearfar run --resume",
			} {
				if !strings.Contains(said, text) {
					t.Errorf("does not say %q:\n%s", text, said)
				}
			}
			waitForTraces(t, mark, before)
			run := onlyRun(t, dir)
			if state, failed := stateOf(t, run); state != rundir.Interrupted || failed > 0 {
				t.Errorf("the run is %s, and %d trials failed", state, failed)
			}
			a := answerOf(t, nearfar(t, dir, nil, "run", "-f", "json", "--resume", run), "")
			if a.State != rundir.Complete || a.Trials != 12 || a.Failed > 0 {
				t.Errorf("after the resume the run is %s with %d trials, of which %d failed", a.State, a.Trials,
					a.Failed)
			}
		})
	}
}

// A lab that hangs holds a run up for a bounded time.
func TestStoppedLabStopsTheRun(t *testing.T) {
	before := traces(t, "")
	dir := workspace(t)
	cmd := exec.Command(program, "run", "--force", "--progress", "plain", write(t, dir, bridgeAndWire))
	cmd.Dir = dir
	mark := mark(t, cmd)
	said := runUntil(t, cmd, "trial 3/12", func() {
		if err := syscall.Kill(processesOf(t, mark, "lab-init")[0], syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
	})
	if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(said, "it is stopped (SIGSTOP)") {
		t.Errorf("exit code %d\n%s", code, said)
	}
	if state, failed := stateOf(t, onlyRun(t, dir)); state != rundir.Interrupted || failed > 0 {
		t.Errorf("the run is %s, and %d trials failed", state, failed)
	}
	waitForTraces(t, mark, before)
}

// A closed terminal or login ends a run as Ctrl-C does.
func TestHangup(t *testing.T) {
	before := traces(t, "")
	dir := workspace(t)
	cmd := exec.Command(program, "run", "--force", "--progress", "plain", write(t, dir, bridgeAndWire))
	cmd.Dir = dir
	mark := mark(t, cmd)
	said := runUntil(t, cmd, "trial 3/12", func() {
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	})
	if code := cmd.ProcessState.ExitCode(); code != 130 || !strings.Contains(said, "nearfar run --resume") {
		t.Errorf("exit code %d, want 130\n%s", code, said)
	}
	if state, failed := stateOf(t, onlyRun(t, dir)); state != rundir.Interrupted || failed > 0 {
		t.Errorf("the run is %s, and %d trials failed", state, failed)
	}
	waitForTraces(t, mark, before)
}

// A run that was started to outlive its terminal does.
func TestHangupIgnored(t *testing.T) {
	dir := workspace(t)
	cmd := exec.Command("nohup", program, "run", "--force", "--progress", "plain", write(t, dir, bridgeAndWire))
	cmd.Dir = dir
	said := runUntil(t, cmd, "trial 3/12", func() {
		if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
	})
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit code %d, want 0\n%s", code, said)
	}
}

// Too few file descriptors are said to be that, whenever they run out, and blamed on no container.
func TestFewFiles(t *testing.T) {
	dir := workspace(t)
	name := write(t, dir, bridgeAndWire)
	for _, files := range []int{8, 10, 12, 14, 16, 18, 20, 22} {
		script := "ulimit -n " + strconv.Itoa(files) + `; exec "$0" "$@"`
		cmd := exec.Command("sh", "-c", script, program, "run", "--force", "--blocks", "1", name)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Logf("%d files are enough", files)
			continue
		}
		if !bytes.Contains(out, []byte("too many open files")) || !bytes.Contains(out, []byte("ulimit -n")) ||
			bytes.Contains(out, []byte("container")) {
			t.Errorf("%d files: %s", files, out)
		}
	}
}

// runUntil starts a run, does something once it has printed a text, and gives all that it said on standard error
// when it has ended.
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
	defer func() { _ = cmd.Process.Kill() }() // where the test gives up
	var all strings.Builder
	lines := bufio.NewScanner(stderr)
	for done := false; lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if !done && strings.Contains(lines.Text(), text) {
			done = true
			do()
		}
	}
	_ = cmd.Wait() // its exit code is asked for later
	return all.String()
}

// processesOf lists the processes with the mark that run a verb of the program.
func processesOf(t *testing.T, mark, verb string) (pids []int) {
	t.Helper()
	for _, p := range marked(t, mark) {
		if strings.Contains(p.line, " "+verb) {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// A markedProcess is one with a mark in its environment.
type markedProcess struct {
	pid  int
	line string
}

func marked(t *testing.T, mark string) (all []markedProcess) {
	t.Helper()
	for _, name := range glob(t, "/proc/[0-9]*/environ") {
		environment, err := os.ReadFile(name)
		if err != nil || !bytes.Contains(environment, []byte(mark+"\x00")) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err != nil {
			t.Fatal(err)
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(name), "cmdline"))
		if err != nil {
			continue // it has ended meanwhile
		}
		all = append(all, markedProcess{pid, strings.ReplaceAll(string(line), "\x00", " ")})
	}
	return all
}

// onlyRun finds the one run directory of a workspace.
func onlyRun(t *testing.T, dir string) string {
	t.Helper()
	runs := glob(t, filepath.Join(dir, "runs", "*"))
	if len(runs) != 1 {
		t.Fatalf("run directories: %q", runs)
	}
	return runs[0]
}

// stateOf reads the state of a run, and how many of its trials failed.
func stateOf(t *testing.T, run string) (state string, failed int) {
	t.Helper()
	dir, err := rundir.Open(run)
	if err != nil {
		t.Fatal(err)
	}
	all, err := dir.Trials()
	if err != nil {
		t.Fatal(err)
	}
	for _, trial := range all {
		if trial.Error != "" {
			t.Logf("trial %d: %s", trial.Trial, trial.Error)
			failed++
		}
	}
	return dir.Manifest().State, failed
}
