package engine

import (
	"bytes"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/engine/record"
	"nearfar/internal/result"
)

// checkGoodput compares the goodput of a scope with the bytes that the receiving side says it received.
func checkGoodput(t *testing.T, r record.Result, scope, bytesFact string) {
	t.Helper()
	bytes, err := strconv.ParseInt(r.Facts[bytesFact], 10, 64)
	if err != nil || bytes <= 0 {
		t.Fatalf("%s: %q", bytesFact, r.Facts[bytesFact])
	}
	// Each direction is over its own receiver's window; r.Duration is that of one of them, and a frame on its way stretches
	// the other.
	if got, want := value(t, r, result.Goodput, "", scope), float64(bytes)*8/r.Duration; got < want/2 || got > want*2 {
		t.Errorf("goodput %s of %v, not about %v", scope, got, want)
	}
}

// TestStreamDirections: what counts is what the receiving side has received, over one and several connections, IPv4 and
// IPv6.
func TestStreamDirections(t *testing.T) {
	known := runtime.GOOS == "linux" // TCP_INFO and CPU time
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		address, _ := startServer(t, listen, 0)
		for _, direction := range []string{Upload, Download, Both} {
			p := streamParams(2)
			p.Direction = direction
			r, c, err := run(t, address, p)
			if err != nil {
				t.Fatalf("%s: %v", direction, err)
			}
			var sum int64
			for _, i := range c.intervals {
				if i.Bytes <= 0 || i.End <= i.Start || known && (i.CongestionWindow <= 0 || i.SmoothedRTT <= 0) {
					t.Errorf("%s: interval %+v", direction, i)
				}
				sum += i.Bytes
			}
			var named int64
			if direction != Download {
				named += checkedBytes(t, r, "server.bytes")
			}
			if direction != Upload {
				named += checkedBytes(t, r, "client.bytes")
			}
			if sum != named {
				t.Errorf("%s: %d bytes in the intervals, %d in all", direction, sum, named)
			}
			switch direction {
			case Upload:
				checkGoodput(t, r, "", "server.bytes")
			case Download:
				checkGoodput(t, r, "", "client.bytes")
			case Both:
				checkGoodput(t, r, Upload, "server.bytes")
				checkGoodput(t, r, Download, "client.bytes")
				up, down := value(t, r, result.Goodput, "", Upload), value(t, r, result.Goodput, "", Download)
				if got := value(t, r, result.Goodput, "", ""); got < (up+down)*0.9999 || got > (up+down)*1.0001 {
					t.Errorf("%v up and %v down are %v", up, down, got)
				}
			}
			if r.Facts["direction"] != direction || r.Facts["wait"] != WaitBlock {
				t.Errorf("%s: facts %v", direction, r.Facts)
			}
			if !known {
				continue
			}
			value(t, r, result.Retransmits, "", "")
			client, server := value(t, r, result.CPUPerBit, "", "client"), value(t, r, result.CPUPerBit, "", "server")
			if both := value(t, r, result.CPUPerBit, "", ""); client <= 0 || server <= 0 || both < (client+server)*0.9999 || both > (client+server)*1.0001 {
				t.Errorf("%s: CPU for each bit: client %v, server %v, both %v", direction, client, server, both)
			}
			if r.Facts["smoothed_rtt_mean"] == "" {
				t.Errorf("%s: facts %v", direction, r.Facts)
			}
		}
	}
}

func checkedBytes(t *testing.T, r record.Result, fact string) int64 {
	t.Helper()
	n, err := strconv.ParseInt(r.Facts[fact], 10, 64)
	if err != nil || n <= 0 {
		t.Fatalf("%s: %q", fact, r.Facts[fact])
	}
	return n
}

// TestZeroCopy: every send is notified, and over loopback, where the receiver is on the same machine, the kernel copies:
// that is said, in either direction.
func TestZeroCopy(t *testing.T) {
	onLinux(t)
	address, _ := startServer(t, "127.0.0.1:0", 0)
	for _, direction := range []string{Upload, Download} {
		p := streamParams(1)
		p.Direction, p.ZeroCopy = direction, true
		r, _, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		prefix := map[string]string{Upload: "", Download: "server."}[direction]
		sends, completed, copied := checkedBytes(t, r, prefix+"zerocopy_sends"), checkedBytes(t, r, prefix+"zerocopy_completed"), checkedBytes(t, r, prefix+"zerocopy_copied")
		if completed > sends || copied > completed || completed < sends/2 {
			t.Errorf("%s: %d sends, %d completed, %d copied", direction, sends, completed, copied)
		}
		if r.Facts[prefix+"so_zerocopy"] != "true" || !strings.Contains(strings.Join(r.Notes, " "), "copied the data") {
			t.Errorf("%s: facts %v, notes %q", direction, r.Facts, r.Notes)
		}
	}
}

// TestZeroCopyDoesNotAllocate also drains the notifications.
func TestZeroCopyDoesNotAllocate(t *testing.T) {
	onLinux(t)
	from, to := streamPair(t)
	s, buffer := newStreamSender(from, newBuffer(8<<10)), newBuffer(8<<10)
	var err error
	if s.zero, err = newZeroCopy(from); err != nil {
		t.Fatal(err)
	}
	failed := false
	if n := testing.AllocsPerRun(200, func() { failed = failed || !streamMessage(s, to, buffer) }); n != 0 {
		t.Errorf("a message allocates %v times", n)
	}
	s.zero.finish()
	if sends, completed := s.zero.sends.Load(), s.zero.completed.Load(); failed || sends < 201 || completed != sends {
		t.Errorf("failed: %v; %d sends, %d completed", failed, sends, completed)
	}
}

// TestManyConnections: with more connections than CPUs each still carries its part, in both directions.
func TestManyConnections(t *testing.T) {
	address, _ := startServer(t, "127.0.0.1:0", 0)
	for _, direction := range []string{Upload, Both} {
		p := streamParams(20)
		p.Direction = direction
		r, c, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, i := range c.intervals {
			sum += i.Bytes
		}
		named := checkedBytes(t, r, "server.bytes")
		if direction == Both {
			named += checkedBytes(t, r, "client.bytes")
		}
		if sum != named {
			t.Errorf("%s: %d bytes in the intervals, %d in all", direction, sum, named)
		}
	}
}

// TestStreamServerKilled: the receiver of a download sees that its sender has died.
func TestStreamServerKilled(t *testing.T) {
	for _, direction := range []string{Download, Both} {
		address, kill := startServer(t, "127.0.0.1:0", 0)
		p := streamParams(2)
		p.Direction, p.Duration = direction, time.Minute
		started := time.Now()
		_, err := Run(t.Context(), RunOptions{Server: address, Secret: testSecret, Params: p}, &collector{onStart: func() {
			time.AfterFunc(300*time.Millisecond, kill)
		}})
		if err == nil || time.Since(started) > 30*time.Second {
			t.Errorf("%s: after %v: %v", direction, time.Since(started), err)
		}
	}
}

// FuzzIntervals feeds what a server can say of intervals: whatever is taken makes a line that a reader of the record takes.
func FuzzIntervals(f *testing.F) {
	f.Add([]byte(`{"start":0,"end":1000000000,"bytes":5,"retransmits":3,"congestion_window":14480,"smoothed_rtt":9000}`), uint8(0))
	f.Add([]byte(`{"start":0,"end":1,"bytes":9223372036854775807,"messages":9223372036854775807}`), uint8(3))
	f.Add([]byte(`{"start":5,"end":4}`), uint8(1))
	f.Fuzz(func(t *testing.T, b []byte, kind uint8) {
		p := streamParams(1)
		p.Direction = []string{Upload, Download, Both, ""}[kind%4]
		if kind%8 > 3 {
			p = messageParams(UDP, 64, 1)
		}
		s := &streamState{begun: true, seconds: 1}
		if p.direction() != Upload {
			s.flows.receivers = []*streamReceiver{{}}
		}
		var lines bytes.Buffer
		w := record.NewWriter(&lines)
		if err := w.Start(record.Start{}); err != nil {
			t.Fatal(err)
		}
		c := &client{options: RunOptions{Params: p}}
		if err := c.streamFrame(s, frameInterval, b, nil, w); err != nil {
			return
		}
		if run, err := record.Read(lines.Bytes()); len(run.Intervals) != 1 {
			t.Errorf("%s: %v", lines.Bytes(), err)
		}
	})
}
