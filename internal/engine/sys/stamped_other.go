//go:build !linux || portable

package sys

import (
	"errors"
)

var errNoTimestamps = errors.New("kernel timestamps: this system has none that the engine can read (Linux has)")

// A StampedSocket does not exist here.
type StampedSocket struct {
	Socket *Socket
	On     bool
	Rx     int64
	// rxHardware is the same on the NIC's clock.
	RxHardware int64
	NIC        nicStamps
	Sent       uint32
}

func NewStampedSocket(*Socket, int) (*StampedSocket, error) { return nil, errNoTimestamps }

func (s *StampedSocket) Read(b []byte) int                   { return s.Socket.Read(b) }
func (s *StampedSocket) Turn(bool) error                     { return errNoTimestamps }
func (s *StampedSocket) LastID() uint32                      { return 0 }
func (s *StampedSocket) Transmits(current, previous *Stamps) {}

// nicStamps would be what a device says of its timestamps.
type nicStamps struct{}

func (nicStamps) Device() string   { return "" }
func (nicStamps) Hardware() string { return "" }
