package wire

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	nonceSize = 32
	// CookieSize is the length of a cookie in bytes.
	CookieSize = 16
	// DatagramHeader is the length of the head of every datagram: cookie, sequence number, flags, and 7 bytes kept for
	// later.
	DatagramHeader = CookieSize + 8 + 8

	helloSize     = 4 + 2 + 2 + nonceSize + sha256.Size
	challengeSize = helloSize
	proofSize     = sha256.Size

	maxPayload  = 64 << 10
	frameTagLen = 16
	frameHeader = 4 + 1
)

// The labels of the HMACs. Each purpose has its own, so that no HMAC is valid for another purpose.
const (
	labelHello     = "nearfar hello"
	labelChallenge = "nearfar challenge"
	labelProof     = "nearfar proof"
	labelClientKey = "nearfar client frames"
	labelServerKey = "nearfar server frames"
)

type nonce [nonceSize]byte

func newNonce() (n nonce) {
	_, _ = rand.Read(n[:]) // never fails
	return n
}

// mac authenticates the parts with the secret for one purpose.
func mac(secret []byte, label string, parts ...[]byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write([]byte(label))
	h.Write([]byte{0})
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

var errNotAuthentic = errors.New("not authentic")

// A greeting is the hello of the client or the challenge of the server: magic, version, two zero bytes, nonce, HMAC.
type greeting struct {
	version uint16
	nonce   nonce
}

// magic starts both greetings.
const magic = "NFAR"

// encode writes the greeting. bound is covered by the HMAC but not sent: the client's nonce, in the server's
// challenge.
func (g greeting) encode(secret []byte, label string, bound []byte) []byte {
	b := make([]byte, 0, helloSize)
	b = append(b, magic...)
	b = binary.BigEndian.AppendUint16(b, g.version)
	b = append(b, 0, 0)
	b = append(b, g.nonce[:]...)
	return append(b, mac(secret, label, b, bound)...)
}

// decodeGreeting reads a greeting. A valid greeting of another version is returned, and the caller decides.
func decodeGreeting(b, secret []byte, label string, bound []byte) (greeting, error) {
	var g greeting
	if len(b) != helloSize {
		return g, fmt.Errorf("greeting of %d bytes, not %d", len(b), helloSize)
	}
	signed, tag := b[:helloSize-sha256.Size], b[helloSize-sha256.Size:]
	if string(b[:4]) != magic {
		return g, errors.New("no nearfar engine")
	}
	if !hmac.Equal(tag, mac(secret, label, signed, bound)) {
		return g, errNotAuthentic
	}
	g.version = binary.BigEndian.Uint16(b[4:6])
	copy(g.nonce[:], b[8:])
	return g, nil
}
