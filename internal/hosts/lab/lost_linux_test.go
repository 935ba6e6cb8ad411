package lab

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/host"
)

// shortAnswer is how long a lab may take to answer in these tests.
const shortAnswer = 3 * time.Second

// A lab whose init was killed or stopped is lost: nothing hangs, and every call says so.
func TestLostLab(t *testing.T) {
	for name, signal := range map[string]unix.Signal{"killed": unix.SIGKILL, "stopped": unix.SIGSTOP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hosttest.RunLost(t, func(t *testing.T) hosttest.Losable {
				l := openLab(t, Options{Answer: shortAnswer})
				client, server := build(t, l, "arm", path(experiment.Bridge))
				return hosttest.Losable{Client: client, Server: server, Within: patience, Lose: func() {
					if err := unix.Kill(l.init.Pid, signal); err != nil {
						t.Fatal(err)
					}
				}}
			})
		})
	}
}

// The end of a lab's init is noticed without a request, and ends the calls that wait.
func TestKilledLabTellsAtOnce(t *testing.T) {
	l := openLab(t, Options{})
	_, server := build(t, l, "arm", path(experiment.Bridge))
	p, err := server.Start(t.Context(), host.Cmd{Argv: []string{host.Self, "echo"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Lost(); err != nil {
		t.Fatalf("before: %v", err)
	}
	if err := unix.Kill(l.init.Pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); !errors.Is(err, host.ErrLost) {
		t.Errorf("waiting for a process of the lab: %v", err)
	}
	if err := l.Lost(); !errors.Is(err, host.ErrLost) || !strings.Contains(err.Error(), "init ended (killed") {
		t.Errorf("the lab says %v", err)
	}
}

// A lab that stops answering while an arm is built gives up too.
func TestStoppedLabDoesNotBuildForEver(t *testing.T) {
	t.Parallel() // it only waits
	l := openLab(t, Options{Answer: time.Second})
	if err := unix.Kill(l.init.Pid, unix.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, _, err := l.Build(t.Context(), "arm", path(experiment.Bridge))
		ended <- err
	}()
	select {
	case err := <-ended:
		if !errors.Is(err, host.ErrLost) || !strings.Contains(err.Error(), "is stopped (SIGSTOP)") {
			t.Errorf("building ended with %v", err)
		}
	case <-time.After(2 * patience):
		t.Fatal("building does not end")
	}
}

// A lab that loses the process that plays its wires is lost: no packet arrives any more.
func TestLostWires(t *testing.T) {
	for _, c := range []struct {
		name   string
		signal unix.Signal
		asked  bool // a look finds it; else it tells by itself
		says   string
	}{
		{"killed", unix.SIGKILL, false, "arm wired: the process that plays the wires ended (killed"},
		{"killed, then asked", unix.SIGKILL, true, "arm wired: the process that plays the wires"},
		{"stopped", unix.SIGSTOP, true, "it is stopped (SIGSTOP)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, Options{UserWire: true, Answer: shortAnswer})
			client, _ := build(t, l, "wired", path(experiment.Wire))
			if err := unix.Kill(childOf(t, l.init.Pid, WireVerb), c.signal); err != nil {
				t.Fatal(err)
			}
			if c.asked {
				l.Watch("wired", nil, nil)()
			} else {
				select {
				case <-l.lost:
				case <-time.After(patience):
					t.Fatal("nobody noticed")
				}
			}
			if err := l.Lost(); !errors.Is(err, host.ErrLost) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("the lab says %v", err)
			}
			_, err := client.Start(t.Context(), host.Cmd{Argv: []string{host.Self, "echo"}})
			if !errors.Is(err, host.ErrLost) {
				t.Errorf("starting in it: %v", err)
			}
		})
	}
}

// Closing an arm ends its wires, and the lab is not lost by that.
func TestClosedArmIsNotLost(t *testing.T) {
	l := openLab(t, Options{UserWire: true})
	client, server := build(t, l, "closed", path(experiment.Wire))
	left, _ := build(t, l, "left", path(experiment.Wire))
	for _, h := range []host.Host{client, server} {
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}
	do(t, left, hosttest.Verb, "kind")
	if err := l.Lost(); err != nil {
		t.Errorf("with one arm closed: %v", err)
	}
}

// childOf finds the child of a process that runs a verb of this program.
func childOf(t *testing.T, parent int, verb string) int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		stat, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		line, err := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if err != nil || len(fields) < 2 || fields[1] != strconv.Itoa(parent) || !strings.Contains(string(line), verb) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Fatalf("process %d has no child that runs %s", parent, verb)
	return 0
}
