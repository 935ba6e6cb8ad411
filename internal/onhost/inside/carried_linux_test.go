package inside

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	declared "nearfar/internal/declare/inside"
)

// Lengths of what a packet socket gives before the packet: what the device would still do, and the Ethernet header.
const (
	offloads = 10
	framed   = offloads + ethernet
)

// shifted moves where the device would put the checksum.
func shifted(frame []byte, by int) {
	at := frame[6:8] // csum_start of virtio_net_hdr
	if frame[0]&1 != 0 {
		binary.NativeEndian.PutUint16(at, uint16(int(binary.NativeEndian.Uint16(at))+by))
	}
}

// packed puts a frame's packet behind an outer header of IPv4 and what follows that.
func packed(protocol byte, header []byte) func(frame []byte) []byte {
	return func(frame []byte) []byte {
		outer := append(make([]byte, 20), header...)
		outer[0], outer[9] = 0x45, protocol
		binary.BigEndian.PutUint16(outer[2:], uint16(len(outer)+len(frame)-framed))
		frame = slices.Insert(slices.Clone(frame), framed, outer...)
		frame[framed-2], frame[framed-1] = 8, 0 // it is IPv4 now
		shifted(frame, len(outer))
		return frame
	}
}

// unpacked takes a frame's outer headers away.
func unpacked(length int, etherType []byte) func(frame []byte) []byte {
	return func(frame []byte) []byte {
		if len(frame) < framed+length {
			return frame
		}
		frame = slices.Delete(slices.Clone(frame), framed, framed+length)
		copy(frame[framed-2:], etherType)
		shifted(frame, -length)
		return frame
	}
}

// carriers are headers of tunnels that follow an outer header of IPv4, by RFC 2784, 2890, 8926, 7348 and 2003.
func carriers() []carrier {
	frame := string(make([]byte, 12)) + "\x08\x00"
	port := func(high, low byte) string { return "\xff\xff" + string([]byte{high, low}) + "\x00\x00\x00\x00" }
	ipv4, ipv6 := "\x08\x00", "\x86\xdd"
	return []carrier{
		{"gre", 47, "\x00\x00" + ipv4, ipv4, tunnel{}},
		{"gre of IPv6", 47, "\x00\x00" + ipv6, ipv6, tunnel{}},
		{"gre with a sum", 47, "\x80\x00" + ipv4 + "sum0", ipv4, tunnel{}},
		{"gre with a key", 47, "\x20\x00" + ipv4 + "\x00\x01\x02\x03", ipv4, tunnel{0x010203, namedKey}},
		{"gre with all", 47, "\xb0\x00" + ipv4 + "sum0\x00\x01\x02\x03num0", ipv4, tunnel{0x010203, namedKey}},
		{"gre of a frame", 47, "\x30\x00\x65\x58\xff\x00\x00\x07num0" + frame, ipv4, tunnel{0xff000007, namedKey}},
		{"geneve", 17, port(0x17, 0xc1) + "\x00\x00\x65\x58\x00\x01\x02\x00" + frame, ipv4, tunnel{0x0102, namedVNI}},
		{
			"geneve with options", 17, port(0x17, 0xc1) + "\x02\x00\x65\x58\xff\x01\x02\x00optionss" + frame, ipv4,
			tunnel{0xff0102, namedVNI},
		},
		{"vxlan", 17, port(0x12, 0xb5) + "\x08\x00\x00\x00\x00\x00\x07\x00" + frame, ipv4, tunnel{7, namedVNI}},
		{"ipip", 4, "", ipv4, tunnel{}},
		{"sit", 41, "", ipv6, tunnel{}},
	}
}

type carrier struct {
	name     string
	protocol byte
	// header is what follows the outer header of IP, before the packet inside. inner is that packet's type.
	header, inner string
	want          tunnel
}

// Programs pack packets into tunnels and unpack them. What they send are new packets, known by their inner headers, and
// the network that the outer ones name is noted in both directions.
func TestCarried(t *testing.T) {
	for _, c := range carriers() {
		t.Run(c.name, func(t *testing.T) {
			client, near, far, server := newSpace(t), newSpace(t), newSpace(t), newSpace(t)
			join(client, "eth0", near, "left")
			join(near, "right", far, "left")
			join(far, "right", server, "eth0")
			networks := [2]string{"10.9.0.1/24", "10.9.0.2/24"}
			if strings.HasPrefix(c.inner, "\x86") {
				networks = [2]string{"fd09::1/64", "fd09::2/64"}
			}
			for i, s := range []*space{client, server} {
				nodad := ""
				if strings.Contains(networks[i], ":") {
					nodad = " nodad"
				}
				s.ip("addr add dev eth0 " + networks[i] + nodad)
			}
			pack, unpack := packed(c.protocol, []byte(c.header)), unpacked(20+len(c.header), []byte(c.inner))
			var over atomic.Bool
			ways := []chan struct{}{
				near.forward("left", "right", onlyIP(pack), &over), far.forward("left", "right", onlyIP(unpack), &over),
				far.forward("right", "left", onlyIP(pack), &over), near.forward("right", "left", onlyIP(unpack), &over),
			}
			t.Cleanup(func() {
				over.Store(true)
				for _, ended := range ways {
					<-ended
				}
			})
			x := serve(t, "udp", client, server, networks[1], nil)
			x.trips(20)
			o := x.options(100)
			o.Places = []declared.Place{{Namespace: near.id, Name: "near"}, {Namespace: far.id, Name: "far"}}
			w := client.watch(o)
			x.trips(100)
			seen, err := w.read()
			if err != nil {
				t.Fatal(err)
			}
			got := words(path(t, seen.recording(slowShare), 90))
			const want = "request wire near left\nrequest queue near right\nrequest device near right\n" +
				"request softirq far left\nrequest wire far left\nrequest queue far right"
			if !strings.Contains(got, want) {
				t.Errorf("the path is\n%s\nwant it to have\n%s", got, want)
			}
			numbers := map[string]int{}
			for at, carried := range seen.tunnels {
				name := seen.devices[at.deviceKey].name
				if carried != c.want || at.space != near.id && at.space != far.id {
					t.Errorf("a packet at %s is in the tunnel %+v, want %+v", name, carried, c.want)
				}
				numbers[name]++
			}
			if c.want.naming != 0 && (numbers["left"] != 2 || numbers["right"] != 2) {
				t.Errorf("tunnels are known at %v, want both directions between the programs", numbers)
			}
		})
	}
}

// onlyIP leaves frames as they are that carry no IP, which resolve hardware addresses.
func onlyIP(do func([]byte) []byte) func([]byte) []byte {
	return func(frame []byte) []byte {
		isICMPv6 := len(frame) > framed+6 && frame[framed]>>4 == 6 && frame[framed+6] == 58
		if len(frame) <= framed || isICMPv6 || frame[framed-2] == 8 && frame[framed-1] == 6 {
			return frame
		}
		return do(frame)
	}
}
