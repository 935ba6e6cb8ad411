package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
)

// mostPages is how many connections ServePages keeps open at once.
const mostPages = 16 << 10

// PagesOptions say how to answer clients of HTTP that are not nearfar's.
type PagesOptions struct {
	Listen netip.AddrPort
	// Response is the size of each answer's body in bytes.
	Response int
	// Within are the addresses that are served; empty for all.
	Within []netip.Prefix
	// Listening is called with the address when the server listens.
	Listening func(netip.AddrPort)
}

// pagesEnd is how long answers that are under way may take once the context has ended.
const pagesEnd = time.Second

// ServePages answers every request of HTTP/1.1 with the same body, until ctx ends. It serves whoever asks: clients that
// are not nearfar's know no session. It returns how many answers it sent, with those that were under way at the end.
func ServePages(ctx context.Context, o PagesOptions) (answered int64, err error) {
	if o.Response < 0 || o.Response > wire.MaxMessage {
		return 0, fmt.Errorf("answers of %d bytes: must be from 0 to %d", o.Response, wire.MaxMessage)
	}
	defer process.Collect()()
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.Listen.String())
	if err != nil {
		return 0, err
	}
	answers := &pages{body: make([]byte, o.Response), length: []string{strconv.Itoa(o.Response)},
		kind: []string{"application/octet-stream"}}
	server := &http.Server{Handler: answers, ReadHeaderTimeout: wire.HandshakeTime, MaxHeaderBytes: 16 << 10,
		ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		defer close(ended)
		limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), pagesEnd)
		defer cancel()
		if server.Shutdown(limited) != nil {
			_ = server.Close()
		}
	})()
	if at, err := wire.AddrPort(l.Addr()); err == nil && o.Listening != nil {
		o.Listening(at)
	}
	err = server.Serve(&limited{Listener: l, most: mostPages,
		serves: func(from net.Addr) bool { return session.Serves(o.Within, from) }})
	if errors.Is(err, http.ErrServerClosed) {
		<-ended
		err = nil
	}
	return answers.answered.Load(), err
}

// pages answers requests.
type pages struct {
	body         []byte
	length, kind []string
	answered     atomic.Int64
}

// ServeHTTP reads the request's body, and answers.
func (s *pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, wire.MaxMessage)); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	h := w.Header()
	h["Content-Length"], h["Content-Type"] = s.length, s.kind
	if _, err := w.Write(s.body); err == nil {
		s.answered.Add(1)
	}
}
