//go:build linux

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"nearfar/internal/kits/tofutest"
)

// emptier is a tofu that runs the real one, and then empties the state once, after the command that $EMPTIES names:
// OpenTofu does so by itself in a few of hundred interrupts in its last milliseconds. It ends as the real one did.
const emptier = `#!/bin/sh
trap : INT # it waits for the real one
"$REAL_TOFU" "$@"
code=$?
if [ "$1" = "$(cat "$EMPTIES")" ]; then
	: >"$EMPTIES"
	for a; do case $a in -state=*) : >"${a#-state=}" ;; esac; done
fi
exit $code
`

const lostModule = `terraform {
  required_providers {
    stand = { source = "nearfar.test/tests/stand" }
  }
}
variable "cloud" { type = string }
provider "stand" { cloud = var.cloud }
resource "stand_machine" "vm" {
  for_each = toset(["a", "b"])
  name     = each.key
  size     = "SIZE"
}
output "hosts" { value = { vm = { ssh = stand_machine.vm["a"].ssh } } }
`

// A lostState is an experiment whose tofu can empty its state.
type lostState struct {
	*testing.T
	cloud *tofutest.Cloud
	dir   string
	env   []string
}

func newLostState(t *testing.T) *lostState {
	l := &lostState{T: t, cloud: tofutest.NewCloud(t), dir: t.TempDir()}
	l.write("experiment.yaml", askFile)
	l.write("main.tf", strings.Replace(lostModule, "SIZE", "small", 1))
	l.empties("")
	if err := os.Mkdir(filepath.Join(l.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	l.write("bin/tofu", emptier)
	if err := os.Chmod(filepath.Join(l.dir, "bin/tofu"), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for _, one := range l.cloud.Env() {
		if path, ok := strings.CutPrefix(one, "PATH="); ok {
			programs, _, _ := strings.Cut(path, ":")
			l.env = append(l.env, "PATH="+filepath.Join(l.dir, "bin")+":"+path, "REAL_TOFU="+programs+"/tofu")
			continue
		}
		l.env = append(l.env, one)
	}
	l.env = append(l.env, "CLOUD="+l.cloud.Folder, "EMPTIES="+filepath.Join(l.dir, "empties"),
		"XDG_STATE_HOME="+filepath.Join(l.dir, "state"))
	return l
}

func (l *lostState) write(name, text string) {
	l.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o600); err != nil {
		l.Fatal(err)
	}
}

// empties says after which command the state is emptied.
func (l *lostState) empties(command string) { l.write("empties", command+"\n") }

func (l *lostState) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(l.Context(), "nearfar", args...)
	cmd.Dir, cmd.Env = l.dir, append(os.Environ(), l.env...)
	return cmd
}

// runs runs nearfar, and checks its exit code, what it says, and which machines are there then.
func (l *lostState) runs(want int, machines string, says []string, args ...string) {
	l.Helper()
	cmd := l.command(args...)
	said, _ := cmd.CombinedOutput() // the exit code is checked
	if code := cmd.ProcessState.ExitCode(); code != want || fmt.Sprint(l.cloud.Machines()) != machines {
		l.Errorf("nearfar %s: exit code %d, want %d; machines %v, want %s\n%s", strings.Join(args, " "), code, want,
			l.cloud.Machines(), machines, said)
	}
	for _, text := range says {
		if !strings.Contains(string(said), text) {
			l.Errorf("nearfar %s does not say %q:\n%s", strings.Join(args, " "), text, said)
		}
	}
	if l.Failed() {
		l.FailNow()
	}
}

// lostNote is what nearfar says when it finds an emptied state.
const lostNote = "tofu has lost its state while it was asked to end: restoring it"

// A state that tofu empties at its end is restored: what was made is imported, what was there before is kept.
func TestEmptiedState(t *testing.T) {
	t.Parallel()
	l := newLostState(t)
	up := []string{"up", "--yes"}
	down := []string{"down", "experiment.yaml"}

	l.empties("apply")
	l.runs(exitDone, "[a b]", []string{lostNote, `stand_machine.vm["a"]: is in the state again`, "the machines are up"},
		up...)
	// One machine is replaced, the other one was there.
	l.write("main.tf", strings.Replace(strings.Replace(lostModule, `"SIZE"`, `each.key == "a" ? "large" : "small"`, 1),
		"SIZE", "", 1))
	l.empties("apply")
	l.runs(exitDone, "[a b]", []string{lostNote, `stand_machine.vm["a"]: is in the state again`}, up...)
	// A down that loses its state before it has deleted anything knows all of it the next time.
	l.empties("destroy")
	l.cloud.Hold(1) // the first deletion
	cmd := l.command(down...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the first deletion", func() bool { return len(l.cloud.Steps()) > 0 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	l.cloud.Release()
	l.runs(exitDone, "[]", []string{lostNote, "all is deleted"}, down...)
}

// TestEmptiedStateAfterKill: nearfar was killed, and tofu made the machines, and emptied its state.
func TestEmptiedStateAfterKill(t *testing.T) {
	t.Parallel()
	l := newLostState(t)
	l.empties("apply")
	l.cloud.Hold(6) // four plans, the begin and the end of a creation
	cmd := l.command("up", "--yes")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "a machine", func() bool { return len(l.cloud.Machines()) > 0 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	l.cloud.Release()
	l.runs(exitDone, "[]", []string{lostNote, "all is deleted"}, "down", "experiment.yaml")
}

// What cannot be imported is never forgotten: up refuses to make it again, and down names it until it is gone.
func TestLostState(t *testing.T) {
	t.Parallel()
	l := newLostState(t)
	// An output that does not need both machines: tofu computes outputs when it imports.
	l.write("main.tf", strings.NewReplacer("SIZE", "small", `stand_machine.vm["a"].ssh`,
		`join("", [for m in stand_machine.vm : m.ssh])`).Replace(lostModule))
	unimportable := filepath.Join(l.cloud.Folder, "unimportable")
	if err := os.WriteFile(unimportable, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l.empties("apply")
	named := []string{
		`stand_machine.vm["a"], which the state does not have: its id is "a-`, `stand_machine.vm["b"], which`,
	}
	refused := append([]string{"resources are there that the state does not have"}, named...)
	l.runs(exitFailed, "[a b]", append([]string{lostNote, "it cannot be imported", "What was made is kept"}, refused...),
		"up", "--yes", "--on-failure", "keep")
	l.runs(exitFailed, "[a b]", refused, "up", "--yes")
	l.runs(exitFailed, "[a b]", append([]string{"2 resources are left"}, named...), "down", "experiment.yaml")
	// One is deleted by hand; then both can be imported.
	files, err := filepath.Glob(filepath.Join(l.cloud.Folder, "machines", "a-*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %q", err, files)
	}
	for _, file := range []string{files[0], unimportable} {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	l.runs(exitDone, "[]", []string{`stand_machine.vm["a"]: is not there any more`,
		`stand_machine.vm["b"]: is in the state again`, "all is deleted"}, "down", "experiment.yaml")
}

// waitUntil waits until something is the case.
func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}
