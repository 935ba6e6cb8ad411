package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nearfar/internal/bounded"
	"nearfar/internal/files"
)

// Files in which programs write for nearfar. They are files and not pipes, so that a program continues when nearfar is
// killed: a write into a pipe without a reader would end it.
const (
	outFile = "out.jsonl"
	errFile = "err.txt"
)

// command is one call of a program.
type command struct {
	// name is the program for messages, path where it is.
	name, path string
	args       []string
	env        []string
	// out and problems take what it writes to standard output and standard error, while it works; nil: nobody reads it.
	out, problems io.Writer
	// changes says that it makes or deletes resources: the record then has its process.
	changes bool
}

// run runs a program in the module's folder. After an interrupt it asks the program once to end in order, and waits for
// that without a limit. The program is never killed: its state must be whole. The error is the context's after an
// interrupt, otherwise it is the program's.
func (p *Project) run(ctx context.Context, c command) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	var files []*os.File
	for _, name := range []string{outFile, errFile} {
		f, err := os.OpenFile(filepath.Join(p.folder, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
		if err != nil {
			return err
		}
		files = append(files, f)
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	if c.changes {
		// A killed nearfar must not leave the process of an earlier command in the record.
		if err := p.save(func(r *Record) { r.Program = nil }); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.path, c.args...)
	cmd.Dir, cmd.Env = p.module, c.env
	cmd.Stdout, cmd.Stderr = files[0], files[1]
	detach(cmd, p.locks.program)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if c.changes {
		if err := p.save(func(r *Record) { r.Program = processOf(cmd.Process.Pid) }); err != nil {
			_ = stop(cmd.Process, p.kind) // nothing may work that the record does not have
			return errors.Join(err, <-ended)
		}
	}
	err = p.follow(ctx, c, cmd.Process, ended)
	if p.kind.leavesProcesses() {
		err = errors.Join(err, p.awaitProcesses(ctx, c.name))
	}
	if c.changes {
		err = errors.Join(err, p.save(func(r *Record) { r.Program = nil }))
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// follow reads what the program writes until it has ended.
func (p *Project) follow(ctx context.Context, c command, process *os.Process, ended <-chan error) error {
	var streams []func() error
	for name, into := range map[string]io.Writer{outFile: c.out, errFile: c.problems} {
		if into == nil {
			continue
		}
		reader, err := files.OpenRegular(filepath.Join(p.folder, name), math.MaxInt64)
		if err != nil {
			return errors.Join(err, <-ended)
		}
		defer func() { _ = reader.Close() }() // it was only read
		streams = append(streams, func() error {
			_, err := io.Copy(into, reader)
			return err
		})
	}
	read := func() (err error) {
		for _, one := range streams {
			err = errors.Join(err, one())
		}
		return err
	}
	done := ctx.Done()
	for {
		if err := read(); err != nil {
			return errors.Join(err, <-ended)
		}
		select {
		case err := <-ended:
			return errors.Join(err, read())
		case <-done:
			done = nil
			p.options.Note(c.name + " was asked to end: waiting until it has ended in order")
			if err := stop(process, p.kind); err != nil && !errors.Is(err, os.ErrProcessDone) {
				p.options.Note(fmt.Sprintf("%s cannot be interrupted: %v", c.name, err))
			}
		case <-time.After(lookAgain):
		}
	}
}

// stop asks a program of a kind to end in order.
func stop(process *os.Process, kind kind) error {
	if kind == kindAz {
		return terminate(process)
	}
	return interrupt(process)
}

// awaitProcesses waits until all processes have ended that a program has started and left. An interrupt ends the wait,
// unless it came before.
func (p *Project) awaitProcesses(ctx context.Context, name string) error {
	done := ctx.Done()
	if ctx.Err() != nil {
		done = nil
	}
	// This process's own lock is given back first: the file that is opened then is locked only by those processes.
	if err := p.locks.renew(); err != nil {
		return err
	}
	for told := false; ; told = true {
		ok, err := tryLock(p.locks.program)
		if ok || err != nil {
			return err
		}
		if !told {
			p.options.Note("a process that " + name + " has started is still at work: waiting for its end")
		}
		select {
		case <-done:
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}

// A FailedError says why a program failed.
type FailedError struct {
	// Command is such as "tofu apply".
	Command string
	// Refusal is the lack of capacity or quota, if that was the reason; nil otherwise.
	Refusal *Refusal
	text    string
}

func (e *FailedError) Error() string { return e.Command + ": " + e.text }

// failure makes the error of a program that failed. found are the errors that it reported; without any, lines are what
// it said last.
func failure(command string, err error, found []diagnostic, lines []string) error {
	const most = 5
	e := &FailedError{Command: command}
	var text []string
	for i, d := range found {
		if i == most {
			text = append(text, fmt.Sprintf("and %d more errors", len(found)-most))
			break
		}
		text = append(text, d.text())
	}
	if len(text) == 0 {
		text = lines
	}
	if r, ok := refusal(found); ok {
		e.Refusal = &r
		text = append(text, r.String())
	}
	if len(text) == 0 {
		text = []string{err.Error()}
	}
	e.text = strings.Join(text, "\n")
	return e
}

// maxOutput bounds what a short command prints.
const maxOutput = 64 << 20

// output runs a command that changes nothing, and gives what it printed.
func (p *Project) output(ctx context.Context, c command) ([]byte, error) {
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = 10 * time.Second
	if info, err := os.Stat(p.module); err == nil && info.IsDir() {
		cmd.Dir = p.module
	}
	cmd.Env = c.env
	out, problems := bounded.New(maxOutput), bounded.New(maxOutput)
	cmd.Stdout, cmd.Stderr = out, problems
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		said := short(strings.TrimSpace(string(problems.Bytes())))
		return nil, fmt.Errorf("%s %s: %w: %s", c.name, c.args[0], err, said)
	}
	if out.Cut() != "" {
		return nil, fmt.Errorf("%s %s printed more than %d MiB", c.name, c.args[0], maxOutput>>20)
	}
	return out.Bytes(), nil
}
