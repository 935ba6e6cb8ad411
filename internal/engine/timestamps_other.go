//go:build !linux || portable

package engine

import "errors"

var errNoTimestamps = errors.New("kernel timestamps: this system has none that the engine can read (Linux has)")

// A stampedSocket does not exist here.
type stampedSocket struct {
	socket *socket
	on     bool
	rx     int64
	// rxHardware is the same on the NIC's clock.
	rxHardware int64
	nic        nicStamps
	sent       uint32
}

func newStampedSocket(*socket, int) (*stampedSocket, error) { return nil, errNoTimestamps }

func (s *stampedSocket) read(b []byte) int                               { return s.socket.read(b) }
func (s *stampedSocket) turn(bool) error                                 { return errNoTimestamps }
func (s *stampedSocket) lastID() uint32                                  { return 0 }
func (s *stampedSocket) transmits(current, previous *stampedTransaction) {}

// nicStamps would be what a device says of its timestamps.
type nicStamps struct{}

func (nicStamps) device() string   { return "" }
func (nicStamps) hardware() string { return "" }
