package provision

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"nearfar/internal/base/bounded"
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
	// out and problems take the lines of standard output and standard error, while it works; nil: nobody reads them.
	out, problems func(line []byte)
	// changes says that it makes or deletes resources.
	changes bool
}

// run runs a program in the module's folder. After an interrupt it asks the program once to end in order, and waits for
// that without a limit. A program that makes or deletes resources is never killed: its state must be whole. The error is
// the context's after an interrupt, otherwise it is the program's.
func (p *Project) run(ctx context.Context, c command) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	var outputs []*os.File
	for _, name := range []string{outFile, errFile} {
		f, err := os.OpenFile(filepath.Join(p.folder, name), os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND,
			0o600)
		if err != nil {
			return err
		}
		outputs = append(outputs, f)
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	// A plan without a record has nothing before it that could still be at work.
	recorded := p.record != nil
	if recorded {
		// A killed nearfar must not leave the process of an earlier command in the record.
		if err := p.save(func(r *Record) { r.Program = nil }); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.path, c.args...)
	cmd.Dir, cmd.Env = p.module, c.env
	cmd.Stdout, cmd.Stderr = outputs[0], outputs[1]
	detach(cmd, p.locks.program)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	if recorded {
		if err := p.save(func(r *Record) { r.Program = processOf(cmd.Process.Pid) }); err != nil {
			_ = stop(cmd.Process, p.kind) // nothing may work that the record does not have
			return errors.Join(err, <-ended)
		}
	}
	err = p.follow(ctx, c, cmd.Process, ended)
	if p.kind.leavesProcesses() {
		err = errors.Join(err, p.awaitProcesses(ctx, c.name))
	}
	// The record keeps the process: so it is known later that it has ended, also if what it has left holds its lock.
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Limits of a program whose output is followed.
const (
	// maxPrinted is how many bytes a program may print before it is asked to end: it prints without end. Afterwards its
	// output is discarded, so that it does not fill the disk.
	maxPrinted = 64 << 20
	// maxPiece is how much is read before nearfar looks at anything else: a program can print faster than it is read.
	maxPiece = 1 << 20
	// endsWithin is how long a program that changes nothing may take to end in order, and floodEndsWithin how long if
	// it goes on printing then, more than maxPiece. After that it is killed.
	endsWithin      = 10 * time.Second
	floodEndsWithin = time.Second
)

// errFlood says that a program has printed more than maxPrinted bytes.
var errFlood = fmt.Errorf("it printed more than %d MiB", maxPrinted>>20)

// A printed is a file in which a program writes.
type printed struct {
	file *os.File
	into *lines
	// read is how far it was read, cut what was cut off before it was read.
	read, cut int64
}

// next reads the next piece. It says whether there was any.
func (o *printed) next() (some bool, err error) {
	n, err := io.Copy(o.into, io.LimitReader(o.file, maxPiece))
	o.read += n
	return n > 0, err
}

// discard empties the file. The program appends to it.
func (o *printed) discard() error {
	size, err := o.size()
	if err != nil || size == 0 {
		return err
	}
	o.cut += size
	return o.file.Truncate(0)
}

func (o *printed) size() (int64, error) {
	info, err := o.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// A followed program works, and was perhaps asked to end.
type followed struct {
	project *Project
	command command
	process *os.Process
	streams []*printed
	// flooded says that it has printed more than maxPrinted bytes.
	flooded bool
	// asked is when it was asked to end, and had how many bytes it had printed soon after.
	asked time.Time
	had   int64
}

// follow reads what the program writes until it has ended.
func (p *Project) follow(ctx context.Context, c command, process *os.Process, ended <-chan error) error {
	f := &followed{project: p, command: c, process: process}
	for name, on := range map[string]func(line []byte){outFile: c.out, errFile: c.problems} {
		// For writing too, because it can be cut.
		file, err := os.OpenFile(filepath.Join(p.folder, name), os.O_RDWR, 0)
		if err != nil {
			return errors.Join(err, <-ended)
		}
		defer func() { _ = file.Close() }() // it was only read, or cut
		f.streams = append(f.streams, &printed{file: file, into: &lines{on: on}})
	}
	done := ctx.Done()
	for {
		more, err := f.look()
		if err != nil {
			return errors.Join(err, <-ended)
		}
		wait := lookAgain
		if more {
			wait = 0
		}
		select {
		case err := <-ended:
			return f.end(ctx, err)
		case <-done:
			done = nil
			f.ask(c.name + " was asked to end: waiting until it has ended in order")
		case <-time.After(wait):
		}
	}
}

// look reads or discards a piece of what the program has printed, and ends a program that prints without end. It says
// whether there may be more.
func (f *followed) look() (more bool, err error) {
	total := int64(0)
	for _, one := range f.streams {
		if f.flooded {
			if err := one.discard(); err != nil {
				return false, err
			}
		} else if some, err := one.next(); err != nil {
			return false, err
		} else if some {
			more = true
		}
		size, err := one.size()
		if err != nil {
			return false, err
		}
		total += one.cut + size
	}
	if total > maxPrinted && !f.flooded {
		f.flooded = true
		f.ask(fmt.Sprintf("%s has printed more than %d MiB, and was asked to end", f.command.name, maxPrinted>>20))
	}
	if f.command.changes || f.asked.IsZero() {
		return more, nil
	}
	if f.had == 0 {
		f.had = total
	}
	late := time.Since(f.asked)
	if late > endsWithin || late > floodEndsWithin && total-f.had > maxPiece {
		_ = destroy(f.process) // it may have ended
	}
	return more, nil
}

// ask asks the program once to end in order, and says so.
func (f *followed) ask(note string) {
	if !f.asked.IsZero() {
		return
	}
	f.asked = time.Now()
	f.project.options.Note(note)
	if err := stop(f.process, f.project.kind); err != nil && !errors.Is(err, os.ErrProcessDone) {
		f.project.options.Note(fmt.Sprintf("%s cannot be interrupted: %v", f.command.name, err))
	}
}

// end reads what there is when the program has ended: processes that it has left can still print. An interrupt ends the
// reading.
func (f *followed) end(ctx context.Context, err error) error {
	if f.flooded {
		return errors.Join(err, fmt.Errorf("%w in %s", errFlood, f.project.module))
	}
	for _, one := range f.streams {
		size, failed := one.size()
		for more := true; more && failed == nil && one.read < size && ctx.Err() == nil; {
			more, failed = one.next()
		}
		err = errors.Join(err, failed)
		one.into.flush()
	}
	return err
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
	for announced := false; ; announced = true {
		ok, err := tryLock(p.locks.program)
		if ok || err != nil {
			return err
		}
		if !announced {
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
	if len(text) == 0 || errors.Is(err, errFlood) {
		text = append(text, err.Error())
	}
	e.text = strings.Join(text, "\n")
	return e
}

// Limits of what a short command prints, in bytes: to standard output, and to standard error. Values of JSON can take
// thirty times the memory of their text.
const (
	maxOutput = 8 << 20
	maxErrors = 1 << 20
)

// output runs a command that changes nothing, and gives what it printed, at most maxOutput bytes. A command that
// prints more is ended.
func (p *Project) output(ctx context.Context, c command) ([]byte, error) {
	inTime, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(inTime, c.path, c.args...)
	cmd.Cancel = func() error { return interrupt(cmd.Process) }
	cmd.WaitDelay = floodEndsWithin
	if info, err := os.Stat(p.module); err == nil && info.IsDir() {
		cmd.Dir = p.module
	}
	cmd.Env = c.env
	out, problems := bounded.New(maxOutput), bounded.New(maxErrors)
	cmd.Stdout, cmd.Stderr = out, problems
	flooded := make(chan struct{})
	go func() {
		defer close(flooded)
		select {
		case <-out.Full():
		case <-problems.Full():
		case <-inTime.Done():
		}
		cancel()
	}()
	err := cmd.Run()
	cancel()
	<-flooded
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.Cut() != "":
		return nil, fmt.Errorf("%s %s printed more than %d MiB in %s", c.name, c.args[0], maxOutput>>20, p.module)
	case problems.Cut() != "":
		return nil, fmt.Errorf("%s %s printed more than %d MiB to standard error in %s", c.name, c.args[0],
			maxErrors>>20, p.module)
	case err != nil:
		said := short(strings.TrimSpace(string(problems.Bytes())))
		return nil, fmt.Errorf("%s %s: %w: %s", c.name, c.args[0], err, said)
	}
	return out.Bytes(), nil
}
