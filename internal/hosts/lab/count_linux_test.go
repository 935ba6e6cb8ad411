package lab

import (
	"strconv"
	"testing"
	"time"

	"nearfar/internal/declare/check"
)

// TestCounters: the counters of each side count its own devices, with privilege and in a user namespace. They are read
// before the first process of a trial and after its last one.
func TestCounters(t *testing.T) {
	const bytes = 1 << 20
	for name, o := range map[string]Options{"as the caller is": {}, "user namespace": {UserNamespace: true}} {
		t.Run(name, func(t *testing.T) {
			l := openLab(t, o)
			client, server := build(t, l, "a", path("bridge"))
			_, end := l.Machines("a").Watch(t.Context(), nil, nil)
			begun := time.Now()
			serve(t, server, "echo", "tcp", streamPort)
			do(t, client, "transfer", server.Endpoint().Dial.V4.String(), strconv.Itoa(bytes))
			ended := time.Now()
			seen := end()
			for side, c := range map[string]*check.Counters{
				"client": seen.Client.Counters, "server": seen.Server.Counters,
			} {
				d := c.Device(hostDevice)
				switch {
				case c == nil || d == nil || len(c.Devices) != 1:
					t.Fatalf("%s: %+v", side, c)
				case !d.Known || d.TxBytes < bytes || d.RxBytes < bytes || d.TxBytes > 2*bytes:
					t.Errorf("%s: %d bytes left and %d arrived, of %d each way", side, d.TxBytes, d.RxBytes, bytes)
				case c.Protocols["Tcp.OutSegs"] == 0 || c.BootID == "":
					t.Errorf("%s: %+v", side, c)
				case c.At.After(begun), c.Until.Before(ended):
					t.Errorf("%s: counted from %v to %v, and the trial ran from %v to %v", side, c.At, c.Until, begun,
						ended)
				}
				t.Logf("%s: both readings took %.2f ms", side, c.Seconds*1000)
			}
		})
	}
}

// BenchmarkCounters is what a reading of both sides costs a trial, which has two.
func BenchmarkCounters(b *testing.B) {
	l, err := Open(b.Context(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	if _, _, err := l.Build(b.Context(), "a", path("bridge")); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if l.countAt("a") == nil {
			b.Fatal("no counters")
		}
	}
}
