//go:build linux

package e2e

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"nearfar/internal/declare/rundir"
)

// shared is faulty with fewer blocks.
func (r *sshRig) shared() string {
	return strings.NewReplacer("SILENCE", "1m", "blocks: 8", "blocks: 4").Replace(r.addressed(faulty))
}

// wantWhole checks the result of a run that must be complete, with nothing lost and nothing left.
func (r *sshRig) wantWhole(cmd *exec.Cmd, mark, said string, stdout []byte) {
	r.t.Helper()
	if code := cmd.ProcessState.ExitCode(); code != 0 {
		r.t.Fatalf("exit code %d\n%s", code, said)
	}
	a := answerOf(r.t, stdout, r.dir)
	wantNoFailures(r.t, a)
	if a.Trials != 4 || a.State != rundir.Complete {
		r.t.Errorf("the run is %s and has %d trials, want 4", a.State, a.Trials)
	}
	r.wantNothingLeft(leftLimit)
	if left := marked(r.t, mark); len(left) > 0 {
		r.t.Errorf("left on nearfar's side: %v", left)
	}
}

// logins counts who has logged in at a host's sshd.
func (r *sshRig) logins(name string) int { return strings.Count(r.log(name), "Accepted publickey") }

// log is what the sshd of a host has logged.
func (r *sshRig) log(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, "sshd-"+name+".log"))
	r.must(err)
	return string(data)
}

// A sharedMaster is the user's own ssh to a host, whose connection other ssh use.
type sharedMaster struct {
	r    *sshRig
	name string
	cmd  *exec.Cmd
}

// newMasters puts a configuration with ControlMaster before the rig's, and starts a master for each host.
func (r *sshRig) newMasters() map[string]*sharedMaster {
	r.t.Helper()
	r.save("master_config", fmt.Sprintf("Host *\n\tControlMaster auto\n\tControlPath %s/%%n\n\tControlPersist 10m\n"+
		"Include %s\n", r.dir, r.config))
	r.config = filepath.Join(r.dir, "master_config")
	masters := map[string]*sharedMaster{}
	for name := range r.hosts {
		m := &sharedMaster{r: r, name: name}
		m.cmd = exec.Command("ssh", "-F", r.config, "-o", "ControlPersist=no", "-M", "-N", name)
		r.must(inSpace(r.controller, m.cmd.Start))
		r.t.Cleanup(m.kill)
		waitUntil(r.t, "the master for "+name, func() []bool {
			if m.serves() {
				return []bool{true}
			}
			return nil
		})
		masters[name] = m
	}
	return masters
}

// serves asks the master.
func (m *sharedMaster) serves() bool {
	return exec.Command("ssh", "-F", m.r.config, "-O", "check", m.name).Run() == nil
}

// kill kills the master; it may have ended.
func (m *sharedMaster) kill() {
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
}

// TestRunOverMaster: a whole run goes over the user's own ControlMaster, which stays. If the master is killed in
// mid-trial, the run goes on without it and loses no trial.
func TestRunOverMaster(t *testing.T) {
	t.Parallel()
	r := newSSHRig(t, twoHosts())
	masters := r.newMasters()
	file := write(t, r.dir, r.shared())
	for _, killed := range []bool{false, true} {
		before := r.logins("client") + r.logins("server")
		cmd, mark := r.run(file)
		struck := false
		said, stdout := r.follow(cmd, func(line string) {
			if killed && !struck && strings.Contains(line, "trial 2/") {
				struck = true
				r.inMidTrial()
				masters["server"].kill()
			}
		})
		r.wantWhole(cmd, mark, said, stdout)
		logins := r.logins("client") + r.logins("server") - before
		switch {
		case !killed && logins != 0:
			t.Errorf("the run logged in %d times beside the masters", logins)
		case killed && (!struck || logins == 0):
			t.Errorf("the master was killed: %t; %d logins", struck, logins)
		}
		if !masters["client"].serves() || masters["server"].serves() == killed {
			t.Errorf("the masters serve: %t and %t", masters["client"].serves(), masters["server"].serves())
		}
		r.must(os.RemoveAll(filepath.Join(r.dir, "runs")))
	}
}

// maxStartups is how many connections that have not logged in the sshd of TestRunWithFullSSHD takes.
const maxStartups = 2

// fill opens maxStartups connections to a host's sshd, which then takes no more. They never log in. free closes them. A
// connection of somebody else that ends just then makes room again, so fewer are not enough.
func (r *sshRig) fill(name string) (free func()) {
	r.t.Helper()
	h := r.hosts[name]
	var open []net.Conn
	free = func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
	r.t.Cleanup(free)
	waitUntil(r.t, "an sshd that takes no more", func() []bool {
		var c net.Conn
		r.must(inSpace(r.controller, func() (err error) {
			c, err = net.DialTimeout("tcp4", fmt.Sprintf("%s:%d", h.control, h.port), time.Minute)
			return err
		}))
		greeting := make([]byte, 4)
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if n, _ := c.Read(greeting); bytes.Equal(greeting[:n], []byte("SSH-")) {
			open = append(open, c)
			return nil
		}
		_ = c.Close()
		if len(open) < maxStartups {
			return nil
		}
		return []bool{true}
	})
	return free
}

// TestRunWithFullSSHD: a run waits for an sshd that is at its MaxStartups when the run starts, or when a connection ends
// in mid-trial, and is complete when it has room again.
func TestRunWithFullSSHD(t *testing.T) {
	t.Parallel()
	r := newSSHRig(t, twoHosts())
	r.sshd = fmt.Sprintf("MaxStartups %[1]d:100:%[1]d\nLoginGraceTime 600\nLogLevel DEBUG1\n", maxStartups)
	server := r.hosts["server"]
	r.killSSHD(server)
	r.serve(server)
	file := write(t, r.dir, r.shared())

	free := r.fill("server")
	cmd, mark := r.run(file)
	waited := false
	said, stdout := r.follow(cmd, func(line string) {
		if strings.Contains(line, "tries again") {
			waited = true
			free()
		}
	})
	r.wantWhole(cmd, mark, said, stdout)
	if !waited {
		t.Errorf("it does not say that it waits:\n%s", said)
	}
	r.must(os.RemoveAll(filepath.Join(r.dir, "runs")))

	cmd, mark = r.run(file)
	dropped := func() int { return strings.Count(r.log("server"), "past MaxStartups") }
	struck := false
	said, stdout = r.follow(cmd, func(line string) {
		if struck || !strings.Contains(line, "trial 2/") {
			return
		}
		struck = true
		r.inMidTrial()
		free := r.fill("server")
		before := dropped()
		for _, p := range marked(t, mark) {
			if strings.HasPrefix(p.line, "ssh ") && strings.Contains(p.line, " server ") {
				r.must(syscall.Kill(p.pid, syscall.SIGKILL))
			}
		}
		waitUntil(t, "a connection that sshd drops", func() []bool {
			if dropped() == before {
				return nil
			}
			return []bool{true}
		})
		free()
	})
	r.wantWhole(cmd, mark, said, stdout)
	if !struck {
		t.Errorf("the run ended before the second trial:\n%s", said)
	}
}
