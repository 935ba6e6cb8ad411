package tls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// The reasons why an agent's Accept ends.
var (
	// ErrNoOwner says that the join string expired before an owner came.
	ErrNoOwner = errors.New("nobody used the join string before it expired")
	// ErrIdle says that the owner has been away for the idle time.
	ErrIdle = errors.New("the owner has been away for the idle time")
)

// The limits of AgentOptions' times.
const (
	MinExpires = time.Minute
	MaxExpires = 30 * 24 * time.Hour
	MinIdle    = 10 * time.Second
	MaxIdle    = 24 * time.Hour
)

// The pause between two attempts to dial an owner that waits.
const (
	leastDialPause = 200 * time.Millisecond
	mostDialPause  = 2 * time.Second
)

// AgentOptions are the options of an agent's connections.
type AgentOptions struct {
	// Listen is the ADDRESS:PORT to listen on; port 0 stands for any free port. Dial is the HOST:PORT where an owner
	// waits. Exactly one of them is set.
	Listen, Dial string
	// Addresses are the HOST:PORT that the join string names in place of the addresses that Listen means. They are for
	// hosts behind address translation.
	Addresses []string
	// Expires is how long the first owner may take to come: MinExpires to MaxExpires.
	Expires time.Duration
	// Idle is how long the owner may be away before the agent ends: MinIdle to MaxIdle.
	Idle time.Duration
	// Log takes messages for the person at the agent, one line each. It may be nil.
	Log func(message string)

	now func() time.Time // for tests
}

// An Agent makes the connections of one agent, on the agent's side. It is owned by the first owner who proves the
// token.
type Agent struct {
	o      AgentOptions
	id     identity
	join   Join
	ctx    context.Context
	cancel context.CancelCauseFunc
	guard  *guard // nil if it dials
	// running waits for the guard.
	running sync.WaitGroup

	mu sync.Mutex
	// accepted hands over authenticated connections of the owner. It is not buffered. Each owner has one of its own.
	accepted chan *tracked
	// owner is the key of the present owner; nil if there is none.
	owner *Fingerprint
	// left is the key of the last owner who released the agent; nil if nobody did.
	left *Fingerprint
	// live counts the connections that Accept returned and that are not closed. changed is closed and made anew when it
	// becomes 0.
	live    int
	changed chan struct{}
	idle    *time.Timer
	// said is the last message that was logged.
	said string
}

// NewAgent makes the key and the join string, and begins to listen or to dial.
func NewAgent(ctx context.Context, o AgentOptions) (*Agent, error) {
	if o.now == nil {
		o.now = time.Now
	}
	switch {
	case (o.Listen == "") == (o.Dial == ""):
		return nil, errors.New("an agent either listens or dials")
	case o.Expires < MinExpires || o.Expires > MaxExpires:
		return nil, fmt.Errorf("a join string expires after %v to %v, not %v", MinExpires, MaxExpires, o.Expires)
	case o.Idle < MinIdle || o.Idle > MaxIdle:
		return nil, fmt.Errorf("an agent is idle for %v to %v, not %v", MinIdle, MaxIdle, o.Idle)
	}
	id, err := newIdentity()
	if err != nil {
		return nil, err
	}
	a := &Agent{o: o, id: id, accepted: make(chan *tracked), changed: make(chan struct{})}
	a.join = Join{Dials: AgentDials, Addresses: []string{o.Dial}, Key: id.key, token: newToken(),
		Expires: o.now().Add(o.Expires).UTC().Truncate(time.Second)}
	if o.Listen != "" {
		l, err := listen(ctx, o.Listen)
		if err != nil {
			return nil, err
		}
		a.join.Dials = OwnerDials
		if a.join.Addresses, err = reachable(l.Addr(), o.Addresses); err != nil {
			return nil, errors.Join(err, l.Close())
		}
		a.guard = newGuard(l, a.authenticate)
	}
	for _, address := range a.join.Addresses {
		if err := CheckAddress(address); err != nil {
			return nil, errors.Join(err, a.closeListener())
		}
	}
	a.ctx, a.cancel = context.WithCancelCause(ctx)
	a.idle = time.AfterFunc(o.Expires, a.endIdle)
	if a.guard != nil {
		a.running.Go(func() { a.guard.run(a.ctx) })
	}
	return a, nil
}

func (a *Agent) closeListener() error {
	if a.guard == nil {
		return nil
	}
	return a.guard.listener.Close()
}

// Join is the agent's join string.
func (a *Agent) Join() Join { return a.join }

// Refused counts the connections of strangers that were refused.
func (a *Agent) Refused() int64 {
	if a.guard == nil {
		return 0
	}
	return a.guard.refused.Load()
}

// Accept returns the next connection of the owner. Its error is ErrNoOwner, ErrIdle, the reason why the agent was
// closed, or that of ctx.
func (a *Agent) Accept(ctx context.Context) (io.ReadWriteCloser, error) {
	if a.guard == nil {
		return a.dialOwner(ctx)
	}
	accepted, err := a.handOver(ctx)
	if err != nil {
		return nil, err
	}
	select {
	case c := <-accepted:
		return c, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-a.ctx.Done():
		return nil, context.Cause(a.ctx)
	}
}

// handOver is where Accept with this context finds the owner's connections.
func (a *Agent) handOver(ctx context.Context) (<-chan *tracked, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx.Err() != nil { // the next owner's are not for this call
		return nil, context.Cause(ctx)
	}
	return a.accepted, nil
}

// Release gives up the owner: the next one who proves the token becomes the owner, until the join string expires. The
// caller has ended the context of each Accept for the owner before. No such Accept returns a connection of the next
// owner. The owner before does not come back: one who waits for an agent that dials may still listen when it has left.
func (a *Agent) Release() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.owner, a.left, a.accepted = nil, a.owner, make(chan *tracked)
	if a.live == 0 {
		a.waitForOwner()
	}
}

// waitForOwner starts the time after which the agent ends without an owner. a.mu is locked.
func (a *Agent) waitForOwner() {
	limit := a.o.Idle
	if a.owner == nil {
		limit = max(0, a.join.Expires.Sub(a.o.now()))
	}
	a.idle.Stop()
	a.idle = time.AfterFunc(limit, a.endIdle)
}

// Close ends the agent: it stops to listen, and Accept returns. Connections that Accept returned stay open.
func (a *Agent) Close() error {
	a.cancel(net.ErrClosed)
	a.running.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.idle.Stop()
	return nil
}

// authenticate is the guard's: it accepts a connection of the owner.
func (a *Agent) authenticate(ctx context.Context, c net.Conn, authenticated func()) error {
	ch, err := handshake(ctx, c, false, a.id, func(Fingerprint) error { return nil })
	if err != nil {
		return err
	}
	accepted, err := a.admit(ch, authenticated)
	if err != nil {
		_ = ch.Close() // the reason is known
		return err
	}
	t := a.track(ch)
	select {
	case accepted <- t:
		return nil
	case <-time.After(handOverTime):
	case <-ctx.Done():
	}
	_ = t.Close() // nobody takes it
	return nil
}

// admit checks the proof of an owner and answers it. The first owner becomes the owner. It calls authenticated before
// it accepts: an owner that has been accepted must not be among the half-open connections, which strangers can end. It
// returns where the connection is handed over.
func (a *Agent) admit(ch *channel, authenticated func()) (chan<- *tracked, error) {
	if err := ch.check(a.join.token); err != nil {
		return nil, err
	}
	answer, refused, why := byte(answerAccepted), error(nil), ""
	a.mu.Lock()
	accepted := a.accepted
	switch {
	case a.left != nil && *a.left == ch.peer:
		answer, refused, why = answerUsed, ErrUsed, "it has released this agent"
	case a.owner != nil && *a.owner != ch.peer:
		answer, refused, why = answerUsed, ErrUsed, "the join string was used before"
	case a.owner == nil && !a.o.now().Before(a.join.Expires):
		answer, refused, why = answerExpired, ErrExpired, "the join string has expired"
	case a.owner == nil:
		a.owner = &ch.peer
	}
	a.mu.Unlock()
	if refused != nil {
		a.log("another nearfar was refused (key " + ch.peer.String() + "): " + why)
	} else {
		authenticated()
	}
	if _, err := ch.Write([]byte{answer}); err != nil {
		return nil, errors.Join(refused, explain(err))
	}
	if refused != nil {
		return nil, refused
	}
	return accepted, ch.authenticated()
}

// log logs a message unless it is the same as the last one.
func (a *Agent) log(message string) {
	a.mu.Lock()
	again := a.said == message
	a.said = message
	a.mu.Unlock()
	if a.o.Log != nil && !again {
		a.o.Log(message)
	}
}

// dialOwner dials the owner who waits, until one accepts. It waits until no earlier connection is open.
func (a *Agent) dialOwner(ctx context.Context) (io.ReadWriteCloser, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(a.ctx, func() { cancel(context.Cause(a.ctx)) })
	defer stop()
	for pause := leastDialPause; ; pause = min(2*pause, mostDialPause) {
		if err := a.untilNoneIsOpen(ctx); err != nil {
			return nil, err
		}
		c, err := a.dialOnce(ctx)
		if err == nil {
			return c, nil
		}
		if ctx.Err() == nil && !Permanent(err) { // which was logged already
			a.log(fmt.Sprintf("no owner at %s yet: %v", a.o.Dial, err))
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(pause):
		}
	}
}

func (a *Agent) untilNoneIsOpen(ctx context.Context) error {
	for {
		a.mu.Lock()
		live, changed := a.live, a.changed
		a.mu.Unlock()
		if live == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (a *Agent) dialOnce(ctx context.Context) (*tracked, error) {
	c, err := dial(ctx, a.o.Dial)
	if err != nil {
		return nil, err
	}
	ch, err := handshake(ctx, c, true, a.id, func(Fingerprint) error { return nil })
	if err != nil {
		return nil, err
	}
	if _, err := a.admit(ch, func() {}); err != nil {
		return nil, errors.Join(err, ch.Close())
	}
	return a.track(ch), nil
}

// track counts a connection until it is closed.
func (a *Agent) track(ch *channel) *tracked {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.live++
	a.idle.Stop()
	return &tracked{channel: ch, closed: sync.OnceFunc(a.untrack)}
}

func (a *Agent) untrack() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.live--; a.live == 0 {
		close(a.changed)
		a.changed = make(chan struct{})
		a.waitForOwner()
	}
}

// endIdle ends the agent unless an owner is connected.
func (a *Agent) endIdle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.live > 0:
	case a.owner == nil:
		a.cancel(ErrNoOwner)
	default:
		a.cancel(ErrIdle)
	}
}

// tracked is a connection that reports when it is closed.
type tracked struct {
	*channel
	closed func()
}

// Close closes the connection.
func (t *tracked) Close() error {
	defer t.closed()
	return t.channel.Close()
}

// reachable are the addresses of a listener for the join string: those that were given, or its own, or, if it listens
// on all addresses, those of this host's interfaces.
func reachable(at net.Addr, given []string) ([]string, error) {
	if len(given) > maxAddresses {
		return nil, fmt.Errorf("%d addresses: a join string has at most %d", len(given), maxAddresses)
	}
	if len(given) > 0 {
		return given, nil
	}
	listening, err := netip.ParseAddrPort(at.String())
	if err != nil {
		return nil, err
	}
	if !listening.Addr().IsUnspecified() {
		return []string{listening.String()}, nil
	}
	local, err := localAddresses()
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, ip := range local {
		usable := ip.IsGlobalUnicast() && (ip.Is4() || listening.Addr().Is6())
		if usable && len(addresses) < maxAddresses {
			addresses = append(addresses, netip.AddrPortFrom(ip, listening.Port()).String())
		}
	}
	if len(addresses) == 0 {
		return nil, errors.New("this host has no address that another host can dial: name one with --address")
	}
	return addresses, nil
}

// localAddresses are the addresses of this host's interfaces, IPv4 first, without zones.
func localAddresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var local []netip.Addr
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			local = append(local, prefix.Addr().Unmap().WithZone(""))
		}
	}
	slices.SortStableFunc(local, func(a, b netip.Addr) int { return a.BitLen() - b.BitLen() })
	return local, nil
}
