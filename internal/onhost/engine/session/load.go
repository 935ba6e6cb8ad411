package session

import (
	"fmt"
	"time"

	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/wire"
)

// MaxSpin limits Load.Spin.
const MaxSpin = time.Second

// Load says what a load offers. The server does not know it.
type Load struct {
	// Schedule is as long as the window. Its first rate is also offered during the warm-up.
	Schedule timing.Schedule
	// Spin is how long before a request is due the sender stops sleeping and spins; 0 for sleeping until it is due.
	Spin time.Duration
}

// Validate checks the load against the session's parameters. Its error says what would be right.
func (l Load) Validate(p wire.Params) error {
	if p.Mode == wire.ModeHTTP && len(l.Schedule.Steps) == 0 {
		return nil // a closed loop
	}
	if p.Mode != wire.ModeLoad && p.Mode != wire.ModeHTTP {
		if len(l.Schedule.Steps) > 0 {
			return fmt.Errorf("%s has no schedule; %s and %s have", p.Mode, wire.ModeLoad, wire.ModeHTTP)
		}
		return nil
	}
	if err := l.Schedule.Validate(); err != nil {
		return err
	}
	if length := l.Schedule.Length(); length != p.Duration {
		return fmt.Errorf("the steps take %v together, and the window %v: they must be equal", length, p.Duration)
	}
	if l.Spin < 0 || l.Spin > MaxSpin {
		return fmt.Errorf("spinning for %v: must be from 0 to %v", l.Spin, MaxSpin)
	}
	return nil
}
