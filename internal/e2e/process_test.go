//go:build linux

package e2e

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"regexp"
	"syscall"
	"testing"
)

// process is a command that goes on until it is told to end, or until others have ended.
type process struct {
	s     *stage
	line  string
	cmd   *exec.Cmd
	lines <-chan string
	// said is what it has printed, as far as it was read.
	said string
}

// start starts it. Both its outputs are read.
func (s *stage) start(line string) *process {
	s.t.Helper()
	p := &process{s: s, line: line}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	p.cmd = exec.CommandContext(ctx, "sh", "-c", "exec "+line)
	p.cmd.Dir, p.cmd.Env = s.dir, s.env
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	p.lines = startTelling(s.t, p.cmd, cancel, output)
	return p
}

// startTelling starts a command, which is canceled at the end of the test if it has not ended, and gives the lines of its output.
func startTelling(t *testing.T, cmd *exec.Cmd, cancel context.CancelFunc, output io.Reader) <-chan string {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if cmd.ProcessState == nil {
			_ = cmd.Wait()
		}
	})
	told := make(chan string, 100_000)
	go func() {
		defer close(told)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			told <- lines.Text()
		}
	}()
	return told
}

// until reads until a line has what is looked for, and gives that.
func (p *process) until(what *regexp.Regexp) string {
	p.s.t.Helper()
	for line := range p.lines {
		p.heard(line)
		if found := what.FindString(line); found != "" {
			return found
		}
	}
	p.s.t.Fatalf("%s ends without %v:\n%s", p.line, what, p.said)
	return ""
}

func (p *process) heard(line string) {
	p.said += line + "\n"
	p.s.printed += line + "\n"
}

// find gives a part of what it has said.
func (p *process) find(what string) string {
	p.s.t.Helper()
	found := regexp.MustCompile(what).FindString(p.said)
	if found == "" {
		p.s.t.Fatalf("%s does not say %s:\n%s", p.line, what, p.said)
	}
	return found
}

// interrupt is Ctrl-C.
func (p *process) interrupt() {
	p.s.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		p.s.t.Fatal(err)
	}
}

// ended waits for the end and gives the exit code.
func (p *process) ended() int {
	p.s.t.Helper()
	for line := range p.lines { // until it has closed its outputs
		p.heard(line)
	}
	_ = p.cmd.Wait() // the code says it
	return p.cmd.ProcessState.ExitCode()
}

// end ends a server with Ctrl-C, which it must do well, once, and gives what it said.
func (p *process) end() string {
	p.s.t.Helper()
	if p.cmd.ProcessState != nil {
		return p.said
	}
	p.interrupt()
	if code := p.ended(); code != 0 {
		p.s.t.Errorf("%s: exit code %d after Ctrl-C\n%s", p.line, code, p.said)
	}
	return p.said
}
