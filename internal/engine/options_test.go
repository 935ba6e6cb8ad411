package engine

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"nearfar/internal/result"
)

func onLinux(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("socket options are of Linux")
	}
}

// TestOptions: what was asked for is what both kernels say that they use, over IPv4 and IPv6 and in every mode.
func TestOptions(t *testing.T) {
	onLinux(t)
	options := Options{Congestion: "reno", Nagle: true, DSCP: 46, SendBuffer: 100_000, ReceiveBuffer: 150_000}
	datagrams := options
	datagrams.Congestion, datagrams.Nagle = "", false
	crr := rrParams(TCP)
	crr.Mode = ModeCRR
	stream := streamParams(2)
	stream.Duration = 200 * time.Millisecond
	for listen, version := range map[string]string{"127.0.0.1:0": "4", "[::1]:0": "6"} {
		address, _ := startServer(t, listen, 0)
		for name, p := range map[string]Params{"tcp": rrParams(TCP), "udp": rrParams(UDP), "crr": crr, "stream": stream,
			"messages": messageParams(UDP, 64, 4), "messages tcp": messageParams(TCP, 64, 4)} {
			t.Run(name+" "+listen, func(t *testing.T) {
				want := map[string]string{"ip": version, "dscp": "46", "so_sndbuf": "200000", "so_rcvbuf": "300000"}
				if p.Options = datagrams; p.Protocol == TCP {
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
	onLinux(t)
	address, _ := startServer(t, "127.0.0.1:0", 0)
	crr := rrParams(TCP)
	crr.Mode = ModeCRR
	for name, p := range map[string]Params{"rr": rrParams(TCP), "crr": crr} {
		r, _, err := run(t, address, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []string{"", "server."} {
			if f := r.Facts; f[side+"tcp_nodelay"] != "true" || f[side+"dscp"] != "0" || f[side+"wait"] != WaitBlock {
				t.Errorf("%s: facts %v", name, f)
			}
		}
	}
}

// TestSpinningDoesNotHang: the server's loop ends, also where nobody sleeps.
func TestSpinningDoesNotHang(t *testing.T) {
	onLinux(t)
	outlastLoss(t, WaitSpin)
}

// outlastLoss runs rr over a path that loses replies: a datagram that never comes costs the timeout, however one waits.
func outlastLoss(t *testing.T, wait string) {
	t.Helper()
	address := relay(t, func(n int64, toServer bool) int {
		if !toServer && n%20 == 19 {
			return 0
		}
		return 1
	})
	p := rrParams(UDP)
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
	onLinux(t)
	address, _ := startServer(t, "127.0.0.1:0", 0)
	p := rrParams(TCP)
	p.Congestion = "no-such"
	if _, _, err := run(t, address, p); err == nil || !strings.Contains(err.Error(), `"no-such" is not available: this kernel has`) || !strings.Contains(err.Error(), "reno") {
		t.Errorf("%v", err)
	}
	// The server says the same of its own kernel. It is a second server, because the first may not have seen yet that its
	// client is gone.
	address, _ = startServer(t, "127.0.0.1:0", 0)
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	frames, err := greetServer(conn, testSecret)
	if err != nil {
		t.Fatal(err)
	}
	if err := frames.write(frameSetup, p); err != nil {
		t.Fatal(err)
	}
	var said *peerError
	if err := frames.expect(frameReady, &ready{}); !errors.As(err, &said) || !strings.Contains(said.message, `"no-such" is not available`) {
		t.Errorf("the server says: %v", err)
	}
}

func TestOptionsValidate(t *testing.T) {
	for name, change := range map[string]func(*Params){
		"wait":                    func(p *Params) { p.Wait = "poll" },
		"wait of crr":             func(p *Params) { p.Mode, p.Wait = ModeCRR, WaitSpin },
		"epoll of crr":            func(p *Params) { p.Mode, p.Wait = ModeCRR, WaitEpoll },
		"busy-poll of load":       func(p *Params) { p.Mode, p.Wait = ModeLoad, WaitBusyPoll },
		"epoll with timestamps":   func(p *Params) { p.Timestamps, p.Wait = true, WaitEpoll },
		"wait of stream":          func(p *Params) { p.Mode, p.Message, p.Wait = ModeStream, 1, WaitSpin },
		"dscp":                    func(p *Params) { p.DSCP = 64 },
		"negative dscp":           func(p *Params) { p.DSCP = -1 },
		"send buffer":             func(p *Params) { p.SendBuffer = -1 },
		"receive buffer":          func(p *Params) { p.ReceiveBuffer = maxBuffer + 1 },
		"long name":               func(p *Params) { p.Congestion = "sixteen-letters-" },
		"congestion of udp":       func(p *Params) { p.Protocol, p.Congestion = UDP, "reno" },
		"nodelay of udp":          func(p *Params) { p.Protocol, p.Nagle = UDP, true },
		"direction of rr":         func(p *Params) { p.Direction = Both },
		"zero-copy of rr":         func(p *Params) { p.ZeroCopy = true },
		"direction":               func(p *Params) { p.Mode, p.Message, p.Direction = ModeStream, 1, "sideways" },
		"both, too many":          func(p *Params) { p.Mode, p.Message, p.Direction, p.Connections = ModeStream, 1, Both, maxConnections },
		"batch of rr":             func(p *Params) { p.Batch = 2 },
		"rate of rr":              func(p *Params) { p.MessageRate = 2 },
		"no message":              func(p *Params) { p.Mode = ModeMessages },
		"batch":                   func(p *Params) { p.Mode, p.Message, p.Batch = ModeMessages, 64, maxBatch+1 },
		"large batch":             func(p *Params) { p.Mode, p.Message, p.Batch = ModeMessages, maxMessage/2, 3 },
		"negative rate":           func(p *Params) { p.Mode, p.Message, p.MessageRate = ModeMessages, 64, -1 },
		"slow rate":               func(p *Params) { p.Mode, p.Message, p.MessageRate = ModeMessages, 64, 0.5 },
		"message over udp":        func(p *Params) { p.Mode, p.Protocol, p.Message = ModeMessages, UDP, datagramHeader-1 },
		"messages, 2 connections": func(p *Params) { p.Mode, p.Message, p.Connections = ModeMessages, 64, 2 },
	} {
		p := Params{Mode: ModeRR, Protocol: TCP, Request: 64, Response: 64, Connections: 1, Duration: time.Second}
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		change(&p)
		if err := p.Validate(); err == nil {
			t.Errorf("%s: %+v is taken", name, p)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}
