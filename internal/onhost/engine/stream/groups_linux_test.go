//go:build !portable

package stream

import (
	"strings"
	"testing"
	"time"

	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/sys"
)

// TestStreamGroups: a thread that serves several connections passes on all data of them, and names a connection that
// has failed.
func TestStreamGroups(t *testing.T) {
	var f, g flows
	for range 3 {
		from, to := streamPair(t)
		f.senders = append(f.senders, &sender{socket: from, message: sys.NewBuffer(8 << 10)})
		g.receivers = append(g.receivers, &receiver{socket: to})
	}
	process.Reserve(2)
	senders, receivers := process.OnThread(nil, newSenderGroup(f.senders).run), process.OnThread(nil,
		newReceiverGroup(g.receivers).run)
	deadline := time.Now().Add(20 * time.Second)
	for i := range g.receivers {
		for g.receivers[i].received.Load() < 1<<20 && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		if n := g.receivers[i].received.Load(); n < 1<<20 {
			t.Errorf("connection %d carried %d bytes", i, n)
		}
	}
	g.receivers[0].ending.Store(true)
	g.receivers[2].ending.Store(true)
	f.stop()
	<-senders
	<-receivers
	if f.senders[0].failed || g.receivers[0].failed || !g.receivers[1].failed || g.receivers[2].failed {
		t.Error("what was to end has failed, or what was not to end has not")
	}
	if err := g.err(); err == nil || !strings.Contains(err.Error(), "connection 2 of 3") {
		t.Errorf("%v", err)
	}
}
