package engine

import (
	"crypto/rand"
	"encoding/hex"
)

// NewSecret draws a secret for the two ends of the engine.
func NewSecret() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}
