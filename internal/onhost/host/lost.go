package host

import (
	"errors"
	"fmt"
)

// ErrLost is wrapped by the error of every call to a host that is permanently lost, or that did not answer in time. The
// message says what ended or hangs.
var ErrLost = errors.New("lost")

// Lost makes an error that wraps ErrLost. what names the lost thing ("the lab").
func Lost(what, why string) error { return fmt.Errorf("%s is %w: %s", what, ErrLost, why) }
