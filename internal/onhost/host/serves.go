package host

import (
	"errors"
	"fmt"
)

// ErrEnded is wrapped by the error of Process.Serves if the process ended before it held the port.
var ErrEnded = errors.New("it ended before it served")

// PortTakenError says that another process of the host holds a port.
type PortTakenError struct {
	Protocol string `json:"protocol"`
	Port     int    `json:"port"`
	// Program and PID are the name and the number of the process; empty and 0 if it is not visible.
	Program string `json:"program,omitempty"`
	PID     int    `json:"pid,omitempty"`
	// User is the number of the user whose process it is; -1 if it is not known.
	User int `json:"user"`
}

func (e *PortTakenError) Error() string {
	taken := fmt.Sprintf("%s port %d is taken by", e.Protocol, e.Port)
	switch {
	case e.PID != 0:
		return fmt.Sprintf("%s %s (process %d)", taken, e.Program, e.PID)
	case e.User >= 0:
		return fmt.Sprintf("%s a process of user %d that is not visible here", taken, e.User)
	}
	return taken + " a process that is not visible here"
}
