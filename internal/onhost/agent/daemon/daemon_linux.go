package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/supervise"
)

// self is this program, also if its file was removed or replaced.
const self = "/proc/self/exe"

const (
	// endLimit is how long the worker may take to end when it is asked to: longer than it needs to kill everything.
	endLimit = 15 * time.Second
	// killLimit is how long processes may take to end that the worker left behind.
	killLimit = 10 * time.Second
)

// Serve is the keeper. It reads the introduction from stdin, says on stdout when the agent can be reached, and returns
// when the agent has ended and nothing is left of it.
func Serve(ctx context.Context, o Options, stdin io.Reader, stdout io.Writer) error {
	err := o.serve(ctx, stdin, func() error {
		_, err := fmt.Fprintln(stdout, ready)
		return err
	})
	if err != nil {
		fmt.Fprintln(stdout, err) // for the one who waits for the line "ready"
	}
	return err
}

func (o Options) serve(ctx context.Context, stdin io.Reader, announce func() error) error {
	// A daemon outlives the terminal and the login from which it was started.
	ctx, stop := signal.NotifyContext(ctx, unix.SIGTERM, unix.SIGINT)
	defer stop()
	signal.Ignore(unix.SIGHUP, unix.SIGPIPE)
	introduction, err := agent.ReadIntroduction(stdin)
	if err != nil {
		return err
	}
	if o.Folder, err = filepath.Abs(o.Folder); err != nil {
		return err
	}
	listener, unlock, err := claim(o.Folder)
	if err != nil {
		return err
	}
	defer unlock()
	if err := supervise.AdoptOrphans(); err != nil {
		return errors.Join(err, clear(o.Folder, o.Remove))
	}
	worker, in, beats, err := o.startWorker(listener)
	_ = listener.Close() // the worker has it
	if err != nil {
		return errors.Join(err, clear(o.Folder, o.Remove))
	}
	ended := make(chan error, 1)
	go func() { ended <- worker.Wait() }()
	_, err = introduction.WriteTo(in)
	if err == nil {
		err = announce()
	}
	if err == nil {
		silent := make(chan struct{})
		go func() {
			if untilSilent(beats, introduction.Silence) {
				close(silent)
			}
		}()
		detached := make(chan struct{})
		if o.Attached {
			go func() {
				untilEnd(stdin)
				close(detached)
			}()
		}
		select {
		case <-ctx.Done():
		case <-detached:
		case <-silent:
			// It was stopped, or hangs: it would not end what it started, nor notice that its owner is silent.
			_ = worker.Process.Kill()
			err = errSilent
		case err := <-ended:
			ended <- err
		}
	}
	_ = beats.Close() // it was only read
	_ = in.Close()    // asks the worker to end
	limit := time.AfterFunc(endLimit, func() { _ = worker.Process.Kill() })
	workErr := <-ended
	limit.Stop()
	return errors.Join(err, workErr, supervise.KillDescendants(killLimit), clear(o.Folder, o.Remove))
}

// startWorker starts the worker, with the listener as its file 3. in is its standard input, which ends with the keeper.
// beats has a byte for each part of the time of silence in which the worker ran.
func (o Options) startWorker(listener *net.UnixListener) (
	worker *exec.Cmd, in io.WriteCloser, beats *os.File, err error,
) {
	file, err := listener.File()
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { _ = file.Close() }()
	beats, beat, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { _ = beat.Close() }()
	worker = exec.CommandContext(context.Background(), self, o.args(o.Work)...)
	worker.ExtraFiles = []*os.File{file, beat}
	worker.Stderr = os.Stderr
	if in, err = worker.StdinPipe(); err == nil {
		err = worker.Start()
	}
	if err != nil {
		_ = beats.Close()
		return nil, nil, nil, err
	}
	return worker, in, beats, nil
}

// errSilent says why the worker was killed.
var errSilent = errors.New("the agent did not run for the time of silence, and was killed with all that it started")

// beatsInSilence is how often the worker says that it runs, in the time for which the owner may be silent.
const beatsInSilence = 8

// untilSilent returns true when the worker has not run for longer than its owner may be silent, and false when it has
// ended. The time consists of steps, so that the time in which the whole machine stood
// still does not count (see agent.Serve).
func untilSilent(beats *os.File, silence time.Duration) bool {
	b := make([]byte, 64)
	for silent := 0; silent <= beatsInSilence; silent++ {
		_ = beats.SetReadDeadline(time.Now().Add(silence / beatsInSilence))
		_, err := beats.Read(b)
		switch {
		case err == nil:
			silent = -1
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return false // the worker has ended
		}
	}
	return true
}

// beat says again and again that this worker runs, until ctx ends. The pipe is full if the keeper is stopped.
func beat(ctx context.Context, to *os.File, silence time.Duration) {
	defer func() { _ = to.Close() }()
	every := time.NewTicker(silence / beatsInSilence)
	defer every.Stop()
	for {
		_ = to.SetWriteDeadline(time.Now().Add(silence / beatsInSilence))
		if _, err := to.Write([]byte{0}); err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		select {
		case <-every.C:
		case <-ctx.Done():
			return
		}
	}
}

// claim makes the folder this daemon's own, and listens in it.
func claim(folder string) (*net.UnixListener, func(), error) {
	if err := checkLength(folder); err != nil {
		return nil, nil, err
	}
	if err := checkFolder(folder); err != nil {
		return nil, nil, err
	}
	lock, err := os.OpenFile(filepath.Join(folder, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, nil, err
	}
	unlock := func() { _ = lock.Close() }
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		unlock()
		return nil, nil, fmt.Errorf("another agent uses the folder %s", folder)
	}
	// Files that an agent left behind when it was killed together with its keeper.
	err = agent.RemoveFiles(folder)
	if e := os.Remove(Socket(folder)); e != nil && !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	if err != nil {
		unlock()
		return nil, nil, err
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: Socket(folder), Net: "unix"})
	if err != nil {
		unlock()
		return nil, nil, err
	}
	listener.SetUnlinkOnClose(false)
	return listener, unlock, nil
}

func ownedByUser(info fs.FileInfo) error {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("%s belongs to another user", info.Name())
	}
	return nil
}

// Work is the worker. It returns when the agent has ended.
func Work(ctx context.Context, o Options, stdin io.Reader) error {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGPIPE) // the keeper says when to end
	ctx, stop := signal.NotifyContext(ctx, unix.SIGTERM)
	defer stop()
	file := os.NewFile(3, "listener")
	listener, err := net.FileListener(file)
	_ = file.Close() // the listener is a copy that is closed on exec
	if err != nil {
		return fmt.Errorf("this command is started by the agent itself: %w", err)
	}
	introduction, err := agent.ReadIntroduction(stdin)
	if err != nil {
		return err
	}
	unix.CloseOnExec(4) // what the agent starts must not hold it
	_ = unix.SetNonblock(4, true)
	pipe := os.NewFile(4, "beats")
	go beat(context.WithoutCancel(ctx), pipe, introduction.Silence)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		untilEnd(stdin)
		cancel() // the keeper has ended, or asks for the end
	}()
	closeListener := sync.OnceFunc(func() { _ = listener.Close() })
	defer closeListener()
	accept := func() (io.ReadWriteCloser, error) { return listener.Accept() }
	serve := agent.ServerOptions{
		Session: introduction.Session, Silence: introduction.Silence, MaxOutput: introduction.MaxOutput,
		Folder: o.Folder, Alone: true, Log: func(message string) { fmt.Fprintln(os.Stderr, message) },
		Remaining: func() {
			closeListener()
			_ = clear(o.Folder, o.Remove) // the keeper repeats it, and reports errors
		},
	}
	if o.Change != nil {
		o.Change(&serve)
	}
	return agent.Serve(ctx, accept, serve)
}
