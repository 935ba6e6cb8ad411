//go:build linux

package tree

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/children"
)

// programs are the programs that a first process has started. It also reaps the orphans of its PID namespace.
type programs struct {
	// mu is held over a fork and its entry here, so that no program ends before it is entered.
	mu     sync.Mutex
	byName map[string]*program
	byPID  map[int]*program
	// ended is called for a program that ended without having been stopped.
	ended func(name, how string)
}

type program struct {
	name    string
	pid     int
	stopped bool
	// done is closed when it has ended.
	done chan struct{}
}

func newPrograms(ended func(name, how string)) *programs {
	return &programs{byName: map[string]*program{}, byPID: map[int]*program{}, ended: ended}
}

// Running lists the numbers of the processes whose end was not noticed yet.
func (s *programs) Running() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.byPID))
}

// Ended tells those who wait for a program, or the test.
func (s *programs) Ended(pid int, status unix.WaitStatus) {
	s.mu.Lock()
	p := s.byPID[pid]
	if p == nil {
		s.mu.Unlock()
		return
	}
	delete(s.byPID, pid)
	if s.byName[p.name] == p {
		delete(s.byName, p.name)
	}
	stopped := p.stopped
	s.mu.Unlock()
	close(p.done)
	if stopped {
		return
	}
	how := fmt.Sprintf("exit status %d", status.ExitStatus())
	if status.Signaled() {
		how = status.Signal().String()
	}
	s.ended(p.name, how)
}

// start starts a program in a session of its own.
func (s *programs) start(q *Program) error {
	if len(q.Argv) == 0 {
		return fmt.Errorf("%s: an empty command line", q.Name)
	}
	path, err := exec.LookPath(q.Argv[0])
	if err != nil {
		return err
	}
	log, err := os.OpenFile(q.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	defer func() { _ = null.Close() }()
	_, err = s.fork(q.Name, path, q.Argv, environment(os.Environ(), q.Env), &syscall.SysProcAttr{Setsid: true},
		null, log, log)
	return err
}

// environment is the inherited one with the program's own variables in place of those of the same names. A name that is
// there twice has no defined value: Go's programs take the first one.
func environment(inherited, own []string) []string {
	name := func(variable string) string {
		before, _, _ := strings.Cut(variable, "=")
		return before
	}
	return append(slices.DeleteFunc(slices.Clone(inherited), func(i string) bool {
		return slices.ContainsFunc(own, func(o string) bool { return name(o) == name(i) })
	}), own...)
}

// fork starts a process under a name, and returns its number.
func (s *programs) fork(
	name, path string, argv, env []string, how *syscall.SysProcAttr, files ...*os.File,
) (int, error) {
	fds := make([]uintptr, len(files))
	for i, f := range files {
		fds[i] = f.Fd()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byName[name] != nil {
		return 0, fmt.Errorf("%s runs already", name)
	}
	pid, err := syscall.ForkExec(path, argv, &syscall.ProcAttr{Env: env, Files: fds, Sys: how})
	if err != nil {
		return 0, fmt.Errorf("starting %s: %w", path, err)
	}
	p := &program{name: name, pid: pid, done: make(chan struct{})}
	s.byName[name], s.byPID[pid] = p, p
	return pid, nil
}

// stop kills a program and waits for its end. It does nothing if the program does not run.
func (s *programs) stop(name string) error {
	s.mu.Lock()
	p := s.byName[name]
	if p != nil {
		p.stopped = true
		if err := unix.Kill(p.pid, unix.SIGKILL); err != nil {
			s.mu.Unlock()
			return fmt.Errorf("killing %s: %w", name, err)
		}
	}
	s.mu.Unlock()
	if p != nil {
		<-p.done
	}
	return nil
}

// reap notices ends until the process ends.
func (s *programs) reap() { children.Reap(s, true, nil) }
