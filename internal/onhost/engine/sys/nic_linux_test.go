//go:build !portable

package sys

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// sentReport is a report of the error queue as the kernel writes it: software and hardware in nanoseconds, 0 for none.
func sentReport(id uint32, software, hardware uint64) control {
	stamp := timespecs(software/1e9, software%1e9, 0, 0, hardware/1e9, hardware%1e9)
	return control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, stamp).message(unix.SOL_IP, unix.IP_RECVERR,
		extendedError(originTimestamps, kindSent, id))
}

// TestHardwareStamps: the NIC's timestamps come on a clock that has nothing to do with the kernel's, in reports of
// their own, and also after the next message has left.
func TestHardwareStamps(t *testing.T) {
	const (
		kernel = uint64(1_700_000_000e9) // real time
		phc    = uint64(77e9)            // the NIC's
	)
	previous, current := Stamps{ID: 40}, Stamps{ID: 41}
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
	arrival := decodeControl(control{}.message(unix.SOL_SOCKET, unix.SO_TIMESTAMPING, timespecs(0, 0, 0, 0, 77,
		85_000)))
	if arrival.hardware != int64(phc)+85_000 || arrival.software != 0 {
		t.Errorf("an arrival: %+v", arrival)
	}
	want := [2]Stamps{{ID: 40, Tx: int64(kernel) + 10_000, TxHardware: int64(phc) + 13_000},
		{ID: 41, Tx: int64(kernel) + 110_000, TxHardware: int64(phc) + 113_000}}
	if got := [2]Stamps{previous, current}; got != want {
		t.Errorf("%+v, want %+v", got, want)
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
			"eth0: software tx, software rx, no hardware tx, no hardware rx",
			"none: eth0 does not stamp both ways in hardware", false},
		{nicStamps{name: "eth0", told: true, can: hardwareStamps},
			"eth0: no software tx, no software rx, hardware tx, hardware rx", "whether they are turned on", false},
		{nicStamps{name: "eth0", told: true, can: software | hardwareStamps, configured: true,
			txType: unix.HWTSTAMP_TX_ON, rxFilter: unix.HWTSTAMP_FILTER_PTP_V2_EVENT},
			"eth0: software tx, software rx, hardware tx, hardware rx",
			"not turned on for every packet (tx type 1, rx filter 12", false},
		{nicStamps{name: "eth0", told: true, can: software | hardwareStamps, configured: true,
			txType: unix.HWTSTAMP_TX_ON, rxFilter: unix.HWTSTAMP_FILTER_ALL},
			"eth0: software tx, software rx, hardware tx, hardware rx", "asked for: eth0", true},
	} {
		if c.nic.Device() != c.device || !strings.Contains(c.nic.Hardware(), c.says) || c.nic.on() != c.on {
			t.Errorf("%+v: %q, %q, on: %v", c.nic, c.nic.Device(), c.nic.Hardware(), c.nic.on())
		}
	}
}

// FuzzSentReport: whatever the kernel reports, only a message that was sent is stamped.
func FuzzSentReport(f *testing.F) {
	f.Add(uint32(40), uint64(1e9), uint64(2e9))
	f.Fuzz(func(t *testing.T, id uint32, software, hardware uint64) {
		previous, current := Stamps{ID: 40}, Stamps{ID: 41}
		r := decodeControl(sentReport(id, software, hardware))
		if r.stamp(&current, &previous) != (id == 40 || id == 41) || (previous.Tx != 0 || previous.TxHardware != 0) &&
			id != 40 {
			t.Fatalf("id %d: %+v, %+v", id, current, previous)
		}
	})
}
