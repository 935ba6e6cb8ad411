package fake

import (
	"bytes"
	"context"
	"io"
	"testing"

	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/host"
)

func TestConformance(t *testing.T) {
	program := func(ctx context.Context, argv []string, stdin []byte, stdout, stderr io.Writer) int {
		listen := func(protocol string, port int) error { return Listen(ctx, protocol, port) }
		return hosttest.Program(ctx, argv, bytes.NewReader(stdin), stdout, stderr, listen)
	}
	hosts := func(*testing.T) (client, server host.Host) {
		programs := map[string]Program{host.Self: program}
		return New("fake/client", programs), New("fake/server", programs)
	}
	hosttest.Run(t, hosttest.Kind{Hosts: hosts, Signals: true, IPv6: true})
}
