package supervise

import (
	"maps"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/children"
)

// Running lists the numbers of the processes whose end was not noticed yet.
func (t *trees) Running() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Keys(t.byPID))
}

// Ended informs the goroutines that wait for a process that it has ended.
func (t *trees) Ended(pid int, status unix.WaitStatus) {
	end := End{At: time.Now()}
	end.Code, end.Signal = children.Exit(status)
	used := children.ReadEnded(pid, true)
	t.mu.Lock()
	p := t.byPID[pid]
	delete(t.byPID, pid)
	if end.Signal == "SIGKILL" {
		end.OutOfMemory = t.oom.Killed()
	}
	t.mu.Unlock()
	if p == nil {
		return // an orphan
	}
	t.used(p.use(used))
	p.end = end
	close(p.ended)
}

// use is what the process used, once it has ended.
func (p *tree) use(ended children.EndedUse) Use {
	p.trees.mu.Lock()
	live := p.live
	p.trees.mu.Unlock()
	used, known := ended.With(live)
	return Use{Ran: used.Ran, Delay: used.Delay, DelayKnown: known, Lived: time.Since(p.started), CPUs: p.cpus}
}
