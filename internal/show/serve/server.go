// Package serve shows runs in a browser on the same machine: a run that is being measured (Watch), and all runs of
// a folder (Folder). It listens on loopback only, and answers only requests that contain its token.
//
// The caller provides the pages and their documents. This package handles HTTP, lists the folder and notices changes.
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
	// maxConnections is how many connections are open at the same time; further ones are closed immediately.
	maxConnections = 64
	// maxHeader bounds a request's header in bytes.
	maxHeader = 16 << 10
	// A client has requestTime to send its request, answerTime to receive a response, and pieceTime to receive an
	// event.
	requestTime = 10 * time.Second
	answerTime  = 30 * time.Second
	pieceTime   = 5 * time.Second
	idleTime    = time.Minute
)

// Server listens on loopback. Its URL contains a token; requests without it are refused.
type Server struct {
	listener net.Listener
	token    string
	http     *http.Server
	// end ends the streams of events, which would otherwise last until the clients close them.
	end         context.CancelFunc
	connections atomic.Int64
	serving     bool
	ended       chan error
}

// Listen opens the address, which must be one that CheckAddress accepts, and draws a token. Requests are answered once
// Serve has been called.
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
	if err != nil || !got.Addr().Unmap().IsLoopback() { // cannot happen: want is a loopback address
		err := fmt.Errorf("the pages cannot be served: %s is not a loopback address", listener.Addr())
		return nil, errors.Join(err, listener.Close())
	}
	var random [tokenBytes]byte
	rand.Read(random[:]) // never fails
	return &Server{listener: listener, token: hex.EncodeToString(random[:]), ended: make(chan error, 1)}, nil
}

// URL returns the address to open in a browser, token included.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" + s.token + "/" }

// Serve starts to answer requests with the site, below "/TOKEN/", and returns at once.
func (s *Server) Serve(site http.Handler) {
	base, end := context.WithCancel(context.Background())
	s.end, s.serving = end, true
	s.http = &http.Server{
		Handler: &guard{
			hosts: hostsOf(s.listener.Addr().String()), token: sha256.Sum256([]byte(s.token)), site: site,
		},
		ReadTimeout:    requestTime,
		IdleTimeout:    idleTime,
		MaxHeaderBytes: maxHeader,
		BaseContext:    func(net.Listener) context.Context { return base },
		ConnState:      s.count,
		// Errors of clients would disturb the run's messages on standard error.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { s.ended <- s.http.Serve(s.listener) }()
}

// count limits the number of connections.
func (s *Server) count(c net.Conn, state http.ConnState) {
	switch state {
	case http.StateNew:
		if s.connections.Add(1) > maxConnections {
			_ = c.Close() // the server then reports StateClosed
		}
	case http.StateClosed, http.StateHijacked:
		s.connections.Add(-1)
	}
}

// Ended returns a channel with the error with which serving ended: http.ErrServerClosed after Close.
func (s *Server) Ended() <-chan error { return s.ended }

// Close ends the streams of events, waits until other responses have been sent or ctx ends, and closes the address.
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
