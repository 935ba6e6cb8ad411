//go:build linux

package deploy

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/measure/runner"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/agent"
	"nearfar/internal/onhost/host"
)

// A counter counts round trips to agents that depend on each other: the number of a message is one higher than that of
// the last message to which a reply had come before it was sent.
type counter struct {
	mu sync.Mutex
	// replied is the highest number of a message to which a reply came.
	replied int
	// oneWay is how long a byte takes to an agent or back, in nanoseconds, so that messages of one moment are on the way
	// together.
	oneWay atomic.Int64
}

func (c *counter) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.replied
}

// A counted connection is the owner's end.
type counted struct {
	net.Conn
	counter *counter
	in, out yamuxFrames
	late    *io.PipeReader // what has arrived

	mu   sync.Mutex
	sent map[uint32]int // the number of the first message of each stream
}

func (c *counter) over(conn net.Conn) *counted {
	r, w := io.Pipe()
	go func() { _ = w.CloseWithError(c.later(w, conn)) }()
	return &counted{Conn: conn, counter: c, late: r, sent: map[uint32]int{}}
}

// later copies what comes, each byte oneWay later.
func (c *counter) later(to io.Writer, from io.Reader) error {
	type chunk struct {
		bytes []byte
		due   time.Time
	}
	way := make(chan chunk, 1000)
	ended := make(chan error, 1)
	go func() {
		defer close(way)
		for {
			b := make([]byte, 32<<10)
			n, err := from.Read(b)
			way <- chunk{b[:n], time.Now().Add(time.Duration(c.oneWay.Load()))}
			if err != nil {
				ended <- err
				return
			}
		}
	}()
	for next := range way {
		time.Sleep(time.Until(next.due))
		if _, err := to.Write(next.bytes); err != nil {
			for range way { // the reader must end
			}
			return err
		}
	}
	return <-ended
}

func (c *counted) Write(b []byte) (int, error) {
	c.out.scan(b, func(stream uint32) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, known := c.sent[stream]; !known {
			c.sent[stream] = c.counter.count() + 1
		}
	})
	return c.Conn.Write(b)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.late.Read(b)
	c.in.scan(b[:n], func(stream uint32) {
		c.mu.Lock()
		number := c.sent[stream]
		c.mu.Unlock()
		c.counter.mu.Lock()
		defer c.counter.mu.Unlock()
		c.counter.replied = max(c.counter.replied, number)
	})
	return n, err
}

func (c *counted) Close() error {
	_ = c.late.Close()
	return c.Conn.Close()
}

// yamuxFrames finds the streams on which data passes. Before the frames there is a greeting, after four bytes with its
// length.
type yamuxFrames struct {
	greeted bool
	head    []byte
	skip    int
}

func (f *yamuxFrames) scan(b []byte, data func(stream uint32)) {
	for len(b) > 0 {
		if f.skip > 0 {
			n := min(f.skip, len(b))
			f.skip, b = f.skip-n, b[n:]
			continue
		}
		need := 12
		if !f.greeted {
			need = 4
		}
		n := min(need-len(f.head), len(b))
		f.head, b = append(f.head, b[:n]...), b[n:]
		switch {
		case len(f.head) < need:
			return
		case !f.greeted:
			f.greeted, f.skip = true, int(binary.BigEndian.Uint32(f.head))
		case f.head[1] == 0: // data
			if f.skip = int(binary.BigEndian.Uint32(f.head[8:])); f.skip > 0 {
				data(binary.BigEndian.Uint32(f.head[4:]))
			}
		}
		f.head = f.head[:0]
	}
}

// countedAgent is an agent behind a counted connection.
func countedAgent(t *testing.T, c *counter, name string) *agent.Client {
	t.Helper()
	session := agent.NewSession()
	conns, served := make(chan io.ReadWriteCloser), make(chan error, 1)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		served <- agent.Serve(ctx, func() (io.ReadWriteCloser, error) {
			select {
			case conn := <-conns:
				return conn, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}, agent.ServerOptions{Session: session, Folder: t.TempDir()})
	}()
	client, err := agent.Connect(t.Context(), func(context.Context) (io.ReadWriteCloser, error) {
		ours, theirs := net.Pipe()
		to, late := net.Pipe() // from the owner, late
		go func() { _ = errors.Join(c.later(late, theirs), late.Close()) }()
		conns <- struct {
			io.Reader
			io.WriteCloser
		}{to, theirs}
		return c.over(ours), nil
	}, agent.Options{Name: name, Session: session, Endpoint: hosttest.Loopback(t, name)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		err := client.Close()
		cancel()
		if err = errors.Join(err, <-served); err != nil {
			t.Error(err)
		}
	})
	return client
}

// stopped is a tool whose server does not end by itself.
type stopped struct{}

func (stopped) Name() string                      { return "stopped" }
func (stopped) Probe() tool.Probe                 { return tool.Probe{} }
func (s stopped) Lookup(string) (tool.Tool, bool) { return s, true }
func (stopped) Parse(tool.Output) (result.Measurement, error) {
	return result.Measurement{Mode: experiment.RR, Protocol: experiment.TCP}, nil
}

func (stopped) Plan(_ experiment.Workload, pair host.Pair) (tool.Plan, error) {
	port := pair.Server.Ports().Data
	return tool.Plan{
		Server:   &tool.Command{Argv: []string{host.Self, hosttest.Verb, "listen", "tcp", strconv.Itoa(port)}},
		Ready:    tool.Ready{Protocol: experiment.TCP, Port: port},
		Client:   tool.Command{Argv: []string{"sleep", "0.2"}},
		Expected: time.Second,
	}, nil
}

// TestRoundTripsOfATrial: a trial is two round trips to its hosts. If its server does not end by itself, that is so
// because its end and the start of the next server are one, so a run has one more. Servers with different agents in one
// network do not overlap, because they can need the same port.
func TestRoundTripsOfATrial(t *testing.T) {
	native := tool.New(tool.NewNative(agent.NewSession()))
	for _, c := range []struct {
		name    string
		tools   runner.Tools
		tool    string
		servers []string // of the arms
		blocks  int
		want    int // round trips of the run
	}{
		{"native", native, "native", []string{"server"}, 3, 6},
		{"stopped", stopped{}, "stopped", []string{"server"}, 3, 7},
		{"stopped in two arms", stopped{}, "stopped", []string{"server", "server"}, 2, 9},
		{"stopped on two servers in one network", stopped{}, "stopped", []string{"server", "other"}, 1, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			count := &counter{}
			clients := map[string]*agent.Client{"client": countedAgent(t, count, "client")}
			e := &experiment.Experiment{
				Baseline: "a", Schedule: experiment.Schedule{Blocks: c.blocks, Seed: 1},
				Workloads: []experiment.Workload{{
					Name: "w", Tool: c.tool, Mode: experiment.RR, Protocol: experiment.TCP, IP: experiment.IPv4,
					Request: 64, Response: 64, Duration: 200 * time.Millisecond, Warmup: 10 * time.Millisecond,
					Placement: experiment.Placement{Kind: experiment.PlacementFree},
				}},
			}
			all := map[string]host.Hosts{}
			for i, server := range c.servers {
				if clients[server] == nil {
					clients[server] = countedAgent(t, count, server)
				}
				arm := experiment.Arm{Name: string(rune('a' + i)), Client: "client", Server: server}
				e.Arms = append(e.Arms, arm)
				hosts := host.Hosts{Client: clients["client"].Host(), Server: clients[server].Host()}
				hosts.Machines = newMachines(clients["client"], clients[server], endsOf(e, hosts.Client, hosts.Server))
				all[arm.Name] = hosts
			}
			// What is cleaned up after the trial before can come between, and on a busy machine a question can be sent so
			// late that it seems to depend on an answer: both only add, and less if the way is longer.
			best := 100
			for _, way := range []time.Duration{60, 200, 600, 600} {
				count.oneWay.Store(int64(way * time.Millisecond))
				if took := roundTrips(t, e, c.tools, all, count); took < best {
					best = took
				}
				if best <= c.want {
					return
				}
			}
			t.Errorf("%d trials are %d round trips, want %d", c.blocks*len(c.servers), best, c.want)
		})
	}
}

// roundTrips are those of a run, from the start of the first trial to the end of the last one.
func roundTrips(
	t *testing.T, e *experiment.Experiment, tools runner.Tools, all map[string]host.Hosts, count *counter,
) int {
	t.Helper()
	first, last := -1, 0
	var each []int
	r := runner.New(e, tools, all, runner.DefaultLimits(), func(event runner.Event) {
		if last = count.count(); first < 0 {
			first = last
		}
		if event.Trial == nil {
			return
		}
		each = append(each, last-first)
		if event.Trial.Error != "" {
			t.Errorf("trial %d: %s", event.Slot.Trial, event.Trial.Error)
		}
		if seen := event.Trial.Counters; seen == nil || seen.Client == nil || seen.Server == nil {
			t.Errorf("trial %d: not observed on both sides", event.Slot.Trial)
		}
	})
	if err := r.Run(t.Context(), &memory{}, nil); err != nil {
		t.Fatal(err)
	}
	t.Logf("round trips until the end of each trial: %v", each)
	return last - first
}
