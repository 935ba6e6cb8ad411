//go:build !linux || portable

package sys

import (
	"errors"
)

// A ZeroCopy would count sends from the process's own memory.
type ZeroCopy struct{}

// NewZeroCopy fails: zero-copy is possible on Linux only.
func NewZeroCopy(*Socket) (*ZeroCopy, error) {
	return nil, errors.New("zero-copy is possible on linux only")
}

// Send fails here.
func (z *ZeroCopy) Send([]byte) int { return -1 }

// Finish does nothing here.
func (z *ZeroCopy) Finish() {}

// Counts are 0 here.
func (z *ZeroCopy) Counts() (sends, completed, copied int64) { return 0, 0, 0 }
