//go:build linux

package agent

import (
	"io"
	"net"
	"testing"
	"time"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/host"
)

// TestConformance runs the suite on agents in this process.
func TestConformance(t *testing.T) {
	hosts := func(t *testing.T) (client, server host.Host) {
		return newInProcess(t, ServerOptions{}).connect("client", 0).Host(),
			newInProcess(t, ServerOptions{}).connect("server", 0).Host()
	}
	hosttest.Run(t, hosttest.Kind{
		Hosts: hosts, Processes: true, Signals: true, Pinning: true, Files: true, IPv6: true,
	})
}

// TestLost runs the suite on agents whose connections no longer carry anything.
func TestLost(t *testing.T) {
	const silence = 2 * time.Second
	hosttest.RunLost(t, func(t *testing.T) hosttest.Losable {
		var hosts [2]host.Host
		frozen := make(chan struct{})
		for i, name := range []string{"client", "server"} {
			a := newInProcess(t, ServerOptions{})
			a.wrap = func(c net.Conn) io.ReadWriteCloser { return &freezing{Conn: c, frozen: frozen} }
			hosts[i] = a.connect(name, silence).Host()
		}
		return hosttest.Losable{
			Client: hosts[0], Server: hosts[1], Lose: func() { close(frozen) }, Within: 20 * time.Second,
		}
	})
}

// freezing is a connection that drops all bytes in both directions once frozen is closed.
type freezing struct {
	net.Conn
	frozen <-chan struct{}
}

func (c *freezing) Write(b []byte) (int, error) {
	select {
	case <-c.frozen:
		return len(b), nil
	default:
		return c.Conn.Write(b)
	}
}

func (c *freezing) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		select {
		case <-c.frozen:
			if err != nil {
				return 0, err
			}
		default:
			return n, err
		}
	}
}
