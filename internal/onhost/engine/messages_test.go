package engine

import (
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

// TestMessages: over both protocols, in batches and one by one, with segmentation and without.
func TestMessages(t *testing.T) {
	unsegmented, spinning, busy, large := enginetest.Messages(wire.UDP, 64, 32), enginetest.Messages(wire.UDP, 64, 8),
		enginetest.Messages(wire.UDP, 100, 4), enginetest.Messages(wire.UDP, 9000, 3)
	unsegmented.Unsegmented = true
	spinning.Wait = wire.WaitSpin
	busy.Wait = wire.WaitBusyPoll
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		address, _ := enginetest.Start(t, listen, 0)
		for name, p := range map[string]wire.Params{
			"udp": enginetest.Messages(wire.UDP, 64, 32), "one by one": enginetest.Messages(wire.UDP, 32, 1),
			"many": enginetest.Messages(wire.UDP, 64, 1000), "unsegmented": unsegmented,
			"spinning": spinning, "busy": busy, "large": large, "tcp": enginetest.Messages(wire.TCP, 64, 32),
			"tcp, one byte": enginetest.Messages(wire.TCP, 1, 1),
		} {
			if listen != "127.0.0.1:0" && name != "udp" && name != "tcp" {
				continue // sizes, batches and waiting are the same over IPv6
			}
			t.Run(name+" "+listen, func(t *testing.T) {
				if p.WaitOrDefault() != wire.WaitBlock {
					enginetest.OnLinux(t)
				}
				r, c, err := run(t, address, p)
				if err != nil {
					t.Fatal(err)
				}
				checkMessages(t, p, r, c)
			})
		}
	}
}

func checkMessages(t *testing.T, p wire.Params, r record.Result, c *collector) {
	t.Helper()
	var inIntervals int64
	for _, i := range c.Intervals {
		inIntervals += i.Messages
	}
	received := value(t, r, result.Received, "", "")
	if received <= 0 || received != float64(inIntervals) {
		t.Errorf("%v received, %d in the intervals", received, inIntervals)
	}
	if got, want := value(t, r, result.MessageRate, "", ""), received/r.Duration; got < want*0.9999 ||
		got > want*1.0001 {
		t.Errorf("%v messages a second, not %v", got, want)
	}
	if got, want := value(t, r, result.Goodput, "", ""), received*8*float64(p.Message)/r.Duration; got < want*0.9999 ||
		got > want*1.0001 {
		t.Errorf("goodput %v, not %v", got, want)
	}
	sent := value(t, r, result.Sent, "", "")
	if p.Protocol == wire.UDP {
		if lost := value(t, r, result.Lost, "", ""); sent != received+lost {
			t.Errorf("%v sent, %v received, %v lost", sent, received, lost)
		}
		if r.Facts["server.foreign"] != "0" || value(t, r, result.OutOfOrder, "", "") != 0 {
			t.Errorf("facts %v", r.Facts)
		}
	}
	for _, side := range []string{"", "server."} {
		if r.Facts[side+"wait"] != p.WaitOrDefault() || p.Protocol == wire.UDP && r.Facts[side+"batching"] == "" {
			t.Errorf("facts %v", r.Facts)
		}
	}
}

// TestMessageRate: at a rate far below the possible one, nothing is lost and the rate is kept.
func TestMessageRate(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	for _, protocol := range []string{wire.UDP, wire.TCP} {
		p := enginetest.Messages(protocol, 64, 8)
		p.MessageRate, p.Duration = 2000, time.Second
		r, c, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		checkMessages(t, p, r, c)
		// A pause of the machine can move messages into the window or out of it. The limits allow for that.
		if got := value(t, r, result.MessageRate, "", ""); got < 1800 || got > 2200 {
			t.Errorf("%s: %v messages a second, not 2000", protocol, got)
		}
		if protocol == wire.UDP && value(t, r, result.Lost, "", "") != 0 {
			t.Errorf("%v of 2000 a second were lost over loopback", value(t, r, result.Lost, "", ""))
		}
	}
}

// TestMessagesServerKilled: the sender stops when its server is killed.
func TestMessagesServerKilled(t *testing.T) {
	for _, protocol := range []string{wire.UDP, wire.TCP} {
		address, kill := enginetest.Start(t, "127.0.0.1:0", 0)
		p := enginetest.Messages(protocol, 64, 32)
		p.Duration = time.Minute
		started := time.Now()
		_, err := Run(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret, Params: p},
			&collector{OnStart: func() {
				time.AfterFunc(300*time.Millisecond, kill)
			}})
		if err == nil || time.Since(started) > 30*time.Second {
			t.Errorf("%s: after %v: %v", protocol, time.Since(started), err)
		}
	}
}
