//go:build linux

package kubetest

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"
)

// A Forward makes the API server reachable from the test's own network namespace, on an address of the loopback
// interface. Its connections can be cut, as a proxy or a load balancer does.
type Forward struct {
	cluster  *Cluster
	listener net.Listener
	target   string

	mu   sync.Mutex
	open map[net.Conn]bool
	// delay is how long a byte takes in each direction, of connections that are made from now on.
	delay time.Duration
}

// serverLine finds the API server's address in a kubeconfig, of YAML or JSON.
var serverLine = regexp.MustCompile(`("?server"?: *"?)https://([^"\s]+)("?)`)

// Forward starts a Forward. It ends with the test.
func (c *Cluster) Forward() *Forward {
	c.t.Helper()
	config, err := os.ReadFile(c.Kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	found := serverLine.FindSubmatch(config)
	if found == nil {
		c.t.Fatalf("no server in %s", c.Kubeconfig)
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	f := &Forward{cluster: c, listener: listener, target: string(found[2]), open: map[net.Conn]bool{}}
	go f.accept()
	c.t.Cleanup(func() {
		_ = listener.Close()
		f.Cut()
	})
	return f
}

// Kubeconfig writes a copy of a kubeconfig of the cluster that names the forward in place of the API server. It returns
// the path of the copy.
func (f *Forward) Kubeconfig(file string) string {
	f.cluster.t.Helper()
	config, err := os.ReadFile(file)
	if err != nil {
		f.cluster.t.Fatal(err)
	}
	copied := serverLine.ReplaceAll(config, fmt.Appendf(nil, "${1}https://%s${3}", f.listener.Addr()))
	port := f.listener.Addr().(*net.TCPAddr).Port
	path := filepath.Join(f.cluster.Folder, fmt.Sprintf("%s.%d", filepath.Base(file), port))
	if err := os.WriteFile(path, copied, 0o600); err != nil {
		f.cluster.t.Fatal(err)
	}
	return path
}

// Cut breaks all connections, and returns how many there were.
func (f *Forward) Cut() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := len(f.open)
	for c := range f.open {
		_ = c.Close()
	}
	clear(f.open)
	return n
}

// RoundTrip makes a round trip to the API server this much longer, for connections that are made from now on.
func (f *Forward) RoundTrip(longer time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.delay = longer / 2
}

func (f *Forward) accept() {
	for {
		conn, err := f.listener.Accept()
		if err != nil {
			return
		}
		go f.carry(conn)
	}
}

// carry carries the bytes of one connection. The open connections are those of the test's side.
func (f *Forward) carry(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	f.mu.Lock()
	f.open[conn] = true
	delay := f.delay
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.open, conn)
	}()
	server, err := f.cluster.Dial(context.Background(), "tcp", f.target)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()
	go func() {
		copyLate(server, conn, delay)
		_ = server.Close()
	}()
	copyLate(conn, server, delay)
}

// copyLate copies bytes, each as much later as the delay says. Bytes do not wait for those before them to arrive.
func copyLate(to io.Writer, from io.Reader, delay time.Duration) {
	if delay == 0 {
		_, _ = io.Copy(to, from)
		return
	}
	type chunk struct {
		bytes []byte
		due   time.Time
	}
	const most = 1024 // chunks on the way
	way := make(chan chunk, most)
	go func() {
		defer close(way)
		for {
			b := make([]byte, 32<<10)
			n, err := from.Read(b)
			if n > 0 {
				way <- chunk{b[:n], time.Now().Add(delay)}
			}
			if err != nil {
				return
			}
		}
	}()
	var failed error
	for c := range way { // to the end, so that the reader never waits for ever
		if failed == nil {
			time.Sleep(time.Until(c.due))
			_, failed = to.Write(c.bytes)
		}
	}
}
