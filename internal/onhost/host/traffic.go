package host

import (
	"net/netip"
	"strconv"
)

// Socket is a socket on which a host's server is reached.
type Socket struct {
	// Protocol is tcp or udp.
	Protocol string `json:"protocol"`
	Port     int    `json:"port"`
}

// String is the socket as "tcp/7777".
func (s Socket) String() string { return s.Protocol + "/" + strconv.Itoa(s.Port) }

// Traffic is what the workloads of an arm send from the client's host to the server's.
type Traffic struct {
	Arm string
	// Bind is the address that the servers bind, Dial the one that the clients dial.
	Bind, Dial netip.Addr
	Sockets    []Socket
}
