package timing

import (
	"errors"
	"time"
)

// A Stall makes a server stop answering at regular intervals, to show how a measurement reports it. It is for
// demonstrations and tests.
type Stall struct {
	// Length is how long the server stops at the end of each Period; 0 for not at all.
	Length, Period time.Duration
}

// Validate checks the stall.
func (s Stall) Validate() error {
	if s != (Stall{}) && (s.Length <= 0 || s.Period <= s.Length || s.Period > MaxDuration) {
		return errors.New("a stall must be longer than 0 and shorter than its period")
	}
	return nil
}

// Left is how much longer the server must not answer, at a time since its start, in nanoseconds.
//
//go:nosplit
func (s Stall) Left(since int64) int64 {
	if s.Length == 0 {
		return 0
	}
	phase := since % int64(s.Period)
	if phase < int64(s.Period-s.Length) {
		return 0
	}
	return int64(s.Period) - phase
}

// Stalling applies a stall since a start time.
type Stalling struct {
	Stall Stall
	Start int64
}

// Pass returns when the server may answer. During a stall it sleeps in pieces, so that the end of the session is
// noticed.
//
//go:nosplit
func (s *Stalling) Pass() {
	if s.Stall.Length == 0 {
		return
	}
	for {
		left := s.Stall.Left(Now() - s.Start)
		if left == 0 {
			return
		}
		Pause(left)
	}
}
