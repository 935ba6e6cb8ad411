// Package supervise starts, pins, watches and kills whole trees of processes on this machine, and keeps their output in
// bounded files.
//
// A process is known by a key that the caller draws. Every operation can be repeated with the same key: a process is
// started at most once.
package supervise

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// DefaultMaxOutput is how much of each output stream is kept by default, in bytes: a little more than the runner takes,
// so that it sees a flood, and ends it.
const DefaultMaxOutput = 17 << 20

const (
	// maxProcesses bounds how many processes a Supervisor knows at a time, with ended ones that are not forgotten.
	maxProcesses = 4096
	// maxForgotten bounds how many keys are kept so that they cannot be used again.
	maxForgotten = 4096
)

var (
	// ErrUnsupported says that processes cannot be supervised on this system.
	ErrUnsupported = errors.New("nearfar cannot supervise processes on this system")
	// ErrUnknown says that no process was started with the key.
	ErrUnknown = errors.New("no process has this key")
	// ErrForgotten says that the process was started, and forgotten since.
	ErrForgotten = errors.New("it has ended and was forgotten")
	errClosed    = errors.New("the agent is ending")
	errKilled    = errors.New("killed before it was started")
)

// Options are the settings of a Supervisor.
type Options struct {
	// Folder is where output is kept. It must exist.
	Folder string
	// Dir is the working directory of the processes; empty for the directory of this process.
	Dir string
	// Self is the program that stands for this program on command lines ("nearfar"); empty for none.
	Self string
	// MaxOutput is how much of each output stream is kept, in bytes; 0 for DefaultMaxOutput. Output beyond it is
	// counted.
	MaxOutput int64
	// Alone says that this process does nothing except supervise. The Supervisor then adopts the orphans of its
	// processes (PR_SET_CHILD_SUBREAPER), reaps all children of this process, and kills all its descendants in Close,
	// also those that left their session and cleared their environment.
	Alone bool
}

// Command is a process to start.
type Command struct {
	// Argv is the command line. Argv[0] is looked up on PATH.
	Argv []string
	// Env is added to the environment of this process, as KEY=value.
	Env []string
	// Stdin is the standard input.
	Stdin []byte
	// CPUs are the CPUs that the process may run on, from its first instruction; empty for those of this process.
	CPUs []int
	// Discard says which of standard output and standard error nobody wants.
	Discard [2]bool
}

// End is how a process ended.
type End struct {
	// Code is the exit status; -1 if a signal ended the process.
	Code int
	// Signal is the name of that signal; otherwise empty.
	Signal string
	// OutOfMemory says that the kernel killed it because memory was short, as far as that is known.
	OutOfMemory bool
	// At is when the end was noticed, by the clock of this machine.
	At time.Time
}

func (e End) String() string {
	if e.Signal != "" {
		return "ended by signal " + e.Signal
	}
	return fmt.Sprintf("exit status %d", e.Code)
}

// Use is the CPU time of a process that has ended.
type Use struct {
	// Ran is the CPU time of all its threads, and of the children for which it waited.
	Ran time.Duration `json:"ran"`
	// Delay is how long its threads were runnable and waited for a CPU. DelayKnown says that it covers the threads that
	// used most of the CPU time.
	Delay      time.Duration `json:"delay"`
	DelayKnown bool          `json:"delay_known"`
	// Lived is the lifetime of the process.
	Lived time.Duration `json:"lived"`
	// CPUs are the CPUs to which the process was bound; empty for any.
	CPUs []int `json:"cpus,omitempty"`
}

// A Supervisor holds the processes that it started.
type Supervisor struct {
	o     Options
	trees *trees

	mu        sync.Mutex
	byKey     map[string]*process
	forgotten []string      // in the order of forgetting; their entries are nil
	added     chan struct{} // closed when the next key becomes known
	closed    bool
	recent    []Use
}

// process is a process that was, or is being, started.
type process struct {
	started chan struct{} // closed when it was started, or could not be
	// The following are valid once started is closed.
	failed error
	tree   *tree
	output [2]*spool
}

// New makes a Supervisor. At most one Supervisor of a process may have the option Alone.
func New(o Options) (*Supervisor, error) {
	if o.MaxOutput <= 0 {
		o.MaxOutput = DefaultMaxOutput
	}
	s := &Supervisor{o: o, byKey: map[string]*process{}, added: make(chan struct{})}
	var err error
	s.trees, err = newTrees(o.Alone, s.used)
	return s, err
}

// Start starts a process. If the key is known already, it returns what the first start returned. The error wraps
// host.ErrNotFound if there is no such program.
func (s *Supervisor) Start(key string, c Command) error {
	if len(c.Argv) == 0 {
		return errors.New("an empty command line")
	}
	s.mu.Lock()
	p, known := s.byKey[key]
	switch {
	case known && p == nil:
		s.mu.Unlock()
		return ErrForgotten
	case known:
		s.mu.Unlock()
		<-p.started
		return p.failed
	case s.closed:
		s.mu.Unlock()
		return errClosed
	case len(s.byKey)-len(s.forgotten) >= maxProcesses:
		s.mu.Unlock()
		return fmt.Errorf("%d processes were started and not forgotten: no more can be", maxProcesses)
	}
	p = &process{started: make(chan struct{})}
	s.add(key, p)
	s.mu.Unlock()
	defer close(p.started)
	p.failed = s.launch(p, c)
	return p.failed
}

// add makes a key known. The caller holds the lock.
func (s *Supervisor) add(key string, p *process) {
	s.byKey[key] = p
	close(s.added)
	s.added = make(chan struct{})
}

// Await waits until a process with the key is known, because its start is on the way. It returns the error of ctx if it
// ends before.
func (s *Supervisor) Await(ctx context.Context, key string) error {
	for {
		s.mu.Lock()
		_, known := s.byKey[key]
		added := s.added
		s.mu.Unlock()
		if known {
			return nil
		}
		select {
		case <-added:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// launch starts the process, and goroutines that feed it and keep its output.
func (s *Supervisor) launch(p *process, c Command) error {
	path, err := lookPath(c.Argv[0], s.o.Self)
	if err != nil {
		return err
	}
	pipes, err := s.openPipes(p, c)
	if err == nil {
		p.tree, err = s.trees.start(path, c, s.o.Dir, pipes.theirs)
	}
	closeAll(pipes.theirs[:])
	if err != nil {
		closeAll(pipes.ours[:])
		p.closeOutput()
		return err
	}
	pipes.run(p.tree.ended, c.Stdin, p.output)
	return nil
}

// get finds a process that was started.
func (s *Supervisor) get(key string) (*process, error) {
	s.mu.Lock()
	p, known := s.byKey[key]
	s.mu.Unlock()
	switch {
	case !known:
		return nil, ErrUnknown
	case p == nil:
		return nil, ErrForgotten
	}
	<-p.started
	return p, p.failed
}

// Wait waits until the process has ended. Its output may still be on the way: see Read.
func (s *Supervisor) Wait(ctx context.Context, key string) (End, error) {
	p, err := s.get(key)
	if err != nil {
		return End{}, err
	}
	select {
	case <-p.tree.ended:
		return p.tree.end, nil
	case <-ctx.Done():
		return End{}, ctx.Err()
	}
}

// Gone waits until the process, and all that it started, have ended: what is left when it has ended is killed. It
// returns the error of ctx if that ends before.
func (s *Supervisor) Gone(ctx context.Context, key string) error {
	p, err := s.get(key)
	switch {
	case errors.Is(err, ErrForgotten):
		return nil
	case p == nil:
		return err
	case err != nil: // it was not started
		return nil
	}
	select {
	case <-p.tree.ended:
		return p.tree.kill()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Started is when the process started, by the clock of this machine.
func (s *Supervisor) Started(key string) (time.Time, error) {
	p, err := s.get(key)
	if err != nil {
		return time.Time{}, err
	}
	return p.tree.started, nil
}

// Output is the state of an output stream at its end.
type Output struct {
	// Kept is the length of the kept output. Lost is the length of the output that exceeded the bound or could not be
	// written. Both are in bytes.
	Kept, Lost int64
	// Failure is why output could not be written; empty if all output up to the bound was written.
	Failure string
}

// Read reads output of a process from an offset (stream 0: standard output; 1: standard error). It waits until there is
// some. At the end of the stream it returns io.EOF.
func (s *Supervisor) Read(ctx context.Context, key string, stream int, offset int64, b []byte) (int, error) {
	o, err := s.spool(key, stream)
	if err != nil {
		return 0, err
	}
	return o.read(ctx, offset, b)
}

// Output describes an output stream so far.
func (s *Supervisor) Output(key string, stream int) (Output, error) {
	o, err := s.spool(key, stream)
	if err != nil {
		return Output{}, err
	}
	return o.output(), nil
}

func (s *Supervisor) spool(key string, stream int) (*spool, error) {
	p, err := s.get(key)
	if err != nil {
		return nil, err
	}
	if stream < 0 || stream > 1 {
		return nil, fmt.Errorf("output stream %d: it must be 0 or 1", stream)
	}
	return p.output[stream], nil
}

// Terminate asks the process and its process group to end (SIGTERM). It is no error if the process has ended.
func (s *Supervisor) Terminate(key string) error {
	p, err := s.get(key)
	if err != nil {
		return err
	}
	return p.tree.terminate()
}

// Stop asks the process and its process group to end, and kills it and all that it started when it has ended, or after
// the grace time.
func (s *Supervisor) Stop(ctx context.Context, key string, grace time.Duration) error {
	if err := s.Terminate(key); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	_, _ = s.Wait(ctx, key) // the kill is for both outcomes
	return s.Kill(key)
}

// Kill kills the process and all that it started, and returns when they have ended. If the process was not started yet,
// it can no longer be started.
func (s *Supervisor) Kill(key string) error {
	s.mu.Lock()
	p, known := s.byKey[key]
	if !known {
		p = &process{started: make(chan struct{}), failed: errKilled}
		close(p.started)
		s.add(key, p)
	}
	s.mu.Unlock()
	if p == nil {
		return nil
	}
	<-p.started
	if p.failed != nil {
		return nil
	}
	return p.tree.kill()
}

// Forget frees the memory and files of a process. A process that runs is killed, with all that it started. Processes
// that an ended process left behind keep running. The key cannot be used again.
func (s *Supervisor) Forget(key string) error {
	p, err := s.get(key)
	if err == nil {
		select {
		case <-p.tree.ended:
		default:
			err = p.tree.kill()
		}
		if err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p = s.byKey[key]; p == nil {
		return nil
	}
	p.closeOutput()
	s.byKey[key] = nil
	s.forgotten = append(s.forgotten, key)
	if over := len(s.forgotten) - maxForgotten; over > 0 {
		for _, old := range s.forgotten[:over] {
			delete(s.byKey, old)
		}
		s.forgotten = append([]string(nil), s.forgotten[over:]...)
	}
	return nil
}

// Serves waits until the process, or one that it started, holds a socket of the protocol ("tcp": listening, "udp":
// bound) on the port. The error wraps host.ErrEnded if the process has ended, and a *host.PortTakenError if another
// process holds the port.
func (s *Supervisor) Serves(ctx context.Context, key, protocol string, port int) error {
	p, err := s.get(key)
	if err != nil {
		return err
	}
	return p.tree.serves(ctx, protocol, port)
}

// used keeps what an ended process used.
func (s *Supervisor) used(u Use) {
	const maxRecent = 64
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recent = append(s.recent, u)
	if over := len(s.recent) - maxRecent; over > 0 {
		s.recent = append([]Use(nil), s.recent[over:]...)
	}
}

// TakeUses returns what the processes used that have ended since it was last called, at most 64.
func (s *Supervisor) TakeUses() []Use {
	s.mu.Lock()
	defer s.mu.Unlock()
	recent := s.recent
	s.recent = nil
	return recent
}

// Close kills all processes, and all that they started, and frees their memory and files. It can be repeated.
func (s *Supervisor) Close() error {
	s.mu.Lock()
	s.closed = true
	var all []*process
	for _, p := range s.byKey {
		if p != nil {
			all = append(all, p)
		}
	}
	s.mu.Unlock()
	var started []*tree
	for _, p := range all {
		<-p.started
		if p.failed == nil {
			started = append(started, p.tree)
		}
	}
	err := s.trees.close(started)
	for _, p := range all {
		p.closeOutput()
	}
	return err
}

func (p *process) closeOutput() {
	for _, o := range p.output {
		o.close()
	}
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
