package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
)

// answerSteps divide the time that an answer may take. Each step begins when the previous one has ended. If nearfar
// itself is stopped and continued, the time in between counts as one step at most.
const answerSteps = 4

// The times that some requests take on top of the answer.
const (
	// killTime bounds the ending of processes that were killed.
	killTime = 10 * time.Second
	// makeTime is what making and freeing namespaces may take on a busy machine.
	makeTime = 10 * time.Second
)

// limit is how long the answer to a request may take; 0 for no limit.
func (q request) limit(answer time.Duration) time.Duration {
	switch q.Op {
	case opWait:
		return 0 // the process may live long; Stop and Start's context bound that
	case opServes:
		if q.Limit == 0 {
			return 0
		}
		return answer + q.Limit
	case opSetup, opDrop:
		return answer + makeTime
	case opBuild:
		return answer + makeTime + 2*(verifyTime+4*q.Plan.wireTime())
	case opKill, opClear:
		return answer + killTime
	}
	return answer
}

// call sends a request and waits for its reply.
func (l *Lab) call(ctx context.Context, q request, files ...*os.File) (reply, error) {
	c := make(chan reply, 1)
	l.mu.Lock()
	if l.closing {
		l.mu.Unlock()
		return reply{}, ErrClosed
	}
	l.lastID++
	q.ID = l.lastID
	l.pending[q.ID] = c
	l.mu.Unlock()
	forget := func() {
		l.mu.Lock()
		delete(l.pending, q.ID)
		l.mu.Unlock()
	}
	limit := q.limit(l.options.answer())
	if err := l.conn.send(l.options.answer(), q, files...); err != nil {
		forget()
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return reply{}, l.silent(q.Op, l.options.answer())
		case errors.Is(err, unix.EPIPE), errors.Is(err, unix.ECONNRESET), errors.Is(err, os.ErrClosed):
			limit = l.options.answer() // the init is gone; the reason follows in a moment
		default:
			return reply{}, err
		}
	}
	var late <-chan time.Time
	var timer *time.Timer
	if limit > 0 {
		timer = time.NewTimer(limit / answerSteps)
		defer timer.Stop()
		late = timer.C
	}
	halted := false
	for step := 1; ; {
		select {
		case r := <-c:
			return r, r.err()
		case <-l.lost:
			select {
			case r := <-c: // it was answered before the lab was lost
				return r, r.err()
			default:
			}
			return reply{}, l.Lost()
		case <-ctx.Done():
			forget()
			return reply{}, ctx.Err()
		case <-late:
			// An init that is found stopped twice does not continue by itself.
			before := halted
			halted = stopped(l.init.Pid)
			if step++; step > answerSteps || halted && before {
				return reply{}, l.silent(q.Op, limit*time.Duration(step-1)/answerSteps)
			}
			timer.Reset(limit / answerSteps)
		}
	}
}

// silent gives the lab up because its init did not answer.
func (l *Lab) silent(op string, limit time.Duration) error {
	why := fmt.Sprintf("the lab's init did not answer within %v (%s)", limit, op)
	if stopped(l.init.Pid) {
		why += "; it is stopped (SIGSTOP)"
	}
	l.lose(l.gone(why, nil))
	return l.Lost()
}

// stopped says whether a process does not run because a signal stopped it.
func stopped(pid int) bool { return stateOf(pid) == "T" }

// stateOf is the letter of a process's state; "" if it has ended.
func stateOf(pid int) string {
	state, _, _ := machine.Process(pid)
	return state
}

// gone makes the error of a lost lab: the reason, how the process ended, and the end of its standard error.
func (l *Lab) gone(why string, ended error) error {
	if exit, ok := errors.AsType[*exec.ExitError](ended); ok {
		why += " (" + endOf(unix.WaitStatus(exit.Sys().(syscall.WaitStatus))) + ")"
	}
	if said := strings.TrimSpace(l.stderr.String()); said != "" {
		why += "; its last words: " + said
	}
	return host.Lost("the lab", why)
}

// endOf says how a process ended.
func endOf(status unix.WaitStatus) string {
	switch {
	case status.Signaled() && status.Signal() == unix.SIGKILL:
		return "killed; the kernel does that where memory runs out"
	case status.Signaled():
		return unix.SignalName(status.Signal())
	}
	return fmt.Sprintf("exit status %d", status.ExitStatus())
}

// Lost says why the lab can no longer be used: the error wraps host.ErrLost, or is ErrClosed. It is nil if the lab is
// usable.
func (l *Lab) Lost() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closing {
		return ErrClosed
	}
	return l.why
}

// lose gives the lab up: all calls return the reason, and the init is killed with everything that runs in the lab.
func (l *Lab) lose(why error) {
	l.setWhy(why)
	l.kill()
}

// setWhy ends the lab's use. The first reason is kept.
func (l *Lab) setWhy(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.why == nil {
		l.why = why
		close(l.lost)
	}
}

func (l *Lab) kill() {
	// It fails only if the init has ended already.
	_ = l.init.Kill()
}

// Close ends every process of the lab and frees its resources. It returns when that is done, and may be called twice.
func (l *Lab) Close() error {
	l.mu.Lock()
	twice := l.closing
	l.closing = true
	l.mu.Unlock()
	l.kill()
	err := l.awaitEnd()
	l.setWhy(ErrClosed)
	if twice {
		return err
	}
	return errors.Join(err, l.conn.conn.Close())
}

// awaitEnd waits until the killed init has ended, and with it everything that ran in the lab.
func (l *Lab) awaitEnd() error {
	limit := l.options.answer() + killTime
	select {
	case <-l.ended:
		return nil
	case <-time.After(limit):
		return errorf("its processes do not end within %v, though killed; the state of its init is %q",
			limit, stateOf(l.init.Pid))
	}
}
