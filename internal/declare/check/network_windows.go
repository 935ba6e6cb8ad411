package check

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// ThisMachine is the machine on which this process runs. Windows has no files with facts.
func ThisMachine() Source { return Source{Network: windowsNetwork{}} }

// windowsNetwork asks the IP Helper API.
type windowsNetwork struct{}

// Bits of InterfaceAndOperStatusFlags in MIB_IF_ROW2 (netioapi.h).
const (
	interfaceHardware = 1 << 0
	interfaceFilter   = 1 << 1
)

// rows are the rows of GetIfTable2Ex, without the filters that Windows lists as devices.
func rows() ([]windows.MibIfRow2, error) {
	var table *windows.MibIfTable2
	if err := windows.GetIfTable2Ex(windows.MibIfTableNormal, &table); err != nil {
		return nil, fmt.Errorf("GetIfTable2Ex: %w", err)
	}
	defer windows.FreeMibTable(unsafe.Pointer(table))
	const most = 4096
	found := unsafe.Slice(&table.Table[0], min(table.NumEntries, most))
	var all []windows.MibIfRow2
	for _, row := range found {
		if row.InterfaceAndOperStatusFlags&interfaceFilter == 0 {
			all = append(all, row)
		}
	}
	return all, nil
}

// description names the driver of a device; drivers do not translate it.
func description(r *windows.MibIfRow2) string { return windows.UTF16ToString(r.Description[:]) }

func hardwareAddress(r *windows.MibIfRow2) string {
	n := min(int(r.PhysicalAddressLength), len(r.PhysicalAddress))
	return net.HardwareAddr(r.PhysicalAddress[:n]).String()
}

// Links lists the devices. A virtual function is shown as enslaved to the synthetic device that has its address, as on
// Linux: packets of the synthetic device go through it.
func (windowsNetwork) Links() ([]Link, error) {
	found, err := rows()
	if err != nil {
		return nil, err
	}
	var all []Link
	for i := range found {
		r := &found[i]
		l := Link{
			Name: windows.UTF16ToString(r.Alias[:]), Index: int(r.InterfaceIndex), Address: hardwareAddress(r), MTU: int(r.Mtu),
			State: "down",
			Statistics: Statistics{
				RxPackets: r.InUcastPkts + r.InNUcastPkts, TxPackets: r.OutUcastPkts + r.OutNUcastPkts,
				RxBytes: r.InOctets, TxBytes: r.OutOctets, RxDropped: r.InDiscards, TxDropped: r.OutDiscards,
				RxErrors: r.InErrors, TxErrors: r.OutErrors, Known: true,
			},
		}
		if r.OperStatus == windows.IfOperStatusUp {
			l.State = "up"
		}
		if r.InterfaceAndOperStatusFlags&interfaceHardware == 0 {
			l.Kind = "virtual"
		}
		for k := range found {
			if master := &found[k]; k != i && l.Address != "" && hardwareAddress(master) == l.Address &&
				windowsSynthetic(description(master)) && windowsFunction(description(r)) {
				l.Master = int(master.InterfaceIndex)
			}
		}
		all = append(all, l)
	}
	return all, nil
}

// Details has the description as the driver.
func (windowsNetwork) Details(device string) Details {
	found, err := rows()
	if err != nil {
		return Details{}
	}
	for i := range found {
		if windows.UTF16ToString(found[i].Alias[:]) == device {
			return Details{Driver: description(&found[i])}
		}
	}
	return Details{}
}

// Route asks which device is best for the address. The gateway and the path's MTU are not read.
func (windowsNetwork) Route(to netip.Addr) (Route, int, error) {
	var at windows.Sockaddr
	if to.Is4() {
		at = &windows.SockaddrInet4{Addr: to.As4()}
	} else {
		at = &windows.SockaddrInet6{Addr: to.As16()}
	}
	var index uint32
	if err := windows.GetBestInterfaceEx(at, &index); err != nil {
		var errno syscall.Errno
		if errors.As(err, &errno) && errno == 0 {
			err = nil
		}
		if err != nil {
			return Route{}, 0, fmt.Errorf("GetBestInterfaceEx: %w", err)
		}
	}
	found, err := rows()
	if err != nil {
		return Route{}, 0, err
	}
	r := Route{Local: ownAddress(to)}
	for i := range found {
		if found[i].InterfaceIndex == index {
			r.Device = windows.UTF16ToString(found[i].Alias[:])
		}
	}
	// A connected UDP socket sends nothing, and has the address from which packets would be sent.
	if c, err := net.Dial("udp", netip.AddrPortFrom(to, 9).String()); err == nil {
		if own, ok := c.LocalAddr().(*net.UDPAddr); ok {
			r.Source = own.AddrPort().Addr().Unmap()
		}
		_ = c.Close()
	}
	if r.Device == "" {
		return r, 0, fmt.Errorf("no device has the index %d of the route", index)
	}
	return r, 0, nil
}

// ownAddress says whether an address is one of this machine's.
func ownAddress(to netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr() == to {
			return true
		}
	}
	return false
}

// Counters are those that Windows itself counts; drivers have none of their own here.
func (windowsNetwork) Counters(string) (map[string]uint64, error) {
	return nil, errors.New("drivers of Windows give no counters of their own")
}
