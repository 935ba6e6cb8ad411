//go:build !linux || portable

package sys

import (
	"time"
)

// A TCPSample is what the kernel says about a connection that sends. It says nothing here.
type TCPSample struct {
	Retransmits, Window int64
	Smoothed            time.Duration
}

// Sample is not possible here.
func (s *Socket) Sample() (TCPSample, bool) { return TCPSample{}, false }
