// Package tls carries an agent's connection to hosts that nothing can log in to: TLS 1.3 between two self-signed keys,
// each pinned by the other side, without a CA.
//
// The agent prints a join string (see Join) with the fingerprint of its key and a token. The owner, which is the
// nearfar that runs the experiment, checks the fingerprint in the TLS handshake, and proves inside the channel that it
// knows the token. The agent pins the key of the first owner that does so: later connections must come from the same
// key. Either side can dial. docs/adr/0047-join-string.md says why.
package tls

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

const (
	// protocol is the ALPN name of the agent's protocol. A connection that does not offer it is refused.
	protocol = "nearfar-agent/1"
	// exporterLabel is the channel binding of RFC 9266, tls-exporter: no context, 32 bytes.
	exporterLabel = "EXPORTER-Channel-Binding"
	exporterBytes = 32
	// handshakeTime is how long a connection may take until it is authenticated.
	handshakeTime = 5 * time.Second
	// handshakeBytes is how much is read of a connection until it is authenticated. An owner sends about 2 KB.
	handshakeBytes = 16 << 10
)

// The agent's answer to a proof that is right. A wrong proof gets no answer.
const (
	answerAccepted = 1
	answerUsed     = 2
	answerExpired  = 3
)

// The reasons why an owner does not get the agent of its join string.
var (
	// ErrUsed says that another nearfar used the join string first.
	ErrUsed = errors.New("the join string was used already, by another nearfar or by an earlier run: " +
		"a join string is good for one run, so start 'nearfar agent' again and give the new one")
	// ErrExpired says that the agent accepts no first owner any more.
	ErrExpired = errors.New("the join string has expired, by the clock of the agent's host: " +
		"start 'nearfar agent' again and give the new one")
	// ErrKey says that another program than the agent of the join string answered.
	ErrKey = errors.New("this is not the agent that printed the join string: its key is another one")
	// ErrToken says that the agent ended the connection without an answer to the proof.
	ErrToken = errors.New("the agent did not accept the join string's token")
)

// errEnded says that nothing of the agent is left at its address.
var errEnded = errors.New("the agent has ended: start 'nearfar agent' again and give the new join string")

// alertNoProtocol is the alert no_application_protocol (RFC 7301, section 3.2).
const alertNoProtocol = tls.AlertError(120)

var errSilent = fmt.Errorf("the other side did not answer within %v", handshakeTime)

// Permanent reports whether trying again with the same join string cannot help.
func Permanent(err error) bool {
	return errors.Is(err, ErrUsed) || errors.Is(err, ErrExpired) || errors.Is(err, ErrKey)
}

// config is the TLS configuration of both sides in both roles. known accepts or refuses the fingerprint of the other
// side's key.
func config(id identity, known func(Fingerprint) error) *tls.Config {
	return &tls.Config{
		Certificates:           []tls.Certificate{id.certificate},
		MinVersion:             tls.VersionTLS13,
		MaxVersion:             tls.VersionTLS13,
		NextProtos:             []string{protocol},
		ClientAuth:             tls.RequireAnyClientCert,
		InsecureSkipVerify:     true, //nolint:gosec // there is no CA: VerifyConnection checks the pinned key
		SessionTicketsDisabled: true,
		VerifyPeerCertificate:  checkCertificate,
		VerifyConnection: func(s tls.ConnectionState) error {
			if s.Version != tls.VersionTLS13 || s.NegotiatedProtocol != protocol {
				return errProtocol
			}
			if len(s.PeerCertificates) != 1 {
				return errOneCertificate
			}
			return known(fingerprint(s.PeerCertificates[0]))
		},
	}
}

// A channel is a TLS connection whose handshake is done. The other side's key is proved; the token is not.
type channel struct {
	*tls.Conn
	below *limited
	// own and peer are the keys of both sides.
	own, peer Fingerprint
}

// handshake makes a channel from a connection, as the TLS client or server, within handshakeTime. It closes the
// connection if it fails. The deadline stays set until authenticated is called.
func handshake(ctx context.Context, c net.Conn, client bool, id identity,
	known func(Fingerprint) error) (*channel, error) {
	below := &limited{Conn: c}
	below.left.Store(handshakeBytes)
	role := tls.Server
	if client {
		role = tls.Client
	}
	ch := &channel{Conn: role(below, config(id, known)), below: below, own: id.key}
	err := c.SetDeadline(time.Now().Add(handshakeTime))
	if err == nil {
		err = ch.HandshakeContext(ctx)
	}
	if err != nil {
		_ = c.Close() // the handshake's error is the reason
		return nil, explain(err)
	}
	ch.peer = fingerprint(ch.ConnectionState().PeerCertificates[0])
	return ch, nil
}

// authenticated lifts the limits of connections that are not authenticated.
func (c *channel) authenticated() error {
	c.below.open.Store(true)
	return c.below.SetDeadline(time.Time{})
}

// proof is what an owner sends: a MAC with a key made from the token, over the exporter of this TLS connection and
// both keys. The exporter binds it to this connection. It does not cover the TLS client's certificate (RFC 8446, 7.5),
// so both keys are added.
func (c *channel) proof(t token, owner, agent Fingerprint) ([]byte, error) {
	state := c.ConnectionState()
	exported, err := state.ExportKeyingMaterial(exporterLabel, nil, exporterBytes)
	if err != nil {
		return nil, err
	}
	mac := hmac.New(sha256.New, t.key("proof", sha256.Size))
	for _, part := range [][]byte{exported, owner[:], agent[:]} {
		mac.Write(part)
	}
	return mac.Sum(nil), nil
}

// prove is the owner's side: it sends the proof and reads the answer.
func (c *channel) prove(t token) error {
	proof, err := c.proof(t, c.own, c.peer)
	if err == nil {
		_, err = c.Write(proof)
	}
	if err != nil {
		return explain(err)
	}
	var answer [1]byte
	if _, err := io.ReadFull(c, answer[:]); err != nil {
		if errors.Is(err, io.EOF) {
			return ErrToken
		}
		return explain(err)
	}
	switch answer[0] {
	case answerAccepted:
		return c.authenticated()
	case answerUsed:
		return ErrUsed
	case answerExpired:
		return ErrExpired
	}
	return errProtocol
}

// check is the agent's side: it reads the proof and reports whether it is right.
func (c *channel) check(t token) error {
	want, err := c.proof(t, c.peer, c.own)
	if err != nil {
		return err
	}
	got := make([]byte, len(want))
	if _, err := io.ReadFull(c, got); err != nil {
		return explain(err)
	}
	if !hmac.Equal(got, want) {
		return ErrToken
	}
	return nil
}

// limited is a connection from which at most left bytes are read until it is open.
type limited struct {
	net.Conn
	left atomic.Int64
	open atomic.Bool
}

var errTooMuch = errors.New("the other side sent too much before it was authenticated")

func (l *limited) Read(p []byte) (int, error) {
	if l.open.Load() {
		return l.Conn.Read(p)
	}
	left := l.left.Load()
	if left <= 0 {
		return 0, errTooMuch
	}
	n, err := l.Conn.Read(p[:min(int64(len(p)), left)])
	l.left.Add(int64(-n))
	return n, err
}

// explain says in other words what an error of the handshake means.
func explain(err error) error {
	var header tls.RecordHeaderError
	var alert tls.AlertError
	switch {
	case errors.As(err, &header):
		return fmt.Errorf("%w: it does not speak TLS", errProtocol)
	case errors.As(err, &alert) && alert == alertNoProtocol:
		return fmt.Errorf("%w: another program answers at its address: %w", errEnded, err)
	case errors.As(err, &alert):
		return fmt.Errorf("the other side refused the connection: %w", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return errSilent
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("the other side closed the connection: %w", io.ErrUnexpectedEOF)
	}
	return err
}
