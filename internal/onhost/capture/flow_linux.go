package capture

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"nearfar/internal/declare/packets"
)

// A FlowWatch captures the first packets of a flow at devices. The kernel copies them into rings, and counts those for
// which there is no room. No process runs for that, and nobody is woken.
type FlowWatch struct {
	points []*flowPoint
	// LeftOut is how many devices there are beside those at which packets are captured.
	LeftOut int
}

// flowPoint is a device, and the ring of its packets.
type flowPoint struct {
	name    string
	ring    *ring
	stacked bool
}

// The frames of a ring: a packet's first bytes behind the 80 of the kernel's, which are its own header and, from
// linkAt on, what it says of the link.
const (
	flowFrame = 256 // bytes
	perRow    = blockSize / flowFrame
	linkAt    = (sizeHeader + unix.TPACKET_ALIGNMENT - 1) &^ (unix.TPACKET_ALIGNMENT - 1)
)

// A device is one at which packets may be captured.
type device struct {
	place    packets.Place
	name     string
	index    int
	loopback bool
	// stacked says that packets come in by another device before they come in by this one: by a tunnel's, a bridge's, or
	// a VLAN's. The kernel then stamps them there, if a program of the machine wants stamps, and only there.
	stacked bool
}

// BeginFlow begins to capture the flow at the devices of all places that are up. The caller calls End.
func BeginFlow(flow Flow, places []packets.Place) (*FlowWatch, error) {
	flow, err := flow.tidy()
	if err != nil {
		return nil, err
	}
	w := &FlowWatch{}
	var all []device
	for _, p := range places {
		err := in(p, func() error {
			found, leftOut, err := devicesOf(p, flow)
			all, w.LeftOut = append(all, found...), w.LeftOut+leftOut
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	switch {
	case len(all) == 0:
		return nil, errors.New("no network device is up")
	case len(all) > packets.MaxPoints:
		return nil, fmt.Errorf("%d network devices, at most %d", len(all), packets.MaxPoints)
	}
	rows := min(packets.MaxPackets, packets.MaxAll/len(all)) / perRow
	for _, d := range all {
		err := in(d.place, func() error {
			r, err := newFlowRing(flow, d, rows)
			if err == nil {
				w.points = append(w.points, &flowPoint{packets.PointName(d.place.Name, d.name), r, d.stacked})
			}
			return err
		})
		if err != nil {
			w.Close()
			return nil, err
		}
	}
	return w, nil
}

// in runs f in the network namespace of a place, on a thread that ends with f if it had to move there.
func in(p packets.Place, f func() error) error {
	if p.File == "" {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		return f()
	}
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked
		done <- func() error {
			file, err := os.Open(p.File)
			if err != nil {
				return fmt.Errorf("the namespace of %s: %w", p.Name, err)
			}
			defer func() { _ = file.Close() }()
			if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
				return fmt.Errorf("the namespace of %s: %w", p.Name, err)
			}
			return f()
		}()
	}()
	return <-done
}

// devicesOf are the devices of the calling thread's namespace that are up. If there are too many, those by which
// packets leave for the other side come first, and then those that are not the ends of other namespaces.
func devicesOf(p packets.Place, flow Flow) (found []device, leftOut int, err error) {
	links, err := netlink.LinkList()
	if err != nil {
		return nil, 0, fmt.Errorf("the devices of %s: %w", p.Name, err)
	}
	links = slices.DeleteFunc(links, func(l netlink.Link) bool { return l.Attrs().Flags&net.FlagUp == 0 })
	if len(links) > mostDevices {
		used := map[int]bool{}
		for _, a := range slices.Concat(flow.Servers, flow.Clients) {
			if l, err := linkTo(net.IP(a.AsSlice())); err == nil {
				used[l.Attrs().Index] = true
			}
		}
		rank := func(l netlink.Link) int {
			switch {
			case used[l.Attrs().Index]:
				return 0
			case l.Type() != "veth":
				return 1
			}
			return 2
		}
		slices.SortStableFunc(links, func(a, b netlink.Link) int { return rank(a) - rank(b) })
		links, leftOut = links[:mostDevices], len(links)-mostDevices
	}
	for _, l := range links {
		a := l.Attrs()
		found = append(found, device{p, a.Name, a.Index, a.Flags&net.FlagLoopback != 0, stacked(l)})
	}
	return found, leftOut, nil
}

// stacked says whether packets come in by another device of the namespace first. It is true for kinds that are not
// known here.
func stacked(l netlink.Link) bool {
	return !slices.Contains([]string{"device", "veth", "tuntap", "netvsc"}, l.Type())
}

// mostDevices is at how many devices of one namespace packets are captured at most. Each costs packets a little, also
// where none of them is the trial's.
const mostDevices = 32

// newFlowRing opens the socket of a device. On loopback a packet leaves and arrives by the same device, and is captured
// as it arrives.
func newFlowRing(flow Flow, d device, rows int) (*ring, error) {
	r, err := openRing("capturing packets")
	if err != nil {
		return nil, err
	}
	r.frame, r.blocks = flowFrame, rows
	if err := r.prepare(flowFilter(flow, packets.Kept), d.index, d.loopback); err != nil {
		r.close()
		return nil, fmt.Errorf("capturing at %s of %s: %w", d.name, d.place.Name, err)
	}
	return r, nil
}

// End ends the capture, and gives what was captured at each device.
func (w *FlowWatch) End() ([]Point, error) {
	defer w.Close()
	var all []Point
	for _, p := range w.points {
		one, err := p.read()
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

// Close ends the capture without a result. It may be called twice.
func (w *FlowWatch) Close() {
	for _, p := range w.points {
		p.ring.close()
	}
	w.points = nil
}

// read reads the ring, up to the first frame that the kernel has not filled.
func (p *flowPoint) read() (Point, error) {
	counted, err := unix.GetsockoptTpacketStats(p.ring.socket, unix.SOL_PACKET, unix.PACKET_STATISTICS)
	if err != nil {
		return Point{}, fmt.Errorf("the number of packets at %s: %w", p.name, err)
	}
	out := Point{Name: p.name, Passed: uint64(counted.Packets), Dropped: uint64(counted.Drops)}
	for i := range p.ring.frames() {
		frame := p.ring.at(i)
		header := (*unix.Tpacket2Hdr)(unsafe.Pointer(&frame[0]))
		if atomic.LoadUint32(&header.Status)&unix.TP_STATUS_USER == 0 {
			break
		}
		from := min(max(int(header.Net), sizeHeader), len(frame))
		to := min(from+int(header.Snaplen), len(frame))
		address := (*unix.RawSockaddrLinklayer)(unsafe.Pointer(&frame[linkAt]))
		at := int64(header.Sec)*int64(time.Second) + int64(header.Nsec)
		if i == 0 {
			out.First = at
		}
		const went = unix.PACKET_OUTGOING
		if p.stacked && address.Pkttype != went && header.Status&unix.TP_STATUS_TS_SOFTWARE != 0 {
			continue // the stamp is of the device below
		}
		out.Kept = append(out.Kept, Kept{
			Time: at, Length: int(header.Len), Data: slices.Clone(frame[from:to]),
			link: link{
				kind: address.Pkttype, hardware: address.Hatype, protocol: networkOrder(address.Protocol),
				address: address.Addr, length: min(address.Halen, uint8(len(address.Addr))),
			},
		})
	}
	return out, nil
}
