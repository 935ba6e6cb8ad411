//go:build linux

package engine

import (
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/wire"
)

// A lie changes what an honest server would report of a stream or of messages.
type lie func(p wire.Params, i *wire.Interval, r *wire.Report)

// lies are figures that cannot be.
func lies() map[string]lie {
	const much = 1 << 62
	both := func(bytes int64, window time.Duration) lie {
		return func(p wire.Params, i *wire.Interval, r *wire.Report) {
			i.Bytes, i.End, r.Bytes, r.Window = bytes, window, bytes, window
			if p.Mode == wire.ModeMessages {
				i.Messages = bytes / int64(p.Message)
				r.Messages.Received = i.Messages
			}
		}
	}
	report := func(change func(r *wire.Report)) lie {
		return func(_ wire.Params, _ *wire.Interval, r *wire.Report) { change(r) }
	}
	return map[string]lie{
		"much in a nanosecond": both(much, 1),
		"much in the window":   both(much, 200*time.Millisecond),
		"little in no time":    both(64_000, time.Millisecond),
		"a long window":        both(64_000, time.Hour),
		"another sum":          report(func(r *wire.Report) { r.Bytes += 64 }),
		"another window":       report(func(r *wire.Report) { r.Window = 100 * time.Millisecond }),
		"an interval of the future": func(_ wire.Params, i *wire.Interval, r *wire.Report) {
			i.End, r.Window = time.Hour, time.Hour
		},
		"an interval of the past": func(_ wire.Params, i *wire.Interval, _ *wire.Report) { i.Start = time.Millisecond },
		"all CPUs of the world":   report(func(r *wire.Report) { r.CPU, r.Elapsed = 1e6*time.Hour, 200*time.Millisecond }),
		"a long measurement":      report(func(r *wire.Report) { r.CPU, r.Elapsed = 1, 24*time.Hour }),
		"many retransmits":        report(func(r *wire.Report) { r.Retransmits, r.Sampled = much, true }),
		"many retransmits in an interval": func(_ wire.Params, i *wire.Interval, _ *wire.Report) {
			i.Retransmits = much
		},
		"a wide window":     func(_ wire.Params, i *wire.Interval, _ *wire.Report) { i.Window = much },
		"a long round trip": func(_ wire.Params, i *wire.Interval, _ *wire.Report) { i.Smoothed = time.Hour },
		"many transactions": report(func(r *wire.Report) { r.Transactions = much }),
		"more messages than bytes": func(p wire.Params, i *wire.Interval, r *wire.Report) {
			if i.Messages, r.Messages.Received = i.Messages+1, r.Messages.Received+1; p.Mode != wire.ModeMessages {
				i.Bytes++ // of streams that count no messages
			}
		},
		"many late messages": func(p wire.Params, i *wire.Interval, r *wire.Report) {
			if r.Messages.Received, r.Messages.OutOfOrder = much/int64(max(p.Message, 1)), much/int64(max(p.Message, 1)); p.Mode != wire.ModeMessages {
				r.Bytes++
				return
			}
			i.Messages, i.Bytes = r.Messages.Received, r.Messages.Received*int64(p.Message)
			r.Bytes = i.Bytes
		},
		"many sent messages": func(p wire.Params, _ *wire.Interval, r *wire.Report) {
			if r.Messages.Sent = much; p.Mode != wire.ModeMessages {
				r.Bytes++
			}
		},
	}
}

// lyingServer serves one session honestly, but for the figures.
func lyingServer(t *testing.T, told lie) string {
	t.Helper()
	var mu sync.Mutex
	var received int64
	s := hostileServer{
		data: func(c net.Conn) {
			for b := make([]byte, 64<<10); ; {
				n, err := c.Read(b)
				mu.Lock()
				received += int64(n)
				mu.Unlock()
				if err != nil {
					return
				}
			}
		},
		datagram: func(_ *net.UDPConn, _ netip.AddrPort, b []byte) {
			mu.Lock()
			received += int64(len(b))
			mu.Unlock()
		},
	}
	s.session = func(c net.Conn, frames *wire.Conn, p wire.Params) {
		if p.Mode == wire.ModeStream && frames.Expect(wire.KindStart, nil) != nil {
			return
		}
		time.Sleep(p.Warmup)
		_ = frames.Write(wire.KindBegin, nil)
		time.Sleep(p.Duration + 5*time.Millisecond)
		mu.Lock()
		// Less than what came: the data before the window is in it.
		bytes := received / 2
		mu.Unlock()
		bytes -= bytes % int64(p.Message)
		i := wire.Interval{End: p.Duration, Bytes: bytes}
		r := wire.Report{Version: "x", Bytes: bytes, Window: p.Duration}
		if p.Mode == wire.ModeMessages {
			i.Messages = bytes / int64(p.Message)
			r.Messages = wire.Tally{Received: i.Messages, Sent: i.Messages}
		}
		told(p, &i, &r)
		_ = frames.Write(wire.KindInterval, i)
		_ = frames.Write(wire.KindEnd, nil)
		if frames.Expect(wire.KindStop, nil) == nil {
			_ = frames.Write(wire.KindReport, r)
		}
		_, _ = io.Copy(io.Discard, c)
	}
	return s.serve(t, wire.TCP)
}

// TestImpossibleFigures: a server reports what cannot be, and the measurement fails. With the truth it does not.
func TestImpossibleFigures(t *testing.T) {
	t.Parallel()
	all := lies()
	all["the truth"] = func(wire.Params, *wire.Interval, *wire.Report) {}
	var cases sync.WaitGroup
	places := make(chan struct{}, 4)
	for name, told := range all {
		for _, mode := range []string{wire.ModeStream, wire.ModeMessages} {
			cases.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				p := wire.Params{Mode: mode, Protocol: wire.TCP, Message: 64, Connections: 1,
					Warmup: 50 * time.Millisecond, Duration: 200 * time.Millisecond}
				if mode == wire.ModeMessages {
					p.Flow = wire.Flow{Batch: 1, MessageRate: 20_000}
				}
				said, err := measureApart(t, asked{Server: lyingServer(t, told), Params: p,
					Patience: 10 * time.Second}, 40*time.Second)
				switch {
				case err != nil:
					t.Errorf("%s, %s: %v", name, mode, err)
				case name == "the truth" && said.Failure != "":
					t.Errorf("%s, %s: %s", name, mode, said.Failure)
				case name != "the truth" && !strings.Contains(said.Failure, "the server reports") &&
					!strings.Contains(said.Failure, "makes no sense"):
					t.Errorf("%s, %s: a result %+v, failure %q", name, mode, said.Result.Metrics, said.Failure)
				}
			})
		}
	}
	cases.Wait()
}
