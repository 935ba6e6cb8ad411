package wire

import (
	"crypto/rand"
	"encoding/binary"
)

// The flags of a datagram. A reply has the flags of its request.
const (
	FlagsOffset = CookieSize + 8
	// FlagCounted marks the datagrams of the window. Both sides count them.
	FlagCounted = 1 << 0
	// FlagStamped asks the server for timestamps.
	FlagStamped = 1 << 1
)

// SameCookie compares the cookies that two datagrams start with, in constant time.
//
//go:nosplit
func SameCookie(a, b []byte) bool {
	var different byte
	for i := range CookieSize {
		different |= a[i] ^ b[i]
	}
	return different == 0
}

// PutSequence writes the sequence number of a datagram.
//
//go:nosplit
func PutSequence(datagram []byte, n uint64) {
	binary.BigEndian.PutUint64(datagram[CookieSize:CookieSize+8], n)
}

// Sequence reads the sequence number of a datagram.
//
//go:nosplit
func Sequence(datagram []byte) uint64 {
	return binary.BigEndian.Uint64(datagram[CookieSize : CookieSize+8])
}

// A Cookie identifies the data of a session.
type Cookie [CookieSize]byte

// NewCookie makes a random cookie.
func NewCookie() (c Cookie) {
	_, _ = rand.Read(c[:]) // never fails
	return c
}
