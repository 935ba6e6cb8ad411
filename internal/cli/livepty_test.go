//go:build linux

package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"golang.org/x/sys/unix"
)

// patience bounds every wait of a test.
const patience = 60 * time.Second

// pty is a pseudo-terminal. The test acts as its user.
type pty struct {
	t      *testing.T
	master *os.File
	slave  *os.File

	mu     sync.Mutex
	shown  bytes.Buffer
	change chan struct{}
	closed chan struct{}
}

func newPTY(t *testing.T, width, height int) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := &pty{t: t, master: master, slave: slave, change: make(chan struct{}, 1), closed: make(chan struct{})}
	p.resize(width, height)
	go p.read()
	t.Cleanup(func() {
		_ = slave.Close()
		_ = master.Close()
		<-p.closed
	})
	return p
}

func (p *pty) resize(width, height int) {
	p.t.Helper()
	size := &unix.Winsize{Col: uint16(width), Row: uint16(height)}
	if err := unix.IoctlSetWinsize(int(p.master.Fd()), unix.TIOCSWINSZ, size); err != nil {
		p.t.Fatal(err)
	}
}

// read collects the output until the terminal is closed.
func (p *pty) read() {
	defer close(p.closed)
	buffer := make([]byte, 4096)
	for {
		n, err := p.master.Read(buffer)
		p.mu.Lock()
		p.shown.Write(buffer[:n])
		p.mu.Unlock()
		select {
		case p.change <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (p *pty) text() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown.String()
}

// await waits until the text appears in the output after position from, and returns the position of its end.
func (p *pty) await(text string, from int) int {
	p.t.Helper()
	end := 0
	p.until(fmt.Sprintf("%q was not shown", text), func(shown string) bool {
		i := strings.Index(shown[min(from, len(shown)):], text)
		end = from + i + len(text)
		return i >= 0
	})
	return end
}

// until waits until done returns true for the output.
func (p *pty) until(otherwise string, done func(shown string) bool) {
	p.t.Helper()
	limit := time.After(patience)
	for {
		shown := p.text()
		if done(shown) {
			return
		}
		select {
		case <-p.change:
		case <-limit:
			p.t.Fatalf("in %v: %s:\n%q", patience, otherwise, shown)
		}
	}
}

func (p *pty) press(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.master, keys); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pty) settings() unix.Termios {
	p.t.Helper()
	s, err := unix.IoctlGetTermios(int(p.slave.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Fatal(err)
	}
	return *s
}

// start runs nearfar with the pty as its controlling terminal. Standard output is the given writer, or the terminal for
// nil.
func (p *pty) start(dir string, stdout io.Writer, env []string, args ...string) *exec.Cmd {
	p.t.Helper()
	cmd := exec.Command("nearfar", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.slave, p.slave, p.slave
	if stdout != nil {
		cmd.Stdout = stdout
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	return cmd
}

// exit waits for the command and returns its exit code.
func (p *pty) exit(cmd *exec.Cmd) int {
	p.t.Helper()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			p.t.Fatal(err)
		}
		return cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		_ = cmd.Process.Kill()
		p.t.Fatalf("nearfar did not end in %v:\n%q", patience, p.text())
	}
	return -1
}

// liveFile is an experiment with short trials. %d is the number of blocks.
const liveFile = `nearfar: v1
name: try
question: How much does a bridge add?
baseline: l2
arms:
  l2: {lab: {path: [bridge]}}
  switched: {lab: {path: [bridge, bridge]}}
workloads:
  - {name: rr, tool: native, mode: rr, duration: 300ms, warmup: 20ms}
schedule: {blocks: %d, seed: 1}
`

func liveDir(t *testing.T, blocks int) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(dir+"/experiment.yaml", fmt.Appendf(nil, liveFile, blocks), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

var colorful = []string{"TERM=xterm-256color", "LC_ALL=C.UTF-8", "NO_COLOR="}

// wantClean fails the test if the terminal's settings have changed, the cursor is hidden, or unexpected sequences were
// sent.
func (p *pty) wantClean(before unix.Termios) {
	p.t.Helper()
	if after := p.settings(); after != before {
		p.t.Errorf("the terminal's settings are %+v, were %+v", after, before)
	}
	p.until("the cursor stays hidden", func(shown string) bool {
		return strings.LastIndex(shown, "\x1b[?25l") <= strings.LastIndex(shown, "\x1b[?25h")
	})
	shown := p.text()
	if strings.Contains(shown, "\x1b[?1049h") || strings.Contains(shown, "\x1b[?2004h") {
		p.t.Error("unnecessary terminal modes were set")
	}
	for _, query := range []string{"\x1b[c", "$p", "\x1b[?u"} {
		if strings.Contains(shown, query) {
			p.t.Errorf("the terminal was sent the query %q, whose reply would not be read", query)
		}
	}
}

// Ctrl-C on the live view has the effect of SIGINT: the answer so far is printed, the exit code is 130, and the
// terminal is restored.
func TestCtrlCOnTheLiveView(t *testing.T) {
	t.Parallel()
	p := newPTY(t, 80, 24)
	before := p.settings()
	cmd := p.start(liveDir(t, 5000), nil, colorful, "run")
	at := p.await("block 1/5000", 0)
	if p.settings().Lflag&unix.ECHO != 0 {
		t.Error("typed keys appear in the view")
	}
	at = p.await("too few blocks", at) // a figure
	p.press("q\r\x1b[A")               // keys that do nothing
	p.resize(50, 12)
	at = p.await("\x1b[2J", at)
	at = p.await("rr, rtt p50", at)
	p.press("\x03")
	if code := p.exit(cmd); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	at = p.await("Arms: median over trials", at) // the answer so far
	p.await("nearfar run --resume runs/", at)
	p.await("nearfar: interrupted", at)
	p.wantClean(before)
}

// At the end of a run the view is erased, and the whole answer is printed to standard output, which is not the
// terminal.
func TestLiveViewToTheEnd(t *testing.T) {
	skipMeasuring(t)
	t.Parallel()
	p := newPTY(t, 80, 24)
	before := p.settings()
	var stdout bytes.Buffer
	cmd := p.start(liveDir(t, 7), &stdout, append(colorful, "NO_COLOR=1"), "run", "-f", "json")
	p.await("nearfar: 14 trials in ", 0)
	if code := p.exit(cmd); code != 0 {
		t.Errorf("exit code %d", code)
	}
	verdict := regexp.MustCompile(`"headline": "(With|Each|No answer yet|On a busy machine|Not sure)[^"]*the (median round trip|slowest 1 %)`)
	if !verdict.MatchString(stdout.String()) {
		t.Errorf("standard output: %s", stdout.Bytes())
	}
	if strings.Contains(stdout.String(), "\x1b") {
		t.Error("the view was written to standard output")
	}
	if shown := p.text(); regexp.MustCompile(`\x1b\[[0-9;]*m`).MatchString(shown) {
		t.Errorf("colours despite NO_COLOR: %q", shown)
	}
	p.wantClean(before)
}

// SIGTERM restores the terminal too.
func TestSIGTERMOnTheLiveView(t *testing.T) {
	t.Parallel()
	p := newPTY(t, 80, 24)
	before := p.settings()
	cmd := p.start(liveDir(t, 5000), nil, colorful, "run")
	p.await("block 1/5000", 0)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := p.exit(cmd); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	p.wantClean(before)
}

// Ctrl-Z restores the terminal, and the view is drawn again when the run continues.
func TestCtrlZOnTheLiveView(t *testing.T) {
	t.Parallel()
	p := newPTY(t, 80, 24)
	before := p.settings()
	cmd := p.start(liveDir(t, 5000), nil, colorful, "run")
	p.await("block 1/5000", 0)
	p.press("\x1a")
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it did not stop: %v, %v", status, err)
	}
	p.wantClean(before)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	at := p.await("block ", len(p.text()))
	p.press("\x03")
	if code := p.exit(cmd); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
	p.await("nearfar: interrupted", at)
	p.wantClean(before)
}

// If the view cannot be drawn or is not wanted, there are plain lines or no progress at all.
func TestPlainLinesOnATerminal(t *testing.T) {
	skipMeasuring(t)
	t.Parallel()
	for _, c := range []struct {
		name       string
		env, flags []string
		lines      bool
	}{
		{"TERM=dumb", []string{"TERM=dumb"}, nil, true},
		{"no TERM", []string{"TERM="}, nil, true},
		{"--progress plain", []string{"TERM=xterm"}, []string{"--progress", "plain"}, true},
		{"--progress none", []string{"TERM=xterm"}, []string{"--progress", "none"}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPTY(t, 80, 24)
			var stdout bytes.Buffer
			args := append([]string{"run", "--force", "-f", "json"}, c.flags...)
			cmd := p.start(liveDir(t, 1), &stdout, c.env, args...)
			if code := p.exit(cmd); code != 0 {
				t.Fatalf("exit code %d: %s", code, p.text())
			}
			if c.lines {
				p.await("trial 2/2  ", 0)
			}
			shown := p.text()
			if strings.Contains(shown, "\x1b") {
				t.Errorf("escape sequences: %q", shown)
			}
			if !c.lines && shown != "" {
				t.Errorf("shown: %q", shown)
			}
		})
	}
}

// A panic while the view is drawn does not end the run. The view returns the error, and the terminal is restored.
func TestAPanicInTheLiveView(t *testing.T) {
	p := newPTY(t, 80, 24)
	before := p.settings()
	l := newLive(p.slave, liveState{}) // without an experiment it cannot be drawn
	l.begin()
	select {
	case <-l.done:
	case <-time.After(patience):
		t.Fatal("the program did not end")
	}
	if l.drawing() {
		t.Error("it still draws")
	}
	l.show(liveState{})
	if err := l.end(); !errors.Is(err, tea.ErrProgramPanic) {
		t.Errorf("end: %v", err)
	}
	p.wantClean(before)
}

// A terminal that was stopped with Ctrl-S blocks neither the run nor its end.
func TestAStoppedTerminal(t *testing.T) {
	p := newPTY(t, 80, 24)
	e := liveExperiment()
	s := liveAfter(e, liveTrials(e, 40, ""))
	l := newLive(p.slave, s)
	l.begin()
	p.await("block ", 0)
	if err := unix.IoctlSetInt(int(p.slave.Fd()), unix.TCXONC, unix.TCOOFF); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		for range 10_000 {
			l.show(s)
		}
		ended <- l.end()
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Fatal("it waits for the terminal")
	}
	if err := unix.IoctlSetInt(int(p.slave.Fd()), unix.TCXONC, unix.TCOON); err != nil {
		t.Fatal(err)
	}
}
