package supervise

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// A processStat is a part of /proc/PID/stat (proc(5)).
type processStat struct {
	pid, parent, group int
	// started is when the process started, in clock ticks since boot. Together with pid it identifies the process.
	started uint64
	zombie  bool
}

// processes lists the processes of this machine.
func processes() (map[int]processStat, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err // without it no process would be found, and none killed
	}
	all := map[int]processStat{}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			if p, ok := readStat(pid); ok {
				all[pid] = p
			}
		}
	}
	return all, nil
}

func readStat(pid int) (processStat, bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return processStat{}, false // it has ended meanwhile
	}
	return parseStat(pid, b)
}

// parseStat reads "pid (name) state ppid pgrp ... starttime ...". The name may contain anything.
func parseStat(pid int, stat []byte) (processStat, bool) {
	const state, parent, group, started = 0, 1, 2, 19 // counted from the state, which follows the name
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= started {
		return processStat{}, false
	}
	p := processStat{pid: pid, zombie: fields[state][0] == 'Z' || fields[state][0] == 'X'}
	var errs [3]error
	p.parent, errs[0] = strconv.Atoi(string(fields[parent]))
	p.group, errs[1] = strconv.Atoi(string(fields[group]))
	p.started, errs[2] = strconv.ParseUint(string(fields[started]), 10, 64)
	return p, errors.Join(errs[:]...) == nil
}

// below says whether a process is a descendant of another one.
func below(all map[int]processStat, p processStat, ancestor int) bool {
	for range len(all) {
		if p.parent == ancestor {
			return true
		}
		parent, ok := all[p.parent]
		if !ok {
			return false
		}
		p = parent
	}
	return false
}

// members lists the processes of a tree that run: the process and its descendants, its process group, and processes
// with its mark.
func (p *tree) members() ([]processStat, error) {
	self, alive := os.Getpid(), p.isRunning()
	return running(func(all map[int]processStat, q processStat) bool {
		return q.pid != self && (!p.trees.alone || below(all, q, self)) && p.has(all, q, alive)
	})
}

// running lists the processes of this machine that run and that belongs accepts.
func running(belongs func(all map[int]processStat, q processStat) bool) ([]processStat, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	var found []processStat
	for _, q := range all {
		if !q.zombie && belongs(all, q) {
			found = append(found, q)
		}
	}
	return found, nil
}

// isRunning says that the process is not reaped: no other process can have its number.
func (p *tree) isRunning() bool {
	p.trees.mu.Lock()
	defer p.trees.mu.Unlock()
	return p.trees.byPID[p.pid] == p
}

// has says whether a process belongs to the tree. all has at least the ancestors of the process.
func (p *tree) has(all map[int]processStat, q processStat, running bool) bool {
	return running && (q.pid == p.pid || q.group == p.pid || below(all, q, p.pid)) || markOf(q.pid) == p.mark
}

// marked lists the running processes with a mark of one of the trees.
func (t *trees) marked() ([]processStat, error) {
	return running(func(_ map[int]processStat, q processStat) bool {
		return strings.HasPrefix(markOf(q.pid), marker+"="+t.name+".")
	})
}

// markOf is the setting that marks a process; empty for a process without one.
func markOf(pid int) string {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil {
		return ""
	}
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		if bytes.HasPrefix(kv, []byte(marker+"=")) {
			return string(kv)
		}
	}
	return ""
}

// KillDescendants kills all descendants of this process until none is left. After AdoptOrphans these are all processes
// that this one started, and all that those started.
func KillDescendants(limit time.Duration) error {
	self := os.Getpid()
	return killAll(limit, func() ([]processStat, error) {
		return running(func(all map[int]processStat, p processStat) bool { return below(all, p, self) })
	})
}

// killAll kills the processes that find returns, until it finds none.
func killAll(limit time.Duration, find func() ([]processStat, error)) error {
	deadline := time.Now().Add(limit)
	for {
		found, err := find()
		if err != nil || len(found) == 0 {
			return err
		}
		var failed error
		var dying []int
		for _, p := range found {
			fd, err := p.kill()
			if err != nil {
				failed = err
			}
			if fd >= 0 {
				dying = append(dying, fd)
			}
		}
		awaitEnds(dying, deadline)
		if time.Now().After(deadline) {
			if failed != nil {
				return failed
			}
			return fmt.Errorf("%d processes do not end, though killed", len(found))
		}
		time.Sleep(time.Millisecond) // until the kernel has ended them
	}
}

// awaitEnds waits until processes have ended, with all their threads, and closes their descriptors. A process that is
// killed loses its environment, and so its mark, before it closes its sockets.
func awaitEnds(pidfds []int, deadline time.Time) {
	for _, fd := range pidfds {
		for left := time.Until(deadline); left > 0; left = time.Until(deadline) {
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			if _, err := unix.Poll(poll, int(left.Milliseconds())+1); !errors.Is(err, unix.EINTR) {
				break
			}
		}
		_ = unix.Close(fd)
	}
}

// kill kills the process, but not another process that got the same number in the meantime. pidfd becomes readable when
// it has ended (pidfd_open(2)); -1 for none.
func (p processStat) kill() (pidfd int, err error) {
	pidfd, err = unix.PidfdOpen(p.pid, 0)
	switch {
	case errors.Is(err, unix.ENOSYS):
		pidfd, err = -1, unix.Kill(p.pid, unix.SIGKILL) // Linux before 5.3
	case err != nil:
		pidfd = -1
	default:
		if now, ok := readStat(p.pid); !ok || now.started != p.started {
			_ = unix.Close(pidfd)
			return -1, nil
		}
		err = unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0)
	}
	if err != nil && !errors.Is(err, unix.ESRCH) {
		return pidfd, fmt.Errorf("process %d (%s) cannot be killed: %w", p.pid, programOf(p.pid), err)
	}
	return pidfd, nil
}

// programOf is the name of a process; "?" if it has ended.
func programOf(pid int) string {
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return "?"
	}
	return string(bytes.TrimSpace(name))
}
