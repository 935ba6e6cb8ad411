package lab

import (
	"errors"
	"fmt"
	"time"

	"github.com/vishvananda/netlink"
)

// queueTime is how long a packet may wait at a wire that has a rate, before the next ones are dropped.
const queueTime = 10 * time.Millisecond

// burstTime is how much traffic a token bucket lets through at once, as time at its rate. It is short, so that packets
// wait for each other as on a cable (the kernel cuts longer super-packets), but long enough that a late timer on a busy
// machine does not cost rate.
const burstTime = 500 * time.Microsecond

// burst is how many bytes a token bucket lets through at once, at a rate in bits per second: at least two frames.
func burst(rate float64, mtu int) int64 {
	return max(int64(rate/8*burstTime.Seconds()), int64(2*(mtu+ethernetLen)))
}

// addKernel makes the wire a bridge, with netem, a token bucket, or both on its two ports.
func (w *wire) addKernel(h *netlink.Handle, kind string) error {
	if kind == WireBucket && (w.Delay > 0 || w.Loss > 0) {
		return errors.New(
			"the wire delays or loses, and the lab was opened for wires that have a rate and nothing else")
	}
	b := bridge{Name: bridgeDevice, Ports: []string{leftPort, rightPort}}
	l, err := h.LinkByName(leftPort)
	if err != nil {
		return err
	}
	b.MTU = l.Attrs().MTU
	if err := b.add(h); err != nil {
		return fmt.Errorf("making the wire's bridge: %w", err)
	}
	if err := bringUp(h, b.Name); err != nil {
		return err
	}
	for _, name := range b.Ports {
		l, err := h.LinkByName(name)
		if err != nil {
			return err
		}
		switch {
		case kind == WireKernel:
			err = w.shape(h, l)
		case w.Rate > 0:
			err = addTBF(h, l, netlink.HANDLE_ROOT, w.Rate)
		}
		if err != nil {
			return fmt.Errorf("shaping %s: %w", name, err)
		}
	}
	return nil
}

// shape puts netem on a port's outgoing packets, and below it a token bucket if the wire has a rate.
func (w *wire) shape(h *netlink.Handle, l netlink.Link) error {
	root := netlink.MakeHandle(1, 0)
	netem := netlink.NewNetem(
		netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: root, Parent: netlink.HANDLE_ROOT},
		netlink.NetemQdiscAttrs{
			Latency: uint32(w.Delay.Microseconds()),
			Loss:    float32(w.Loss * 100),
			Limit:   maxQueuedPackets,
		},
	)
	if err := h.QdiscAdd(netem); err != nil {
		return fmt.Errorf("netem: %w", err)
	}
	if w.Rate == 0 {
		return nil
	}
	return addTBF(h, l, netlink.MakeHandle(1, 1), w.Rate)
}

// addTBF adds a token bucket of a rate in bits per second.
func addTBF(h *netlink.Handle, l netlink.Link, parent uint32, rate float64) error {
	bytesPerSecond := uint64(rate / 8)
	tbf := &netlink.Tbf{
		QdiscAttrs: netlink.QdiscAttrs{LinkIndex: l.Attrs().Index, Handle: netlink.MakeHandle(2, 0), Parent: parent},
		Rate:       bytesPerSecond,
		Limit:      uint32(min(queueBytes(rate), 1<<31)),
		Buffer:     netlink.Xmittime(bytesPerSecond, uint32(min(burst(rate, l.Attrs().MTU), 1<<30))),
	}
	if err := h.QdiscAdd(tbf); err != nil {
		return fmt.Errorf("token bucket: %w", err)
	}
	return nil
}

// queueBytes is how many bytes may wait at a wire with a rate in bits per second: what it sends in queueTime, but at
// least two super-packets.
func queueBytes(rate float64) int64 {
	return max(int64(rate/8*queueTime.Seconds()), 2*superPacket)
}

// superPacket is the longest packet before the kernel cuts it, with some room for headers.
const superPacket = 80 << 10
