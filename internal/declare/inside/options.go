package inside

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"nearfar/internal/declare/beside"
)

// The bounds of options.
const (
	// maxPlaces is how many named places there are at most.
	maxPlaces = 256
	// maxServers is how many addresses a server has at most.
	maxServers = 16
	// longest is the longest time of a trial that is watched.
	longest = 25 * time.Hour
)

// Options say what a watcher of a machine looks for. It gets them as JSON on its standard input.
type Options struct {
	// Side says whose machine it is: both, client or server.
	Side string `json:"side"`
	// Protocol is udp, tcp or icmp.
	Protocol string `json:"protocol"`
	// Servers are the addresses of the server: where it listens, and where the client sends to.
	Servers []netip.Addr `json:"servers"`
	// Port is the server's port of the data; 0 for icmp.
	Port uint16 `json:"port"`
	// Places are the names of network namespaces that are known.
	Places []Place `json:"places,omitempty"`
	// Space is the network namespace in which requests begin, if it is not the watcher's own; 0 is any.
	Space *uint32 `json:"space,omitempty"`
	// ClientNode and ServerNode are the names of the machines that packets of client and server enter when they leave a
	// namespace of their own, as a pod's do; empty if there is none.
	ClientNode string `json:"client_node,omitempty"`
	ServerNode string `json:"server_node,omitempty"`
	// Trips is how many round trips are wanted; they are spread over the window.
	Trips int `json:"trips"`
	// Warmup is how long the client runs before its window, Duration how long the window is, in nanoseconds.
	Warmup   time.Duration `json:"warmup_ns"`
	Duration time.Duration `json:"duration_ns"`
}

// A Place is a network namespace of the machine, with its name.
type Place struct {
	// Namespace is the number of its file in /proc/PID/ns (its inode).
	Namespace uint32 `json:"namespace"`
	Name      string `json:"name"`
	// File is a path by which a process on the machine's hosts can open it; empty if there is none.
	File string `json:"file,omitempty"`
}

// DecodeOptions reads options, and refuses those that Check does not accept.
func DecodeOptions(data []byte) (Options, error) { return beside.Decode[Options](data) }

// Check says what is wrong with the options.
func (o Options) Check() error {
	if err := beside.CheckFlow(o.Side, o.Protocol, o.Port); err != nil {
		return err
	}
	switch {
	case len(o.Servers) == 0 || len(o.Servers) > maxServers:
		return fmt.Errorf("%d addresses of the server, of 1 to %d", len(o.Servers), maxServers)
	case len(o.Places) > maxPlaces:
		return fmt.Errorf("%d places, at most %d", len(o.Places), maxPlaces)
	case slices.ContainsFunc(o.Places, func(p Place) bool { return !beside.IsName(p.Name) }):
		return errors.New("a place without a name, or with one that is too long")
	case o.ClientNode != "" && !beside.IsName(o.ClientNode) || o.ServerNode != "" && !beside.IsName(o.ServerNode):
		return errors.New("a machine's name that is too long, or that cannot be printed")
	case o.Trips < 1 || o.Trips > MaxTrips:
		return fmt.Errorf("%d round trips, of 1 to %d", o.Trips, MaxTrips)
	case o.Warmup < 0 || o.Warmup > longest:
		return fmt.Errorf("a warm-up of %v, of 0 to %v", o.Warmup, longest)
	case o.Duration <= 0 || o.Duration > longest:
		return fmt.Errorf("a window of %v, of more than 0 to %v", o.Duration, longest)
	}
	return beside.CheckAddresses(o.Servers, "server")
}
