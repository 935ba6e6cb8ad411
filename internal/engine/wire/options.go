package wire

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// The ways in which a thread waits for a message.
const (
	// WaitBlock sleeps in the kernel until the message wakes it.
	WaitBlock = "block"
	// WaitBusyPoll lets the kernel poll the device's queue for a while before it sleeps (SO_BUSY_POLL).
	WaitBusyPoll = "busy-poll"
	// WaitEpoll waits in epoll_wait before it asks the socket, as event-driven programs do; there the kernel polls the device's
	// queue for a while before it sleeps.
	WaitEpoll = "epoll"
	// WaitSpin asks again and again without sleeping, which takes a whole CPU on each side.
	WaitSpin = "spin"
)

// The bounds of the options.
const (
	maxDSCP       = 63
	maxBuffer     = 1 << 30
	maxCongestion = 15 // bytes of the name: TCP_CA_NAME_MAX less the zero at its end
)

// Options are those of the sockets that carry the data. They are applied on both sides and read back. The zero value
// changes nothing: TCP_NODELAY is on, the rest is the kernel's choice.
type Options struct {
	// Wait is one of the ways of waiting; empty is WaitBlock.
	Wait string `json:"wait,omitempty"`
	// Congestion names the congestion control of TCP.
	Congestion string `json:"congestion,omitempty"`
	// Nagle leaves TCP_NODELAY off.
	Nagle bool `json:"nagle,omitempty"`
	// DSCP is the differentiated services code point of what is sent, 0 to 63.
	DSCP int `json:"dscp,omitempty"`
	// SendBuffer and ReceiveBuffer are sizes in bytes as setsockopt takes them; the kernel uses twice that (socket(7)).
	SendBuffer    int `json:"send_buffer,omitempty"`
	ReceiveBuffer int `json:"receive_buffer,omitempty"`
}

// WaitOrDefault is the way of waiting, never empty.
func (o Options) WaitOrDefault() string {
	if o.Wait == "" {
		return WaitBlock
	}
	return o.Wait
}

// KernelOptions says whether anything was asked for beside the way of waiting.
func (o Options) KernelOptions() bool {
	o.Wait = ""
	return o != Options{}
}

// waits lists the ways of waiting that a mode has. Load waits for many sockets at once, in epoll_wait whichever it is.
func waits(mode string) []string {
	switch mode {
	case ModeRR, ModeMessages:
		return []string{WaitBlock, WaitBusyPoll, WaitEpoll, WaitSpin}
	case ModeLoad:
		return []string{WaitBlock, WaitEpoll, WaitSpin}
	}
	return []string{WaitBlock}
}

// validateOptions says what of the options cannot be, in any kernel.
func (p Params) validateOptions() error {
	switch o := p.Options; {
	case !slices.Contains(waits(p.Mode), o.WaitOrDefault()):
		return fmt.Errorf("wait %q: %s has %s", o.Wait, p.Mode, strings.Join(waits(p.Mode), ", "))
	case o.DSCP < 0 || o.DSCP > maxDSCP:
		return fmt.Errorf("DSCP %d: must be from 0 to %d", o.DSCP, maxDSCP)
	case o.SendBuffer < 0 || o.SendBuffer > maxBuffer || o.ReceiveBuffer < 0 || o.ReceiveBuffer > maxBuffer:
		return fmt.Errorf("socket buffers of %d and %d bytes: must be from 0 (the kernel's choice) to %d", o.SendBuffer, o.ReceiveBuffer, maxBuffer)
	case len(o.Congestion) > maxCongestion:
		return fmt.Errorf("congestion control %q: a name has %d bytes at most", o.Congestion, maxCongestion)
	case p.Protocol == UDP && o.Congestion != "":
		return errors.New("congestion control is of tcp; udp has none")
	case p.Protocol == UDP && o.Nagle:
		return errors.New("nodelay is of tcp; udp always sends at once")
	}
	return nil
}
