//go:build linux

package ssh

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// promptLevel is the level of the test binary's process that asks at a terminal. Its arguments are ssh's configuration
// and names.
const promptLevel = "prompt"

// promptMain connects to all names at once and prints the result of each. At SIGINT it uses the connections once more.
func promptMain(args []string) int {
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	r := &rig{}
	if err := r.packProgram(); err != nil {
		fmt.Println(err)
		return 1
	}
	terminal := NewTerminal(os.Stdout)
	var wg sync.WaitGroup
	sessions := make([]*bufio.ReadWriter, len(args)-1)
	for i, name := range args[1:] {
		wg.Go(func() {
			o := r.options(name)
			o.Config, o.Terminal = args[0], terminal
			c, err := Dial(o)(context.Background())
			if err != nil {
				fmt.Printf("<%v>\n", err)
				return
			}
			sessions[i] = bufio.NewReadWriter(bufio.NewReader(c), bufio.NewWriter(c))
			_, err = sessions[i].ReadString('\n')
			fmt.Printf("<reached %s, %v>\n", name, err)
		})
	}
	wg.Wait()
	fmt.Println("<all>")
	<-interrupts
	for _, s := range sessions {
		if s == nil {
			continue
		}
		_, err := io.WriteString(s, "a line\n")
		if err == nil {
			err = s.Flush()
		}
		line, readErr := s.ReadString('\n')
		fmt.Printf("<after Ctrl-C: %q %v %v>\n", line, err, readErr)
	}
	return 0
}

// A screen is the user's side of a pseudo-terminal.
type screen struct {
	t      *testing.T
	master *os.File
	ended  chan struct{}
	mu     sync.Mutex
	shown  bytes.Buffer
}

// ask runs promptMain on a pseudo-terminal.
func ask(t *testing.T, config string, names ...string) *screen {
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
	cmd := exec.Command("/proc/self/exe", append([]string{config}, names...)...)
	cmd.Env = append(os.Environ(), levelVariable+"="+promptLevel, "DISPLAY=:1", "SSH_ASKPASS=/nonexistent")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	s := &screen{t: t, master: master, ended: make(chan struct{})}
	go func() {
		defer close(s.ended)
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			s.mu.Lock()
			s.shown.Write(b[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = master.Close()
		<-s.ended
	})
	return s
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown.String()
}

// await waits until a text was shown n times.
func (s *screen) await(text string, n int) {
	s.t.Helper()
	waitFor(s.t, fmt.Sprintf("%q", text), func() bool { return strings.Count(s.text(), text) >= n })
}

func (s *screen) enter(text string) {
	s.t.Helper()
	if _, err := s.master.WriteString(text); err != nil {
		s.t.Fatal(err)
	}
}

// asking writes a configuration with names whose login needs an answer: keyless-* a passphrase, unknown the question
// about a host key.
func asking(t *testing.T, r *rig) string {
	t.Helper()
	b, err := os.ReadFile(r.config)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	lines := fmt.Sprintf("Host keyless-*\n\tHostName %s\n\tIdentityFile %s/lockedkey\n"+
		"Host unknown\n\tHostName %[1]s\n\tUserKnownHostsFile %s/known\n", plainAddress, r.dir, dir)
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, append([]byte(lines), b...), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

func TestTerminal(t *testing.T) {
	r := useRig(t)
	s := ask(t, asking(t, r), "keyless-a", "plain", "unknown", "keyless-b")
	for asked := 1; asked <= 3; asked++ {
		// One question at a time, in any order.
		waitFor(t, fmt.Sprintf("question %d", asked), func() bool {
			return strings.Count(s.text(), "Enter passphrase")+strings.Count(s.text(), "(yes/no") >= asked
		})
		text := s.text()
		if strings.LastIndex(text, "(yes/no") > strings.LastIndex(text, "Enter passphrase") {
			s.enter("yes\n")
		} else {
			s.enter("a passphrase\n")
		}
		// The host that asked, and plain, which does not ask.
		s.await("<reached ", asked)
	}
	s.await("<all>", 1)
	for _, name := range []string{"keyless-a", "keyless-b", "unknown", "plain"} {
		s.await("<reached "+name+", <nil>>", 1)
	}
	if strings.Contains(s.text(), "a passphrase\n") {
		t.Errorf("the answer was shown: %q", s.text())
	}
	s.enter("\x03") // Ctrl-C reaches the program, and no ssh
	s.await(`<after Ctrl-C: "a line\n" <nil> <nil>>`, 4)
}

func TestTerminalInterrupted(t *testing.T) {
	r := useRig(t)
	s := ask(t, asking(t, r), "keyless-a")
	s.await("Enter passphrase", 1)
	s.enter("\x03") // ends ssh alone
	s.await("<ssh keyless-a: ", 1)
	s.await("<all>", 1)
	if !strings.Contains(s.text(), "<ssh keyless-a: ssh was ended by a signal") {
		t.Errorf("an interrupted question gives %q", s.text())
	}
	s.enter("echo is on\n")
	s.await("echo is on", 1) // the terminal shows again what is typed
	s.enter("\x03")
	<-s.ended
}

func TestNoTerminal(t *testing.T) {
	r := useRig(t)
	o := r.options("keyless-a")
	o.Config, o.Terminal = asking(t, r), NewTerminal(io.Discard)
	// The tests may run at a terminal.
	if f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0); err == nil {
		_ = f.Close()
		o.Terminal = nil
	}
	_, err := Dial(o)(t.Context())
	if err == nil || !strings.Contains(err.Error(), "there is no terminal at which ssh could ask") {
		t.Errorf("a passphrase without a terminal gives %v", err)
	}
}
