package lab

import (
	"errors"
	"fmt"
	"maps"
	"os"
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

// marker is the environment variable that marks a process and all that it starts, even after a child has moved to a
// session of its own.
const marker = "NEARFAR_LAB_PROCESS"

// A processTable holds the started processes by a key that is never reused. It reaps every child of the init, with the
// orphans that the kernel handed to it.
type processTable struct {
	// mu is held over a fork and its entry here, so that no process ends before it is entered.
	mu    sync.Mutex
	last  uint64
	byKey map[uint64]*process
	byPID map[int]*process
	// recent are the processes that have ended since takeEnded was last called.
	recent []processUse
	// freshProc says that /proc shows processes under the numbers that they have in the lab.
	freshProc bool
}

type process struct {
	key   uint64
	pid   int
	ended chan struct{}
	// status and endedAt are valid once ended is closed.
	status  unix.WaitStatus
	endedAt time.Time
	// space and cpus are where it runs; empty for the wires. live is the CPU time that it had used when it was asked to
	// end.
	space   string
	cpus    []int
	started time.Time
	live    machine.Use
	// left is what ran below it when it was asked to end.
	left []aProcess
}

// mark is the setting in the environment of the process and of all that it starts.
func (p *process) mark() string { return marker + "=" + strconv.FormatUint(p.key, 10) }

func newProcessTable() *processTable {
	return &processTable{byKey: map[uint64]*process{}, byPID: map[int]*process{}}
}

// Running lists the numbers of the processes whose end was not noticed yet.
func (t *processTable) Running() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.byPID))
}

// Ended accounts for a child that has ended, and informs those who wait for it.
func (t *processTable) Ended(pid int, status unix.WaitStatus) {
	used := children.ReadEnded(pid, t.hasFreshProc())
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.byPID[pid]
	t.account(p, used)
	if p != nil {
		delete(t.byPID, pid)
		p.status, p.endedAt = status, time.Now()
		close(p.ended)
	}
}

func (t *processTable) hasFreshProc() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.freshProc
}

// start starts a process of the host in the namespace, on the given CPUs; files are its standard streams.
func (s *initServer) start(q request, files []*os.File) (reply, error) {
	if len(files) != 3 {
		return reply{}, errors.New("start without its standard streams")
	}
	if len(q.Argv) == 0 {
		return reply{}, errors.New("an empty command line")
	}
	ns, err := s.space(q.Arm, q.Space)
	if err != nil {
		return reply{}, err
	}
	path, err := children.LookPath(q.Argv[0], host.Self)
	if err != nil {
		return reply{}, err
	}
	cpus := q.CPUs
	if len(cpus) == 0 {
		cpus = s.setup.CPUs
	}
	for _, c := range cpus {
		if c < 0 || c >= machine.MaxCPU {
			return reply{}, fmt.Errorf("there is no CPU %d", c)
		}
	}
	p := &process{space: q.Space, cpus: q.CPUs}
	err = s.processes.start(p, ns, path, q.Argv, append([]string{"TMPDIR=" + tempDir}, q.Env...), cpus, files)
	if err != nil {
		return reply{}, err
	}
	if a, err := s.arm(q.Arm); err == nil && a.wires != nil {
		if err := a.wires.follow(p, q.CPUs, s.setup.ServiceCPU); err != nil {
			return reply{}, errors.Join(err, s.processes.killTree(p.key))
		}
	}
	return reply{Process: p.key, At: p.started}, nil
}

// start forks from a thread in the namespace and on the CPUs, so that the process is there from its first instruction.
func (t *processTable) start(
	p *process, ns *namespace, path string, argv, env []string, cpus []int, files []*os.File,
) error {
	p.ended = make(chan struct{})
	err := onThread(func() error {
		if err := ns.enter(); err != nil {
			return err
		}
		if err := machine.Pin(cpus); err != nil {
			return err
		}
		fds := make([]uintptr, len(files))
		for i, f := range files {
			fds[i] = f.Fd()
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.last++
		p.key = t.last
		// Before the fork: on a busy machine this thread may go on long after the process runs.
		p.started = time.Now()
		var err error
		p.pid, err = syscall.ForkExec(path, argv, &syscall.ProcAttr{
			Env:   children.MergeEnv(os.Environ(), append(env, p.mark())),
			Files: fds,
			// Sessions of their own, as on two machines: the kernel may share CPUs fairly between sessions.
			Sys: &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil {
			return fmt.Errorf("starting %s: %w", path, err)
		}
		t.byKey[p.key] = p
		t.byPID[p.pid] = p
		return nil
	})
	if errors.Is(err, unix.ENOENT) {
		err = fmt.Errorf("%w: %w", host.ErrNotFound, err)
	}
	return err
}

func (t *processTable) get(key uint64) (*process, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.byKey[key]
	if p == nil {
		return nil, fmt.Errorf("no process %d in the lab", key)
	}
	return p, nil
}

// wait returns when the process has ended. The table keeps the entry, because signals may still come for its children.
func (t *processTable) wait(key uint64) (reply, error) {
	p, err := t.get(key)
	if err != nil {
		return reply{}, err
	}
	<-p.ended
	code, signal := children.Exit(p.status)
	return reply{Code: code, Signal: signal, At: p.endedAt}, nil
}

// signal sends a signal to the group of a process.
func (t *processTable) signal(key uint64, sig unix.Signal) error {
	p, err := t.get(key)
	if err != nil {
		return err
	}
	below := t.below(p)
	t.mu.Lock() // it cannot be reaped, and its number not be given away, in between
	defer t.mu.Unlock()
	if t.byPID[p.pid] != p {
		return nil // ended already
	}
	p.left = append(p.left, below...)
	if sig == unix.SIGTERM && t.freshProc {
		p.live = children.LiveUse(p.pid) // its threads end before the process, and the kernel forgets their use
	}
	if err := unix.Kill(-p.pid, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return os.NewSyscallError("kill", err)
	}
	return nil
}

// killTree kills a process and all that it started, and returns when all of them have ended.
func (t *processTable) killTree(key uint64) error {
	p, err := t.get(key)
	if err != nil {
		return err
	}
	if err := t.signal(key, unix.SIGKILL); err != nil {
		return err
	}
	t.mu.Lock()
	left := p.left
	t.mu.Unlock()
	err = killAll(func(pid int) bool { return hasEnv(pid, p.mark()) || still(left, pid) })
	<-p.ended
	return err
}

// killNamespace kills every process in a network namespace.
func killNamespace(ns *namespace) error {
	return killAll(func(pid int) bool {
		var st unix.Stat_t
		return unix.Stat(fmt.Sprintf("/proc/%d/ns/net", pid), &st) == nil && st.Ino == ns.inode
	})
}

// killAll kills the processes of the lab that match, until none is left.
func killAll(match func(pid int) bool) error {
	deadline := time.Now().Add(10 * time.Second)
	for {
		found := 0
		entries, err := os.ReadDir("/proc")
		if err != nil {
			return err // without it no process would be found, and none killed
		}
		for _, e := range entries {
			seen, err := strconv.Atoi(e.Name())
			if err != nil || !match(seen) {
				continue
			}
			pid := ownPID(seen)
			if pid <= 1 {
				continue
			}
			found++
			if err := unix.Kill(pid, unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				return os.NewSyscallError("kill", err)
			}
		}
		if found == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes do not end, though killed", found)
		}
		time.Sleep(time.Millisecond) // until the kernel has ended them
	}
}

// ownPID converts the number under which /proc shows a process to its number in the lab. The two differ if no new /proc
// could be mounted. 0 says that the process has ended.
func ownPID(seen int) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", seen))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if numbers, ok := strings.CutPrefix(line, "NSpid:"); ok {
			numbers = strings.TrimSpace(numbers)
			pid, _ := strconv.Atoi(numbers[strings.LastIndexByte(numbers, '\t')+1:]) // 0 for no number
			return pid
		}
	}
	return 0
}

// hasEnv says whether a process was started with the setting in its environment. A zombie has no environment.
func hasEnv(pid int, setting string) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return false
	}
	return slices.Contains(strings.Split(string(env), "\x00"), setting)
}
