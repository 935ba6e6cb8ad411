//go:build linux

package ssh

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/host"
)

// A master is an ssh of the user that others use.
type master struct {
	config, socket string
	cmd            *exec.Cmd
}

// newMaster starts a master for the host plain, and waits until it serves. Its configuration makes any ssh a master.
func newMaster(t *testing.T, r *rig) *master {
	t.Helper()
	dir, err := os.MkdirTemp(r.dir, "master") // a short path, for the socket
	if err != nil {
		t.Fatal(err)
	}
	m := &master{config: filepath.Join(dir, "config"), socket: filepath.Join(dir, "socket")}
	text := fmt.Sprintf("Host *\n\tControlMaster auto\n\tControlPath %s\n\tControlPersist 10m\nInclude %s\n", m.socket,
		r.config)
	if err := os.WriteFile(m.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	m.cmd = exec.Command("ssh", "-F", m.config, "-o", "ControlPersist=no", "-M", "-N", "ordinary@plain")
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = m.cmd.Process.Kill() // it may have ended
		_ = m.cmd.Wait()
	})
	waitFor(t, "the master", func() bool { return m.serves() })
	return m
}

// serves asks the master.
func (m *master) serves() bool {
	return exec.Command("ssh", "-F", m.config, "-O", "check", "ordinary@plain").Run() == nil
}

func (m *master) signal(t *testing.T, signal syscall.Signal) {
	t.Helper()
	if err := m.cmd.Process.Signal(signal); err != nil {
		t.Fatal(err)
	}
}

// kill kills the master. Its socket stays.
func (m *master) kill(t *testing.T) {
	t.Helper()
	m.signal(t, syscall.SIGKILL)
	_ = m.cmd.Wait()
	if !exists(m.socket) {
		t.Fatal("the killed master leaves no socket")
	}
}

// notes are what the user was told.
type notes struct {
	mu  sync.Mutex
	all []string
}

func (n *notes) add(text string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, text)
}

func (n *notes) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return strings.Join(n.all, "\n")
}

// countTo starts a process on the host that counts, and gives its output.
func countTo(t *testing.T, c *connected, most int) (p host.Process, out *lineCounter, want string) {
	t.Helper()
	out = &lineCounter{}
	p, err := c.Host().Start(t.Context(), host.Cmd{Stdout: out, Argv: []string{"sh", "-c", fmt.Sprintf(
		"i=0; while [ $i -lt %d ]; do i=$((i+1)); echo $i; sleep 0.02; done", most)}})
	if err != nil {
		t.Fatal(err)
	}
	for i := 1; i <= most; i++ {
		want += fmt.Sprintln(i)
	}
	return p, out, want
}

// TestMaster: the user's master is used and stays. Sessions go on without one that dies, hangs or has left its socket.
func TestMaster(t *testing.T) {
	r := useRig(t)
	options := func(m *master) (Options, *notes) {
		o, n := r.realOptions("ordinary@plain", 0), &notes{}
		o.Agent.Name, o.Config, o.Note = "vm-a", m.config, n.add
		return o, n
	}
	logins := func() int { return len(children(t, r.sshd["plain"].Process.Pid)) }
	t.Run("used", func(t *testing.T) {
		leavesNothing(t, r)
		m := newMaster(t, r)
		before := logins()
		o, said := options(m)
		c := connectReal(t, o)
		if got := logins(); got != before {
			t.Errorf("%d logins, %d before: the master is not used", got, before)
		}
		p, out, want := countTo(t, c, 3)
		if err := p.Wait(); err != nil || out.String() != want {
			t.Errorf("%v, %q", err, out)
		}
		c.killSSH()
		waitFor(t, "another connection", func() bool { return c.dials.Load() == 2 })
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if !m.serves() || said.String() != "" {
			t.Errorf("the master serves: %t; said %q", m.serves(), said)
		}
	})
	t.Run("dies", func(t *testing.T) {
		leavesNothing(t, r)
		m := newMaster(t, r)
		o, _ := options(m)
		c := connectReal(t, o)
		p, out, want := countTo(t, c, 100)
		waitFor(t, "output", func() bool { return out.lines() > 10 })
		m.kill(t)
		if err := p.Wait(); err != nil || out.String() != want || c.dials.Load() != 2 {
			t.Errorf("%v after %d connections, output %q", err, c.dials.Load(), out)
		}
		if !exists(m.socket) {
			t.Error("the user's socket is gone")
		}
	})
	t.Run("stale", func(t *testing.T) {
		leavesNothing(t, r)
		m := newMaster(t, r)
		m.kill(t)
		o, _ := options(m)
		connectReal(t, o)
		if !exists(m.socket) {
			t.Error("the user's socket is gone")
		}
	})
	t.Run("hangs", func(t *testing.T) {
		leavesNothing(t, r)
		m := newMaster(t, r)
		m.signal(t, syscall.SIGSTOP)
		o, said := options(m)
		begun := time.Now()
		connectReal(t, o)
		t.Logf("connected after %v", time.Since(begun).Round(time.Millisecond))
		if got := said.String(); !strings.Contains(got, "master at "+m.socket) ||
			!strings.Contains(got, "connects without it") {
			t.Errorf("said %q", got)
		}
		m.signal(t, syscall.SIGCONT)
		if !m.serves() {
			t.Error("the master does not serve any more")
		}
	})
	t.Run("hangs in a run", func(t *testing.T) {
		if os.Getenv(allHosts) == "" {
			t.Skipf("it takes half a minute: set %s", allHosts)
		}
		leavesNothing(t, r)
		m := newMaster(t, r)
		o, _ := options(m)
		c := connectReal(t, o)
		p, out, want := countTo(t, c, 200)
		waitFor(t, "output", func() bool { return out.lines() > 10 })
		m.signal(t, syscall.SIGSTOP)
		begun := time.Now()
		if err := p.Wait(); err != nil || out.String() != want {
			t.Errorf("%v, output %q", err, out)
		}
		t.Logf("all came %v after the master hung", time.Since(begun).Round(time.Millisecond))
	})
}

// fullPort is the port of an sshd that allows two connections without a login.
const fullPort = 2225

// fill starts that sshd on the host plain, and opens two connections. free closes them.
func fill(t *testing.T, r *rig) (config string, free func()) {
	t.Helper()
	dir := t.TempDir()
	config = filepath.Join(dir, "config")
	text := fmt.Sprintf("Host full\n\tHostName %s\n\tPort %d\n\tUser ordinary\n\tHostKeyAlias %[1]s\nInclude %[3]s\n",
		plainAddress, fullPort, r.config)
	server := fmt.Sprintf("Port %d\nListenAddress %s\nHostKey %s/hostkey\nPidFile none\nStrictModes no\nUsePAM no\n"+
		"AuthorizedKeysFile %[3]s/authorized\nMaxStartups 2:100:2\nLoginGraceTime 600\n", fullPort, plainAddress, r.dir)
	err := errors.Join(os.WriteFile(config, []byte(text), 0o600),
		os.WriteFile(filepath.Join(dir, "sshd"), []byte(server), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	sshd := exec.Command("/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(dir, "sshd"))
	sshd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := r.in("plain", sshd.Start); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = unix.Kill(-sshd.Process.Pid, unix.SIGKILL)
		_ = sshd.Wait()
	})
	var open []net.Conn
	free = func() {
		for _, c := range open {
			_ = c.Close()
		}
	}
	t.Cleanup(free)
	waitFor(t, "two connections to sshd", func() bool {
		if len(open) < 2 {
			c, err := net.Dial("tcp", net.JoinHostPort(plainAddress, strconv.Itoa(fullPort)))
			if err == nil {
				open = append(open, c)
			}
		}
		return len(open) == 2 && len(children(t, sshd.Process.Pid)) == 2
	})
	return config, free
}

// TestFullSSHD: an sshd that takes no more logins is asked again, a few times; the error says so, and what ssh said.
func TestFullSSHD(t *testing.T) {
	r := useRig(t)
	config, free := fill(t, r)
	o := r.options("full")
	said := &notes{}
	o.Config, o.Note = config, said.add
	d := &dialer{o: o, pauses: []time.Duration{10 * time.Millisecond, 20 * time.Millisecond}}
	if os.Getenv(allHosts) != "" {
		d.pauses = pauses()
	}
	begun := time.Now()
	c, err := d.dial(t.Context())
	if err == nil {
		_ = c.Close()
		t.Fatal("the host was reached")
	}
	took := time.Since(begun)
	t.Logf("after %v: %v", took.Round(time.Millisecond), err)
	if most := 20*time.Second + 4*time.Second; took > most {
		t.Errorf("it took %v, want at most %v", took, most)
	}
	var failure *Error
	if !errors.As(err, &failure) || failure.Cause != Closed {
		t.Errorf("the cause is not %q: %v", Closed, err)
	}
	for _, want := range []string{"ssh full: ", "closed the connection before the login", "MaxStartups",
		fmt.Sprintf("nearfar tried %d times in", len(d.pauses)+1), "ssh says: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %q", err, want)
		}
	}
	if got := strings.Count(said.String(), "tries again"); got != 1 {
		t.Errorf("said %q", said)
	}
	// As soon as there is room, the next attempt logs in.
	o.Note = func(string) { free() }
	c, err = Dial(o)(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}
