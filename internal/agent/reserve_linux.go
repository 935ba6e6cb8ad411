package agent

import (
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// reservations are the ports that the owner's run has on this machine. Each is a listening socket in the kernel's
// abstract namespace (unix(7)), which belongs to the network namespace as the port does, needs no file, and goes with
// the process. It gives the name of the run to everybody who asks: that is no secret.
type reservations struct {
	mu   sync.Mutex
	held map[int]net.Listener
}

// askLimit bounds the question whose a reservation is.
const askLimit = 2 * time.Second

func (r *reservations) reserve(run string, ports []int) error {
	if run == "" || len(ports) > 16 {
		return fmt.Errorf("%w: a reservation of %d ports", errProtocol, len(ports))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, port := range ports {
		if r.held[port] != nil {
			continue
		}
		name := fmt.Sprintf("@nearfar/measures/%d", port)
		l, err := net.Listen("unix", name)
		if errors.Is(err, unix.EADDRINUSE) {
			if holds(name, run) {
				continue
			}
			return reserved(port)
		}
		if err != nil {
			return err
		}
		if r.held == nil {
			r.held = map[int]net.Listener{}
		}
		r.held[port] = l
		go answer(l, run)
	}
	return nil
}

// answer tells everybody who asks the name of the run.
func answer(l net.Listener, run string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		_ = c.SetDeadline(time.Now().Add(askLimit))
		_, _ = io.WriteString(c, run)
		_ = c.Close()
	}
}

// holds says whether a run has the reservation with the name.
func holds(name, run string) bool {
	c, err := net.DialTimeout("unix", name, askLimit)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(askLimit))
	got, err := io.ReadAll(io.LimitReader(c, 128))
	return err == nil && subtle.ConstantTimeCompare(got, []byte(run)) == 1
}

func (r *reservations) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.held {
		_ = l.Close()
	}
	r.held = nil
}
