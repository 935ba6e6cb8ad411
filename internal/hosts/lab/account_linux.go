package lab

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/children"
	"nearfar/internal/onhost/machine"
)

// A processUse is the CPU time of a process that has ended. Ran includes the children for which it waited.
type processUse struct {
	machine.Use
	// Space is the namespace that it ran in, empty for an orphan; CPUs are the CPUs to which it was bound, empty for
	// any.
	Space string `json:"space"`
	CPUs  []int  `json:"cpus,omitempty"`
	// Lived is the lifetime of the process.
	Lived time.Duration `json:"lived"`
	// Known says that Delay covers the threads that used most of the CPU time. The kernel forgets a thread's delay when
	// the thread ends.
	Known bool `json:"known"`
}

// A threadUse is the use of a live thread of the wires.
type threadUse struct {
	machine.Use
	TID  int   `json:"tid"`
	CPUs []int `json:"cpus"`
}

// A look is what happened in the lab since the previous look.
type look struct {
	Ended []processUse `json:"ended,omitempty"`
	// Wires are the arm's user-space wires since the previous look, Threads the threads of their process since its
	// start.
	Wires   []WireStats `json:"wires,omitempty"`
	Threads []threadUse `json:"threads,omitempty"`
}

// maxEnded bounds how many ended processes are kept for the next look, which may never come.
const maxEnded = 64

// look says what happened since the previous look, with the arm's wires.
func (s *initServer) look(arm string) (look, error) {
	a, err := s.arm(arm)
	if err != nil {
		return look{}, err
	}
	seen := look{Ended: s.processes.takeEnded()}
	if a.wires == nil {
		return seen, nil
	}
	if seen.Wires, err = a.wires.recent(); err != nil {
		return look{}, err
	}
	seen.Threads = threadUses(a.wires.process.pid)
	return seen, nil
}

// threadUses reads the threads of a process. It leaves out a thread that ends in the meantime.
func threadUses(pid int) []threadUse {
	var all []threadUse
	for _, tid := range tasks(pid) {
		u, err := machine.ReadUse(fmt.Sprintf("/proc/%d/task/%d/schedstat", pid, tid))
		if err != nil {
			continue
		}
		var set unix.CPUSet
		if unix.SchedGetaffinity(tid, &set) != nil {
			continue
		}
		t := threadUse{Use: u, TID: tid}
		for c := range machine.MaxCPU {
			if set.IsSet(c) {
				t.CPUs = append(t.CPUs, c)
			}
		}
		all = append(all, t)
	}
	return all
}

// tasks lists the threads of a process.
func tasks(pid int) []int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var all []int
	for _, e := range entries {
		if tid, err := strconv.Atoi(e.Name()); err == nil {
			all = append(all, tid)
		}
	}
	return all
}

// account keeps what a child used that has ended; p is nil for one that a process of the lab left behind. The
// lock is held.
func (t *processTable) account(p *process, ended children.EndedUse) {
	u := processUse{Use: machine.Use{Ran: ended.Total()}}
	if p != nil {
		u.Space, u.CPUs, u.Lived = p.space, p.cpus, time.Since(p.started)
		u.Use, u.Known = ended.With(p.live)
	}
	t.recent = append(t.recent, u)
	if over := len(t.recent) - maxEnded; over > 0 {
		t.recent = slices.Delete(t.recent, 0, over)
	}
}

// takeEnded returns the processes that have ended since it was last called.
func (t *processTable) takeEnded() []processUse {
	t.mu.Lock()
	defer t.mu.Unlock()
	ended := t.recent
	t.recent = nil
	return ended
}
