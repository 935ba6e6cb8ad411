// Package serve shows runs as pages in a browser on the same machine: a run that goes on (Watch), and all runs of a folder
// (Folder). It listens on loopback only and answers only requests that carry its token.
//
// The pages and what they draw come from outside: this package knows HTTP, the folder and when something has changed.
package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"
)

const (
	// tokenBytes makes a token of 128 random bits.
	tokenBytes = 16
	// maxConnections is how many connections are held at once; one more is closed at once.
	maxConnections = 64
	// maxHeader bounds a request's header in bytes.
	maxHeader = 16 << 10
	// requestTime is how long a client may take to send its request, answerTime to take an answer, pieceTime to take one event.
	requestTime = 10 * time.Second
	answerTime  = 30 * time.Second
	pieceTime   = 5 * time.Second
	idleTime    = time.Minute
)

// Server listens on loopback. Its address holds a token: whoever does not know it is refused.
type Server struct {
	listener net.Listener
	token    string
	http     *http.Server
	// end ends the streams of events, which otherwise last as long as their clients.
	end         context.CancelFunc
	connections atomic.Int64
	serving     bool
	ended       chan error
}

// Listen takes the address and draws a token. Nothing is answered before Serve. The address must be one that CheckAddress
// accepts.
func Listen(ctx context.Context, address string) (*Server, error) {
	want, err := loopback(address)
	if err != nil {
		return nil, err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", want.String())
	if err != nil {
		return nil, fmt.Errorf("the pages cannot be served: %w", err)
	}
	got, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil || !got.Addr().Unmap().IsLoopback() { // nothing asked for anything else; better to be sure
		return nil, errors.Join(fmt.Errorf("the pages cannot be served: %s is no loopback address", listener.Addr()), listener.Close())
	}
	var random [tokenBytes]byte
	rand.Read(random[:]) // never fails
	return &Server{listener: listener, token: hex.EncodeToString(random[:]), ended: make(chan error, 1)}, nil
}

// URL is the address to open in a browser, token included.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" + s.token + "/" }

// Serve begins to answer requests with the site, below the token, and returns at once.
func (s *Server) Serve(site http.Handler) {
	base, end := context.WithCancel(context.Background())
	s.end, s.serving = end, true
	s.http = &http.Server{
		Handler:        &guard{hosts: hostsOf(s.listener.Addr().String()), token: sha256.Sum256([]byte(s.token)), site: site},
		ReadTimeout:    requestTime,
		IdleTimeout:    idleTime,
		MaxHeaderBytes: maxHeader,
		BaseContext:    func(net.Listener) context.Context { return base },
		ConnState:      s.count,
		// Whatever a client does wrong is the client's business; standard error is the run's.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { s.ended <- s.http.Serve(s.listener) }()
}

// count keeps the number of connections in bounds.
func (s *Server) count(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if s.connections.Add(1) > maxConnections {
			_ = c.Close() // the server sees it closed, and counts it off
		}
	case http.StateClosed, http.StateHijacked:
		s.connections.Add(-1)
	}
}

// Ended yields the error with which serving ended, http.ErrServerClosed after Close.
func (s *Server) Ended() <-chan error { return s.ended }

// Close ends the streams, lets answers that are on their way arrive until ctx ends, and gives the address up.
func (s *Server) Close(ctx context.Context) error {
	if !s.serving {
		return s.listener.Close()
	}
	s.end()
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}
