// Package agent runs processes on another machine, through an agent there and a byte stream to it. The package knows no
// transport: the caller provides the byte stream.
//
// Over the byte stream, yamux carries one stream for each call. Every call can be repeated: after a broken connection
// the owner dials again, finds the same agent, and repeats the calls in flight. See docs/adr/0042-agent-protocol.md.
package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/yamux"

	"nearfar/internal/base/clean"
	"nearfar/internal/onhost/host"
)

// A Dialer makes a connection to the agent: the first one, and after a broken one another to the same agent (see
// Again). Close of the connection must end its Read and Write, also while they run.
type Dialer func(ctx context.Context) (io.ReadWriteCloser, error)

// DefaultSilence is how long the owner may be silent by default.
const DefaultSilence = 60 * time.Second

// Options are the settings of a connection to an agent.
type Options struct {
	// Name names the host in messages.
	Name string
	// Session is the secret of the session, 32 hexadecimal digits (see NewSession). The agent serves only the owner
	// that knows it.
	Session string
	// Silence is how long the owner may be silent before the agent ends with all that it started and put; 0 for
	// DefaultSilence. It is also how long a reconnection may take.
	Silence time.Duration
	// Limit is how long the agent may take to answer a call, without the time of a reconnection; 0 for DefaultLimit.
	Limit time.Duration
	// Note is told, as a sentence, of a call that the agent has not answered for a while; nil for nobody. It may be
	// called from several goroutines.
	Note func(text string)
	// Releases says that Close releases the agent for another owner, until Use is called.
	Releases bool
	// Endpoint has the known properties of the host. The agent fills in the system and missing addresses.
	Endpoint host.Endpoint
}

func (o Options) silence() time.Duration {
	if o.Silence <= 0 {
		return DefaultSilence
	}
	return o.Silence
}

// DefaultLimit is how long an agent may take to answer a call by default. It is much longer than any call takes, also
// on a very busy machine.
const DefaultLimit = 60 * time.Second

func (o Options) limit() time.Duration {
	if o.Limit <= 0 {
		return DefaultLimit
	}
	return o.Limit
}

// A Client is the owner's side of an agent.
type Client struct {
	o        Options
	dial     Dialer
	instance string
	// id is this owner's name for the agent.
	id string
	// endpoint and facts are set before Connect returns.
	endpoint host.Endpoint
	facts    Facts
	// held ends when the agent is given up, with the reason as its cause; lose does that.
	held context.Context //nolint:containedctx // it is the client's own
	lose context.CancelCauseFunc
	// parted is closed when keep has closed the last connection.
	parted chan struct{}
	// heard is when bytes came last over a connection that the agent had accepted, in nanoseconds since 1970.
	heard atomic.Int64
	// joined is when the last connection was made, in the same way.
	joined atomic.Int64
	// watching is the trial that is being observed; nil for none.
	watching atomic.Pointer[watch]
	// unanswered says that a caller was interrupted, and the agent did not answer at once.
	unanswered atomic.Bool
	// used says that Close ends the agent in any case; released that Close has released it.
	used, released atomic.Bool
	// cleaning waits for goroutines that clean up after calls. cleanUp starts them, and none once Close waits.
	cleaning sync.WaitGroup

	mu       sync.Mutex
	session  *yamux.Session // nil while there is no connection
	changed  chan struct{}  // closed at the next change of session
	closed   bool
	closeErr error
	closing  sync.Once
}

// Connect connects to an agent. The error of the first connection is returned as it is; later ones are repeated.
func Connect(ctx context.Context, dial Dialer, o Options) (*Client, error) {
	if err := checkSession(o.Session); err != nil {
		return nil, err
	}
	c := &Client{o: o, endpoint: o.Endpoint, dial: dial, id: randomHex(8), parted: make(chan struct{}),
		changed: make(chan struct{})}
	c.held, c.lose = context.WithCancelCause(context.Background())
	s, err := c.connect(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Name, err)
	}
	c.session = s
	c.heard.CompareAndSwap(0, time.Now().UnixNano())
	if c.endpoint.Name == "" {
		c.endpoint.Name = o.Name
	}
	go c.keep(s)
	facts, err := c.Facts(ctx)
	if err != nil && ctx.Err() != nil {
		_ = c.closeWithin(partTime) // nobody waits any longer; the agent ends by itself
		return nil, err
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	c.facts = facts
	c.complete()
	return c, nil
}

// Known are the facts that the agent told when it was connected.
func (c *Client) Known() Facts { return c.facts }

// MeasureAt sets the addresses at which the host is measured: those that the other side dials, and that its servers
// bind. Invalid ones stay as they are. It is called before the host is used.
func (c *Client) MeasureAt(at host.Addresses) {
	set := func(dial, bind *netip.Addr, to netip.Addr) {
		if !to.IsValid() {
			return
		}
		if !bind.IsValid() || *bind == *dial { // else the file says what servers bind
			*bind = to
		}
		*dial = to
	}
	set(&c.endpoint.Dial.V4, &c.endpoint.Bind.V4, at.V4)
	set(&c.endpoint.Dial.V6, &c.endpoint.Bind.V6, at.V6)
}

// complete fills in missing properties of the endpoint.
func (c *Client) complete() {
	e := &c.endpoint
	e.System = c.facts.System
	for _, name := range slices.Sorted(maps.Keys(c.facts.Release)) {
		e.Release += name + "=" + c.facts.Release[name] + "\n"
	}
	own := c.facts.addresses()
	if !e.Dial.V4.IsValid() && !e.Dial.V6.IsValid() {
		e.Dial = own
	}
	if (e.Bind == host.Addresses{}) {
		// A server binds the address that the other side dials, unless an address translation lies between.
		if c.facts.has(e.Dial.V4) {
			e.Bind.V4 = e.Dial.V4
		}
		if c.facts.has(e.Dial.V6) {
			e.Bind.V6 = e.Dial.V6
		}
	}
}

// yamuxConfig sets how fast a dead connection is noticed: within seconds, and well within the time of silence.
func yamuxConfig(silence time.Duration) *yamux.Config {
	c := yamux.DefaultConfig()
	c.KeepAliveInterval = min(max(silence/10, 50*time.Millisecond), 2*time.Second)
	c.ConnectionWriteTimeout = min(max(silence/5, time.Second), 5*time.Second)
	c.StreamOpenTimeout = c.ConnectionWriteTimeout * 2
	c.StreamCloseTimeout = c.ConnectionWriteTimeout * 2
	c.LogOutput = io.Discard
	return c
}

// errRefused says that the agent refuses the owner.
var errRefused = errors.New("the agent refuses the connection")

// greetLimit bounds the first exchange of messages on a connection.
const greetLimit = 20 * time.Second

// connect makes a connection and shows the secret.
func (c *Client) connect(ctx context.Context) (*yamux.Session, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	answer, err := c.greet(ctx, conn)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	if c.instance == "" {
		c.instance = answer.Instance
	}
	// The agent opens no streams, and a host that floods its owner is given up: it would do it again.
	heard := &listening{ReadWriteCloser: conn, heard: func() { c.heard.Store(time.Now().UnixNano()) }}
	c.joined.Store(time.Now().UnixNano())
	guarded := newFrames(heard, 0, func(err error) { c.lose(host.Lost(c.o.Name, err.Error())) })
	s, err := yamux.Client(guarded, yamuxConfig(c.o.silence()))
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	if answer.Other {
		c.dismiss(s)
		return nil, ErrGone
	}
	return s, nil
}

// greet exchanges the first messages.
func (c *Client) greet(ctx context.Context, conn io.ReadWriteCloser) (welcome, error) {
	ctx, cancel := context.WithTimeout(ctx, min(greetLimit, c.o.limit()))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	var answer welcome
	err := writeMessage(conn, hello{
		Protocol: protocolVersion, Session: c.o.Session, Owner: c.id, Silence: c.o.silence(),
		Instance: c.instance,
	})
	if err == nil {
		err = readMessage(conn, maxGreeting, &answer)
	}
	if !stop() {
		err = ctx.Err()
	}
	switch {
	case err != nil:
		return welcome{}, fmt.Errorf("the agent did not answer: %w", err)
	case answer.Error != "":
		return welcome{}, fmt.Errorf("%w: %s", errRefused, clean.Cut(answer.Error, maxText))
	case answer.Protocol != protocolVersion:
		return welcome{}, fmt.Errorf("%w: its protocol has version %d, this program's %d", errRefused, answer.Protocol,
			protocolVersion)
	}
	return answer, nil
}

// dismiss ends an agent that the transport started because the first one is gone.
func (c *Client) dismiss(s *yamux.Session) {
	if stream, err := s.OpenStream(); err == nil {
		_ = stream.SetDeadline(time.Now().Add(greetLimit))
		var answer reply
		if writeMessage(stream, request{Call: c.parting()}) == nil {
			_ = readMessage(stream, maxMessage, &answer)
		}
	}
	_ = s.Close()
}

const (
	// firstPause is the time between the first two attempts to connect again; it doubles up to maxPause.
	firstPause = 50 * time.Millisecond
	maxPause   = 2 * time.Second
	// minAttempt is how long an attempt may take at least.
	minAttempt = 10 * time.Second
)

// keep connects again whenever the connection is broken, until the client is closed or the agent is lost.
func (c *Client) keep(s *yamux.Session) {
	defer close(c.parted)
	for {
		select {
		case <-s.CloseChan():
		case <-c.held.Done():
			_ = s.Close()
			return
		}
		c.replace(nil)
		var next *yamux.Session
		// An agent that greets and then says nothing, not even to a ping, must not be dialled for ever.
		err := c.mute()
		if err == nil {
			next, err = c.reconnect()
		}
		if err != nil {
			c.lose(host.Lost(c.o.Name, err.Error()))
			_ = s.Close() // it is broken; this waits for the end of what carried it
			return
		}
		c.replace(next)
		s = next
	}
}

// mute is an error if the agent has said nothing for as long as it bears silence, although it accepted a connection
// meanwhile. Without one, nothing could be heard: this process may have been stopped, or its machine have slept.
func (c *Client) mute() error {
	heard := c.heard.Load()
	if c.joined.Load() > heard && time.Since(time.Unix(0, heard)) > c.o.silence() {
		return fmt.Errorf("it accepts connections, and has said nothing on them for %v", c.o.silence())
	}
	return nil
}

// replace sets the session, and wakes those who wait for one.
func (c *Client) replace(s *yamux.Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session = s
	close(c.changed)
	c.changed = make(chan struct{})
}

// reconnect tries to connect again for as long as the agent bears silence.
func (c *Client) reconnect() (*yamux.Session, error) {
	ctx, cancel := context.WithTimeout(context.WithValue(c.held, againKey{}, true), c.o.silence())
	defer cancel()
	pause := firstPause
	for {
		attempt, done := context.WithTimeout(ctx, max(c.o.silence()/4, minAttempt))
		s, err := c.connect(attempt)
		done()
		if err == nil || errors.Is(err, ErrGone) || errors.Is(err, errRefused) {
			return s, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, fmt.Errorf("no connection to the agent for %v: %w", c.o.silence(), err)
		}
		pause = min(2*pause, maxPause)
	}
}

// Lost returns an error that wraps host.ErrLost if the agent was lost, and another one after Close; otherwise nil.
func (c *Client) Lost() error { return context.Cause(c.held) }

func (c *Client) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// current waits for a connection.
func (c *Client) current(ctx context.Context) (*yamux.Session, error) {
	for {
		c.mu.Lock()
		s, changed := c.session, c.changed
		c.mu.Unlock()
		if err := c.Lost(); err != nil {
			return nil, err
		}
		if s != nil && !s.IsClosed() {
			return s, nil
		}
		select {
		case <-changed: // keep replaces a broken session
		case <-c.held.Done():
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// connected says whether there is a connection that works.
func (c *Client) connected() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session != nil && !c.session.IsClosed()
}

// Use says that the agent is needed from now on: Close ends it, although it may release agents (Options.Releases).
func (c *Client) Use() { c.used.Store(true) }

// Released says that Close has released the agent: another owner can connect to it.
func (c *Client) Released() bool { return c.released.Load() }

// parting is the call with which this owner leaves the agent.
func (c *Client) parting() string {
	if c.o.Releases && !c.used.Load() {
		return callRelease
	}
	return callClose
}

// part leaves the agent. An agent that releases nobody, because it is older, ends.
func (c *Client) part(ctx context.Context) error {
	how := c.parting()
	_, err := c.exchange(ctx, call{request: request{Call: how}, evenClosed: true})
	if how == callClose {
		return err
	}
	if errors.Is(err, errUnknownCall) {
		_, err = c.exchange(ctx, call{request: request{Call: callClose}, evenClosed: true})
		return err
	}
	c.released.Store(err == nil)
	return err
}

// Close ends the agent, all that it started and all files that it put, or releases it (Options.Releases). On a lost
// agent it returns nil: the agent ends by itself. Close may be called twice.
func (c *Client) Close() error { return c.closeWithin(min(c.o.silence(), closeLimit)) }

// closeWithin is Close, but waits for the agent's answer only for the given time.
func (c *Client) closeWithin(limit time.Duration) error {
	c.closing.Do(func() {
		if c.unanswered.Load() {
			limit = min(limit, hurriedLimit)
		}
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		c.mu.Lock()
		c.closed = true
		c.mu.Unlock()
		err := c.part(ctx)
		var remote *remoteError
		switch {
		case errors.As(err, &remote):
			c.closeErr = fmt.Errorf("%s: ending the agent: %w", c.o.Name, err)
		case c.unanswered.Load() || !c.connected(): // as on a lost agent
		case err != nil && ctx.Err() != nil && c.Lost() == nil:
			c.closeErr = fmt.Errorf("%s: the agent did not say that it ended; it ends by itself after %v", c.o.Name,
				c.o.silence())
		}
		c.lose(errClosed)
		c.cleaning.Wait()
		select {
		case <-c.parted:
		case <-time.After(partingLimit):
		}
	})
	return c.closeErr
}

// cleanUp runs f beside others, and Close waits for its end. f does not run once the client is closed: what it would
// clean up ends with the agent. The lock orders cleaning.Go before cleaning.Wait, as sync.WaitGroup demands.
func (c *Client) cleanUp(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.cleaning.Go(f)
	}
}

// partingLimit is longer than a transport needs to end the program that carries the connection. Without the wait, that
// program could outlive this one.
const partingLimit = 5 * time.Second

// closeLimit is longer than the agent needs to kill what it started. An agent that takes longer ends by itself.
const closeLimit = 10 * time.Second

// hurriedLimit is closeLimit after an interrupt to which the agent did not answer at once.
const hurriedLimit = 2 * time.Second

// errClosed is the error of calls after Close.
var errClosed = errors.New("its host is closed")

func randomHex(bytes int) string {
	b := make([]byte, bytes)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
