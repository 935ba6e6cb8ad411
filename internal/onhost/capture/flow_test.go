package capture

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"golang.org/x/net/bpf"

	"nearfar/internal/base/pcapfile"
	"nearfar/internal/declare/packets"
)

// flowMachine is the filter of a flow, as the kernel would run it.
func flowMachine(t testing.TB, f Flow) *bpf.VM {
	t.Helper()
	f, err := f.tidy()
	if err != nil {
		t.Fatal(err)
	}
	program := flowFilter(f, packets.Kept)
	if _, err := bpf.Assemble(program); err != nil {
		t.Fatal(err)
	}
	vm, err := bpf.NewVM(program)
	if err != nil {
		t.Fatal(err)
	}
	return vm
}

// segment is a TCP or UDP packet with ports.
func segment(from, to netip.Addr, protocol byte, source, destination uint16) []byte {
	b := udp(destination, make([]byte, 24))
	b[0], b[1] = byte(source>>8), byte(source)
	return ip(from, to, protocol, b)
}

// echo is an ICMP packet of a type.
func echo(from, to netip.Addr, kind byte) []byte {
	protocol := byte(ProtoICMP)
	if from.Is6() {
		protocol = ProtoICMPv6
	}
	return ip(from, to, protocol, append([]byte{kind, 0, 0, 0}, make([]byte, 60)...))
}

// TestFlowFilter: the packets of a flow pass in both directions, plain and in each tunnel, and no others.
func TestFlowFilter(t *testing.T) {
	const port = 7777
	servers := []netip.Addr{server4, server6}
	tcp := Flow{Protocol: "tcp", Servers: servers, Port: port}
	there, back := segment(client4, server4, ProtoTCP, 40000, port), segment(server4, client4, ProtoTCP, port, 40000)
	there6 := segment(client6, server6, ProtoTCP, 40000, port)
	options := bytes.Clone(there)
	options[0] = 0x46
	options = slices.Insert(options, 20, 1, 1, 1, 1)
	ping := Flow{Protocol: "icmp", Servers: servers, Clients: []netip.Addr{client4, client6}}
	for _, c := range []struct {
		name   string
		flow   Flow
		packet []byte
		pass   bool
	}{
		{"a request", tcp, there, true},
		{"a reply", tcp, back, true},
		{"a request over IPv6", tcp, there6, true},
		{"a reply over IPv6", tcp, segment(server6, client6, ProtoTCP, port, 40000), true},
		{"a header with options", tcp, options, true},
		{"another port", tcp, segment(client4, server4, ProtoTCP, 40000, port+1), false},
		{"the port at the client", tcp, segment(client4, server4, ProtoTCP, port, 40000), false},
		{"the port at the client, back", tcp, segment(server4, client4, ProtoTCP, 40000, port), false},
		{"another server", tcp, segment(client4, node4, ProtoTCP, 40000, port), false},
		{"another protocol", tcp, segment(client4, server4, ProtoUDP, 40000, port), false},
		{"datagrams", Flow{Protocol: "udp", Servers: servers, Port: port},
			segment(client4, server4, ProtoUDP, 40000, port), true},
		{"a later fragment", tcp, fragment(there, 100), false},
		{"a first fragment", tcp, fragment(there, 0x2000), true},
		{"of a client", Flow{"tcp", servers, port, []netip.Addr{client4}}, there, true},
		{"of another client", Flow{"tcp", servers, port, []netip.Addr{other4}}, there, false},
		{"of another client, back", Flow{"tcp", servers, port, []netip.Addr{other4}}, back, false},
		{"between two servers", Flow{Protocol: "tcp", Servers: []netip.Addr{client4, server4}, Port: port}, back, true},
		{"vxlan", tcp, ip(node4, other4, ProtoUDP, udp(4789, vxlan(257, frame(there)))), true},
		{"vxlan with the ends of the flow", tcp, ip(client4, server4, ProtoUDP, udp(8472, vxlan(1, frame(there)))), true},
		{"vxlan over IPv6, with a tag", tcp, ip(node6, other6, ProtoUDP, udp(4789, vxlan(5, frame(there6, etherVLAN)))),
			true},
		{"vxlan of others", tcp, ip(node4, other4, ProtoUDP,
			udp(4789, vxlan(257, frame(segment(client4, server4, ProtoTCP, 1, 2))))), false},
		{"geneve", tcp, ip(node4, other4, ProtoUDP, udp(6081, geneve(2, etherIPv4, back))), true},
		{"gre", tcp, ip(node4, other4, ProtoGRE, gre(0x2000, etherBridging, 7, frame(back))), true},
		{"ipip", tcp, ip(node4, other4, ProtoIPv4, options), true},
		{"esp", tcp, ip(node4, other4, protoESP, make([]byte, 90)), false},
		{"nothing", tcp, nil, false},
		{"half a header", tcp, there[:10], false},
		{"ARP", tcp, []byte{0, 1, 8, 0, 6, 4, 0, 1}, false},
		{"a ping", ping, echo(client4, server4, 8), true},
		{"its reply", ping, echo(server4, client4, 0), true},
		{"a ping over IPv6", ping, echo(client6, server6, 128), true},
		{"its reply over IPv6", ping, echo(server6, client6, 129), true},
		{"a ping in a tunnel", ping, ip(node4, other4, ProtoIPv4, echo(client4, server4, 8)), true},
		{"a ping of another host", ping, echo(node4, server4, 8), false},
		{"an error", ping, echo(server4, client4, 3), false},
	} {
		n, err := flowMachine(t, c.flow).Run(c.packet)
		if err != nil || (n > 0) != c.pass || n != 0 && n != packets.Kept {
			t.Errorf("%s: %d bytes pass, %v", c.name, n, err)
		}
	}
	for name, f := range map[string]Flow{
		"no server":      {Protocol: "tcp", Port: port},
		"no protocol":    {Servers: servers, Port: port},
		"many addresses": {Protocol: "tcp", Servers: servers, Clients: manyAddresses()},
	} {
		if _, err := f.tidy(); err == nil {
			t.Errorf("%s: it is a flow", name)
		}
	}
}

func manyAddresses() (all []netip.Addr) {
	for i := range byte(maxAddresses + 1) {
		all = append(all, netip.AddrFrom4([4]byte{10, 0, 0, i + 1}))
	}
	return all
}

// FuzzFlowFilter: no packet makes the filter fail, and what passes has an address of the server and its port in it. The
// decoder cannot be asked: it also looks at the lengths in headers, which the filter leaves alone.
func FuzzFlowFilter(f *testing.F) {
	flow := Flow{Protocol: "udp", Servers: []netip.Addr{server4, server6}, Port: 5000}
	for _, s := range samples() {
		f.Add(s.packet)
	}
	f.Add(segment(client4, server4, ProtoUDP, 40000, 5000))
	f.Add(ip(node4, other4, ProtoUDP, udp(4789, vxlan(257, frame(segment(server4, client4, ProtoUDP, 5000, 40000))))))
	vm := flowMachine(f, flow)
	f.Fuzz(func(t *testing.T, b []byte) {
		n, err := vm.Run(b)
		if err != nil {
			t.Fatal(err)
		}
		if n == 0 {
			return
		}
		port := binary.BigEndian.AppendUint16(nil, flow.Port)
		has := func(server netip.Addr) bool { return bytes.Contains(b, server.AsSlice()) }
		if n != packets.Kept || !slices.ContainsFunc(flow.Servers, has) || !bytes.Contains(b, port) {
			t.Fatalf("%d bytes of %x pass", n, b)
		}
	})
}

// TestWrite: the points of a file are in the order of the path, its packets in that of their times, and a point at
// which nothing passed is not in it.
func TestWrite(t *testing.T) {
	packet := segment(client4, server4, ProtoTCP, 40000, 7777)
	kept := func(times ...int64) (all []Kept) {
		for _, at := range times {
			all = append(all, Kept{at, 1500, packet, link{4, 1, etherIPv4, [8]byte{2, 0, 0, 0, 0, 9}, 6}})
		}
		return all
	}
	var file bytes.Buffer
	err := Write(&file, "nearfar", "trial 7", []Point{
		{"server.eth0", 2, 0, 30, kept(30, 40)}, {"1-bridge.br0", 0, 0, 0, nil}, {"client.eth0", 5, 3, 10, kept(10, 60)},
		{"1-vtep.vxlan0", 3, 0, 20, kept(50)},
	}, 100)
	if err != nil {
		t.Fatal(err)
	}
	var times []int64
	var interfaces []*pcapfile.Interface
	if _, err := pcapfile.All("f", &file, func(p pcapfile.Packet) error {
		times = append(times, p.Time)
		if !slices.Contains(interfaces, p.Interface) {
			interfaces = append(interfaces, p.Interface)
		}
		want := append([]byte{0, 4, 0, 1, 0, 6, 2, 0, 0, 0, 0, 9, 0, 0, 8, 0}, packet...)
		if !bytes.Equal(p.Data, want) || p.Length != 1516 {
			t.Errorf("%d bytes: %x", p.Length, p.Data)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(times, []int64{10, 30, 40, 50, 60}) || len(interfaces) != 3 {
		t.Fatalf("packets at %v of %d interfaces", times, len(interfaces))
	}
	c, s, v := interfaces[0], interfaces[1], interfaces[2]
	if c.Name != "client.eth0" || s.Name != "server.eth0" || v.Name != "1-vtep.vxlan0" || c.Index != 0 || s.Index != 2 ||
		v.Index != 1 || c.Link != pcapfile.CookedV1 || c.Received != 5 || c.Dropped != 3 || s.Received != 2 ||
		c.Snaplen != 176 {
		t.Errorf("%+v, %+v", c, s)
	}
}
