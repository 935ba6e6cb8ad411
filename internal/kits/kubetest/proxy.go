//go:build linux

package kubetest

import (
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// A Proxy is an HTTP proxy before the API server, in the test's own network namespace. It refuses WebSockets, as some
// load balancers do, and passes everything else on, with the administrator's rights.
type Proxy struct {
	// Kubeconfig is the path of a kubeconfig that names the proxy.
	Kubeconfig string

	mu       sync.Mutex
	upgrades map[string]int
}

// Proxy starts a Proxy. It ends with the test.
func (c *Cluster) Proxy() *Proxy {
	c.t.Helper()
	fatal := func(err error) {
		if err != nil {
			c.t.Helper()
			c.t.Fatalf("the proxy before the API server: %v", err)
		}
	}
	keys, err := c.keys.sign("proxy", "", "127.0.0.1")
	fatal(err)
	pair, err := tls.X509KeyPair(keys.certificate, keys.key)
	fatal(err)
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	fatal(err)
	config, err := os.ReadFile(c.Kubeconfig)
	fatal(err)
	p := &Proxy{Kubeconfig: filepath.Join(c.Folder, "proxy.kubeconfig"), upgrades: map[string]int{}}
	own := serverLine.ReplaceAll(config, []byte("${1}https://"+listener.Addr().String()+"${3}"))
	fatal(os.WriteFile(p.Kubeconfig, own, 0o600))
	to := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "https", Host: apiAddress}) },
		Transport: c.client.Transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{pair}},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			protocol := strings.ToLower(q.Header.Get("Upgrade"))
			p.mu.Lock()
			p.upgrades[protocol]++
			p.mu.Unlock()
			if protocol == "websocket" {
				http.Error(w, "this proxy passes no WebSockets on", http.StatusForbidden)
				return
			}
			to.ServeHTTP(w, q)
		}),
		// HTTP/2 has no upgrades.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	c.t.Cleanup(func() { _ = server.Close() })
	return p
}

// Upgrades counts the requests by the protocol that they change to, in lower case: "websocket", "spdy/3.1", and "" for
// requests that change to none.
func (p *Proxy) Upgrades(protocol string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.upgrades[protocol]
}
