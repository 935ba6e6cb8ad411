package engine

import (
	"math"
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
	// While the machine pauses the receiver's CPU, the socket's buffer has room for about 270 messages.
	const rate = 500
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	for _, protocol := range []string{wire.UDP, wire.TCP} {
		p := enginetest.Messages(protocol, 64, 8)
		p.MessageRate, p.Duration, p.Interval = rate, time.Second, 10*time.Millisecond
		r, c, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		checkMessages(t, p, r, c)
		if off := offRate(c.Intervals, rate); math.Abs(off) > 0.1 {
			t.Errorf("%s: the rate is off by %.3f; %v messages a second, not %v", protocol, off,
				value(t, r, result.MessageRate, "", ""), rate)
		}
		if protocol == wire.UDP && value(t, r, result.Lost, "", "") != 0 {
			t.Errorf("%v of %v a second were lost over loopback", value(t, r, result.Lost, "", ""), rate)
		}
	}
}

// offRate is by which share messages came faster than at a rate, less than 0 for slower. A machine that pauses a CPU
// holds messages back, also beyond the window, and all of them come at once when it goes on. But none comes before it
// is due. So in each half of the window, the moment at which the messages are furthest ahead is one at which none was
// held back, and these two moments are compared.
func offRate(intervals []record.Interval, rate float64) float64 {
	half := intervals[len(intervals)-1].End / 2
	furthest := [2]float64{math.Inf(-1), math.Inf(-1)}
	came := 0.0
	for _, i := range intervals {
		came += float64(i.Messages)
		in := 0
		if i.End > half {
			in = 1
		}
		furthest[in] = max(furthest[in], came-rate*i.End)
	}
	return (furthest[1] - furthest[0]) / (rate * half)
}

// TestOffRate: a pause changes nothing, in the window or at one of its ends, and another rate is seen.
func TestOffRate(t *testing.T) {
	for _, c := range []struct{ rate, pauseFrom, pauseTo, least, most float64 }{
		{2000, 0, 0, -0.01, 0.01}, {2000, 0, 0.45, -0.01, 0.01}, {2000, 0.3, 0.9, -0.01, 0.01},
		{2000, 0.55, 2, -0.02, 0.01}, {2250, 0, 0, 0.12, 0.13}, {1750, 0, 0, -0.13, -0.12},
		{2250, 0.2, 0.7, 0.12, 0.3}, {1750, 0.1, 0.45, -0.3, -0.12},
	} {
		var all []record.Interval
		before := 0.0
		for n := range 100 {
			end := float64(n+1) / 100
			came := c.rate * end
			if end > c.pauseFrom && end < c.pauseTo {
				came = c.rate * c.pauseFrom
			}
			all = append(all, record.Interval{Start: end - 0.01, End: end, Messages: int64(came) - int64(before)})
			before = came
		}
		if got := offRate(all, 2000); got < c.least || got > c.most {
			t.Errorf("at %v, with a pause from %v to %v: off by %.3f, not %v to %v", c.rate, c.pauseFrom, c.pauseTo, got,
				c.least, c.most)
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
