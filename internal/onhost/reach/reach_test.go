package reach

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"

	"nearfar/internal/onhost/host"
)

// serving starts a server on free ports of the loopback interface and returns what it holds.
func serving(t *testing.T, secret []byte, sockets []host.Socket) []Result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- Serve(ctx, secret, netip.MustParseAddr("127.0.0.1"), sockets, nil, w) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	var results []Result
	if err := json.NewDecoder(r).Decode(&results); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, r) }()
	return results
}

// freePort is a port that nobody holds, over TCP and UDP.
func freePort(t *testing.T) int {
	t.Helper()
	for range 50 {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		u, err := net.ListenPacket("udp4", l.Addr().String())
		_ = l.Close()
		if err == nil {
			_ = u.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

func newSecret(t *testing.T) []byte {
	t.Helper()
	secret, err := ParseSecret(string(NewSecret()))
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

func TestReach(t *testing.T) {
	t.Parallel()
	secret, port, shut := newSecret(t), freePort(t), freePort(t)
	stranger, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stranger.Close() }()
	go func() { // answers like a server of another protocol
		for {
			c, err := stranger.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("220 mail.example ready\r\n"))
			_ = c.Close()
		}
	}()
	taken := stranger.Addr().(*net.TCPAddr).Port
	held := []host.Socket{{Protocol: "tcp", Port: port}, {Protocol: "udp", Port: port}, {Protocol: "tcp", Port: taken}}
	for i, r := range serving(t, secret, held) {
		want := Reached
		if i == 2 {
			want = Taken
		}
		if r.Socket != held[i] || r.Outcome != want || (want == Taken) != strings.Contains(r.Detail, "in use") {
			t.Errorf("the server: %+v, want %s", r, want)
		}
	}
	dialed := append(held, host.Socket{Protocol: "tcp", Port: shut}, host.Socket{Protocol: "udp", Port: shut})
	results := Dial(t.Context(), secret, netip.MustParseAddr("127.0.0.1"), dialed)
	for i, want := range []Outcome{Reached, Reached, Foreign, Refused, Refused} {
		if results[i].Socket != dialed[i] || results[i].Outcome != want {
			t.Errorf("%+v, want %s", results[i], want)
		}
	}
}

// A request without the secret gets no answer, over UDP as over TCP, and an answer is shorter than its request.
func TestServerAnswersOnlyTheSecret(t *testing.T) {
	t.Parallel()
	secret, port := newSecret(t), freePort(t)
	serving(t, secret, []host.Socket{{Protocol: "tcp", Port: port}, {Protocol: "udp", Port: port}})
	request := newRequest(secret)
	long := append(bytes.Clone(request), 0)
	changed := bytes.Clone(request)
	changed[0] ^= 1
	c, err := net.Dial("udp4", address(netip.MustParseAddr("127.0.0.1"), port))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	// The server answers in order, so the first answer is to the last request.
	for _, one := range [][]byte{newRequest(newSecret(t)), long, changed, request[:requestLength-1], {0}, request} {
		if _, err := c.Write(one); err != nil {
			t.Fatal(err)
		}
	}
	reply := make([]byte, 1500)
	n, err := c.Read(reply)
	if err != nil || !bytes.Equal(reply[:n], answer(secret, request)) || n >= len(request) {
		t.Errorf("%d bytes, %v", n, err)
	}
	for _, one := range [][]byte{newRequest(newSecret(t)), changed, bytes.Repeat([]byte("GET / HTTP/1.1\r\n"), 4)} {
		c, err := net.Dial("tcp4", address(netip.MustParseAddr("127.0.0.1"), port))
		if err != nil {
			t.Fatal(err)
		}
		_, _ = c.Write(one)
		if n, _ := c.Read(reply); n != 0 {
			t.Errorf("%q got an answer of %d bytes", one, n)
		}
		_ = c.Close()
	}
}

func TestParse(t *testing.T) {
	good := "tcp/7777,udp/7777,tcp/65535"
	sockets, err := ParseSockets(good)
	if err != nil || Join(sockets) != good {
		t.Errorf("%v, %v", sockets, err)
	}
	for _, wrong := range []string{"", "tcp", "tcp/", "tcp/0", "tcp/65536", "sctp/1", "tcp/1,", "tcp/+1", "tcp/1,tcp/1",
		"tcp/1 ", strings.Repeat("tcp/1,", 600)} {
		if sockets, err := ParseSockets(wrong); err == nil {
			t.Errorf("%q gives %v", wrong, sockets)
		}
	}
	for _, wrong := range []string{"", "\n", "00", strings.Repeat("0", 31), strings.Repeat("0", 34),
		strings.Repeat("g", 32)} {
		if _, err := ParseSecret(wrong); err == nil {
			t.Errorf("the secret %q is accepted", wrong)
		}
	}
}
