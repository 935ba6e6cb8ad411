package children

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/machine"
)

// table is a Table that records the calls.
type table struct {
	mu      sync.Mutex
	running []int
	told    map[int]string
	reaped  map[int]bool // already reaped when it was told
}

func (t *table) Running() []int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.running)
}

func (t *table) Ended(pid int, status unix.WaitStatus) {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	code, signal := Exit(status)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told[pid] += fmt.Sprint(code, signal)
	t.reaped[pid] = err != nil
	t.running = slices.DeleteFunc(t.running, func(p int) bool { return p == pid })
}

// The table is informed once of the end of each child, before the child is reaped, and all children are reaped in the
// end.
func TestReap(t *testing.T) {
	all := &table{told: map[int]string{}, reaped: map[int]bool{}}
	want := map[int]string{}
	all.mu.Lock()
	for script, end := range map[string]string{
		"exit 0": "0", "exit 3": "3", "kill -KILL $$": "-1SIGKILL", "kill -TERM $$": "-1SIGTERM",
	} {
		pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{})
		if err != nil {
			t.Fatal(err)
		}
		all.running, want[pid] = append(all.running, pid), end
	}
	all.mu.Unlock()
	stop, returned := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(returned)
		Reap(all, false, stop)
	}()
	for deadline := time.Now().Add(30 * time.Second); len(all.Running()) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("children ended, and nobody was told")
		}
	}
	close(stop)
	<-returned
	for pid, end := range want {
		if all.told[pid] != end || all.reaped[pid] {
			t.Errorf("process %d: %q, reaped before: %v; want %q", pid, all.told[pid], all.reaped[pid], end)
		}
		if _, err := os.Stat(fmt.Sprintf("/proc/%d", pid)); err == nil {
			t.Errorf("process %d is not reaped", pid)
		}
	}
}

func TestChildrenRan(t *testing.T) {
	stat := "7 (a) b) S 1 " + strings.Repeat("0 ", 11) + "150 50 0"
	if got := childrenRan([]byte(stat)); got != 2*time.Second {
		t.Errorf("%v", got)
	}
	for _, wrong := range []string{"", "7 (a) S 1", strings.Replace(stat, "150", "x", 1)} {
		if got := childrenRan([]byte(wrong)); got != 0 {
			t.Errorf("%q: %v", wrong, got)
		}
	}
}

// Either the last thread or the live threads stand for the process: those that used more CPU time. Their run delay is
// known if they used most of the process's CPU time.
func TestWith(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		ended EndedUse
		live  machine.Use
		want  machine.Use
		known bool
	}{
		{
			EndedUse{machine.Use{Ran: 95 * ms, Delay: ms}, 100 * ms, true}, machine.Use{},
			machine.Use{Ran: 100 * ms, Delay: ms}, true,
		},
		{
			EndedUse{machine.Use{Ran: 10 * ms, Delay: ms}, 100 * ms, true}, machine.Use{},
			machine.Use{Ran: 100 * ms, Delay: ms}, false,
		},
		{
			EndedUse{machine.Use{Ran: 10 * ms, Delay: ms}, 100 * ms, true}, machine.Use{Ran: 90 * ms, Delay: 7 * ms},
			machine.Use{Ran: 100 * ms, Delay: 7 * ms}, true,
		},
		{EndedUse{}, machine.Use{}, machine.Use{}, false},
	} {
		if got, known := c.ended.With(c.live); got != c.want || known != c.known {
			t.Errorf("%+v with %+v: %+v, %v", c.ended, c.live, got, known)
		}
	}
}

func TestMergeEnv(t *testing.T) {
	got := MergeEnv([]string{"A=1", "B=2"}, []string{"B=3", "C=4=5", "C=6"})
	if want := []string{"A=1", "B=3", "C=6"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
