package wire

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
)

// TestPendingMakesRoom: too many connections of one address make room for those of others.
func TestPendingMakesRoom(t *testing.T) {
	var p Pending
	at := func(address string) *PendingConn {
		ours, theirs := net.Pipe()
		t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
		return p.Add(addressedConn{ours, net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))})
	}
	gone := func(c *PendingConn) bool {
		select {
		case <-c.gone:
			return true
		default:
			return false
		}
	}
	var many []*PendingConn
	for i := range maxPendingAddress + 2 {
		many = append(many, at(fmt.Sprintf("192.0.2.1:%d", 1000+i)))
	}
	for i, c := range many {
		if gone(c) != (i < 2) {
			t.Errorf("connection %d of one address: gone %v", i, gone(c))
		}
	}
	for i := range 4 * maxPending { // each from an address of its own
		c := at(fmt.Sprintf("198.51.%d.%d:1000", i/200, i%200))
		if len(p.all) > maxPending || gone(c) {
			t.Fatalf("connection %d: %d are kept, gone %v", i, len(p.all), gone(c))
		}
	}
	if last := many[len(many)-1]; !gone(last) || p.Remove(last) {
		t.Error("the address with most connections did not make room")
	}
}

// addressedConn has another address.
type addressedConn struct {
	net.Conn
	from net.Addr
}

func (c addressedConn) RemoteAddr() net.Addr { return c.from }
