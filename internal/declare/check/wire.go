package check

import (
	"strings"
	"unicode"
)

// Wire is how packets were carried on the underlay device of a side while a trial ran.
type Wire struct {
	// Device is the device that was watched.
	Device string `json:"device"`
	// Arriving says that only packets that arrived at the device were watched: those that left it were watched where
	// they arrived, at the other side.
	Arriving bool `json:"arriving,omitempty"`
	// Veth says that the device is one end of a veth pair that leads out of a container. Plain packets on it prove
	// nothing, because they can be put into a tunnel at its other end.
	Veth bool `json:"veth,omitempty"`
	// Carried are the packets between the addresses of the trial, by what carried them.
	Carried []Carried `json:"carried,omitempty"`
	// Lost is how many of the packets were only counted: the headers of the first ones are looked at, and the shares of
	// these are taken for all.
	Lost uint64 `json:"lost,omitempty"`
	// Problem says why nothing could be watched.
	Problem string `json:"problem,omitempty"`
}

// Carried are packets of a trial that were carried in the same way.
type Carried struct {
	// Encapsulation is a tunnel, or "none" if the packets were plain. Packets in the encrypted tunnels
	// esp and wireguard can be others than the trial's.
	Encapsulation string `json:"encapsulation"`
	// ID is the network identifier of the tunnel (the VNI of VXLAN and Geneve, the key of GRE); 0 for none.
	ID uint32 `json:"id,omitempty"`
	// Port is the outer UDP port.
	Port int `json:"port,omitempty"`
	// Packets are counted as the kernel sees them: a packet that a device splits or has joined (segmentation offload)
	// counts once. Bytes count from the outer IP header on.
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
	// TTL is the lowest TTL or hop limit of the inner packets.
	TTL int `json:"ttl,omitempty"`
}

// The bounds of a Wire: texts are in bytes.
const (
	maxCarried     = 16
	maxWireDevice  = 64
	maxWireProblem = 512
)

// Bound makes what a host says it saw safe to keep: it bounds its length, and replaces what cannot be printed.
func (w *Wire) Bound() {
	w.Device, w.Problem = printable(w.Device, maxWireDevice), printable(w.Problem, maxWireProblem)
	w.Carried = w.Carried[:min(len(w.Carried), maxCarried)]
	for i := range w.Carried {
		w.Carried[i].Encapsulation = printable(w.Carried[i].Encapsulation, maxWireDevice)
	}
}

// printable cuts a text, and replaces what cannot be printed.
func printable(s string, most int) string {
	return strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s[:min(len(s), most)]), "?")
}
