package host

import (
	"errors"
	"fmt"
)

// ErrLost is wrapped by the error of every call to a host that is gone for good, or that did not answer in time. The
// message says what ended or hangs.
var ErrLost = errors.New("lost")

// Lost makes an error that wraps ErrLost. what is what was lost ("the lab").
func Lost(what, why string) error { return fmt.Errorf("%s is %w: %s", what, ErrLost, why) }
