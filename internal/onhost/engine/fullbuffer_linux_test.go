//go:build !portable

package engine

import (
	"strings"
	"testing"

	"nearfar/internal/onhost/engine/enginetest"
	"nearfar/internal/onhost/engine/wire"
)

// TestFullReceiveBuffer: if datagrams were lost because the receiver was late, a note says so, and advises to spin only
// if it does not spin already. A path that loses nothing gets no such note.
func TestFullReceiveBuffer(t *testing.T) {
	address, _ := enginetest.Start(t, "127.0.0.1:0", 0)
	full := enginetest.Messages(wire.UDP, 1000, 64)
	full.Unsegmented, full.ReceiveBuffer = true, 4096
	spins, slow := full, enginetest.Messages(wire.UDP, 64, 1)
	spins.Wait, slow.MessageRate = wire.WaitSpin, 500
	for name, c := range map[string]struct {
		params       wire.Params
		noted, spins bool
	}{"full": {full, true, true}, "spinning": {spins, true, false}, "slow": {slow, false, false}} {
		r, _, err := run(t, address, c.params)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		notes := strings.Join(r.Notes, "\n")
		if strings.Contains(notes, "receive buffer was full") != c.noted ||
			strings.Contains(notes, "spins") != c.spins {
			t.Errorf("%s: %s drops, notes %q", name, r.Facts["server.socket_drops"], notes)
		}
	}
}
