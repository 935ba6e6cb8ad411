//go:build linux

package lab

import (
	"os"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/capture"
	"nearfar/internal/onhost/host"
)

// TestWatchWire: the packets at the underlay devices name the tunnel of a path with VTEPs, and no tunnel for other
// paths. All packets during the watch count, and no others.
func TestWatchWire(t *testing.T) {
	for _, o := range []Options{{}, {UserWire: true}, {UserNamespace: true}} {
		l := openLab(t, o)
		for _, c := range []struct {
			arm, carried string
			path         experiment.Lab
			ttl          int
		}{
			{"bridged", check.PlainPackets, path(experiment.Bridge), 64},
			{"routed", check.PlainPackets, path(experiment.Bridge, experiment.Router, experiment.Bridge), 63},
			{"vxlan", capture.VXLAN, path(experiment.VTEP, experiment.Bridge, experiment.Router, experiment.VTEP), 64},
			{"dlr", capture.VXLAN,
				path(experiment.DLR, experiment.VTEP, experiment.Wire, experiment.VTEP, experiment.Bridge), 63},
		} {
			client, server := build(t, l, c.arm, c.path)
			serve(t, server, "echo", "tcp", streamPort)
			at := server.Endpoint().Dial
			do(t, client, "transfer", at.V4.String(), "1000000")
			for _, address := range []string{at.V4.String(), at.V6.String()} {
				if strings.HasPrefix(address, "invalid") {
					continue
				}
				end := l.WatchWire(c.arm)
				do(t, client, "transfer", address, "2000000")
				seenClient, seenServer := end()
				for side, w := range map[string]*check.Wire{"client": seenClient, "server": seenServer} {
					if w.Problem != "" || len(w.Carried) != 1 {
						t.Fatalf("%+v: %s, %s: %+v", o, c.arm, side, w)
					}
					got := w.Carried[0]
					if got.Encapsulation != c.carried || got.Packets < 20 || got.Bytes < 2000000 ||
						got.Bytes > 3000000 {
						t.Errorf("%+v: %s to %s, %s: %+v", o, c.arm, address, side, got)
					}
					if (got.ID != 0) != (c.carried == capture.VXLAN) || (got.Port == vxlanPort) != (got.ID != 0) {
						t.Errorf("%s, %s: %+v", c.arm, side, got)
					}
					if got.TTL > 64 || got.TTL < c.ttl {
						t.Errorf("%s, %s: %+v", c.arm, side, got)
					}
				}
			}
			closed(t, client)
			closed(t, server)
			client2, server2 := l.WatchWire(c.arm)()
			if len(client2.Carried)+len(server2.Carried) != 0 || client2.Problem != "" {
				t.Errorf("%s: an idle path: %+v %+v", c.arm, client2, server2)
			}
		}
	}
}

// closed waits until all TCP connections of a host have ended: until then, packets that end them are on the path.
func closed(t *testing.T, h host.Host) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		// Columns: number, local address, remote address, state. 06 is TIME_WAIT, and 0A LISTEN.
		table := program(t, h, "awk", `$1 != "sl" && $4 != "06" && $4 != "0A"`, "/proc/net/tcp", "/proc/net/tcp6")
		if table == "" {
			return
		}
	}
	t.Fatalf("%s has connections after %v", h.Endpoint().Name, patience)
}

// program runs a program on a host and returns what it prints.
func program(t *testing.T, h host.Host, argv ...string) string {
	t.Helper()
	var out strings.Builder
	p, err := h.Start(t.Context(), host.Cmd{Argv: argv, Stdout: &out, Stderr: os.Stderr})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatalf("%s: %v: %v", h.Endpoint().Name, argv, err)
	}
	return out.String()
}
