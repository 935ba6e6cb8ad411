//go:build linux

package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/declare/rundir"
)

// fullDisk runs nearfar on a file system of its own, and resumes the run after its exit once a file is removed:
// DIRECTORY PROGRAM EXPERIMENT. The trials are kept in DIRECTORY.jsonl, because the file system goes with the process.
const fullDisk = `
mount -t tmpfs -o size=4m nearfar-test "$0"
"$1" run --force --progress plain --out "$0" "$2" >&2
echo "exit code $?" >&2
rm "$0/filler"
"$1" run -f json --resume "$0"/2*
code=$?
cp "$0"/2*/trials.jsonl "$0.jsonl" >&2
exit $code
`

// A run whose disk gets full says so, says how to go on, and goes on once there is room.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root may mount a small file system")
	}
	dir := workspace(t)
	disk := filepath.Join(dir, "disk")
	if err := os.Mkdir(disk, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", fullDisk, disk, program, write(t, dir, twoArms))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS} // the mount ends with the process
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	said := runUntil(t, cmd, "trial 3/", func() {
		fill(t, filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "root", disk, "filler"))
	})
	if strings.Contains(said, "mount: ") {
		t.Skipf("no file system can be mounted here: %s", said)
	}
	for _, text := range []string{"no space left on device", "continue with: nearfar run --resume " + disk,
		"exit code 1\n"} {
		if !strings.Contains(said, text) {
			t.Errorf("does not say %q:\n%s", text, said)
		}
	}
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		t.Fatalf("the resumed run ended with %d:\n%s", code, said)
	}
	a := answerOf(t, stdout.Bytes(), "")
	if a.State != rundir.Complete || a.Trials-a.Failed != 12 {
		t.Errorf("after the resume the run is %s with %d trials, of which %d failed", a.State, a.Trials, a.Failed)
	}
	// On a busy machine a trial can fail, and is repeated. The disk is no reason for that.
	kept, err := os.ReadFile(disk + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(kept, []byte("space left")) {
		t.Errorf("a trial failed because the disk was full:\n%s", kept)
	} else if a.Failed > 0 {
		t.Logf("trials that failed:\n%s", kept)
	}
}

// fill writes a file until the file system is full.
func fill(t *testing.T, name string) {
	t.Helper()
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// A lab whose first process the kernel kills because memory runs out is lost: the run stops as interrupted, says what
// died, and can be resumed.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	group := memoryGroup(t, 40<<20)
	dir := workspace(t)
	cmd := exec.Command(program, "run", "--force", "--progress", "plain", write(t, dir, twoArms))
	cmd.Dir = dir
	mark := mark(t, cmd)
	said := runUntil(t, cmd, "trial 3/", func() {
		victim := strconv.Itoa(processesOf(t, mark, "lab-init")[0])
		// The kernel kills this process of the group first.
		put(t, "/proc/"+victim+"/oom_score_adj", "1000")
		put(t, filepath.Join(group, "cgroup.procs"), victim)
		hog := exec.Command("sh", "-c", `echo $$ > "$0"; head -c 100m /dev/zero | tail -c 90m > /dev/null`,
			group+"/cgroup.procs")
		if err := hog.Start(); err != nil {
			t.Fatal(err)
		}
		go func() { _ = hog.Wait() }() // it may be killed too
	})
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	for _, text := range []string{
		"the lab is lost: ", "the lab's init ended (killed; the kernel does that where memory runs out",
		"continue with: nearfar run --resume",
	} {
		if !strings.Contains(said, text) {
			t.Errorf("does not say %q:\n%s", text, said)
		}
	}
	run := onlyRun(t, dir)
	if state, _ := stateOf(t, run); state != rundir.Interrupted {
		t.Errorf("the run is %s", state)
	}
	a := answerOf(t, nearfar(t, dir, nil, "run", "-f", "json", "--resume", run), "")
	if a.State != rundir.Complete || a.Trials-a.Replaced != 12 {
		t.Errorf("after the resume the run is %s with %d trials, of which %d are replacements", a.State, a.Trials,
			a.Replaced)
	}
}

// memoryGroup makes a control group that may use so many bytes of memory, and removes it after the test.
func memoryGroup(t *testing.T, limit int) string {
	t.Helper()
	var problems []error
	for _, version := range []struct{ root, limit string }{
		{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"}, {"/sys/fs/cgroup", "memory.max"},
	} {
		group := filepath.Join(version.root, fmt.Sprintf("nearfar-test-%d", os.Getpid()))
		if err := os.Mkdir(group, 0o755); err != nil {
			problems = append(problems, err)
			continue
		}
		t.Cleanup(func() {
			var err error
			for end := time.Now().Add(patience); time.Now().Before(end); { // until its last process has ended
				if err = os.Remove(group); err == nil {
					return
				}
			}
			t.Error(err)
		})
		err := writeExisting(filepath.Join(group, version.limit), strconv.Itoa(limit))
		if err == nil {
			return group
		}
		problems = append(problems, err)
	}
	t.Skipf("no control group with a limit on memory can be made here: %v", errors.Join(problems...))
	return ""
}

// put writes to a file of the kernel.
func put(t *testing.T, name, text string) {
	t.Helper()
	if err := writeExisting(name, text); err != nil {
		t.Fatal(err)
	}
}

// writeExisting writes to a file and does not make it.
func writeExisting(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}
