//go:build !portable

package sys

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// Reads what a network device and its driver say about their timestamps. Nothing is changed: hardware timestamps are a
// setting of the whole device, and its administrator may need another one.

// nicStamps is what a device says about its timestamps.
type nicStamps struct {
	// name is the device's name; empty if no device has the socket's address.
	name string
	// told says that the driver lists what it can do, in the bits of SO_TIMESTAMPING (ETHTOOL_GET_TS_INFO).
	told bool
	can  uint32
	// configured says that the driver reports its current setting (SIOCGHWTSTAMP): txType and rxFilter, with values of
	// linux/net_tstamp.h.
	configured       bool
	txType, rxFilter int32
}

// hardwareStamps are the bits of a NIC that stamps both directions with a clock of its own.
const hardwareStamps = unix.SOF_TIMESTAMPING_TX_HARDWARE | unix.SOF_TIMESTAMPING_RX_HARDWARE |
	unix.SOF_TIMESTAMPING_RAW_HARDWARE

// readNIC asks the driver.
func (s *StampedSocket) readNIC() nicStamps {
	n := nicStamps{name: s.interfaceName()}
	if n.name == "" {
		return n
	}
	fd := int(s.Socket.fd)
	if info, err := unix.IoctlGetEthtoolTsInfo(fd, n.name); err == nil {
		n.told, n.can = true, info.So_timestamping
	}
	if config, err := unix.IoctlGetHwTstamp(fd, n.name); err == nil {
		n.configured, n.txType, n.rxFilter = true, config.Tx_type, config.Rx_filter
	}
	return n
}

// on says whether the NIC stamps every message in both directions.
func (n *nicStamps) on() bool {
	return n.told && n.can&hardwareStamps == hardwareStamps && n.configured && n.txType == unix.HWTSTAMP_TX_ON &&
		n.rxFilter == unix.HWTSTAMP_FILTER_ALL
}

// Hardware says whether the NIC's timestamps are used, and if not, why.
func (n *nicStamps) Hardware() string {
	switch {
	case n.name == "":
		return "none: the device is not known"
	case !n.told:
		return "none: the driver of " + n.name + " does not say that it has any"
	case n.can&hardwareStamps != hardwareStamps:
		return "none: " + n.name + " does not stamp both ways in hardware"
	case !n.configured:
		return "none: the driver of " + n.name + " has them and does not say whether they are turned on"
	case !n.on():
		return fmt.Sprintf("none: %s has them, but not turned on for every packet (tx type %d, rx filter %d; it "+
			"takes 1 and 1, which hwstamp_ctl of linuxptp sets for all who use the device)",
			n.name, n.txType, n.rxFilter)
	}
	return "asked for: " + n.name + " stamps every packet"
}

// Device says which device has the socket's address, and which timestamps its driver and the kernel support.
func (n *nicStamps) Device() string {
	switch {
	case n.name == "":
		return "unknown"
	case !n.told:
		return n.name + ": the driver does not say"
	}
	var words []string
	for _, flag := range []struct {
		bit  uint32
		name string
	}{{unix.SOF_TIMESTAMPING_TX_SOFTWARE, "software tx"}, {unix.SOF_TIMESTAMPING_RX_SOFTWARE, "software rx"},
		{unix.SOF_TIMESTAMPING_TX_HARDWARE, "hardware tx"}, {unix.SOF_TIMESTAMPING_RX_HARDWARE, "hardware rx"}} {
		word := flag.name
		if n.can&flag.bit == 0 {
			word = "no " + word
		}
		words = append(words, word)
	}
	return n.name + ": " + strings.Join(words, ", ")
}
