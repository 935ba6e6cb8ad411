//go:build linux

package ssh

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/onhost/host"
)

// A memoryGroup is a control group that limits memory.
type memoryGroup struct{ folder, peak string }

// newMemoryGroup makes a group below this process's own. The test is skipped where that is not possible.
func newMemoryGroup(t *testing.T, limit int) *memoryGroup {
	t.Helper()
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		parent, file, peak := "", "", ""
		switch {
		case len(parts) == 3 && parts[1] == "memory":
			parent, file, peak = "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.max_usage_in_bytes"
		case len(parts) == 3 && parts[1] == "":
			parent, file, peak = "/sys/fs/cgroup", "memory.max", "memory.peak"
		default:
			continue
		}
		g := &memoryGroup{folder: filepath.Join(parent, parts[2], fmt.Sprintf("nearfar-test-%d", os.Getpid()))}
		if os.Mkdir(g.folder, 0o755) != nil {
			continue
		}
		t.Cleanup(func() {
			for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				err := os.Remove(g.folder)
				if err == nil {
					return
				}
				if time.Now().After(end) {
					t.Errorf("processes are left in the control group: %v", err)
					return
				}
			}
		})
		g.peak = filepath.Join(g.folder, peak)
		_ = os.WriteFile(filepath.Join(g.folder, "memory.swap.max"), []byte("0"), 0o600) // where it is there
		if os.WriteFile(filepath.Join(g.folder, file), []byte(strconv.Itoa(limit)), 0o600) == nil {
			return g
		}
	}
	t.Skip("this process cannot make a control group that limits memory")
	return nil
}

// TestHostWithLittleMemory: on a host with 100 MB of memory, a tool that takes more is killed by the kernel. The error
// says so; the agent goes on, and leaves nothing.
func TestHostWithLittleMemory(t *testing.T) {
	r := useRig(t)
	place(t, r)
	g := newMemoryGroup(t, 100<<20)
	o := r.options("plain")
	o.Command, o.Agents = "echo $$ >"+g.folder+"/cgroup.procs && exec "+r.placed()+" --stdio", nil
	c := connectReal(t, o)
	run := func(argv ...string) error {
		p, err := c.Host().Start(t.Context(), host.Cmd{Argv: argv})
		if err != nil {
			return err
		}
		return p.Wait()
	}
	var exit *host.ExitError
	if err := run("sh", "-c", "kill -KILL $$"); !errors.As(err, &exit) || exit.OutOfMemory ||
		!strings.Contains(err.Error(), "ended by signal SIGKILL") {
		t.Errorf("a process that was killed: %v", err)
	}
	begun := time.Now()
	// tail keeps a line that does not end.
	err := run("tail", "/dev/zero")
	if !errors.As(err, &exit) || !exit.OutOfMemory || !strings.Contains(err.Error(), "killed: out of memory") {
		t.Errorf("a process that takes all memory: %v", err)
	}
	t.Logf("%v after %v", err, time.Since(begun).Round(time.Millisecond))
	if err := run("true"); err != nil {
		t.Errorf("the host afterwards: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	peak, _ := os.ReadFile(g.peak) // older kernels do not have it
	t.Logf("at most %s bytes were used", strings.TrimSpace(string(peak)))
	if folder := sessionFolder(o.Agent.Session); exists(folder) {
		t.Errorf("%s stays", folder)
	}
}
