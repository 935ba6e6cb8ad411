package supervise

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/children"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
)

// marker is the environment variable that marks a process and everything that it starts, even if that moves to a
// session of its own.
const marker = "NEARFAR_AGENT_PROCESS"

// trees are the processes that were started. It notices when they end, and reaps them.
type trees struct {
	alone bool
	// name is drawn at random: the marks of two supervisors differ.
	name string
	used func(Use)
	stop chan struct{}
	once sync.Once

	// mu is held over a fork and its entry here, so that no process ends before it is entered; and over a signal, so
	// that no process is reaped, and its number given away, in between.
	mu    sync.Mutex
	last  uint64
	byPID map[int]*tree
	oom   *children.OOM
}

// A tree is a process and all that it started.
type tree struct {
	trees   *trees
	pid     int
	mark    string // the setting in the environment
	cpus    []int
	started time.Time
	live    machine.Use // what it had used when it was asked to end
	// killing is held while it is killed: another one who kills it must not find less than the first one.
	killing sync.Mutex

	ended chan struct{}
	// end is valid once ended is closed.
	end End
}

func newTrees(alone bool, used func(Use)) (*trees, error) {
	t := &trees{
		alone: alone, name: rand.Text(), used: used, stop: make(chan struct{}), byPID: map[int]*tree{},
		oom: children.NewOOM(),
	}
	if alone {
		if err := AdoptOrphans(); err != nil {
			return nil, err
		}
	}
	go children.Reap(t, alone, t.stop)
	return t, nil
}

// AdoptOrphans makes this process the parent of descendants whose own parents have ended (prctl(2),
// PR_SET_CHILD_SUBREAPER).
func AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return os.NewSyscallError("prctl(PR_SET_CHILD_SUBREAPER)", err)
	}
	return nil
}

// lookPath finds a program on PATH. The name self stands for this program.
func lookPath(name, self string) (string, error) { return children.LookPath(name, self) }

// start forks from a thread that is bound to the CPUs, so that the process is there from its first instruction.
func (t *trees) start(path string, c Command, dir string, files [3]*os.File) (*tree, error) {
	for _, cpu := range c.CPUs {
		if cpu < 0 || cpu >= machine.MaxCPU {
			return nil, fmt.Errorf("there is no CPU %d", cpu)
		}
	}
	p := &tree{trees: t, cpus: c.CPUs, ended: make(chan struct{})}
	if len(c.CPUs) == 0 {
		return p, t.fork(p, path, c, dir, files)
	}
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with its affinity
		err := machine.Pin(c.CPUs)
		if err == nil {
			err = t.fork(p, path, c, dir, files)
		}
		failed <- err
	}()
	return p, <-failed
}

func (t *trees) fork(p *tree, path string, c Command, dir string, files [3]*os.File) error {
	var fds []uintptr
	for _, f := range files {
		fds = append(fds, f.Fd())
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last++
	p.mark = marker + "=" + t.name + "." + strconv.FormatUint(t.last, 10)
	// Before the fork: on a busy machine this thread may go on long after the process runs.
	p.started = time.Now()
	var err error
	p.pid, err = syscall.ForkExec(path, c.Argv, &syscall.ProcAttr{
		Dir:   dir,
		Env:   append(environment(c.Env), p.mark, supervisor+"="+inNamespace(os.Getpid())),
		Files: fds,
		Sys:   &syscall.SysProcAttr{Setpgid: true},
	})
	switch {
	case errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%w: %w", host.ErrNotFound, err)
	case err != nil:
		return fmt.Errorf("starting %s: %w", path, err)
	}
	t.byPID[p.pid] = p
	return nil
}

// environment is that of this process, with settings that replace others. It leaves out marks and supervisors.
func environment(added []string) []string {
	return slices.DeleteFunc(children.MergeEnv(os.Environ(), added), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return name == marker || name == supervisor
	})
}

// terminate sends SIGTERM to the process group.
func (p *tree) terminate() error { return p.signal(unix.SIGTERM) }

func (p *tree) signal(sig unix.Signal) error {
	t := p.trees
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byPID[p.pid] != p {
		return nil // ended already
	}
	if sig == unix.SIGTERM {
		p.live = children.LiveUse(p.pid) // its threads end before the process, and the kernel forgets their use
	}
	if err := unix.Kill(-p.pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return os.NewSyscallError("kill", err)
	}
	return nil
}

// killLimit is how long killed processes may take to end.
const killLimit = 10 * time.Second

// kill kills the process and all that it started, and returns when they are gone.
func (p *tree) kill() error {
	p.killing.Lock()
	defer p.killing.Unlock()
	if err := p.signal(unix.SIGKILL); err != nil {
		return err
	}
	if err := killAll(killLimit, p.members); err != nil {
		return err
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(killLimit):
		return fmt.Errorf("process %d does not end, though killed", p.pid)
	}
}

// close kills all processes. If this process does nothing except supervise, these are all its descendants.
func (t *trees) close(started []*tree) error {
	var err error
	if t.alone {
		err = KillDescendants(killLimit)
	} else {
		for _, p := range started {
			err = errors.Join(err, p.kill())
		}
		err = errors.Join(err, killAll(killLimit, t.marked)) // what ended processes left behind
	}
	if err == nil {
		for _, p := range started {
			<-p.ended
		}
	}
	t.once.Do(func() { close(t.stop) })
	return err
}

// drain copies the content of the pipe and does not wait for more.
func drain(to io.Writer, from *os.File, b []byte) {
	const maxDrain = 2 << 20 // more than a pipe can hold
	if from.SetReadDeadline(time.Time{}) != nil {
		return
	}
	raw, err := from.SyscallConn()
	if err != nil {
		return
	}
	for total := 0; total < maxDrain; {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			n, _ = unix.Read(int(fd), b)
			return true
		})
		if err != nil || n <= 0 {
			return
		}
		total += n
		_, _ = to.Write(b[:n]) // a spool's Write never fails
	}
}
