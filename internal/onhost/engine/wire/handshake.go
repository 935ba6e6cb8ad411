package wire

import (
	"crypto/hmac"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// HandshakeTime limits the handshake on both sides.
const HandshakeTime = 5 * time.Second

// helloTime limits how long the server waits for a hello. A client sends it at once.
const helloTime = 2 * time.Second

// ErrBusy says that the server closed this connection in favour of others before it was authenticated.
var ErrBusy = errors.New("the server is busy with many connections that say nothing: try again")

// ErrRefused says that the other side closed the connection instead of greeting.
var ErrRefused = errors.New("the server closed the connection without a word: the secret is wrong, or this is no " +
	"nearfar engine")

// GreetServer does the client's part of the handshake.
func GreetServer(conn net.Conn, secret []byte) (*Conn, error) {
	if err := conn.SetDeadline(time.Now().Add(HandshakeTime)); err != nil {
		return nil, err
	}
	mine := greeting{version: ProtocolVersion, nonce: newNonce()}
	if _, err := conn.Write(mine.encode(secret, labelHello, nil)); err != nil {
		return nil, fmt.Errorf("greeting the server: %w", err)
	}
	var b [challengeSize]byte
	if n, err := io.ReadFull(conn, b[:]); err != nil {
		if string(b[:n]) == busyNotice {
			return nil, ErrBusy
		}
		if n == 0 && !IsTimeout(err) {
			return nil, ErrRefused
		}
		if IsTimeout(err) {
			return nil, fmt.Errorf("no answer to the greeting within %v: this is no nearfar engine, or it is stuck",
				HandshakeTime)
		}
		return nil, fmt.Errorf("reading the server's challenge: %w", err)
	}
	theirs, err := decodeGreeting(b[:], secret, labelChallenge, mine.nonce[:])
	if err != nil {
		return nil, fmt.Errorf("the server does not know the secret: its challenge is wrong: %w", err)
	}
	if theirs.version != ProtocolVersion {
		return nil, fmt.Errorf("the server speaks version %d of the protocol, and this is version %d: use the same "+
			"nearfar on both sides",
			theirs.version, ProtocolVersion)
	}
	if _, err := conn.Write(mac(secret, labelProof, mine.nonce[:], theirs.nonce[:])); err != nil {
		return nil, fmt.Errorf("answering the server's challenge: %w", err)
	}
	return newConn(conn, secret, mine.nonce, theirs.nonce, true), nil
}

// GreetClient does the server's part of the handshake. Clients that do not know the secret get no byte: the result is
// an error, and the caller closes the connection.
func GreetClient(conn net.Conn, secret []byte, seen *Nonces) (*Conn, error) {
	if err := conn.SetDeadline(time.Now().Add(helloTime)); err != nil {
		return nil, err
	}
	var b [helloSize]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return nil, fmt.Errorf("reading the hello: %w", err)
	}
	if err := conn.SetDeadline(time.Now().Add(HandshakeTime)); err != nil {
		return nil, err
	}
	theirs, err := decodeGreeting(b[:], secret, labelHello, nil)
	if err != nil {
		return nil, fmt.Errorf("hello: %w", err)
	}
	if !seen.add(theirs.nonce) {
		return nil, errors.New("hello: heard before")
	}
	mine := greeting{version: ProtocolVersion, nonce: newNonce()}
	if _, err := conn.Write(mine.encode(secret, labelChallenge, theirs.nonce[:])); err != nil {
		return nil, fmt.Errorf("sending the challenge: %w", err)
	}
	if theirs.version != ProtocolVersion {
		return nil, fmt.Errorf("the client speaks version %d of the protocol, and this is version %d", theirs.version,
			ProtocolVersion)
	}
	var proof [proofSize]byte
	if _, err := io.ReadFull(conn, proof[:]); err != nil {
		return nil, fmt.Errorf("reading the proof: %w", err)
	}
	if !hmac.Equal(proof[:], mac(secret, labelProof, theirs.nonce[:], mine.nonce[:])) {
		return nil, fmt.Errorf("proof: %w", errNotAuthentic)
	}
	return newConn(conn, secret, theirs.nonce, mine.nonce, false), nil
}

// Nonces remembers the nonces of authentic hellos, so that a recorded hello gets no answer when it is sent again.
type Nonces struct {
	mu    sync.Mutex
	known map[nonce]struct{}
	order []nonce
}

// nonceCapacity limits the memory. A recorded hello whose nonce is forgotten gets a challenge, which the attacker
// cannot answer.
const nonceCapacity = 1 << 16

// NewNonces makes an empty memory of nonces.
func NewNonces() *Nonces { return &Nonces{known: map[nonce]struct{}{}} }

// add remembers the nonce, and returns false if it was known.
func (m *Nonces) add(n nonce) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.known[n]; known {
		return false
	}
	if len(m.order) == nonceCapacity {
		delete(m.known, m.order[0])
		m.order = m.order[1:]
	}
	m.known[n] = struct{}{}
	m.order = append(m.order, n)
	return true
}
