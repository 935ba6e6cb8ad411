package provision

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"nearfar/internal/base/files"
)

// locks keep two nearfar from working on the same machines, and say whether a program still works that a killed nearfar
// started.
type locks struct {
	// own is locked by this process, program also by the programs that it starts, which inherit it.
	own, program *os.File
}

// BusyError says that another nearfar works on the same machines.
type BusyError struct{ Folder string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another nearfar is at work on these machines (%s is locked): wait until it has ended", e.Folder)
}

// lock locks a folder for this process. It fails with a BusyError if another nearfar has it.
func lock(folder string) (*locks, error) {
	l := &locks{}
	var err error
	if l.own, err = openLock(folder, "lock"); err != nil {
		return nil, err
	}
	ok, err := tryLock(l.own)
	if ok {
		// The former holder may have removed the folder.
		held, heldErr := l.own.Stat()
		now, nowErr := os.Stat(l.own.Name())
		ok = heldErr == nil && nowErr == nil && os.SameFile(held, now)
	}
	if err == nil && !ok {
		err = &BusyError{folder}
	}
	if err == nil {
		l.program, err = openLock(folder, "program.lock")
	}
	if err != nil {
		return nil, errors.Join(err, l.free())
	}
	return l, nil
}

// tryLock locks the open file. A process that inherits the file holds the lock too. tryLock returns false if another
// process holds it.
func tryLock(f *os.File) (bool, error) {
	err := files.Lock(f)
	if errors.Is(err, files.ErrLocked) {
		return false, nil
	}
	return err == nil, err
}

func openLock(folder, name string) (*os.File, error) {
	return os.OpenFile(filepath.Join(folder, name), os.O_RDWR|os.O_CREATE, 0o600)
}

// free gives the locks back.
func (l *locks) free() error {
	var errs []error
	for _, f := range []*os.File{l.own, l.program} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// renew gives the program's lock back, and opens its file again. Programs that are still at work keep the lock.
func (l *locks) renew() error {
	name := l.program.Name()
	if err := l.program.Close(); err != nil {
		return err
	}
	var err error
	l.program, err = openLock(filepath.Split(name))
	return err
}

// lookAgain is how often is looked whether a program has ended or has written something.
const lookAgain = 50 * time.Millisecond

// awaitProgram waits until every program that a killed nearfar started has ended. It asks the program once to end in
// order. There is no time limit: a program that is killed can leave resources out of its state.
func (p *Project) awaitProgram(ctx context.Context) error {
	announced := false
	kind, program := p.kind, (*Process)(nil)
	if p.record != nil {
		kind, program = kindOf(p.record.Tool), p.record.Program
	}
	for {
		ok, err := tryLock(p.locks.program)
		if ok || err != nil {
			return err
		}
		if program.ended() && !kind.leavesProcesses() {
			return nil // a process that it has left behind has the lock
		}
		if !announced {
			announced = true
			text := "a program that an earlier nearfar started is still at work"
			if program.stop(kind) {
				text = fmt.Sprintf("%s (process %d) of an earlier nearfar is still at work, and was asked to end",
					p.record.Tool, program.PID)
			}
			p.options.Note(text + ": waiting for its end")
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}
