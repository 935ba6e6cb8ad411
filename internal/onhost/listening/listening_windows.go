package listening

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"

	"nearfar/internal/onhost/host"
)

// A socket is a row of the system's tables: the address to which a process has bound it.
type socket struct {
	local netip.Addr
	pid   int
}

// unspecified says that the socket is bound to all addresses.
func (s socket) unspecified() bool { return s.local.IsUnspecified() }

// The tables of GetExtendedTcpTable and GetExtendedUdpTable: listening sockets, or all UDP sockets, with their process.
const (
	tcpTableOwnerPIDListener = 3
	udpTableOwnerPID         = 1
)

// A layout says where a row of a table has its figures, in bytes. Rows follow a count of four bytes, without a gap.
type layout struct{ size, address, length, port, pid int }

// layouts are the layouts of MIB_TCPROW_OWNER_PID, MIB_TCP6ROW_OWNER_PID, MIB_UDPROW_OWNER_PID and
// MIB_UDP6ROW_OWNER_PID, by address family.
func (r Request) layouts() map[uintptr]layout {
	if r.Protocol == "udp" {
		return map[uintptr]layout{
			windows.AF_INET: {size: 12, address: 0, length: 4, port: 4, pid: 8}, windows.AF_INET6: {
				size: 28, address: 0, length: 16, port: 20, pid: 24,
			},
		}
	}
	return map[uintptr]layout{
		windows.AF_INET: {size: 24, address: 4, length: 4, port: 8, pid: 20}, windows.AF_INET6: {
			size: 56, address: 0, length: 16, port: 20, pid: 52,
		},
	}
}

// sockets lists the sockets on the port.
func (r Request) sockets() ([]socket, error) {
	function, class := "GetExtendedTcpTable", uintptr(tcpTableOwnerPIDListener)
	if r.Protocol == "udp" {
		function, class = "GetExtendedUdpTable", udpTableOwnerPID
	}
	var found []socket
	for family, l := range r.layouts() {
		table, err := readTable(function, family, class)
		if err != nil {
			return nil, err
		}
		found = append(found, l.rows(table, r.Port)...)
	}
	return found, nil
}

// readTable asks for a table. Its size changes between two calls.
func readTable(function string, family, class uintptr) ([]byte, error) {
	call := windows.NewLazySystemDLL("iphlpapi.dll").NewProc(function)
	if err := call.Find(); err != nil {
		return nil, err
	}
	table := make([]byte, 16<<10)
	for range 10 {
		size := uint32(len(table))
		const unsorted = 0
		status, _, _ := call.Call(uintptr(unsafe.Pointer(&table[0])), uintptr(unsafe.Pointer(&size)), unsorted, family,
			class, 0)
		switch err := syscall.Errno(status); {
		case status == 0:
			return table, nil
		case errors.Is(err, windows.ERROR_INSUFFICIENT_BUFFER):
			table = make([]byte, size+size/4)
		case errors.Is(err, windows.ERROR_NOT_SUPPORTED):
			return make([]byte, 4), nil // a system without this version of IP
		default:
			return nil, os.NewSyscallError(function, err)
		}
	}
	return nil, fmt.Errorf("%s: the table grows faster than it can be read", function)
}

// rows reads the rows of a local port. Addresses and ports are in network byte order.
func (l layout) rows(table []byte, port int) (found []socket) {
	const count = 4
	rows := table[count:]
	for range binary.LittleEndian.Uint32(table) {
		if len(rows) < l.size {
			return found
		}
		row := rows[:l.size]
		rows = rows[l.size:]
		address, _ := netip.AddrFromSlice(row[l.address : l.address+l.length])
		if int(binary.BigEndian.Uint16(row[l.port:])) == port {
			found = append(found, socket{local: address, pid: int(binary.LittleEndian.Uint32(row[l.pid:]))})
		}
	}
	return found
}

// divide says which sockets our processes hold. Windows says the process of every socket. Wine 8 does not say it of
// listening sockets, and gives 0: they are taken for ours.
func (r Request) divide(found []socket) (ours, others []socket) {
	for _, s := range found {
		if s.pid == 0 || r.Ours(s.pid) {
			ours = append(ours, s)
		} else {
			others = append(others, s)
		}
	}
	return ours, others
}

// taken is the error that names the process which holds a socket.
func (r Request) taken(s socket) error {
	return &host.PortTakenError{Protocol: r.Protocol, Port: r.Port, User: -1, PID: s.pid, Program: programOf(s.pid)}
}

// programOf is the file name of a process's program.
func programOf(pid int) string {
	const system, unknown = 4, "a process without a name"
	if pid == system {
		return "System"
	}
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION, false, uint32(pid))
	if err != nil {
		return unknown
	}
	defer func() { _ = windows.CloseHandle(process) }()
	name := make([]uint16, windows.MAX_LONG_PATH)
	size := uint32(len(name))
	if err := windows.QueryFullProcessImageName(process, 0, &name[0], &size); err != nil {
		return unknown
	}
	return filepath.Base(windows.UTF16ToString(name[:size]))
}
