package hosttest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"
)

// child starts this program as a child with the given words, on the same streams and in a session of its own.
func (p *program) child(verb string, words ...string) error {
	if !p.process {
		return errors.New("a function has no children")
	}
	program, err := thisProgram()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(context.Background(), program, append([]string{Verb, verb}, words...)...)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = os.Stdout, os.Stderr, ownSession()
	return cmd.Start()
}

// thisProgram is the path of this program. On Linux its path outside a lab may not be visible in it.
func thisProgram() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// stubborn prints "ready" and answers each connection to the port with one byte, until it is killed. A connection to it
// shows from any host whether it is alive.
func (p *program) stubborn(port string) error {
	var lc net.ListenConfig
	l, err := lc.Listen(context.Background(), "tcp", ":"+port)
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintln(p.stdout, "ready"); err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		_, _ = c.Write([]byte("x"))
		_ = c.Close()
	}
}

// knockTime bounds one knock.
const knockTime = 5 * time.Second

// answers dials an address and reads one byte.
func answers(address string) error {
	dialer := net.Dialer{Timeout: knockTime}
	c, err := dialer.DialContext(context.Background(), "tcp", address)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(knockTime)); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1))
	return err
}

// knock returns the exit status 0 if something answers at the address, and otherwise 1.
func (p *program) knock(address string) int {
	if err := answers(address); err != nil {
		_, _ = fmt.Fprintln(p.stderr, err)
		return 1
	}
	return 0
}

// awaitAnswer waits until something answers on a port of this host.
func (p *program) awaitAnswer(port string) (err error) {
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		if err = answers("localhost:" + port); err == nil {
			return nil
		}
	}
	return err
}

// hold holds a port until the process is asked to end. The words are the protocol and the port.
func (p *program) hold(words []string) error {
	if len(words) != 2 {
		return fmt.Errorf("listen: want a protocol and a port, not %q", words)
	}
	port, err := strconv.Atoi(words[1])
	if err != nil {
		return err
	}
	if err := p.listen(words[0], port); err != nil {
		return err
	}
	<-p.ctx.Done()
	return nil
}

// listenHere opens a socket on all addresses of this machine. It stays open until the process ends.
func listenHere(protocol string, port int) error {
	var lc net.ListenConfig
	at := ":" + strconv.Itoa(port)
	if protocol == "udp" {
		_, err := lc.ListenPacket(context.Background(), "udp", at)
		return err
	}
	_, err := lc.Listen(context.Background(), "tcp", at)
	return err
}
