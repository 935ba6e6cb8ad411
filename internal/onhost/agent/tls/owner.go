package tls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"nearfar/internal/onhost/agent"
)

const (
	// stagger is how long an owner waits for one address of an agent before it also tries the next one.
	stagger = 300 * time.Millisecond
	// tries is how often an owner dials an agent that ended a connection before it was authenticated. An agent ends its
	// oldest half-open connection when strangers connect faster than it can refuse them.
	tries = 8
	// mostRefused is for how long an owner that was connected is refused, at all addresses of the agent, before it takes
	// the agent for ended. An agent listens as long as it lives, and one that starts later has another key, also after
	// a reboot. Only what forwards a port, or the rules of a firewall, can refuse for a moment and then go on.
	mostRefused = 10 * time.Second
)

// An Owner makes the connections to agents, on the side of the nearfar that runs the experiment. All of them show the
// same key.
type Owner struct {
	id     identity
	ctx    context.Context
	cancel context.CancelFunc
	// running waits for the guards of the listeners.
	running sync.WaitGroup
	// mostRefused is as the constant; tests change it.
	mostRefused time.Duration

	mu sync.Mutex
	// waiting are the listeners by the address in the join string.
	waiting map[string]*waiting
}

// waiting is a listener for agents that dial.
type waiting struct {
	guard  *guard
	mu     sync.Mutex
	agents map[Fingerprint]*expected
}

// expected is an agent that dials.
type expected struct {
	join Join
	// arrived holds the newest connection that nobody took yet, or the reason why the agent refused this owner.
	arrived chan arrival
}

type arrival struct {
	channel *channel
	err     error
}

// NewOwner makes an owner with a new key. It works until ctx ends or it is closed.
func NewOwner(ctx context.Context) (*Owner, error) {
	id, err := newIdentity()
	if err != nil {
		return nil, err
	}
	o := &Owner{id: id, waiting: map[string]*waiting{}, mostRefused: mostRefused}
	o.ctx, o.cancel = context.WithCancel(ctx)
	return o, nil
}

// Close stops to wait for agents. Connections that were returned stay open. Those that nobody took are closed: an agent
// that dialled once more, when its owner had left, would else never dial the next owner.
func (o *Owner) Close() error {
	o.cancel()
	o.running.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, w := range o.waiting {
		w.mu.Lock()
		for _, e := range w.agents {
			e.drop()
		}
		w.mu.Unlock()
	}
	return nil
}

// drop closes the connection that nobody took, if there is one.
func (e *expected) drop() {
	select {
	case a := <-e.arrived:
		if a.channel != nil {
			_ = a.channel.Close() // it is not used
		}
	default:
	}
}

// Dialer returns the way to the agent of a join string. If the agent dials, the owner begins to listen now.
func (o *Owner) Dialer(j Join) (agent.Dialer, error) {
	if j.Dials == OwnerDials {
		var since time.Time // when the dials began that were all refused
		return func(ctx context.Context) (io.ReadWriteCloser, error) {
			c, err := o.dial(ctx, j)
			switch {
			case !refused(err):
				since = time.Time{}
			case since.IsZero():
				since = time.Now()
			case agent.Again(ctx) && time.Since(since) >= o.mostRefused:
				return nil, fmt.Errorf("%w: %w", agent.ErrGone, err)
			}
			return c, gone(ctx, err)
		}, nil
	}
	at := j.Addresses[0]
	o.mu.Lock()
	defer o.mu.Unlock()
	w := o.waiting[at]
	if w == nil {
		l, err := o.listen(at)
		if err != nil {
			return nil, fmt.Errorf("waiting for an agent that dials %s: %w", at, err)
		}
		w = &waiting{agents: map[Fingerprint]*expected{}}
		w.guard = newGuard(l, func(ctx context.Context, c net.Conn, authenticated func()) error {
			return o.arrive(ctx, w, c, authenticated)
		})
		o.waiting[at] = w
		o.running.Go(func() { w.guard.run(o.ctx) })
	}
	e := &expected{join: j, arrived: make(chan arrival, 1)}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.agents[j.Key] != nil {
		return nil, errors.New("the same join string is given for two hosts: each host has an agent of its own")
	}
	w.agents[j.Key] = e
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		c, err := o.await(ctx, w, e)
		return c, gone(ctx, err)
	}, nil
}

// gone says that the agent to which this owner was connected has ended: another one answers.
func gone(ctx context.Context, err error) error {
	if err != nil && Permanent(err) && agent.Again(ctx) {
		return fmt.Errorf("%w: %w", agent.ErrGone, err)
	}
	return err
}

// dial connects to an agent that listens.
func (o *Owner) dial(ctx context.Context, j Join) (io.ReadWriteCloser, error) {
	pause := leastDialPause
	for try := 1; ; try++ {
		c, err := o.dialOnce(ctx, j)
		if err == nil {
			return c, nil
		}
		if refused(err) {
			err = fmt.Errorf("nothing listens there, so %w (%w)", errEnded, err)
		}
		if Permanent(err) || unreachable(err) || try == tries {
			return nil, o.late(j, err)
		}
		select {
		case <-ctx.Done():
			return nil, o.late(j, err)
		case <-time.After(pause):
			pause = min(2*pause, mostDialPause/2)
		}
	}
}

// refused reports whether all that went wrong is that connections were refused.
func refused(err error) bool {
	var several interface{ Unwrap() []error }
	if errors.As(err, &several) {
		return !slices.ContainsFunc(several.Unwrap(), func(one error) bool {
			return !errors.Is(one, errEnded) && !refused(one)
		})
	}
	return errors.Is(err, syscall.ECONNREFUSED)
}

// unreachable reports whether nothing answered, so that trying again at once cannot help.
func unreachable(err error) bool {
	network, ok := errors.AsType[net.Error](err)
	return ok && network.Timeout() || errors.Is(err, syscall.ECONNREFUSED) ||
		errors.Is(err, syscall.EHOSTUNREACH) || errors.Is(err, syscall.ENETUNREACH) ||
		errors.Is(err, context.Canceled) || errors.Is(err, errSilent)
}

// late adds to an error that the join string has expired, by the clock of this machine. Only the agent decides.
func (o *Owner) late(j Join, err error) error {
	if time.Now().Before(j.Expires) || Permanent(err) {
		return err
	}
	return fmt.Errorf("%w (by the clock of this machine, the join string expired at %s)", err,
		j.Expires.Format(time.RFC3339))
}

func (o *Owner) dialOnce(ctx context.Context, j Join) (io.ReadWriteCloser, error) {
	ch, err := o.firstOf(ctx, j)
	if err != nil {
		return nil, err
	}
	if err := ch.prove(j.token); err != nil {
		_ = ch.Close() // the reason is known
		return nil, fmt.Errorf("the agent at %v: %w", ch.RemoteAddr(), err)
	}
	return ch, nil
}

// firstOf tries all addresses of an agent, each a little after the one before, and returns the first channel.
func (o *Owner) firstOf(ctx context.Context, j Join) (*channel, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	results := make(chan arrival, len(j.Addresses))
	next := time.NewTicker(stagger)
	defer next.Stop()
	started, ended := 0, 0
	start := func() {
		address := j.Addresses[started]
		started++
		go func() {
			ch, err := o.reach(ctx, address, j.Key)
			if err != nil {
				err = fmt.Errorf("the agent at %s: %w", address, err)
			}
			results <- arrival{ch, err}
		}()
	}
	start()
	var failed error
	for ended < len(j.Addresses) {
		var more <-chan time.Time
		if started < len(j.Addresses) {
			more = next.C
		}
		select {
		case <-more:
			start()
		case r := <-results:
			ended++
			if r.err == nil {
				go closeLate(results, started-ended)
				return r.channel, nil
			}
			failed = errors.Join(failed, r.err)
			if started < len(j.Addresses) {
				start()
			}
		}
	}
	return nil, failed
}

// closeLate closes the channels that arrive after the first one.
func closeLate(results <-chan arrival, count int) {
	for range count {
		if r := <-results; r.err == nil {
			_ = r.channel.Close() // it is not used
		}
	}
}

func (o *Owner) reach(ctx context.Context, address string, key Fingerprint) (*channel, error) {
	c, err := dial(ctx, address)
	if err != nil {
		return nil, err
	}
	return handshake(ctx, c, true, o.id, func(f Fingerprint) error {
		if f != key {
			return ErrKey
		}
		return nil
	})
}

// await waits for an agent that dials.
func (o *Owner) await(ctx context.Context, w *waiting, e *expected) (io.ReadWriteCloser, error) {
	select {
	case a := <-e.arrived:
		if a.err != nil {
			return nil, fmt.Errorf("the agent that dialled %s: %w", e.join.Addresses[0], a.err)
		}
		return a.channel, nil
	case <-o.ctx.Done():
		return nil, net.ErrClosed
	case <-ctx.Done():
	}
	others := ""
	if n := w.guard.refused.Load(); n > 0 {
		others = fmt.Sprintf("; %d other connections were refused", n)
	}
	return nil, o.late(e.join, fmt.Errorf("the agent with the key %s has not dialled %s%s: %w", e.join.Key,
		e.join.Addresses[0], others, ctx.Err()))
}

// arrive authenticates a connection to a listener of this owner. It owns the connection.
func (o *Owner) arrive(ctx context.Context, w *waiting, c net.Conn, authenticated func()) error {
	var e *expected
	ch, err := handshake(ctx, c, false, o.id, func(f Fingerprint) error {
		w.mu.Lock()
		defer w.mu.Unlock()
		if e = w.agents[f]; e == nil {
			return ErrKey
		}
		return nil
	})
	if err != nil {
		return err
	}
	authenticated() // by its key
	err = ch.prove(e.join.token)
	if err != nil {
		_ = ch.Close() // the reason is known
		if !Permanent(err) {
			return err
		}
		ch = nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	e.drop() // the agent has dialled again
	e.arrived <- arrival{ch, err}
	return err
}

// listen listens on the address of a join string if this machine has it, and otherwise on the same port of all its
// addresses: the agent may know this machine by a name, or by the address of a gateway that forwards the port.
func (o *Owner) listen(at string) (net.Listener, error) {
	name, port, err := net.SplitHostPort(at)
	if err != nil {
		return nil, err
	}
	local, err := localAddresses()
	if err != nil {
		return nil, err
	}
	ips, err := net.DefaultResolver.LookupNetIP(o.ctx, "ip", name)
	if err != nil {
		ips = nil // a name that only the agent knows
	}
	for _, ip := range ips {
		if ip = ip.Unmap(); slices.Contains(local, ip) || ip.IsLoopback() {
			return listen(o.ctx, net.JoinHostPort(ip.String(), port))
		}
	}
	return listen(o.ctx, net.JoinHostPort("", port))
}
