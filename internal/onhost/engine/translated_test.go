package engine

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/wire"
)

// TestDataFromAnotherAddress: the data may come from another address than the control connection, as behind address
// translation, in every mode and on a data port that is fixed.
func TestDataFromAnotherAddress(t *testing.T) {
	enginetest.OnLinux(t) // all of 127.0.0.0/8 is the machine's own
	crr := enginetest.RR(wire.TCP)
	crr.Mode = wire.ModeCRR
	for name, p := range map[string]wire.Params{
		"rr-tcp": enginetest.RR(wire.TCP), "rr-udp": enginetest.RR(wire.UDP), "crr": crr,
		"stream": enginetest.Stream(2), "load-tcp": enginetest.Load(wire.TCP, 4),
		"load-udp": enginetest.Load(wire.UDP, 2), "messages": enginetest.Messages(wire.UDP, 64, 1),
	} {
		t.Run(name, func(t *testing.T) {
			data := freePort(t)
			server, _ := enginetest.Start(t, "127.0.0.1:0", data)
			control := netip.MustParseAddrPort(server)
			at := netip.AddrPortFrom(control.Addr(), uint16(data))
			if p.Protocol == wire.UDP {
				translateDatagrams(t, at)
			} else {
				translateConnections(t, at, sourceOfData)
			}
			translateConnections(t, control, sourceOfControl)
			ask := asked{Server: netip.AddrPortFrom(outside(), control.Port()).String(), Params: p}
			if p.Mode == wire.ModeLoad {
				ask.Load = enginetest.LoadOptions(server, p, 200).Load
			}
			// The client is another process: its hot threads would keep the translation from going on.
			said, err := measureApart(t, ask, time.Minute)
			if err != nil || said.Failure != "" || len(said.Result.Metrics) == 0 {
				t.Errorf("%d metrics, %v %s", len(said.Result.Metrics), err, said.Failure)
			}
		})
	}
}

// outside is the address that the client dials. The server sees the client's data come from sourceOfControl or
// sourceOfData.
func outside() netip.Addr { return netip.AddrFrom4([4]byte{127, 0, 0, 4}) }

const sourceOfControl, sourceOfData = "127.0.0.3", "127.0.0.2"

// freePort is a TCP port that nothing uses.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

// translateConnections passes on every connection to the outside address and the server's port, from a source.
func translateConnections(t *testing.T, server netip.AddrPort, source string) {
	t.Helper()
	l, err := net.Listen("tcp", netip.AddrPortFrom(outside(), server.Port()).String())
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, l)
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			closeAtEnd(t, from)
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: 10 * time.Second}
			to, err := d.Dial("tcp", server.String())
			if err != nil {
				_ = from.Close()
				continue
			}
			closeAtEnd(t, to)
			for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
				go func() {
					_, _ = io.Copy(way[1], way[0])
					_ = way[1].(*net.TCPConn).CloseWrite()
				}()
			}
		}
	}()
}

// translateDatagrams passes on the datagrams from the outside address to the server's port. It uses one socket for each
// socket of the client.
func translateDatagrams(t *testing.T, server netip.AddrPort) {
	t.Helper()
	l, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(outside(), server.Port())))
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, l)
	go func() {
		sockets := map[netip.AddrPort]*net.UDPConn{}
		b := make([]byte, 64<<10)
		for {
			n, from, err := l.ReadFromUDPAddrPort(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			out := sockets[from]
			if out == nil {
				source := &net.UDPAddr{IP: net.ParseIP(sourceOfData)}
				out, err = net.DialUDP("udp", source, net.UDPAddrFromAddrPort(server))
				if err != nil {
					return
				}
				closeAtEnd(t, out)
				sockets[from] = out
				go func() {
					back := make([]byte, 64<<10)
					for {
						n, err := out.Read(back)
						if errors.Is(err, net.ErrClosed) {
							return
						}
						_, _ = l.WriteToUDPAddrPort(back[:n], from)
					}
				}()
			}
			_, _ = out.Write(b[:n])
		}
	}()
}

func closeAtEnd(t *testing.T, c io.Closer) { t.Cleanup(func() { _ = c.Close() }) }
