package cli

import "golang.org/x/sys/unix"

// The calls that read and write the settings of a terminal.
const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)
