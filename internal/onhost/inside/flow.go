package inside

import (
	"net/netip"

	declared "nearfar/internal/declare/inside"
	"nearfar/internal/onhost/capture"
)

// A flow says which packets are the trial's: those to and from the server's port.
type flow struct {
	protocol int // of IP
	version  int // of IP
	port     uint16
	servers  []netip.Addr // the server's addresses, as client and server see it
	// space is the network namespace in which requests begin; 0 for any.
	space uint32
	// side says of whom this machine is.
	side string
	// slots is how many trips can be kept, gap the time from one sampled trip to the next, in nanoseconds.
	slots int
	gap   int64
}

// newFlow takes a flow from checked options.
func newFlow(o declared.Options, space uint32) flow {
	f := flow{
		port: o.Port, side: o.Side, slots: o.Trips, space: space, version: 4,
		protocol: map[string]int{"tcp": capture.ProtoTCP, "udp": capture.ProtoUDP, "icmp": capture.ProtoICMP}[o.Protocol],
	}
	for _, a := range o.Servers {
		f.servers = append(f.servers, a.Unmap())
		if !a.Unmap().Is4() {
			f.version = 6
		}
	}
	if f.version == 6 && f.protocol == capture.ProtoICMP {
		f.protocol = capture.ProtoICMPv6
	}
	f.gap = int64(o.Warmup+o.Duration) / int64(max(1, o.Trips))
	return f
}
