//go:build !linux

package process

import (
	"time"
)

func RunDelay() time.Duration { return 0 }
