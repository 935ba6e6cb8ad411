package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/inside"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
)

// Lab is an open lab. Its methods may be called from several goroutines.
type Lab struct {
	options Options
	conn    *messageConn
	// lost is closed when the lab cannot be used any more, ended when its init has ended.
	lost, ended chan struct{}
	// stderr is the end of the standard error of the init and the wires.
	stderr *host.Tail

	mu      sync.Mutex
	closing bool
	lastID  uint64
	pending map[uint64]chan reply
	why     error // why the lab can no longer be used, valid once lost is closed
	facts   Facts
	arms    map[string]int            // the index of each arm that was built
	open    map[string]int            // how many hosts of an arm are not closed
	places  map[string][]inside.Place // the namespaces of each arm
	reader  *machine.Reader
	init    *os.Process
}

// Open starts a lab: a process of Options.Program, in its own namespaces, that lives until Close or until the calling
// process ends. If the machine forbids it, the error wraps ErrUnsupported and names the setting.
func Open(ctx context.Context, o Options) (*Lab, error) {
	cpus, err := machine.CPUs()
	if err != nil {
		return nil, errorf("%w", err)
	}
	l := &Lab{
		options: o, lost: make(chan struct{}), ended: make(chan struct{}), stderr: host.NewTail(8 << 10),
		pending: map[uint64]chan reply{}, arms: map[string]int{}, open: map[string]int{}, places: map[string][]inside.Place{},
		reader: machine.NewReader(),
	}
	inUserNamespace := o.UserNamespace || !privileged()
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, forbidden(err, inUserNamespace)
	}
	if err := l.spawn(theirs, inUserNamespace, cpus[0]); err != nil {
		_ = ours.Close()
		_ = theirs.Close()
		return nil, forbidden(err, inUserNamespace)
	}
	_ = theirs.Close()
	if l.conn, err = newMessageConn(ours); err != nil {
		l.kill()
		return nil, errorf("%w", err)
	}
	go l.receive()
	r, err := l.call(ctx, request{Op: opSetup, Setup: &setup{
		UserNamespace: inUserNamespace, UserWire: o.UserWire, RateOnly: o.RateOnly, CPUs: cpus, ServiceCPU: cpus[0],
		WiresAnswer: o.answer() / 2,
	}})
	if err == nil && r.Facts == nil {
		err = errors.New("the init gave no facts")
	}
	if err != nil {
		_ = l.Close()
		if r.Unsupported {
			return nil, forbidden(err, inUserNamespace)
		}
		return nil, errorf("%w", err)
	}
	l.facts = *r.Facts
	return l, nil
}

// spawn starts the init from a thread that lives as long as the init: the kernel sends the parent-death signal when the
// forking thread ends, not when its process ends. The thread runs on the service CPU, and so does the init.
func (l *Lab) spawn(control *os.File, userNamespace bool, cpu int) error {
	exe := l.options.Program
	if exe == "" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return err
		}
	}
	// It lives until Close, whatever happens to the caller's context.
	cmd := exec.CommandContext(context.Background(), exe, InitVerb)
	cmd.Stderr = l.stderr
	cmd.ExtraFiles = []*os.File{control}
	// The init's children may keep the output pipe open; they end with the init.
	cmd.WaitDelay = time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
		Pdeathsig:  syscall.SIGKILL,
		// A session of its own: a Ctrl-C on the terminal reaches only nearfar, which ends the processes in order.
		Setsid: true,
	}
	if userNamespace {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	started := make(chan error)
	go func() {
		// Never unlocked: the thread is bound to a CPU and ends with the goroutine.
		runtime.LockOSThread()
		err := machine.Pin([]int{cpu})
		if err == nil {
			err = cmd.Start()
		}
		started <- err
		if err != nil {
			return
		}
		err = cmd.Wait()
		l.setWhy(l.gone("the lab's init ended", err))
		close(l.ended)
	}()
	if err := <-started; err != nil {
		return err
	}
	l.init = cmd.Process
	return nil
}

// receive hands each reply to the call that waits for it.
func (l *Lab) receive() {
	for {
		var r reply
		files, err := l.conn.receive(&r)
		if err != nil {
			// The end of the init, which follows, explains the reason better.
			if !errors.Is(err, io.EOF) {
				l.kill()
			}
			return
		}
		closeAll(files)
		if r.Lost != "" {
			l.lose(l.gone(r.Lost, nil))
			continue
		}
		l.mu.Lock()
		c := l.pending[r.ID]
		delete(l.pending, r.ID)
		l.mu.Unlock()
		if c != nil {
			c <- r
		}
	}
}

func (r reply) err() error {
	switch {
	case r.Taken != nil:
		return r.Taken
	case r.Ended:
		return host.ErrEnded
	case r.Expired:
		return context.DeadlineExceeded
	case r.NotFound:
		return fmt.Errorf("%w: %s", host.ErrNotFound, r.Error)
	case r.Error != "":
		return errors.New(r.Error)
	}
	return nil
}

// Facts describes the lab.
func (l *Lab) Facts() Facts {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.facts
	f.CPUs, f.Arms = slices.Clone(f.CPUs), slices.Clone(f.Arms)
	return f
}

// Build makes an arm: its two hosts and the path between them. When Build returns, the path has carried full-size
// packets both ways. The error says where they stopped.
func (l *Lab) Build(ctx context.Context, arm string, spec experiment.Lab) (client, server host.Host, err error) {
	l.mu.Lock()
	if _, twice := l.arms[arm]; twice {
		l.mu.Unlock()
		return nil, nil, errorf("arm %s: built twice", arm)
	}
	index := len(l.arms) + 1
	l.arms[arm] = index
	l.mu.Unlock()
	p, err := newPlan(arm, index, spec, l.Facts().HasIPv6())
	if err != nil {
		return nil, nil, errorf("arm %s: %w", arm, err)
	}
	built, err := l.call(ctx, request{Op: opBuild, Plan: p})
	if err != nil {
		return nil, nil, errorf("arm %s: %w", arm, err)
	}
	facts := p.facts()
	l.mu.Lock()
	l.facts.Arms = append(l.facts.Arms, facts)
	l.open[arm], l.places[arm] = 2, built.Places
	l.mu.Unlock()
	return l.newHost(p, 0), l.newHost(p, len(p.Spaces)-1), nil
}

// Observe reads the counters of the elements of an arm, in the order of its path.
func (l *Lab) Observe(ctx context.Context, arm string) ([]ElementFacts, error) {
	r, err := l.call(ctx, request{Op: opObserve, Arm: arm})
	if err != nil {
		return nil, errorf("arm %s: %w", arm, err)
	}
	return r.Elements, nil
}

// Doctor makes a lab and returns its facts. The error says what forbids labs here.
func Doctor(ctx context.Context) (Facts, error) {
	l, err := Open(ctx, Options{})
	if err != nil {
		return Facts{}, err
	}
	return l.Facts(), l.Close()
}
