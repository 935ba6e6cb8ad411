package tls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/onhost/agent"
)

// patience is how long a test waits for what should happen at once.
const patience = 30 * time.Second

// directions are both ways in which a connection is made.
func directions() []Dials { return []Dials{OwnerDials, AgentDials} }

func (d Dials) name() string {
	if d == OwnerDials {
		return "the owner dials"
	}
	return "the agent dials"
}

// agentOf starts an agent on loopback. Its join string names an address that is free for an owner if the agent dials.
func agentOf(t *testing.T, d Dials, change func(o *AgentOptions)) *Agent {
	t.Helper()
	o := AgentOptions{Expires: time.Hour, Idle: time.Minute, Log: func(m string) { t.Log("agent:", m) }}
	if d == OwnerDials {
		o.Listen = "127.0.0.1:0"
	} else {
		o.Dial = freeAddress(t)
	}
	if change != nil {
		change(&o)
	}
	a, err := NewAgent(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// echo sends the agent's connections their own data back, until the agent ends. It returns the agent's last error.
func echo(a *Agent) <-chan error { return echoUntil(context.Background(), a) }

// echoUntil is echo until the context ends, too.
func echoUntil(ctx context.Context, a *Agent) <-chan error {
	ended := make(chan error, 1)
	go func() {
		var running sync.WaitGroup
		defer running.Wait()
		for {
			c, err := a.Accept(ctx)
			if err != nil {
				ended <- err
				return
			}
			running.Go(func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			})
		}
	}()
	return ended
}

// ownerOf makes an owner and its way to the agent of a join string, which it reads as nearfar run does.
func ownerOf(t *testing.T, text string) (*Owner, agent.Dialer) {
	t.Helper()
	j, err := ParseJoin(text)
	if err != nil {
		t.Fatal(err)
	}
	o, err := NewOwner(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.Close() })
	d, err := o.Dialer(j)
	if err != nil {
		t.Fatal(err)
	}
	return o, d
}

func connect(t *testing.T, d agent.Dialer) (io.ReadWriteCloser, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return d(ctx)
}

func mustConnect(t *testing.T, d agent.Dialer) io.ReadWriteCloser {
	t.Helper()
	c, err := connect(t, d)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// say sends a word over a connection to an echo, and wants it back.
func say(c io.ReadWriter, word string) error {
	if _, err := io.WriteString(c, word); err != nil {
		return err
	}
	got := make([]byte, len(word))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if string(got) != word {
		return fmt.Errorf("got %q, want %q", got, word)
	}
	return nil
}

func TestConnections(t *testing.T) {
	for _, d := range directions() {
		t.Run(d.name(), func(t *testing.T) {
			a := agentOf(t, d, nil)
			ended := echo(a)
			_, dialer := ownerOf(t, a.Join().Encode())
			for i := range 3 { // the first one, and after a broken one another to the same agent
				c := mustConnect(t, dialer)
				if err := say(c, fmt.Sprint("word ", i)); err != nil {
					t.Fatal(err)
				}
				large := strings.Repeat("x", 1<<20)
				sent := make(chan error, 1)
				go func() {
					_, err := io.WriteString(c, large)
					sent <- err
				}()
				got := make([]byte, len(large))
				if _, err := io.ReadFull(c, got); err != nil || string(got) != large {
					t.Fatalf("1 MiB did not come back: %v", err)
				}
				if err := <-sent; err != nil {
					t.Fatal(err)
				}
				if err := c.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; !errors.Is(err, net.ErrClosed) {
				t.Errorf("Accept of a closed agent: %v", err)
			}
		})
	}
}

// A connection that breaks without a message is replaced too.
func TestBrokenConnection(t *testing.T) {
	for _, d := range directions() {
		t.Run(d.name(), func(t *testing.T) {
			a := agentOf(t, d, nil)
			echo(a)
			_, dialer := ownerOf(t, a.Join().Encode())
			c := mustConnect(t, dialer)
			if err := say(c, "before"); err != nil {
				t.Fatal(err)
			}
			reset(c.(*channel).below.Conn)
			if err := say(c, "broken"); err == nil {
				t.Fatal("a broken connection answers")
			}
			if err := say(mustConnect(t, dialer), "after"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// The first owner keeps the agent. A second one with the same join string gets an error that says so.
func TestReplayedJoin(t *testing.T) {
	for _, d := range directions() {
		t.Run(d.name(), func(t *testing.T) {
			a := agentOf(t, d, nil)
			echo(a)
			text := a.Join().Encode()
			first, dialer := ownerOf(t, text)
			c := mustConnect(t, dialer)
			if d == AgentDials { // only one owner can wait at the address
				if err := errors.Join(c.Close(), first.Close()); err != nil {
					t.Fatal(err)
				}
			}
			_, second := ownerOf(t, text)
			_, err := connect(t, second)
			if !errors.Is(err, ErrUsed) || !Permanent(err) || !strings.Contains(err.Error(), "used already") {
				t.Errorf("the second owner: %v", err)
			}
			if d == OwnerDials {
				if err := say(c, "still here"); err != nil {
					t.Error(err)
				}
				if err := say(mustConnect(t, dialer), "and again"); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// Many owners with the same join string at the same time: one gets the agent.
func TestOnlyOneOwner(t *testing.T) {
	a := agentOf(t, OwnerDials, nil)
	echo(a)
	text := a.Join().Encode()
	const owners = 20
	results := make(chan error, owners)
	for range owners {
		_, dialer := ownerOf(t, text)
		go func() {
			c, err := dialer(t.Context())
			if err == nil {
				err = errors.Join(say(c, "mine"), c.Close())
			}
			results <- err
		}()
	}
	won := 0
	for range owners {
		if err := <-results; err == nil {
			won++
		} else if !errors.Is(err, ErrUsed) {
			t.Error(err)
		}
	}
	if won != 1 {
		t.Errorf("%d owners got the agent", won)
	}
}

// clock is a time that a test sets.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// The agent's clock decides when a join string has expired. An owner that came before keeps the agent.
func TestExpiry(t *testing.T) {
	for _, d := range directions() {
		t.Run(d.name(), func(t *testing.T) {
			c := &clock{at: time.Now()}
			withClock := func(o *AgentOptions) { o.now, o.Expires = c.now, 10*time.Minute }
			late, early := agentOf(t, d, withClock), agentOf(t, d, withClock)
			echo(late)
			echo(early)
			_, dialer := ownerOf(t, early.Join().Encode())
			if err := mustConnect(t, dialer).Close(); err != nil {
				t.Fatal(err)
			}
			c.add(10 * time.Minute)
			_, err := func() (io.ReadWriteCloser, error) {
				_, dialer := ownerOf(t, late.Join().Encode())
				return connect(t, dialer)
			}()
			if !errors.Is(err, ErrExpired) || !Permanent(err) || !strings.Contains(err.Error(), "has expired") {
				t.Errorf("after the end: %v", err)
			}
			if err := say(mustConnect(t, dialer), "again"); err != nil {
				t.Errorf("an owner that came before: %v", err)
			}
		})
	}
}

// A released agent has another owner until its join string expires, and then ends.
func TestReleasedAgentExpires(t *testing.T) {
	for _, d := range directions() {
		t.Run(d.name(), func(t *testing.T) {
			c := &clock{at: time.Now()}
			a := agentOf(t, d, func(o *AgentOptions) { o.now, o.Expires = c.now, 10*time.Minute })
			for range 2 {
				ctx, cancel := context.WithCancel(t.Context())
				ended := echoUntil(ctx, a)
				owner, dialer := ownerOf(t, a.Join().Encode())
				conn := mustConnect(t, dialer)
				if err := say(conn, "here"); err != nil { // Accept has returned it
					t.Fatal(err)
				}
				if err := errors.Join(conn.Close(), owner.Close()); err != nil {
					t.Fatal(err)
				}
				cancel() // Release asks for that
				if err := <-ended; !errors.Is(err, context.Canceled) {
					t.Fatal(err)
				}
				a.Release()
			}
			c.add(10 * time.Minute)
			a.Release()
			if err := <-echo(a); !errors.Is(err, ErrNoOwner) {
				t.Error(err)
			}
		})
	}
}

// An agent that dialled an owner once more than the owner asked for it is not kept by an owner that is closed: it dials
// the next one.
func TestOwnerKeepsNoAgent(t *testing.T) {
	a := agentOf(t, AgentDials, nil)
	_ = echo(a)
	owner, _ := ownerOf(t, a.Join().Encode())
	live := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.live
	}
	waitFor(t, "the agent to dial", func() bool { return live() == 1 })
	if err := owner.Close(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the agent's connection to close", func() bool { return live() == 0 })
}

// An agent ends if no owner uses its join string, and if its owner stays away.
func TestAgentEnds(t *testing.T) {
	for _, d := range directions() {
		t.Run(d.name(), func(t *testing.T) {
			unused := agentOf(t, d, nil)
			ended := echo(unused)
			unused.idle.Reset(0)
			if err := <-ended; !errors.Is(err, ErrNoOwner) {
				t.Errorf("unused: %v", err)
			}
			used := agentOf(t, d, nil)
			ended = echo(used)
			owner, dialer := ownerOf(t, used.Join().Encode())
			c := mustConnect(t, dialer)
			if err := say(c, "here"); err != nil {
				t.Fatal(err)
			}
			used.endIdle() // has no effect on an agent whose owner is connected
			if err := say(c, "still here"); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(owner.Close(), c.Close()); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the agent's connection to close", func() bool {
				used.mu.Lock()
				defer used.mu.Unlock()
				return used.live == 0
			})
			used.mu.Lock()
			used.idle.Reset(0)
			used.mu.Unlock()
			if err := <-ended; !errors.Is(err, ErrIdle) {
				t.Errorf("idle: %v", err)
			}
			if err := used.Close(); err != nil {
				t.Error(err)
			}
			if d == OwnerDials {
				if _, err := net.Dial("tcp", used.Join().Addresses[0]); err == nil {
					t.Error("an agent that has ended listens")
				}
			}
		})
	}
}

func waitFor(t *testing.T, what string, reached func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !reached() {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v for %s", patience, what)
		}
		time.Sleep(time.Millisecond)
	}
}
