//go:build linux

package lab

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// patience is how long tests wait for what must happen. It is long, so that a busy machine passes.
const patience = 30 * time.Second

// packetPort and streamPort are the ports of the helpers' servers.
const (
	packetPort = 7000
	streamPort = 7001
)

// reflectPackets answers each UDP packet with its TTL (or hop limit) and its length on arrival.
func reflectPackets([]string) error {
	fd, err := unix.Socket(unix.AF_INET6, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	for _, o := range [][2]int{{unix.IPPROTO_IPV6, unix.IPV6_RECVHOPLIMIT}, {unix.IPPROTO_IP, unix.IP_RECVTTL}} {
		if err := unix.SetsockoptInt(fd, o[0], o[1], 1); err != nil {
			return err
		}
	}
	if err := unix.Bind(fd, &unix.SockaddrInet6{Port: packetPort}); err != nil {
		return err
	}
	b, oob := make([]byte, 65536), make([]byte, 256)
	for {
		n, oobn, _, from, err := unix.Recvmsg(fd, b, oob, 0)
		if err != nil {
			return err
		}
		messages, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil {
			return err
		}
		// For an IPv4 packet on an IPv6 socket there is a meaningless hop limit too.
		ttl := uint32(0)
		for _, m := range messages {
			if len(m.Data) >= 4 && (ttl == 0 || m.Header.Level == unix.IPPROTO_IP) {
				ttl = binary.NativeEndian.Uint32(m.Data)
			}
		}
		if ttl == 0 {
			return fmt.Errorf("no TTL in %d control messages", len(messages))
		}
		if err := unix.Sendto(fd, fmt.Appendf(nil, "%d %d", ttl, n), 0, from); err != nil {
			return err
		}
	}
}

// bounce sends UDP packets, with fragmentation forbidden, until the reflector answers one. It prints the answer. Its
// arguments are the reflector's address and the packets' length.
func bounce(args []string) error {
	length, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	c, err := net.Dial("udp", net.JoinHostPort(args[0], strconv.Itoa(packetPort)))
	if err != nil {
		return err
	}
	raw, err := c.(*net.UDPConn).SyscallConn()
	if err != nil {
		return err
	}
	level, option := unix.IPPROTO_IP, unix.IP_MTU_DISCOVER // whose values IPv6 has too
	if strings.Contains(args[0], ":") {
		level, option = unix.IPPROTO_IPV6, unix.IPV6_MTU_DISCOVER
	}
	err = raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), level, option, unix.IP_PMTUDISC_DO) })
	if err != nil {
		return err
	}
	b := make([]byte, 100)
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if _, err := c.Write(make([]byte, length)); err != nil && !errors.Is(err, unix.ECONNREFUSED) {
			return err
		}
		if err := c.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
			return err
		}
		if n, err := c.Read(b); err == nil {
			fmt.Print(string(b[:n]))
			return nil
		}
	}
	return errors.New("no answer")
}

// echoServer sends back what it receives on TCP connections.
func echoServer([]string) error {
	l, err := net.Listen("tcp", fmt.Sprintf(":%d", streamPort))
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer func() { _ = c.Close() }()
			_, _ = io.Copy(c, c)
		}()
	}
}

// transfer sends random bytes to an echo server, checks that they come back, and prints how long that took in seconds:
// ADDRESS LENGTH.
func transfer(args []string) error {
	length, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	c, err := net.DialTimeout("tcp", net.JoinHostPort(args[0], strconv.Itoa(streamPort)), 5*time.Second)
	if err != nil {
		return err
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	sent := make([]byte, length)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range sent {
		sent[i] = byte(random.Uint32())
	}
	start := time.Now()
	writing := make(chan error, 1)
	go func() {
		_, err := c.Write(sent)
		writing <- err
	}()
	got := make([]byte, length)
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if err := <-writing; err != nil {
		return err
	}
	if !bytes.Equal(got, sent) {
		return errors.New("other bytes came back than were sent")
	}
	fmt.Print(time.Since(start).Seconds())
	return nil
}

// reject adds a first rule to a firewall of the namespace, which drops TCP packets to a port: ELEMENT PORT.
func reject(args []string) error {
	element, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	port, err := strconv.ParseUint(args[1], 10, 16)
	if err != nil {
		return err
	}
	c, err := nftables.New()
	if err != nil {
		return err
	}
	fw := &firewall{Element: element, IPv6: true}
	for _, family := range fw.families() {
		table := fw.table(family)
		c.InsertRule(&nftables.Rule{Table: table, Chain: fw.chain(table), Exprs: []expr.Any{
			&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
			&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: 2, Len: 2},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binary.BigEndian.AppendUint16(nil, uint16(port))},
			&expr.Verdict{Kind: expr.VerdictDrop},
		}})
	}
	return c.Flush()
}

// hold opens a lab with processes in it, prints that it is ready, and does not end.
func hold([]string) error {
	ctx := context.Background()
	l, err := Open(ctx, Options{})
	if err != nil {
		return err
	}
	client, _, err := l.Build(ctx, "held", path(experiment.Wire, experiment.Router))
	if err != nil {
		return err
	}
	if _, err := client.Start(ctx, host.Cmd{Argv: []string{host.Self, "echo"}}); err != nil {
		return err
	}
	fmt.Println("ready")
	select {}
}

// path makes a path of elements with their defaults.
func path(kinds ...string) experiment.Lab {
	var l experiment.Lab
	for _, k := range kinds {
		e := experiment.Element{Kind: k}
		if k == experiment.Firewall {
			e.Rules = 100
		}
		l.Path = append(l.Path, e)
	}
	return l
}

// oneWire makes a path of a wire.
func oneWire(e experiment.Element) experiment.Lab {
	e.Kind = experiment.Wire
	return experiment.Lab{Path: []experiment.Element{e}}
}

// openLab opens a lab that is closed with the test.
func openLab(t *testing.T, o Options) *Lab {
	t.Helper()
	l, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func build(t *testing.T, l *Lab, arm string, spec experiment.Lab) (client, server host.Host) {
	t.Helper()
	client, server, err := l.Build(t.Context(), arm, spec)
	if err != nil {
		t.Fatal(err)
	}
	return client, server
}

// do runs this program on a host and returns its output; a failure fails the test.
func do(t *testing.T, h host.Host, words ...string) string {
	t.Helper()
	out, err := try(t, h, words...)
	if err != nil {
		t.Fatalf("%s: %v: %v %s", h.Endpoint().Name, words, err, out)
	}
	return out
}

func try(t *testing.T, h host.Host, words ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	var out, problems strings.Builder
	p, err := h.Start(ctx, host.Cmd{Argv: append([]string{host.Self}, words...), Stdout: &out, Stderr: &problems})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		return problems.String(), err
	}
	return out.String(), nil
}

// serve starts a helper's server and waits for its port. It ends with the host.
func serve(t *testing.T, h host.Host, helper, protocol string, port int) {
	t.Helper()
	serveWith(t, h, host.Cmd{Argv: []string{host.Self, helper}, Stderr: os.Stderr}, protocol, port)
}

// serveWith starts a server and waits for its port. It ends with the host.
func serveWith(t *testing.T, h host.Host, c host.Cmd, protocol string, port int) {
	t.Helper()
	p, err := h.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := p.Serves(ctx, protocol, port); err != nil {
		t.Fatal(err)
	}
}

// observe reads the counters of an element.
func observe(t *testing.T, l *Lab, arm string, element int) ElementFacts {
	t.Helper()
	elements, err := l.Observe(t.Context(), arm)
	if err != nil {
		t.Fatal(err)
	}
	if element >= len(elements) || elements[element].Element != element {
		t.Fatalf("no element %d among %+v", element, elements)
	}
	return elements[element]
}
