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

// process is a command that runs until it is interrupted, or until other processes have ended.
type process struct {
	run   *pageRun
	line  string
	cmd   *exec.Cmd
	lines <-chan string
	// said is what it printed, as far as it was read.
	said string
}

// start starts a command line. Standard output and standard error are read as one.
func (r *pageRun) start(line string) *process {
	r.t.Helper()
	p := &process{run: r, line: line}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	p.cmd = exec.CommandContext(ctx, "sh", "-c", "exec "+line)
	p.cmd.Dir, p.cmd.Env = r.dir, r.env
	output, err := p.cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	p.cmd.Stderr = p.cmd.Stdout
	p.lines = startTelling(r.t, p.cmd, cancel, output)
	return p
}

// startTelling starts a command and returns a channel with the lines of its output. The command is canceled at the end
// of the test if it has not ended.
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

// until reads until a line has a match, and returns the match.
func (p *process) until(what *regexp.Regexp) string {
	p.run.t.Helper()
	for line := range p.lines {
		p.heard(line)
		if found := what.FindString(line); found != "" {
			return found
		}
	}
	p.run.t.Fatalf("%s ends without %v:\n%s", p.line, what, p.said)
	return ""
}

// heard notes a line of output.
func (p *process) heard(line string) {
	p.said += line + "\n"
	p.run.printed += line + "\n"
}

// find returns the first match in what was read.
func (p *process) find(what string) string {
	p.run.t.Helper()
	found := regexp.MustCompile(what).FindString(p.said)
	if found == "" {
		p.run.t.Fatalf("%s does not say %s:\n%s", p.line, what, p.said)
	}
	return found
}

// interrupt sends what Ctrl-C sends.
func (p *process) interrupt() {
	p.run.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGINT); err != nil {
		p.run.t.Fatal(err)
	}
}

// ended waits for the end and returns the exit code.
func (p *process) ended() int {
	p.run.t.Helper()
	for line := range p.lines { // until the outputs are closed
		p.heard(line)
	}
	_ = p.cmd.Wait() // the exit code says it
	return p.cmd.ProcessState.ExitCode()
}

// end ends a server with Ctrl-C, unless it has ended, and returns what it printed. The exit code must be 0.
func (p *process) end() string {
	p.run.t.Helper()
	if p.cmd.ProcessState != nil {
		return p.said
	}
	p.interrupt()
	if code := p.ended(); code != 0 {
		p.run.t.Errorf("%s: exit code %d after Ctrl-C\n%s", p.line, code, p.said)
	}
	return p.said
}
