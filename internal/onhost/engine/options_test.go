package engine

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/wire"
)

// TestOptions: both kernels report the options that were asked for, over IPv4 and IPv6 and in every mode.
func TestOptions(t *testing.T) {
	enginetest.OnLinux(t)
	options := wire.Options{Congestion: "reno", Nagle: true, DSCP: 46, SendBuffer: 100_000, ReceiveBuffer: 150_000}
	datagrams := options
	datagrams.Congestion, datagrams.Nagle = "", false
	crr := enginetest.RR(wire.TCP)
	crr.Mode = wire.ModeCRR
	stream := enginetest.Stream(2)
	stream.Duration = 200 * time.Millisecond
	for listen, version := range map[string]string{"127.0.0.1:0": "4", "[::1]:0": "6"} {
		address, _ := enginetest.Start(t, listen, 0)
		for name, p := range map[string]wire.Params{"tcp": enginetest.RR(wire.TCP), "udp": enginetest.RR(wire.UDP),
			"crr": crr, "stream": stream,
			"messages": enginetest.Messages(wire.UDP, 64, 4), "messages tcp": enginetest.Messages(wire.TCP, 64, 4)} {
			t.Run(name+" "+listen, func(t *testing.T) {
				want := map[string]string{"ip": version, "dscp": "46", "so_sndbuf": "200000", "so_rcvbuf": "300000"}
				if p.Options = datagrams; p.Protocol == wire.TCP {
					p.Options = options
					want["tcp_congestion"], want["tcp_nodelay"] = "reno", "false"
				}
				r, _, err := run(t, address, p)
				if err != nil {
					t.Fatal(err)
				}
				for fact, v := range want {
					for _, side := range []string{"", "server."} {
						if r.Facts[side+fact] != v {
							t.Errorf("%s%s is %q, not %q", side, fact, r.Facts[side+fact], v)
						}
					}
				}
			})
		}
	}
}

// TestDefaultOptions: with nothing asked for, TCP_NODELAY is on, the DSCP 0, and both sides block.
func TestDefaultOptions(t *testing.T) {
	enginetest.OnLinux(t)
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	crr := enginetest.RR(wire.TCP)
	crr.Mode = wire.ModeCRR
	for name, p := range map[string]wire.Params{"rr": enginetest.RR(wire.TCP), "crr": crr} {
		r, _, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []string{"", "server."} {
			if f := r.Facts; f[side+"tcp_nodelay"] != "true" || f[side+"dscp"] != "0" ||
				f[side+"wait"] != wire.WaitBlock {
				t.Errorf("%s: facts %v", name, f)
			}
		}
	}
}

// TestSpinningDoesNotHang: the server's loop ends even if it spins and never sleeps.
func TestSpinningDoesNotHang(t *testing.T) {
	enginetest.OnLinux(t)
	outlastLoss(t, wire.WaitSpin)
}

// outlastLoss measures request and response (rr) over a path that drops every twentieth reply. With every way to wait,
// the client must give up a lost reply after the timeout and continue.
func outlastLoss(t *testing.T, wait string) {
	t.Helper()
	address := relay(t, func(n int64, toServer bool) int {
		if !toServer && n%20 == 19 {
			return 0
		}
		return 1
	})
	p := enginetest.RR(wire.UDP)
	p.Wait, p.Duration = wait, time.Second
	r, _, err := run(t, address, p)
	if err != nil {
		t.Fatal(err)
	}
	if value(t, r, result.Lost, "", "") == 0 {
		t.Error("nothing was lost")
	}
}

// TestRefusedOptions: the error names the option, why, and what there is.
func TestRefusedOptions(t *testing.T) {
	enginetest.OnLinux(t)
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	p := enginetest.RR(wire.TCP)
	p.Congestion = "no-such"
	if _, _, err := run(t, address, p); err == nil || !strings.Contains(err.Error(),
		`"no-such" is not available: this kernel has`) || !strings.Contains(err.Error(), "reno") {
		t.Errorf("%v", err)
	}
	// The server says the same of its own kernel. It is a second server, because the first may not have seen yet that
	// its client is gone.
	address, _ = enginetest.Start(t, "127.0.0.1:0", 0)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	frames, err := wire.GreetServer(conn, enginetest.Secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := frames.Write(wire.KindSetup, p); err != nil {
		t.Fatal(err)
	}
	var said *wire.PeerError
	if err := frames.Expect(wire.KindReady, &wire.Ready{}); !errors.As(err, &said) ||
		!strings.Contains(said.Error(), `"no-such" is not available`) {
		t.Errorf("the server says: %v", err)
	}
}
