package engine

import (
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

// checkGoodput compares the goodput of a scope with the bytes that the receiving side says it received.
func checkGoodput(t *testing.T, r record.Result, scope, bytesFact string) {
	t.Helper()
	bytes, err := strconv.ParseInt(r.Facts[bytesFact], 10, 64)
	if err != nil || bytes <= 0 {
		t.Fatalf("%s: %q", bytesFact, r.Facts[bytesFact])
	}
	// Each direction has the window of its own receiver. With both directions r.Duration is one of the two windows, and
	// a message on its way can make the other one longer: by half at most, with the windows of these tests.
	most := 1.001
	if scope != "" {
		most = 1.5
	}
	got, want := value(t, r, result.Goodput, "", scope), float64(bytes)*8/r.Duration
	if got < want/most || got > want*most {
		t.Errorf("goodput %s of %v, not about %v", scope, got, want)
	}
}

// TestStreamDirections: goodput is computed from the bytes that the receiving side counted, in each direction, with two
// connections, over IPv4 and IPv6.
func TestStreamDirections(t *testing.T) {
	known := runtime.GOOS == "linux" // TCP_INFO and CPU time
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		address, _ := enginetest.Start(t, listen, 0)
		for _, direction := range []string{wire.Upload, wire.Download, wire.Both} {
			p := enginetest.Stream(2)
			p.Direction = direction
			if listen == "127.0.0.1:0" {
				p.Duration = 1200 * time.Millisecond // an interval of a second, and the rest
			}
			r, c, err := run(t, address, p)
			if err != nil {
				t.Fatalf("%s: %v", direction, err)
			}
			var sum int64
			for _, i := range c.Intervals {
				if i.Bytes <= 0 || i.End <= i.Start || known && (i.CongestionWindow <= 0 || i.SmoothedRTT <= 0) {
					t.Errorf("%s: interval %+v", direction, i)
				}
				sum += i.Bytes
			}
			var named int64
			if direction != wire.Download {
				named += checkedBytes(t, r, "server.bytes")
			}
			if direction != wire.Upload {
				named += checkedBytes(t, r, "client.bytes")
			}
			if sum != named {
				t.Errorf("%s: %d bytes in the intervals, %d in all", direction, sum, named)
			}
			switch direction {
			case wire.Upload:
				checkGoodput(t, r, "", "server.bytes")
			case wire.Download:
				checkGoodput(t, r, "", "client.bytes")
			case wire.Both:
				checkGoodput(t, r, wire.Upload, "server.bytes")
				checkGoodput(t, r, wire.Download, "client.bytes")
				up, down := value(t, r, result.Goodput, "", wire.Upload), value(t, r, result.Goodput, "", wire.Download)
				if got := value(t, r, result.Goodput, "", ""); got < (up+down)*0.9999 || got > (up+down)*1.0001 {
					t.Errorf("%v up and %v down are %v", up, down, got)
				}
			}
			if r.Facts["direction"] != direction || r.Facts["wait"] != wire.WaitBlock {
				t.Errorf("%s: facts %v", direction, r.Facts)
			}
			if !known {
				continue
			}
			value(t, r, result.Retransmits, "", "")
			client, server := value(t, r, result.CPUPerBit, "", "client"), value(t, r, result.CPUPerBit, "", "server")
			if both := value(t, r, result.CPUPerBit, "", ""); client <= 0 || server <= 0 ||
				both < (client+server)*0.9999 || both > (client+server)*1.0001 {
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

// TestZeroCopy: every send is notified, and over loopback, where the receiver is on the same machine, the kernel
// copies: that is said, in either direction.
func TestZeroCopy(t *testing.T) {
	enginetest.OnLinux(t)
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	for _, direction := range []string{wire.Upload, wire.Download} {
		p := enginetest.Stream(1)
		p.Direction, p.ZeroCopy = direction, true
		r, _, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		prefix := map[string]string{wire.Upload: "", wire.Download: "server."}[direction]
		sends, completed, copied := checkedBytes(t, r, prefix+"zerocopy_sends"), checkedBytes(t, r,
			prefix+"zerocopy_completed"), checkedBytes(t, r, prefix+"zerocopy_copied")
		if completed > sends || copied > completed || completed < sends/2 {
			t.Errorf("%s: %d sends, %d completed, %d copied", direction, sends, completed, copied)
		}
		if r.Facts[prefix+"so_zerocopy"] != "true" || !strings.Contains(strings.Join(r.Notes, " "), "copied the data") {
			t.Errorf("%s: facts %v, notes %q", direction, r.Facts, r.Notes)
		}
	}
}

// TestManyConnections: with more connections than CPUs each still carries its part, in both directions.
func TestManyConnections(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	for _, direction := range []string{wire.Upload, wire.Both} {
		p := enginetest.Stream(20)
		p.Direction = direction
		r, c, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, i := range c.Intervals {
			sum += i.Bytes
		}
		named := checkedBytes(t, r, "server.bytes")
		if direction == wire.Both {
			named += checkedBytes(t, r, "client.bytes")
		}
		if sum != named {
			t.Errorf("%s: %d bytes in the intervals, %d in all", direction, sum, named)
		}
	}
}

// TestStreamServerKilled: the receiver of a download sees that its sender has died.
func TestStreamServerKilled(t *testing.T) {
	for _, direction := range []string{wire.Download, wire.Both} {
		address, kill := enginetest.Start(t, "127.0.0.1:0", 0)
		p := enginetest.Stream(2)
		p.Direction, p.Duration = direction, time.Minute
		started := time.Now()
		_, err := Run(t.Context(), session.RunOptions{Server: address, Secret: enginetest.Secret, Params: p},
			&collector{OnStart: func() {
				time.AfterFunc(300*time.Millisecond, kill)
			}})
		if err == nil || time.Since(started) > 30*time.Second {
			t.Errorf("%s: after %v: %v", direction, time.Since(started), err)
		}
	}
}
