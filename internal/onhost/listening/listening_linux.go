package listening

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"nearfar/internal/onhost/host"
)

// States of sockets in /proc/net (include/net/tcp_states.h). A bound UDP socket has the state of a closed connection.
const (
	stateUnconnected = "07"
	stateListening   = "0A"
)

// A socket is a line of a table in /proc/net, or an answer of the kernel.
type socket struct {
	local string // the address in hexadecimal; its bytes in the order of their source
	user  int
	inode string
}

// unspecified says that the socket is bound to all addresses.
func (s socket) unspecified() bool { return strings.Trim(s.local, "0") == "" }

// sockets lists the sockets on the port.
func (r Request) sockets() ([]socket, error) {
	state := stateListening
	if r.Protocol == "udp" {
		state = stateUnconnected
	}
	folder := r.Net
	if folder == "" {
		folder = "/proc/thread-self/net"
		if r.Protocol == "tcp" {
			// Not every kernel answers, and a sandbox may forbid to ask.
			if found, err := listeners(r.Port); err == nil {
				return found, nil
			}
		}
	}
	var found []socket
	for _, table := range []string{r.Protocol, r.Protocol + "6"} {
		b, err := os.ReadFile(filepath.Join(folder, table))
		if errors.Is(err, os.ErrNotExist) {
			continue // a kernel without IPv6
		}
		if err != nil {
			return nil, err
		}
		found = append(found, readTable(string(b), state, r.Port)...)
	}
	return found, nil
}

// readTable finds the sockets in a state on a local port. The lines are "sl local remote st tx:rx tr:when retransmits
// uid timeout inode ...", with local as address:port in hexadecimal.
func readTable(table, state string, port int) (found []socket) {
	const user, inode = 7, 9
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) <= inode || fields[3] != state {
			continue
		}
		local, hex, ok := strings.Cut(fields[1], ":")
		if !ok {
			continue
		}
		if p, err := strconv.ParseUint(hex, 16, 16); err != nil || int(p) != port {
			continue
		}
		s := socket{local: local, inode: fields[inode]}
		s.user, _ = strconv.Atoi(fields[user])
		found = append(found, s)
	}
	return found
}

// divide says which sockets our processes hold.
func (r Request) divide(found []socket) (ours, others []socket) {
	if len(found) == 0 {
		return nil, nil
	}
	likely := map[string]bool{}
	if r.PID != 0 && r.Ours(r.PID) {
		likely = SocketsOf(r.PID)
	}
	var held map[string]bool // by all of our processes
	for _, s := range found {
		mine := likely[s.inode]
		if !mine {
			if held == nil {
				held = r.held(found)
			}
			mine = held[s.inode]
		}
		if mine {
			ours = append(ours, s)
		} else {
			others = append(others, s)
		}
	}
	return ours, others
}

// held is which of the sockets our processes hold.
func (r Request) held(found []socket) map[string]bool {
	held := map[string]bool{}
	eachProcess(func(pid int) bool {
		inodes := SocketsOf(pid)
		for _, s := range found {
			if inodes[s.inode] && r.Ours(pid) {
				held[s.inode] = true
			}
		}
		return true
	})
	return held
}

// taken is the error that names the process which holds a socket.
func (r Request) taken(s socket) error {
	e := &host.PortTakenError{Protocol: r.Protocol, Port: r.Port, User: s.user}
	eachProcess(func(pid int) bool {
		if !SocketsOf(pid)[s.inode] {
			return true
		}
		e.PID, e.Program = pid, "a process without a name"
		if name, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/comm"); err == nil {
			e.Program = strings.TrimSpace(string(name))
		}
		return false
	})
	return e
}

// eachProcess calls visit with the number of every process in /proc, until it returns false.
func eachProcess(visit func(pid int) bool) {
	folder, err := os.Open("/proc")
	if err != nil {
		return // nobody is visible
	}
	defer func() { _ = folder.Close() }()
	names, _ := folder.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && !visit(pid) {
			return
		}
	}
}

// SocketsOf is the set of the sockets that processes hold, by inode as in /proc/net/tcp and /proc/net/unix. A process
// that has ended, or whose descriptors are not visible, has none.
func SocketsOf(pids ...int) map[string]bool {
	inodes := map[string]bool{}
	for _, pid := range pids {
		path := "/proc/" + strconv.Itoa(pid) + "/fd"
		folder, err := os.Open(path)
		if err != nil {
			continue
		}
		names, _ := folder.Readdirnames(-1)
		_ = folder.Close() // it was only read
		for _, name := range names {
			target, err := os.Readlink(path + "/" + name)
			if inode, ok := strings.CutPrefix(target, "socket:["); ok && err == nil {
				inodes[strings.TrimSuffix(inode, "]")] = true
			}
		}
	}
	return inodes
}
