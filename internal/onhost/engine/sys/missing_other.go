//go:build !linux || portable

package sys

import (
	"errors"
)

// What only Linux has: TCP_INFO, sends from the process's own memory, and kernel timestamps.

// Sample is not possible here.
func (s *Socket) Sample() (TCPSample, bool) { return TCPSample{}, false }

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

var errNoTimestamps = errors.New("kernel timestamps: this system has none that the engine can read (Linux has)")

// A StampedSocket does not exist here.
type StampedSocket struct {
	Socket *Socket
	On     bool
	Rx     int64
	// RxHardware is the same time on the NIC's clock.
	RxHardware int64
	NIC        nicStamps
	Sent       uint32
}

// NewStampedSocket fails: there are no timestamps here.
func NewStampedSocket(*Socket, int) (*StampedSocket, error) { return nil, errNoTimestamps }

// Read reads without timestamps.
func (s *StampedSocket) Read(b []byte) int { return s.Socket.Read(b) }

// Turn fails: there are no timestamps here.
func (s *StampedSocket) Turn(bool) error { return errNoTimestamps }

// LastID is not known here.
func (s *StampedSocket) LastID() uint32 { return 0 }

// Transmits does nothing here.
func (s *StampedSocket) Transmits(current, previous *Stamps) {}

// nicStamps would be what a device says of its timestamps.
type nicStamps struct{}

// Device is not known here.
func (nicStamps) Device() string { return "" }

// Hardware is not known here.
func (nicStamps) Hardware() string { return "" }
