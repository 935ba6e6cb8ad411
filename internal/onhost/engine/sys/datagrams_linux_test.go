//go:build !portable

package sys

import (
	"net"
	"strconv"
	"testing"

	"nearfar/internal/onhost/engine/wire"
)

// TestSocketDrops: the fact counts each datagram that found the receive buffer full, and no other. Over loopback all
// have been delivered or dropped when the sender's call returns.
func TestSocketDrops(t *testing.T) {
	t.Parallel()
	listener, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	sender, err := net.Dial("udp4", listener.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sender.Close() }()
	if err := listener.SetReadBuffer(4096); err != nil {
		t.Fatal(err)
	}
	s, err := New(listener)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const message, sent = 1000, 100
	p := wire.Params{Message: message, Flow: wire.Flow{Batch: sent, Unsegmented: true}}
	in := NewDatagramIn(s, p)
	if got := in.Facts()["socket_drops"]; got != "0" {
		t.Errorf("before anything was sent: %q", got)
	}
	for range sent {
		if _, err := sender.Write(make([]byte, message)); err != nil {
			t.Fatal(err)
		}
	}
	got := in.Receive()
	if got < 1 || got == sent {
		t.Fatalf("%d of %d were received: the buffer was not full", got, sent)
	}
	if drops := in.Facts()["socket_drops"]; drops != strconv.Itoa(sent-got) {
		t.Errorf("%d of %d were received: drops %s", got, sent, drops)
	}
}
