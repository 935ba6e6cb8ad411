//go:build !portable

package engine

import (
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/wire"
)

func TestTimestamps(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "[::1]:0"} {
		address, _ := enginetest.Start(t, listen, 0)
		large := enginetest.Stamped(wire.TCP)
		large.Request, large.Response = 200_000, 100_000 // several segments, reads and writes each
		spinning := enginetest.Stamped(wire.TCP)
		spinning.Wait = wire.WaitSpin
		for name, p := range map[string]wire.Params{"tcp": enginetest.Stamped(wire.TCP),
			"udp": enginetest.Stamped(wire.UDP), "large": large, "spinning": spinning} {
			if listen != "127.0.0.1:0" && name != "udp" && name != "tcp" {
				continue // sizes and waiting are the same over IPv6
			}
			t.Run(name+" "+listen, func(t *testing.T) {
				r, c, err := run(t, address, p)
				if err != nil {
					t.Fatal(err)
				}
				checkTransactions(t, p, r, c)
				checkParts(t, r)
				for _, fact := range []string{"timestamps_device", "server.timestamps_device"} {
					if r.Facts[fact] != "lo: software tx, software rx, no hardware tx, no hardware rx" {
						t.Errorf("%s: %q", fact, r.Facts[fact])
					}
				}
				for _, fact := range []string{"timestamps_hardware", "server.timestamps_hardware"} {
					if r.Facts[fact] != "none: lo does not stamp both ways in hardware" {
						t.Errorf("%s: %q", fact, r.Facts[fact])
					}
				}
				if r.Facts["timestamps"] != "software" || r.Facts["server.timestamps"] != "software" ||
					r.Facts["timestamps_missing"] != "none" || r.Facts["timestamps_rtt_p50_without"] == "" {
					t.Errorf("facts: %v", r.Facts)
				}
				if !strings.Contains(strings.Join(r.Notes, " "), "do not compare") {
					t.Errorf("notes: %v", r.Notes)
				}
			})
		}
	}
}

// TestTimestampsWithoutWarmup: the cost of the timestamps is then not known, and the record says so.
func TestTimestampsWithoutWarmup(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	for _, protocol := range []string{wire.TCP, wire.UDP} {
		p := enginetest.Stamped(protocol)
		p.Warmup = 0
		r, _, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		checkParts(t, r)
		if cost := r.Facts["timestamps_overhead"]; !strings.HasPrefix(cost, "not measured") {
			t.Errorf("without a warm-up the timestamps cost %q", cost)
		}
	}
}

// TestTimestampsLoss: lost and doubled datagrams do not confuse whose timestamps are whose.
func TestTimestampsLoss(t *testing.T) {
	address := relay(t, func(n int64, toServer bool) int {
		switch {
		case toServer && n%100 == 99, !toServer && n%140 == 139:
			return 0
		case n%30 == 29:
			return 2
		}
		return 1
	})
	p := enginetest.Stamped(wire.UDP)
	p.Duration = time.Second
	r, _, err := run(t, address, p)
	if err != nil {
		t.Fatal(err)
	}
	// The transactions around a lost one are not divided, and take longer than others: the record says by how much.
	checkPartsOf(t, r)
	if lost, again := value(t, r, result.Lost, "", ""), value(t, r, result.Duplicates, "", ""); lost == 0 ||
		again == 0 {
		t.Errorf("lost %v, duplicates %v", lost, again)
	}
}
