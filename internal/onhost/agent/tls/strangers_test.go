package tls

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// plainly returns the bytes that a stranger reads from a connection without TLS after it has sent something.
func plainly(t *testing.T, at string, sent []byte) []byte {
	t.Helper()
	c, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(sent); err != nil && !isReset(err) {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.LimitReader(c, 1<<20))
	if err != nil && !isReset(err) {
		t.Fatal(err)
	}
	return got
}

func isReset(err error) bool {
	return strings.Contains(err.Error(), "reset") || strings.Contains(err.Error(), "broken pipe") ||
		strings.Contains(err.Error(), "forcibly closed") || strings.Contains(err.Error(), "aborted")
}

// stranger is one row of the table of strangers who speak TLS.
type stranger struct {
	name string
	// change changes an owner's configuration of TLS.
	change func(c *tls.Config)
	// say are the bytes that the stranger sends after the handshake.
	say []byte
	// want is part of the error that the stranger gets; empty for a connection that ends without a message.
	want string
}

func strangers(t *testing.T) []stranger {
	t.Helper()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	p256, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	of := func(private any, public any) tls.Certificate {
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
		if err != nil {
			t.Fatal(err)
		}
		return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: private}
	}
	chain := of(p256, p256.Public())
	chain.Certificate = append(chain.Certificate, chain.Certificate[0])
	show := func(certificate tls.Certificate) func(c *tls.Config) {
		return func(c *tls.Config) { c.Certificates = []tls.Certificate{certificate} }
	}
	versions := func(least, most uint16) func(c *tls.Config) {
		return func(c *tls.Config) { c.MinVersion, c.MaxVersion = least, most }
	}
	return []stranger{
		{name: "no certificate", change: func(c *tls.Config) { c.Certificates = nil }, want: "certificate required"},
		{name: "an RSA key", change: show(of(rsaKey, rsaKey.Public())),
			want: "bad certificate"},
		{name: "a key of P-384", change: show(of(p384, p384.Public())),
			want: "bad certificate"},
		{name: "two certificates", change: show(chain),
			want: "bad certificate"},
		{name: "TLS 1.2", change: versions(tls.VersionTLS12, tls.VersionTLS12),
			want: "protocol version not supported"},
		{name: "TLS 1.0", change: versions(tls.VersionTLS10, tls.VersionTLS11),
			want: "protocol version not supported"},
		{name: "another protocol", change: func(c *tls.Config) { c.NextProtos = []string{"h2"} },
			want: "no application protocol"},
		{name: "no protocol", change: func(c *tls.Config) { c.NextProtos = nil }, want: "bad certificate"},
		{name: "no token", say: nil},
		{name: "a wrong token", say: make([]byte, 32)},
		{name: "a short token", say: make([]byte, 31)},
		{name: "garbage after the handshake", say: bytes.Repeat([]byte("garbage "), 1000)},
		{name: "more than the limit after the handshake", say: make([]byte, 4*handshakeBytes)},
		{name: "a right key of P-256 and no token",
			change: show(of(p256, p256.Public()))},
	}
}

// Strangers who speak TLS get an alert of TLS, or nothing at all. The owner's connection is not disturbed.
func TestStrangersOverTLS(t *testing.T) {
	t.Parallel()
	a := agentOf(t, OwnerDials, nil)
	echo(a)
	_, dialer := ownerOf(t, a.Join().Encode())
	c := mustConnect(t, dialer)
	var one sync.Mutex
	all := strangers(t)
	t.Run("strangers", func(t *testing.T) {
		for _, s := range all {
			t.Run(s.name, func(t *testing.T) {
				t.Parallel() // some wait until their time is over
				got, err := overTLS(a.Join().Addresses[0], s.settings(t), s.say)
				if len(got) > 0 {
					t.Errorf("the stranger read %q", got)
				}
				if s.want != "" && (err == nil || !strings.Contains(err.Error(), s.want)) ||
					s.want == "" && err != nil {
					t.Errorf("error %v, want %q", err, s.want)
				}
				one.Lock()
				defer one.Unlock()
				if err := say(c, "undisturbed by "+s.name); err != nil {
					t.Error(err)
				}
			})
		}
	})
	waitFor(t, "all strangers to be refused", func() bool { return a.Refused() == int64(len(all)) })
}

// settings are the TLS settings of a stranger, who accepts any agent.
func (s stranger) settings(t *testing.T) *tls.Config {
	t.Helper()
	id, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	settings := config(id, nil)
	settings.VerifyConnection = nil
	if s.change != nil {
		s.change(settings)
	}
	return settings
}

// overTLS returns the bytes that a stranger reads after the handshake, and the error unless the connection was just
// closed.
func overTLS(at string, settings *tls.Config, sent []byte) ([]byte, error) {
	below, err := net.Dial("tcp", at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = below.Close() }()
	if err := below.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	c := tls.Client(below, settings)
	if err := c.Handshake(); err != nil {
		return nil, err
	}
	if _, err := c.Write(sent); err != nil && !isReset(err) {
		return nil, err
	}
	got, err := io.ReadAll(c)
	if err != nil && (isReset(err) || errors.Is(err, io.ErrUnexpectedEOF)) {
		err = nil
	}
	return got, err
}

// Strangers who do not speak TLS get at most an alert.
func TestStrangersWithoutTLS(t *testing.T) {
	t.Parallel()
	a := agentOf(t, OwnerDials, nil)
	echo(a)
	garbage := make([]byte, 100_000)
	_, _ = rand.Read(garbage) // never fails
	all := map[string][]byte{
		"nothing":                  nil,
		"garbage":                  garbage,
		"HTTP":                     []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"SSH":                      []byte("SSH-2.0-OpenSSH_9.2\r\n"),
		"an endless record":        append([]byte{22, 3, 1, 0xff, 0xff}, garbage...),
		"an endless message":       append([]byte{22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff}, garbage...),
		"records without contents": bytes.Repeat([]byte{22, 3, 3, 0, 0}, 10_000),
		"a hello, byte by byte":    {22, 3, 1},
	}
	t.Run("strangers", func(t *testing.T) {
		for name, sent := range all {
			t.Run(name, func(t *testing.T) {
				t.Parallel() // some wait until their time is over
				started := time.Now()
				got := plainly(t, a.Join().Addresses[0], sent)
				// An alert is a record of 2 bytes with a head of 5.
				if len(got) > 7 || len(got) > 0 && got[0] != 21 {
					t.Errorf("the stranger read %d bytes: %.40q", len(got), got)
				}
				if took := time.Since(started); took > handshakeTime+patience/2 {
					t.Errorf("the connection stayed open for %v", took)
				}
			})
		}
	})
	waitFor(t, "all strangers to be refused", func() bool { return a.Refused() == int64(len(all)) })
	_, dialer := ownerOf(t, a.Join().Encode())
	if err := say(mustConnect(t, dialer), "after all of them"); err != nil {
		t.Fatal(err)
	}
}

// Strangers at the address where an owner waits do not keep the agent out.
func TestStrangersAtAnOwner(t *testing.T) {
	a := agentOf(t, AgentDials, nil)
	o, dialer := ownerOf(t, a.Join().Encode())
	at := a.Join().Addresses[0]
	for _, s := range strangers(t) {
		if got, _ := overTLS(at, s.settings(t), s.say); len(got) > 0 {
			t.Errorf("%s: the stranger read %q", s.name, got)
		}
	}
	if got := plainly(t, at, []byte("garbage that is no TLS at all")); len(got) > 7 {
		t.Errorf("the stranger read %q", got)
	}
	echo(a)
	if err := say(mustConnect(t, dialer), "after all of them"); err != nil {
		t.Fatal(err)
	}
	if n := o.waiting[at].guard.refused.Load(); n < int64(len(strangers(t))) {
		t.Errorf("%d strangers were refused", n)
	}
}

// A program that answers at the agent's address with another key never gets the proof.
func TestImpostor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	id, err := newIdentity()
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan []byte, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer func() { _ = c.Close() }()
		s := tls.Server(c, config(id, func(Fingerprint) error { return nil }))
		read, _ := io.ReadAll(s)
		got <- read
	}()
	j := aJoin()
	j.Addresses = []string{l.Addr().String()}
	_, dialer := ownerOf(t, j.Encode())
	if _, err := connect(t, dialer); !errors.Is(err, ErrKey) || !Permanent(err) {
		t.Errorf("an impostor: %v", err)
	}
	if read := <-got; len(read) > 0 {
		t.Errorf("the impostor read %q", read)
	}
}

// A program between owner and agent that has the agent's words for its own connection cannot use an owner's proof: it
// is bound to the connection and to both keys.
func TestProofIsBound(t *testing.T) {
	pair := func() (owner, agent *channel) {
		t.Helper()
		a, b := net.Pipe()
		t.Cleanup(func() { _, _ = a.Close(), b.Close() })
		ids := make([]identity, 2)
		for i := range ids {
			var err error
			if ids[i], err = newIdentity(); err != nil {
				t.Fatal(err)
			}
		}
		anyone := func(Fingerprint) error { return nil }
		done := make(chan error, 1)
		go func() {
			var err error
			agent, err = handshake(t.Context(), b, false, ids[1], anyone)
			done <- err
		}()
		owner, err := handshake(t.Context(), a, true, ids[0], anyone)
		if err = errors.Join(err, <-done); err != nil {
			t.Fatal(err)
		}
		return owner, agent
	}
	token := newToken()
	owner, agent := pair()
	proofs := map[string]bool{}
	add := func(c *channel, o, a Fingerprint) string {
		proof, err := c.proof(token, o, a)
		if err != nil {
			t.Fatal(err)
		}
		proofs[string(proof)] = true
		return string(proof)
	}
	if add(owner, owner.own, owner.peer) != add(agent, agent.peer, agent.own) || len(proofs) != 1 {
		t.Error("both sides do not compute the same proof")
	}
	add(owner, owner.peer, owner.own) // the other way round
	again, _ := pair()
	add(again, owner.own, owner.peer) // the same keys on another connection
	if len(proofs) != 3 {
		t.Errorf("%d different proofs, want 3", len(proofs))
	}
}

// TestAcceptedOwnersAreNotHalfOpen: strangers can end the oldest half-open connection at any time. An owner that reads
// that it is accepted must not be among them: it takes the end of its connection for the end of the agent.
func TestAcceptedOwnersAreNotHalfOpen(t *testing.T) {
	a := agentOf(t, OwnerDials, nil)
	o, _ := ownerOf(t, a.Join().Encode())
	for range 20 {
		near, far := net.Pipe()
		var halfOpen atomic.Bool
		halfOpen.Store(true)
		ended := make(chan error, 1)
		go func() { ended <- a.authenticate(t.Context(), far, func() { halfOpen.Store(false) }) }()
		ch, err := handshake(t.Context(), near, true, o.id, func(Fingerprint) error { return nil })
		if err == nil {
			err = ch.prove(a.join.token)
		}
		if err != nil {
			t.Fatal(err)
		}
		if halfOpen.Load() {
			t.Error("the owner was accepted while its connection was half open")
		}
		accepted, err := a.Accept(t.Context())
		if err := errors.Join(err, <-ended); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, ch) }() // the other side says goodbye
		_ = accepted.Close()
		_ = near.Close()
	}
}
