package engine

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"nearfar/internal/engine/enginetest"
	"nearfar/internal/engine/session"
	"nearfar/internal/engine/wire"
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
			address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
			o := session.RunOptions{Server: address, Secret: enginetest.Secret, Params: p}
			if p.Mode == wire.ModeLoad {
				o = enginetest.LoadOptions(address, p, 200)
			}
			c, err := session.Dial(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if p.Protocol == wire.UDP {
				c.Server = translateDatagrams(t, c.Server)
			} else {
				c.Server = translateConnections(t, c.Server)
			}
			if r, err := measure(t.Context(), c, &enginetest.Collector{}); err != nil || len(r.Metrics) == 0 {
				t.Errorf("%d metrics, %v", len(r.Metrics), err)
			}
		})
	}
}

// elsewhere is the address from which the relays send.
func elsewhere() net.IP { return net.IPv4(127, 0, 0, 2) }

// translateConnections passes on every connection from another address.
func translateConnections(t *testing.T, server netip.AddrPort) netip.AddrPort {
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
			d := net.Dialer{LocalAddr: &net.TCPAddr{IP: elsewhere()}, Timeout: 10 * time.Second}
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
	return l.Addr().(*net.TCPAddr).AddrPort()
}

// translateDatagrams passes on the datagrams of each client's socket from a socket of its own, with another address.
func translateDatagrams(t *testing.T, server netip.AddrPort) netip.AddrPort {
	l, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, l)
	go func() {
		outside := map[netip.AddrPort]*net.UDPConn{}
		b := make([]byte, 64<<10)
		for {
			n, from, err := l.ReadFromUDPAddrPort(b)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			out := outside[from]
			if out == nil {
				out, err = net.DialUDP("udp", &net.UDPAddr{IP: elsewhere()}, net.UDPAddrFromAddrPort(server))
				if err != nil {
					return
				}
				closeAtEnd(t, out)
				outside[from] = out
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
	return l.LocalAddr().(*net.UDPAddr).AddrPort()
}

func closeAtEnd(t *testing.T, c io.Closer) { t.Cleanup(func() { _ = c.Close() }) }
