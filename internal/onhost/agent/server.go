package agent

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"

	"nearfar/internal/declare/check"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/machine"
	"nearfar/internal/onhost/supervise"
)

// ServerOptions are the settings of an agent.
type ServerOptions struct {
	// Session is the secret of the session. Only an owner that knows it is served.
	Session string
	// Silence is how long the owner may be silent before the first connection; 0 for DefaultSilence. After that the
	// owner says it.
	Silence time.Duration
	// Folder is the agent's own. It must exist, and be readable and writable for this user alone. When Serve returns,
	// it removes the files that the agent made there, but not the folder.
	Folder string
	// MaxOutput is how much of each output stream is kept, in bytes; 0 for supervise.DefaultMaxOutput.
	MaxOutput int64
	// Alone says that this process does nothing except run the agent: see supervise.Options.
	Alone bool
	// Remaining is called after Serve has removed its own files, before the owner is told that everything is removed.
	// It removes the rest, for example the agent's folder. It may be nil.
	Remaining func()
	// Allow says why a command is refused, and may add words that limit it; nil for an agent that runs all commands. An
	// agent with Allow takes no files, and looks up only plain names of programs.
	Allow func(c *host.Cmd) error
	// Commands says that Allow allows programs of an experiment's own: then the agent takes files too.
	Commands bool
	// Release says that an owner may release the agent; nil for an agent that every owner ends. It is called before the
	// owner is told: the next owner may connect from then on. Serve then returns ErrReleased, and the caller serves that
	// owner.
	Release func()
	// Log gets a message for each error; it may be nil.
	Log func(message string)
	// Counters reads the counters of the path to an address; nil for check.ReadCounters.
	Counters func(to netip.Addr) check.Counters
}

const (
	// maxPending bounds connections that have not shown the secret yet, maxCalls calls at a time.
	maxPending = 64
	maxCalls   = 512
	// goodbye is how long the agent's last answer may take.
	goodbye = 2 * time.Second
)

// server is an agent.
type server struct {
	o          ServerOptions
	supervisor *supervise.Supervisor
	files      *files
	instance   string
	reader     *machine.Reader

	// heard counts reads that got bytes from the owner; refused counts connections that did not show the secret.
	heard, refused atomic.Int64
	silence        atomic.Int64 // in nanoseconds
	asked          atomic.Bool  // the owner asked for the end
	released       atomic.Bool  // the owner released the agent
	pending        atomic.Int64
	calls          atomic.Int64
	requests       atomic.Int64 // bytes that requests hold, of maxRequests

	// ending is closed when the agent begins to end; ended when all its processes have ended and all its files are
	// removed. failed is valid then.
	ending, ended chan struct{}
	endOnce       sync.Once
	failed        error

	wires    wires
	reserved reservations

	observations observations

	mu      sync.Mutex
	session *yamux.Session // of the owner
	owner   string         // the first one that showed the secret; no other is served
}

// Serve is the agent's side. It accepts connections from the transport and serves the owner's calls. It returns when
// the owner has closed or released the session or was silent for too long, when ctx has ended, or when accept fails
// while there is no connection. All processes that the agent started have then ended, and all files that it put are
// removed. Close of a connection must end its Read and Write, also while they run. The caller ends accept afterwards.
func Serve(ctx context.Context, accept func() (io.ReadWriteCloser, error), o ServerOptions) error {
	if err := checkSession(o.Session); err != nil {
		return err
	}
	if o.Silence <= 0 {
		o.Silence = DefaultSilence
	}
	if o.Log == nil {
		o.Log = func(string) {}
	}
	f, err := newFiles(o.Folder)
	if err != nil {
		return err
	}
	sup, err := supervise.New(supervise.Options{
		Folder: f.temporary, Dir: f.root, Self: host.Self, MaxOutput: o.MaxOutput, Alone: o.Alone,
	})
	if err != nil {
		return errors.Join(err, f.removeAll())
	}
	s := &server{
		o: o, supervisor: sup, files: f, instance: randomHex(16), reader: machine.NewReader(),
		ending: make(chan struct{}), ended: make(chan struct{}),
	}
	s.silence.Store(int64(o.Silence))
	s.reserved.connected = s.connected
	exhausted := make(chan error, 1)
	go func() { exhausted <- s.acceptAll(accept) }()
	go s.watchSilence()
	s.await(ctx, exhausted)
	s.end()
	<-s.ended
	s.sayGoodbye()
	if s.released.Load() && s.failed == nil {
		return ErrReleased
	}
	return s.failed
}

// ErrReleased says that the owner released the agent: nothing that it started or put is left.
var ErrReleased = errors.New("the owner released the agent")

// connected says whether the owner is connected.
func (s *server) connected() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.session != nil && !s.session.IsClosed()
}

// await returns when the agent should end.
func (s *server) await(ctx context.Context, exhausted <-chan error) {
	select {
	case <-ctx.Done():
	case <-s.ending:
	case err := <-exhausted:
		s.o.Log(fmt.Sprintf("no more connections: %v", err))
	}
}

// end ends all processes that were started, and removes all files that were put.
func (s *server) end() {
	s.endOnce.Do(func() {
		close(s.ending)
		s.wires.close()
		s.reserved.close()
		s.failed = errors.Join(s.supervisor.Close(), s.files.removeAll())
		if s.o.Remaining != nil {
			s.o.Remaining()
		}
		close(s.ended)
	})
}

// sayGoodbye closes the owner's connection. If the owner asked for the end, it closes the connection itself when it has
// the answer.
func (s *server) sayGoodbye() {
	s.mu.Lock()
	session := s.session
	s.mu.Unlock()
	if session == nil {
		return
	}
	if s.asked.Load() {
		select {
		case <-session.CloseChan():
		case <-time.After(goodbye):
		}
	}
	_ = session.Close()
}

// watchSilence ends the agent when the owner has been silent for too long. The time consists of steps: if the machine
// was stopped meanwhile, the timers that expired in that time count as one.
func (s *server) watchSilence() {
	const steps = 8
	silent, before := 0, s.heard.Load()
	for {
		select {
		case <-time.After(time.Duration(s.silence.Load()) / steps):
		case <-s.ending:
			return
		}
		if now := s.heard.Load(); now != before {
			silent, before = 0, now
			continue
		}
		if silent++; silent >= steps {
			s.o.Log(fmt.Sprintf("the owner was silent for %v: the agent ends", time.Duration(s.silence.Load())))
			s.end()
			return
		}
	}
}

// acceptAll accepts connections until that fails, and returns when none is left.
func (s *server) acceptAll(accept func() (io.ReadWriteCloser, error)) error {
	var open sync.WaitGroup
	for {
		conn, err := accept()
		if err != nil {
			open.Wait()
			return err
		}
		if s.pending.Add(1) > maxPending {
			s.pending.Add(-1)
			_ = conn.Close()
			continue
		}
		open.Go(func() { s.greet(conn) })
	}
}

// greet admits the owner's connection, and refuses all others.
func (s *server) greet(conn io.ReadWriteCloser) {
	limit := time.AfterFunc(greetLimit, func() { _ = conn.Close() })
	answer, ok := s.recognize(conn)
	s.pending.Add(-1)
	heard := &listening{ReadWriteCloser: conn, heard: func() { s.heard.Add(1) }}
	if !ok {
		s.o.Log(fmt.Sprintf("a connection was refused (%d in all): %s", s.refused.Add(1), answer.Error))
		_ = writeMessage(conn, answer)
		limit.Stop()
		_ = conn.Close()
		return
	}
	s.heard.Add(1)
	// The owner has given the connection before up, if there is one.
	s.mu.Lock()
	if s.session != nil {
		go func(old *yamux.Session) { _ = old.Close() }(s.session)
		s.session = nil
	}
	s.mu.Unlock()
	err := writeMessage(conn, answer)
	if !limit.Stop() || err != nil {
		_ = conn.Close()
		return
	}
	guarded := newFrames(heard, maxCalls, func(err error) { s.o.Log("the owner's connection is closed: " + err.Error()) })
	calls := &openCalls{streams: map[*yamux.Stream]bool{}}
	guarded.over = calls.end
	session, err := yamux.Server(guarded, yamuxConfig(time.Duration(s.silence.Load())))
	if err != nil {
		s.o.Log(err.Error())
		_ = conn.Close()
		return
	}
	s.mu.Lock()
	old := s.session
	s.session = session
	s.mu.Unlock()
	if old != nil {
		_ = old.Close()
	}
	s.serve(session, calls)
}

// recognize reads the first message of a connection.
func (s *server) recognize(conn io.Reader) (welcome, bool) {
	answer := welcome{Protocol: protocolVersion}
	var h hello
	if err := readMessage(conn, maxGreeting, &h); err != nil {
		answer.Error = "no greeting"
		return answer, false
	}
	if subtle.ConstantTimeCompare([]byte(h.Session), []byte(s.o.Session)) != 1 {
		answer.Error = "the secret of the session is wrong"
		return answer, false
	}
	if h.Protocol != protocolVersion {
		answer.Error = fmt.Sprintf("the agent's protocol has version %d, the owner's %d", protocolVersion, h.Protocol)
		return answer, false
	}
	select {
	case <-s.ending:
		answer.Error = errEnding.Error()
		return answer, false
	default:
	}
	if !s.isOwner(h.Owner) {
		answer.Error = "the agent has another owner"
		return answer, false
	}
	if h.Silence > 0 {
		s.silence.Store(int64(max(h.Silence, minSilence)))
	}
	answer.Instance = s.instance
	answer.Other = h.Instance != "" && h.Instance != s.instance
	return answer, true
}

// isOwner reports whether the agent's owner has this name. The owner is the first that connects with the secret. If two
// owners could both reconnect, they would disconnect each other forever.
func (s *server) isOwner(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner == "" {
		s.owner = name
	}
	return name != "" && s.owner == name
}

// minSilence is the shortest time of silence that an owner can ask for.
const minSilence = 100 * time.Millisecond

// listening is a connection that says when bytes came.
type listening struct {
	io.ReadWriteCloser
	heard func()
}

func (c *listening) Read(b []byte) (int, error) {
	n, err := c.ReadWriteCloser.Read(b)
	if n > 0 {
		c.heard()
	}
	return n, err
}

// openCalls are the streams of a connection that are being served.
type openCalls struct {
	mu      sync.Mutex
	streams map[*yamux.Stream]bool
	over    bool
}

// add adds a stream.
func (o *openCalls) add(s *yamux.Stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.streams[s] = true
	if o.over {
		_ = s.SetDeadline(time.Unix(1, 0))
	}
}

func (o *openCalls) remove(s *yamux.Stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.streams, s)
}

// end ends what the streams wait for. The library does that too, but until it has come to a stream, that one's reader
// turns in a loop, and hundreds of them leave the library no CPU.
func (o *openCalls) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.over = true
	for s := range o.streams {
		_ = s.SetDeadline(time.Unix(1, 0)) // it never fails
	}
}

// serve serves the calls of a connection.
func (s *server) serve(session *yamux.Session, calls *openCalls) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for {
		stream, err := session.AcceptStream()
		if err != nil {
			return
		}
		if s.calls.Add(1) > maxCalls {
			s.calls.Add(-1)
			s.o.Log(fmt.Sprintf("the owner's connection is closed: more than %d calls at a time", maxCalls))
			calls.end()
			_ = session.Close()
			return
		}
		calls.add(stream)
		go func() {
			defer s.calls.Add(-1)
			defer calls.remove(stream)
			defer func() { _ = stream.Close() }()
			_ = s.handle(ctx, stream) // an error of the connection: the owner repeats the call
		}()
	}
}
