//go:build linux

package engine

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/wire"
)

// tardyServer serves one session, and says that the window has begun when it has ended, as a client hears it that had
// no CPU in time; or it says both in time, and neither sends nor receives anything.
func tardyServer(t *testing.T, inTime bool) string {
	t.Helper()
	s, bytes := hostileServers()["flooding"], int64(640)
	if inTime {
		s, bytes = hostileServers()["silent"], 0
	}
	s.session = func(c net.Conn, frames *wire.Conn, p wire.Params) {
		if p.Mode == wire.ModeStream && frames.Expect(wire.KindStart, nil) != nil {
			return
		}
		time.Sleep(p.Warmup)
		if inTime {
			_ = frames.Write(wire.KindBegin, nil)
		}
		time.Sleep(p.Duration)
		if !inTime {
			_ = frames.Write(wire.KindBegin, nil)
		}
		if p.Direction == wire.Download {
			bytes = 0 // the client sends none
		}
		i := wire.Interval{End: p.Duration, Bytes: bytes}
		r := wire.Report{Version: "x", Bytes: bytes, Window: p.Duration}
		if p.Mode == wire.ModeMessages {
			i.Messages = bytes / int64(p.Message)
			r.Messages = wire.Tally{Received: i.Messages, Sent: i.Messages}
		}
		_ = frames.Write(wire.KindInterval, i)
		_ = frames.Write(wire.KindEnd, nil)
		if frames.Expect(wire.KindStop, nil) == nil {
			_ = frames.Write(wire.KindReport, r)
		}
		_, _ = io.Copy(io.Discard, c)
	}
	return s.serve(t, wire.TCP)
}

// TestShortWindows: a window that the client has for less than half of its time, or in which nothing comes, gives no
// figure but a message that says so.
func TestShortWindows(t *testing.T) {
	t.Parallel()
	stream := func(direction string) wire.Params {
		p := enginetest.Stream(1)
		p.Direction, p.Message = direction, 64
		return p
	}
	messages := enginetest.Stream(1)
	messages.Mode, messages.Message, messages.Flow = wire.ModeMessages, 64, wire.Flow{Batch: 1, MessageRate: 20_000}
	for name, p := range map[string]wire.Params{
		"upload": stream(wire.Upload), "download": stream(wire.Download), "both": stream(wire.Both), "messages": messages,
	} {
		for _, late := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				p, came := p, ", and 0 "
				p.Warmup, p.Duration = 50*time.Millisecond, 500*time.Millisecond
				if late {
					came = ", and " // what came within its short window is not known
				}
				said, err := measureApart(t, asked{Server: tardyServer(t, !late), Params: p,
					Patience: 10 * time.Second}, 40*time.Second)
				if err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{
					"the window gives no figure: 500ms were asked for, ", " passed on the client's clock" + came,
					": a machine was too busy, or the path stood still",
				} {
					if !strings.Contains(said.Failure, want) {
						t.Errorf("late: %v; the client says %q, and not %q", late, said.Failure, want)
					}
				}
			})
		}
	}
}

// TestNoMessageIsDue: messages of a rate that has none within the window fail, and it is neither the machine's fault
// nor the path's.
func TestNoMessageIsDue(t *testing.T) {
	t.Parallel()
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	p := wire.Params{Mode: wire.ModeMessages, Protocol: wire.UDP, Message: 64, Connections: 1,
		Flow: wire.Flow{Batch: 1, MessageRate: 1}, Duration: 100 * time.Millisecond}
	p.Warmup = 200 * time.Millisecond // the first message is due at its beginning
	said, err := measureApart(t, asked{Server: address, Params: p}, 40*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	const want = "no message was due within 100ms at a rate of 1 a second: offer more, or for longer"
	if said.Failure != want {
		t.Errorf("%q, want %q", said.Failure, want)
	}
}
