//go:build !portable

package rr

import (
	"strings"
	"testing"

	"nearfar/internal/onhost/engine/sys"
	"nearfar/internal/onhost/engine/wire"
)

// TestHardwareDivision: a NIC stamps both directions on a clock that is independent of the kernel's. It stamps 3 us
// after the driver when sending and 5 us before it when receiving. Then the network is the time between the NICs, and
// the other parts are found again.
func TestHardwareDivision(t *testing.T) {
	const (
		kernel = int64(1_700_000_000e9) // real time
		phc    = int64(77e9)            // the NIC's
	)
	d := newDivider()
	d.offset.ahead = kernel - 1_000_000
	previous := stampedTransaction{number: 4, start: 1_000_000, end: 1_100_000, counted: true,
		Stamps: sys.Stamps{ID: 40,
			Tx: kernel + 10_000, Rx: kernel + 90_000, TxHardware: phc + 13_000, RxHardware: phc + 85_000}}
	// The server held the request for 30 us.
	d.complete(&previous, wire.ServerStamps{Sequence: 4, Receive: 8_000, Application: 20_000, Send: 2_000})
	for part, want := range map[int]int64{partClientSend: 10_000, partClientReceive: 10_000, partClientNIC: 8_000,
		partClient:            28_000,
		partServerApplication: 20_000, partServerStack: 10_000, partNetwork: 42_000} {
		if d.full.sums[part] != want {
			t.Errorf("%s is %d ns, want %d", partScope(part), d.full.sums[part], want)
		}
	}
	checkDivision(t, &d.full, partClient, partNetwork, partServerStack, partServerApplication)
	if d.kind() != "hardware" {
		t.Error(d.kind())
	}
	if m := d.full.metrics(); m[len(m)-1].Scope != "client-nic" || m[len(m)-1].Value != 8e-6 {
		t.Errorf("%+v", m[len(m)-1])
	}
	// If the NIC's clock was set in between, or a NIC timestamp is missing, the driver's timestamps are used.
	for _, hardware := range [][2]int64{{phc + 13_000, phc}, {phc, phc + 82_000}, {0, phc}, {phc, 0}} {
		odd := previous
		odd.TxHardware, odd.RxHardware = hardware[0], hardware[1]
		if ns, on := odd.outside(); on || ns != 80_000 {
			t.Errorf("%v: %d ns outside, by the NIC: %v", hardware, ns, on)
		}
	}
	plain := previous
	plain.TxHardware = 0
	d.complete(&plain, wire.ServerStamps{Sequence: 4, Receive: 8_000, Application: 20_000, Send: 2_000})
	if d.kind() != "hardware for 1 of 2, else software" {
		t.Error(d.kind())
	}
	checkDivision(t, &d.full, partClient, partNetwork, partServerStack, partServerApplication)
}

// TestServerSettles: the time between driver and NIC is the server's, also where its timestamp comes late, and only
// where it makes sense.
func TestServerSettles(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*stampedServer)
		receive int32
	}{
		"by the NIC":   {func(*stampedServer) {}, 8_000 + 6_000},
		"no arrival":   {func(s *stampedServer) { s.current.RxHardware = 0 }, 8_000},
		"set":          {func(s *stampedServer) { s.current.TxHardware += 5e9 }, 8_000},
		"set back":     {func(s *stampedServer) { s.current.TxHardware -= 5e9 }, 8_000},
		"no departure": {func(s *stampedServer) { s.last.Send = wire.NoDuration }, 8_000},
		"off":          {func(s *stampedServer) { s.socket.On = false }, 8_000},
	} {
		s := &stampedServer{socket: &sys.StampedSocket{Socket: &sys.Socket{}, On: true},
			last: wire.ServerStamps{Receive: 8_000, Application: 20_000, Send: 2_000},
			current: stampedTransaction{Stamps: sys.Stamps{Rx: 100_000, Tx: 130_000, RxHardware: 7e9, TxHardware: 7e9 +
				36_000}}}
		c.change(s)
		s.settle()
		if s.last.Receive != c.receive || (s.onHardware == 1) != (c.receive != 8_000) {
			t.Errorf("%s: received in %d, %d by the NIC", name, s.last.Receive, s.onHardware)
		}
		facts := map[string]string{}
		s.into(facts)
		if strings.HasPrefix(facts["timestamps"], "hardware for 1") != (c.receive != 8_000) {
			t.Errorf("%s: %v", name, facts)
		}
	}
}

// FuzzStamps: whatever the kernel's timestamps are, the parts add up.
func FuzzStamps(f *testing.F) {
	f.Add(int64(1e9), int64(2e9), int64(3e9))
	f.Fuzz(func(t *testing.T, software, hardware, arrived int64) {
		p := stampedTransaction{number: 4, start: 1000, end: 9_000_000, counted: true,
			Stamps: sys.Stamps{ID: 40, Tx: software, Rx: 8_000_000, TxHardware: hardware, RxHardware: arrived}}
		d := newDivider()
		d.offset.ahead = 0
		d.complete(&p, wire.ServerStamps{Sequence: 4, Receive: 1, Application: 2, Send: 3})
		checkDivision(t, &d.full, partClient, partNetwork, partServerStack, partServerApplication)
		checkDivision(t, &d.coarse, partClient, partNetworkAndServerStack, partServerApplication)
	})
}
