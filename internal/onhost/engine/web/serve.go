package web

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// strangers is how many connections may be open in addition to those of the session.
const strangers = 128

// Serve answers the requests of a session. A request without the session's token gets a status and no body.
func Serve(d *session.Server) error {
	defer process.Collect()()
	p := d.Params
	s := &server{token: []byte(hex.EncodeToString(d.Secret[:])), request: int64(p.Request),
		body: make([]byte, p.Response), length: []string{strconv.Itoa(p.Response)},
		kind: []string{"application/octet-stream"}, stall: d.Stall, start: timing.Now()}
	var protocols http.Protocols
	protocols.SetHTTP1(p.HTTP.Version == wire.HTTP1)
	protocols.SetHTTP2(p.HTTP.Version == wire.HTTP2)
	protocols.SetUnencryptedHTTP2(p.HTTP.Version == wire.HTTP2)
	web := &http.Server{
		Handler: s, Protocols: &protocols, ReadHeaderTimeout: wire.HandshakeTime, MaxHeaderBytes: 16 << 10,
		HTTP2: &http.HTTP2Config{MaxConcurrentStreams: p.Connections}, ErrorLog: log.New(io.Discard, "", 0),
	}
	var begun wire.Begun
	if p.HTTP.TLS {
		var err error
		if web.TLSConfig, begun.Key, err = identity(); err != nil {
			return fmt.Errorf("making a key: %w", err)
		}
	}
	if err := d.Frames.Expect(wire.KindStart, nil); err != nil {
		return err
	}
	account := process.StartAccount()
	l := &limited{Listener: d.TCP, serves: d.ServesFrom, most: p.Connections + strangers}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if p.HTTP.TLS {
			_ = web.ServeTLS(l, "", "") // it ends when it is closed, below
		} else {
			_ = web.Serve(l)
		}
	}()
	d.Stops = append(d.Stops, func() { _ = web.Close(); <-ended })
	if err := d.Frames.Write(wire.KindBegin, begun); err != nil {
		return err
	}
	d.Done.Facts = session.LocalFacts()
	d.Done.Facts["io"] = "net/http"
	err := d.Finish(account)
	d.Done.Transactions = s.answered.Load()
	return err
}

// identity makes a key for one session, and gives the hash by which the client knows it.
func identity() (*tls.Config, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	template := x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour),
		NotAfter: now.AddDate(0, 0, 2)}
	certificate, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return nil, nil, err
	}
	hash := sha256.Sum256(public)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, SessionTicketsDisabled: true,
		Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}},
	}, hash[:], nil
}

// pinned accepts one key alone, which the server has named on the authenticated control connection.
func pinned(key []byte) *tls.Config {
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, //nolint:gosec // VerifyConnection compares the key
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errors.New("the server has no certificate")
			}
			hash := sha256.Sum256(state.PeerCertificates[0].RawSubjectPublicKeyInfo)
			if subtle.ConstantTimeCompare(hash[:], key) != 1 {
				return errors.New("the server has another key than it said")
			}
			return nil
		},
	}
}

// server answers requests.
type server struct {
	token        []byte
	request      int64
	body         []byte
	length, kind []string
	stall        timing.Stall
	start        int64
	answered     atomic.Int64
}

// ServeHTTP answers a request of the session.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get(wire.TokenHeader)), s.token) != 1 {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	n, err := io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, s.request))
	if err != nil || n != s.request {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if left := s.stall.Left(timing.Now() - s.start); left > 0 {
		select {
		case <-time.After(time.Duration(left)): // the stall that was asked for
		case <-r.Context().Done():
			return
		}
	}
	h := w.Header()
	h["Content-Length"], h["Content-Type"] = s.length, s.kind
	if _, err := w.Write(s.body); err == nil {
		s.answered.Add(1)
	}
}

// limited accepts a limited number of connections, from addresses that are served.
type limited struct {
	net.Listener
	serves func(net.Addr) bool
	most   int

	mu   sync.Mutex
	open int
}

// Accept gives the next connection that is served. Others are closed without a word.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		l.mu.Lock()
		ok := l.open < l.most && l.serves(c.RemoteAddr())
		if ok {
			l.open++
		}
		l.mu.Unlock()
		if ok {
			return &counted{Conn: c, done: sync.OnceFunc(l.left)}, nil
		}
		_ = c.Close()
	}
}

func (l *limited) left() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
}

// counted tells when a connection is closed.
type counted struct {
	net.Conn
	done func()
}

// Close closes the connection.
func (c *counted) Close() error {
	c.done()
	return c.Conn.Close()
}
