//go:build !linux

package process

import (
	"time"
)

// RunDelay is not known here.
func RunDelay() time.Duration { return 0 }
