//go:build !linux

package engine

import "time"

func runDelay() time.Duration { return 0 }
