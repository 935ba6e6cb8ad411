//go:build !portable

package engine

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// sentReport is a report of the error queue as the kernel writes it: software and hardware in nanoseconds, 0 for none.
func sentReport(id uint32, software, hardware uint64) control {
	stamp := timespecs(software/1e9, software%1e9, 0, 0, hardware/1e9, hardware%1e9)
	return control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamp).message(unix.SOL_IP, unix.IP_RECVERR, extendedError(originTimestamps, kindSent, id))
}

// TestHardwareStamps: a NIC whose clock has nothing to do with the kernel's stamps both ways, 3 us outside of the driver when
// sending and 5 us when receiving. The network is what lies between the NICs, and the rest is found again.
func TestHardwareStamps(t *testing.T) {
	const (
		kernel = uint64(1_700_000_000e9) // real time
		phc    = uint64(77e9)            // the NIC's
	)
	d := newDivider()
	d.offset.ahead = int64(kernel) - 1_000_000
	previous := stampedTransaction{number: 4, id: 40, start: 1_000_000, end: 1_100_000, rx: int64(kernel) + 90_000, counted: true}
	current := stampedTransaction{number: 5, id: 41}
	// The driver's timestamp of the message comes at once, the NIC's only with the next message.
	for _, c := range []struct {
		control control
		of      bool
	}{
		{sentReport(40, kernel+10_000, 0), true},
		{sentReport(39, kernel+9_000, 0), false},
		{sentReport(40, 0, phc+13_000), true},
		{sentReport(41, kernel+110_000, phc+113_000), true},
		{control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, timespecs(1, 1, 0, 0, 1, 1)), false},
	} {
		r := decodeControl(c.control)
		if got := r.stamp(&current, &previous); got != c.of {
			t.Errorf("%+v: %v", r, got)
		}
	}
	arrival := decodeControl(control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, timespecs(0, 0, 0, 0, 77, 85_000)))
	previous.rxHardware = arrival.hardware
	if previous.tx != int64(kernel)+10_000 || previous.txHardware != int64(phc)+13_000 || current.tx == 0 || current.txHardware == 0 {
		t.Fatalf("previous %+v, current %+v", previous, current)
	}
	// The server had it for 30 us.
	d.complete(&previous, serverStamps{sequence: 4, receive: 8_000, application: 20_000, send: 2_000})
	for part, want := range map[int]int64{partClientSend: 10_000, partClientReceive: 10_000, partClientNIC: 8_000, partClient: 28_000,
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
	// A clock that was set in between, and a timestamp that did not come: the driver's are used.
	for _, hardware := range [][2]int64{{int64(phc) + 13_000, int64(phc)}, {int64(phc), int64(phc) + 82_000}, {0, int64(phc)}, {int64(phc), 0}} {
		odd := previous
		odd.txHardware, odd.rxHardware = hardware[0], hardware[1]
		if ns, on := odd.outside(); on || ns != 80_000 {
			t.Errorf("%v: %d ns outside, by the NIC: %v", hardware, ns, on)
		}
	}
	plain := previous
	plain.txHardware = 0
	d.complete(&plain, serverStamps{sequence: 4, receive: 8_000, application: 20_000, send: 2_000})
	if d.kind() != "hardware for 1 of 2, else software" {
		t.Error(d.kind())
	}
	checkDivision(t, &d.full, partClient, partNetwork, partServerStack, partServerApplication)
}

// TestServerSettles: the time between driver and NIC is the server's, also where its timestamp comes late, and only where it
// makes sense.
func TestServerSettles(t *testing.T) {
	for name, c := range map[string]struct {
		change  func(*stampedServer)
		receive int32
	}{
		"by the NIC":   {func(*stampedServer) {}, 8_000 + 6_000},
		"no arrival":   {func(s *stampedServer) { s.current.rxHardware = 0 }, 8_000},
		"set":          {func(s *stampedServer) { s.current.txHardware += 5e9 }, 8_000},
		"set back":     {func(s *stampedServer) { s.current.txHardware -= 5e9 }, 8_000},
		"no departure": {func(s *stampedServer) { s.last.send = noDuration }, 8_000},
		"off":          {func(s *stampedServer) { s.socket.on = false }, 8_000},
	} {
		s := &stampedServer{socket: &stampedSocket{socket: &socket{}, on: true},
			last:    serverStamps{receive: 8_000, application: 20_000, send: 2_000},
			current: stampedTransaction{rx: 100_000, tx: 130_000, rxHardware: 7e9, txHardware: 7e9 + 36_000}}
		c.change(s)
		s.settle()
		if s.last.receive != c.receive || (s.onHardware == 1) != (c.receive != 8_000) {
			t.Errorf("%s: received in %d, %d by the NIC", name, s.last.receive, s.onHardware)
		}
		facts := map[string]string{}
		s.into(facts)
		if strings.HasPrefix(facts["timestamps"], "hardware for 1") != (c.receive != 8_000) {
			t.Errorf("%s: %v", name, facts)
		}
	}
}

// TestNICSays: what a device has, and why its hardware timestamps are not asked for.
func TestNICSays(t *testing.T) {
	const software = unix.SOF_TIMESTAMPING_TX_SOFTWARE | unix.SOF_TIMESTAMPING_RX_SOFTWARE
	for _, c := range []struct {
		nic          nicStamps
		device, says string
		on           bool
	}{
		{nicStamps{}, "unknown", "none: the device is not known", false},
		{nicStamps{name: "eth0"}, "eth0: the driver does not say", "does not say that it has any", false},
		{nicStamps{name: "eth0", told: true, can: software, configured: true, txType: 1, rxFilter: 1},
			"eth0: software tx, software rx, no hardware tx, no hardware rx", "none: eth0 does not stamp both ways in hardware", false},
		{nicStamps{name: "eth0", told: true, can: hardwareStamps}, "eth0: no software tx, no software rx, hardware tx, hardware rx", "whether they are turned on", false},
		{nicStamps{name: "eth0", told: true, can: software | hardwareStamps, configured: true, txType: unix.HWTSTAMP_TX_ON, rxFilter: unix.HWTSTAMP_FILTER_PTP_V2_EVENT},
			"eth0: software tx, software rx, hardware tx, hardware rx", "not turned on for every packet (tx type 1, rx filter 12", false},
		{nicStamps{name: "eth0", told: true, can: software | hardwareStamps, configured: true, txType: unix.HWTSTAMP_TX_ON, rxFilter: unix.HWTSTAMP_FILTER_ALL},
			"eth0: software tx, software rx, hardware tx, hardware rx", "asked for: eth0", true},
	} {
		if c.nic.device() != c.device || !strings.Contains(c.nic.hardware(), c.says) || c.nic.on() != c.on {
			t.Errorf("%+v: %q, %q, on: %v", c.nic, c.nic.device(), c.nic.hardware(), c.nic.on())
		}
	}
}

// FuzzSentReport: whatever the kernel reports, only a transaction that was sent is stamped, and its parts add up.
func FuzzSentReport(f *testing.F) {
	f.Add(uint32(40), uint64(1e9), uint64(2e9), uint64(3e9))
	f.Fuzz(func(t *testing.T, id uint32, software, hardware, arrived uint64) {
		p := stampedTransaction{number: 4, id: 40, start: 1000, end: 9_000_000, rx: 8_000_000, rxHardware: int64(arrived), counted: true}
		current := stampedTransaction{number: 5, id: 41}
		r := decodeControl(sentReport(id, software, hardware))
		if r.stamp(&current, &p) != (id == 40 || id == 41) || (p.tx != 0 || p.txHardware != 0) && id != 40 {
			t.Fatalf("id %d: %+v, %+v", id, current, p)
		}
		d := newDivider()
		d.offset.ahead = 0
		d.complete(&p, serverStamps{sequence: 4, receive: 1, application: 2, send: 3})
		checkDivision(t, &d.full, partClient, partNetwork, partServerStack, partServerApplication)
		checkDivision(t, &d.coarse, partClient, partNetworkAndServerStack, partServerApplication)
	})
}
