// Package listening waits until a process of this machine holds a port, and says which other process holds it instead.
// It knows no hosts: a lab and an agent use it for the processes that they start.
package listening

import (
	"fmt"
	"time"
)

// Request says which process is awaited on which port.
type Request struct {
	// Protocol is tcp (a listening socket is awaited) or udp (a bound socket that is not connected).
	Protocol string
	Port     int
	// Ours says whether a process belongs to the awaited one: itself, or one that it started. pid is its number (Linux:
	// in /proc).
	Ours func(pid int) bool
	// PID is the number of the process that most likely holds the port; 0 if it is not known. Others are looked at only
	// if it does not.
	PID int
	// Net is the folder of /proc with the tables of the sockets; empty for the calling thread's network namespace. On
	// Windows it does not matter.
	Net string
}

// check says what is wrong with the request.
func (r Request) check() error {
	if r.Protocol != "tcp" && r.Protocol != "udp" {
		return fmt.Errorf("protocol %q: it must be tcp or udp", r.Protocol)
	}
	if r.Port < 1 || r.Port > 65535 {
		return fmt.Errorf("port %d: it must lie between 1 and 65535", r.Port)
	}
	return nil
}

const (
	// interval is the time between two looks at the sockets. Nothing announces that a server opens its socket.
	interval = 2 * time.Millisecond
	// elsewhere is how long a socket of another process is tolerated that is bound to one address: the awaited process
	// may bind the same port of another address.
	elsewhere = time.Second
)
