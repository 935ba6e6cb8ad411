package wire

import (
	"crypto/rand"
	"encoding/binary"
)

// The flags of a datagram; a reply carries those of its request.
const (
	FlagsOffset = CookieSize + 8
	// flagCounted marks the datagrams of the window: both sides count those.
	FlagCounted = 1 << 0
	// flagStamped asks the server for timestamps (timestamps.go).
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

//go:nosplit
func PutSequence(datagram []byte, n uint64) {
	binary.BigEndian.PutUint64(datagram[CookieSize:CookieSize+8], n)
}

//go:nosplit
func Sequence(datagram []byte) uint64 {
	return binary.BigEndian.Uint64(datagram[CookieSize : CookieSize+8])
}

type Cookie [CookieSize]byte

func NewCookie() (c Cookie) {
	_, _ = rand.Read(c[:]) // never fails
	return c
}
