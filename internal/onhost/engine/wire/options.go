package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// How a thread waits for a message.
const (
	// WaitBlock sleeps in the kernel until the message wakes it.
	WaitBlock = "block"
	// WaitBusyPoll lets the kernel poll the device's queue for some time before it sleeps (SO_BUSY_POLL).
	WaitBusyPoll = "busy-poll"
	// WaitEpoll waits in epoll_wait before it reads from the socket, like event-driven programs. The kernel polls the
	// device's queue there for some time before it sleeps.
	WaitEpoll = "epoll"
	// WaitSpin reads again and again without sleeping. It takes a whole CPU on each side.
	WaitSpin = "spin"
)

// The limits of the options.
const (
	maxDSCP       = 63
	maxBuffer     = 1 << 30
	maxCongestion = 15 // bytes of the name: TCP_CA_NAME_MAX less the zero at its end
)

// Options are options of the data sockets. They are applied on both sides and read back. The zero value sets
// TCP_NODELAY and leaves the rest to the kernel.
type Options struct {
	// Wait is how threads wait; empty means WaitBlock.
	Wait string `json:"wait,omitempty"`
	// Congestion names the congestion control of TCP.
	Congestion string `json:"congestion,omitempty"`
	// Nagle leaves TCP_NODELAY off.
	Nagle bool `json:"nagle,omitempty"`
	// DSCP is the differentiated services code point of sent packets, 0 to 63.
	DSCP int `json:"dscp,omitempty"`
	// SendBuffer and ReceiveBuffer are in bytes, as setsockopt takes them. The kernel uses twice the value (socket(7)).
	SendBuffer    int `json:"send_buffer,omitempty"`
	ReceiveBuffer int `json:"receive_buffer,omitempty"`
}

// WaitOrDefault is how threads wait, never empty.
func (o Options) WaitOrDefault() string {
	if o.Wait == "" {
		return WaitBlock
	}
	return o.Wait
}

// KernelOptions says whether any option besides Wait is set.
func (o Options) KernelOptions() bool {
	o.Wait = ""
	return o != Options{}
}

// waits lists how the threads of a mode can wait. Load always waits in epoll_wait, for many sockets at once.
func waits(mode string) []string {
	switch mode {
	case ModeRR, ModeMessages:
		return []string{WaitBlock, WaitBusyPoll, WaitEpoll, WaitSpin}
	case ModeLoad:
		return []string{WaitBlock, WaitEpoll, WaitSpin}
	}
	return []string{WaitBlock}
}

// validateOptions checks the options that are wrong for every kernel.
func (p Params) validateOptions() error {
	switch o := p.Options; {
	case !slices.Contains(waits(p.Mode), o.WaitOrDefault()):
		return fmt.Errorf("wait %q: %s has %s", o.Wait, p.Mode, strings.Join(waits(p.Mode), ", "))
	case o.DSCP < 0 || o.DSCP > maxDSCP:
		return fmt.Errorf("DSCP %d: must be from 0 to %d", o.DSCP, maxDSCP)
	case o.SendBuffer < 0 || o.SendBuffer > maxBuffer || o.ReceiveBuffer < 0 || o.ReceiveBuffer > maxBuffer:
		return fmt.Errorf("socket buffers of %d and %d bytes: must be from 0 (the kernel's choice) to %d", o.SendBuffer,
			o.ReceiveBuffer, maxBuffer)
	case len(o.Congestion) > maxCongestion:
		return fmt.Errorf("congestion control %q: a name has %d bytes at most", o.Congestion, maxCongestion)
	case p.Protocol == UDP && o.Congestion != "":
		return errors.New("congestion control is of tcp; udp has none")
	case p.Protocol == UDP && o.Nagle:
		return errors.New("nodelay is of tcp; udp always sends at once")
	}
	return nil
}
