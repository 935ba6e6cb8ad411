package supervise

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"

	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
)

// trees are the processes that were started. All of them are in one job, which ends them when this process ends,
// however that happens. Each tree is in a job of its own, nested in that one. No process can leave its job, because no
// job allows breaking away.
type trees struct {
	used func(Use)

	mu  sync.Mutex
	job windows.Handle // 0 once all has been closed
}

// A tree is a process and all that it started.
type tree struct {
	pid     int
	cpus    []int
	started time.Time

	mu sync.Mutex
	// process is 0 once it has ended. As long as the handle is open, no other process gets its number.
	process windows.Handle
	// job is 0 once none of its processes is left. killed says that it was terminated.
	job    windows.Handle
	killed bool

	ended chan struct{}
	// end is valid once ended is closed.
	end End
}

// Exit statuses of processes that did not end by themselves.
const (
	// killedStatus is given to killed processes. It is unlikely as their own.
	killedStatus = 0x6e667266
	// interruptedStatus is the exit status of a process that has no handler for CTRL+BREAK (STATUS_CONTROL_C_EXIT).
	interruptedStatus = uint32(windows.STATUS_CONTROL_C_EXIT)
)

func newTrees(_ bool, used func(Use)) (*trees, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateJobObject", err)
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return nil, os.NewSyscallError("SetInformationJobObject", err)
	}
	return &trees{used: used, job: job}, nil
}

// lookPath finds a program on PATH, with the extensions of PATHEXT. The name self stands for this program. Scripts of
// cmd.exe are refused: it reads their arguments in another way than programs do, so that quotes do not protect them.
func lookPath(name, self string) (string, error) {
	if name == self && self != "" {
		return os.Executable()
	}
	path, err := exec.LookPath(name)
	switch {
	case errors.Is(err, exec.ErrDot):
		return "", fmt.Errorf("%w: no %q on PATH; %s in the current folder is not used", host.ErrNotFound, name, path)
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("%w: no %q on PATH", host.ErrNotFound, name)
	case err != nil:
		return "", err
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".exe", ".com":
		return filepath.Abs(path)
	}
	return "", fmt.Errorf("%s is not a program with the extension .exe", path)
}

// start starts a process that is suspended, puts it into its jobs, binds it to its CPUs, and lets it run.
func (t *trees) start(path string, c Command, dir string, files [3]*os.File) (*tree, error) {
	mask, err := machine.AffinityMask(c.CPUs)
	if err != nil {
		return nil, err
	}
	info, err := createSuspended(path, c, dir, files)
	if err != nil {
		return nil, err
	}
	defer func() { _ = windows.CloseHandle(info.Thread) }()
	p := &tree{
		pid: int(info.ProcessId), process: info.Process, cpus: c.CPUs, ended: make(chan struct{}),
	}
	err = t.enter(p)
	if err == nil && mask != 0 {
		if err = machine.SetProcessAffinity(p.process, mask); err != nil {
			err = fmt.Errorf("binding to CPUs %v: %w", c.CPUs, err)
		}
	}
	if err == nil {
		p.started = time.Now()
		_, err = windows.ResumeThread(info.Thread)
		err = os.NewSyscallError("ResumeThread", err)
	}
	if err != nil {
		_ = windows.TerminateProcess(p.process, killedStatus) // it has not run yet
		_ = windows.CloseHandle(p.process)
		p.closeJob()
		return nil, err
	}
	go t.await(p)
	return p, nil
}

// enter puts the process into the job of all trees, and then into a new one of its own, which is thereby nested.
func (t *trees) enter(p *tree) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job == 0 {
		return errClosed
	}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return os.NewSyscallError("CreateJobObject", err)
	}
	p.job = job
	for _, job := range []windows.Handle{t.job, p.job} {
		if err := windows.AssignProcessToJobObject(job, p.process); err != nil {
			return os.NewSyscallError("AssignProcessToJobObject", err)
		}
	}
	return nil
}

// await waits until the process has ended.
func (t *trees) await(p *tree) {
	// It fails only for a handle that is none.
	_, _ = windows.WaitForSingleObject(p.process, windows.INFINITE)
	end := End{At: time.Now()}
	p.mu.Lock()
	var status uint32
	if err := windows.GetExitCodeProcess(p.process, &status); err != nil {
		status = killedStatus
	}
	use := Use{Ran: p.ran(), Lived: time.Since(p.started), CPUs: p.cpus}
	_ = windows.CloseHandle(p.process)
	p.process = 0
	switch end.Code = int(status); {
	case status == killedStatus && p.killed:
		end.Code, end.Signal = -1, "SIGKILL"
	case status == interruptedStatus:
		end.Code, end.Signal = -1, "CTRL+BREAK"
	}
	p.mu.Unlock()
	t.used(use)
	p.end = end
	close(p.ended)
	if n, err := p.running(); err == nil && n == 0 {
		p.closeJob()
	}
}

// ran is the CPU time of the process and of those that it started. The lock is held.
func (p *tree) ran() time.Duration {
	var created, exited, kernel, user windows.Filetime
	var own time.Duration
	if windows.GetProcessTimes(p.process, &created, &exited, &kernel, &user) == nil {
		own = ticks(kernel) + ticks(user)
	}
	if a, err := accounting(p.job); err == nil {
		return max(own, time.Duration(a.TotalUserTime+a.TotalKernelTime)*tick)
	}
	return own
}

// tick is the unit of times in Windows.
const tick = 100 * time.Nanosecond

func ticks(t windows.Filetime) time.Duration {
	return time.Duration(int64(t.HighDateTime)<<32|int64(t.LowDateTime)) * tick
}

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type jobAccounting struct {
	TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64
	TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses     uint32
}

func accounting(job windows.Handle) (jobAccounting, error) {
	var a jobAccounting
	if job == 0 {
		return a, nil
	}
	err := windows.QueryInformationJobObject(job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&a)), uint32(unsafe.Sizeof(a)), nil)
	return a, os.NewSyscallError("QueryInformationJobObject", err)
}

// running is how many processes of the tree run.
func (p *tree) running() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, err := accounting(p.job)
	return int(a.ActiveProcesses), err
}

// closeJob frees the job. Its processes stay in the job of all trees.
func (p *tree) closeJob() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.job != 0 {
		_ = windows.CloseHandle(p.job)
		p.job = 0
	}
}

// owns says whether a running process belongs to the tree.
func (p *tree) owns(pid int) bool {
	// The limited right would do on Windows, but Wine 8 wants this one.
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION, false, uint32(pid))
	if err != nil {
		return false // it has ended, or is another user's
	}
	defer func() { _ = windows.CloseHandle(process) }()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.job != 0 && isInJob(process, p.job)
}

func isInJob(process, job windows.Handle) bool {
	var in int32
	ok, _, _ := windows.NewLazySystemDLL("kernel32.dll").NewProc("IsProcessInJob").Call(
		uintptr(process), uintptr(job), uintptr(unsafe.Pointer(&in)))
	return ok != 0 && in != 0
}

// terminate presses CTRL+BREAK for the process and its group. Without a console, nothing can be asked to end: then the
// tree is killed.
func (p *tree) terminate() error {
	p.mu.Lock()
	asked := p.process == 0 // it has ended
	if !asked {
		asked = windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(p.pid)) == nil
	}
	p.mu.Unlock()
	if asked {
		return nil
	}
	return p.kill()
}

// killLimit is how long killed processes may take to end.
const killLimit = 10 * time.Second

// kill kills the process and all that it started, and returns when they have ended.
func (p *tree) kill() error {
	p.mu.Lock()
	if p.job == 0 {
		p.mu.Unlock()
		<-p.ended
		return nil
	}
	p.killed = true
	err := windows.TerminateJobObject(p.job, killedStatus)
	p.mu.Unlock()
	if err != nil {
		return os.NewSyscallError("TerminateJobObject", err)
	}
	if err := awaitNone(p.running); err != nil {
		return err
	}
	select {
	case <-p.ended:
	case <-time.After(killLimit):
		return fmt.Errorf("process %d does not end, though killed", p.pid)
	}
	p.closeJob()
	return nil
}

// awaitNone waits until no process runs.
func awaitNone(running func() (int, error)) error {
	for deadline := time.Now().Add(killLimit); ; time.Sleep(time.Millisecond) {
		n, err := running()
		if err != nil || n == 0 {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d processes do not end, though killed", n)
		}
	}
}

// close kills all processes, also those that ended processes left behind.
func (t *trees) close(started []*tree) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.job == 0 {
		return nil
	}
	for _, p := range started {
		p.mu.Lock()
		p.killed = true
		p.mu.Unlock()
	}
	if err := windows.TerminateJobObject(t.job, killedStatus); err != nil {
		return os.NewSyscallError("TerminateJobObject", err)
	}
	err := awaitNone(func() (int, error) {
		a, err := accounting(t.job)
		return int(a.ActiveProcesses), err
	})
	if err != nil {
		return err
	}
	for _, p := range started {
		<-p.ended
		p.closeJob()
	}
	_ = windows.CloseHandle(t.job)
	t.job = 0
	return nil
}
