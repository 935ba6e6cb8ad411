//go:build linux

package ssh

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// A session is a connection to the stand-in for the agent.
type session struct {
	io.ReadWriteCloser
	out *bufio.Reader
	// folder and uid are what the agent says of itself; sudo is "sudo:1" if sudo started it.
	folder, uid, sudo string
}

// dial connects, and reads what the agent says first.
func dial(t *testing.T, dialer agent.Dialer) session {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c, err := dialer(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	s := session{ReadWriteCloser: c, out: bufio.NewReader(c)}
	hello, err := s.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscanf(hello, "hello from %s %s %s", &s.folder, &s.uid, &s.sudo); err != nil {
		t.Fatalf("the agent says %q: %v", hello, err)
	}
	return s
}

// echo sends a text and waits until it comes back.
func (s session) echo(t *testing.T, text string) {
	t.Helper()
	go func() { _, _ = io.WriteString(s, text) }()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(s.out, got); err != nil || string(got) != text {
		t.Fatalf("%d bytes did not come back: %v", len(text), err)
	}
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen within %v", what, patience)
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func TestHosts(t *testing.T) {
	r := useRig(t)
	for _, shell := range []string{"fish", "tcsh"} {
		if _, err := exec.LookPath(shell); err != nil {
			t.Errorf("%v: run scripts/install-tools.sh test", err)
		}
	}
	names := []string{"plain", "behind", "six", "ordinary", "single"}
	for _, a := range accounts() {
		switch a.name {
		case "bash", "bare", "noexec", "fish", "tcsh", "zsh", "busybox":
			names = append(names, a.name+"@plain")
		}
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			o := r.options(name)
			var notes []string
			o.Note = func(s string) { notes = append(notes, s) }
			s := dial(t, Dial(o))
			// Every value of a byte, and more than pipes hold.
			every := make([]byte, 256)
			for i := range every {
				every[i] = byte(i)
			}
			s.echo(t, strings.Repeat(string(every), 4096))
			info, err := os.Stat(s.folder)
			if err != nil || info.Mode().Perm() != 0o700 {
				t.Errorf("the folder's mode is %v (%v)", info.Mode(), err)
			}
			program, err := os.Stat(filepath.Join(s.folder, "nearfar-agent"))
			if err != nil || program.Size() != r.program.Size {
				t.Errorf("the agent is %v (%v)", program, err)
			}
			user, _, ok := strings.Cut(name, "@")
			switch {
			case name == "ordinary":
				user = "ordinary"
			case !ok:
				user = "root"
			}
			for _, a := range accounts() {
				if a.name == user && s.uid != fmt.Sprint(a.uid) {
					t.Errorf("it runs as %s, want %d", s.uid, a.uid)
				}
				if want := a.home(r.dir); a.name == user && user != "noexec" && filepath.Dir(s.folder) != want {
					t.Errorf("the agent is in %s, want it in %s", s.folder, want)
				}
			}
			if user == "noexec" {
				if len(notes) == 0 || !strings.Contains(notes[0], "noexec") || !strings.HasPrefix(s.folder, "/tmp/") {
					t.Errorf("the agent is in %s, and the notes are %q", s.folder, notes)
				}
				_ = os.RemoveAll(s.folder)
			} else if len(notes) > 0 {
				t.Errorf("notes %q", notes)
			}
		})
	}
}

func TestFolder(t *testing.T) {
	r := useRig(t)
	for given, want := range map[string]string{
		"~/deep/folder":      "home/ordinary/deep/folder",
		"relative/to home":   "home/ordinary/relative/to home",
		r.dir + "/it's here": "",
	} {
		o := r.options("ordinary")
		o.Folder = given
		if want == "" {
			// The user cannot make it, but it is there.
			want = "it's here"
			if err := os.Mkdir(given, 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(given, 5001, 5001); err != nil {
				t.Fatal(err)
			}
		}
		connect := Dial(o)
		c, err := connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
		found, err := filepath.Glob(filepath.Join(r.dir, want, "nearfar-*/nearfar-agent"))
		if err != nil || len(found) != 1 {
			t.Errorf("folder %q: found %q (%v)", given, found, err)
		}
	}
}

// TestSudo uses a program in place of sudo, which does not become root but shows that it was used.
func TestSudo(t *testing.T) {
	r := useRig(t)
	for name, want := range map[string]string{"rootsudo@plain": "sudo:1", "plain": "sudo:"} {
		o := r.options(name)
		o.Sudo = true // root needs no sudo
		connect := Dial(o)
		for range 2 {
			s := dial(t, connect)
			if s.sudo != want {
				t.Errorf("%s: %q, want %q", name, s.sudo, want)
			}
			_ = s.Close()
		}
	}
}

// TestAgain ends the connection three times: ssh is killed, the session's sshd is killed, the connection is closed. The
// dialer returns to the same folder, and copies nothing.
func TestAgain(t *testing.T) {
	r := useRig(t)
	connect := Dial(r.options("single"))
	first := dial(t, connect)
	program := filepath.Join(first.folder, "nearfar-agent")
	before, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	s := first
	for name, cut := range map[string]func(s session){
		"ssh killed":  func(s session) { destroy(s.ReadWriteCloser.(*connection).cmd) },
		"sshd killed": func(session) { r.killSessions(t, "single") },
		"closed":      func(s session) { _ = s.Close() },
	} {
		cut(s)
		if _, err := io.Copy(io.Discard, s.out); err == nil {
			t.Errorf("%s: reading ends without an error", name)
		} else if name != "closed" && !strings.Contains(err.Error(), "single: the ssh session ended") {
			t.Errorf("%s: %v", name, err)
		}
		s = dial(t, connect)
		if s.folder != first.folder {
			t.Errorf("%s: now in %s, before in %s", name, s.folder, first.folder)
		}
		s.echo(t, name)
	}
	if after, err := os.Stat(program); err != nil || !os.SameFile(before, after) {
		t.Errorf("the agent was copied again (%v)", err)
	}
	if err := os.RemoveAll(first.folder); err != nil {
		t.Fatal(err)
	}
	if _, err := connect(t.Context()); !errors.Is(err, agent.ErrGone) {
		t.Errorf("an agent that has ended gives %v", err)
	}
}

// killSessions kills the processes of an sshd that serve a connection, by their numbers.
func (r *rig) killSessions(t *testing.T, name string) {
	t.Helper()
	killed := 0
	for _, pid := range children(t, r.sshd[name].Process.Pid) {
		if err := unix.Kill(pid, unix.SIGKILL); err == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Errorf("the sshd of %s serves nobody", name)
	}
}

// children are the numbers of the processes whose parent is pid.
func children(t *testing.T, pid int) []int {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		for word := range strings.FieldsSeq(string(b)) {
			var child int
			if _, err := fmt.Sscan(word, &child); err == nil {
				pids = append(pids, child)
			}
		}
	}
	return pids
}

// TestNothingStays interrupts the bootstrap, and looks for what it left.
func TestNothingStays(t *testing.T) {
	r := useRig(t)
	o := r.options("ordinary")
	o.Folder = "~/interrupted"
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted by the test")
	o.Agents = func(s host.System) (Program, error) {
		cancel(interrupted)
		return r.agents(s)
	}
	if _, err := Dial(o)(ctx); !errors.Is(err, interrupted) {
		t.Fatalf("an interrupted start gives %v", err)
	}
	base := filepath.Join(r.dir, "home/ordinary/interrupted")
	waitFor(t, "the end of the script on the host", func() bool {
		found, err := filepath.Glob(base + "/nearfar-*")
		return err == nil && len(found) == 0
	})
}

// TestSettings undoes settings of the user's configuration under which no session could run.
func TestSettings(t *testing.T) {
	r := useRig(t)
	config := filepath.Join(t.TempDir(), "config")
	lines := `
Host odd
	HostName ` + plainAddress + `
	RemoteCommand uname
	RequestTTY force
	SessionType none
	StdinNull yes
	LogLevel QUIET
	LocalForward 10.77.1.1:22 localhost:22
	ExitOnForwardFailure yes
	ControlMaster auto
	ControlPath ` + filepath.Dir(config) + `/master
	ControlPersist yes
	ConnectTimeout 7
	ServerAliveInterval 3
Include ` + r.config + `
`
	if err := os.WriteFile(config, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	o := r.options("odd")
	o.Config = config
	dial(t, Dial(o)).echo(t, "a text")
	if exists(filepath.Join(filepath.Dir(config), "master")) {
		t.Error("the session became a master, which stays")
	}
	s, err := Expand(t.Context(), config, "odd")
	if err != nil {
		t.Fatal(err)
	}
	d := &dialer{o: o, settings: &s}
	for _, a := range d.arguments(10, false) {
		if strings.HasPrefix(a, "ConnectTimeout") || strings.HasPrefix(a, "ServerAlive") {
			t.Errorf("%s replaces what the configuration sets", a)
		}
	}
}

func TestWriteSettings(t *testing.T) {
	r := useRig(t)
	var out strings.Builder
	ok, err := WriteSettings(t.Context(), &out, r.config,
		[]string{"a", "b", "c", "d"}, []string{"plain", "someone@behind", "bad\tname\x1b[2J", "ordinary"})
	if err != nil || ok {
		t.Errorf("a refused name gives %v, %v", ok, err)
	}
	golden(t, "settings", r.hide(out.String()))
}

// hide replaces what differs between two runs of the tests.
func (r *rig) hide(s string) string { return strings.ReplaceAll(s, r.dir, "RIG") }

func TestScriptIsPOSIX(t *testing.T) {
	cmd := exec.Command("sh", "-n")
	cmd.Stdin = strings.NewReader(bootstrapScript)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}
