//go:build !linux && !windows

package engine

import (
	"errors"
	"syscall"
)

func isConnectionRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
