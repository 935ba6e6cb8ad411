//go:build !linux && !darwin

package cli

import (
	"io"
	"os"
)

// silence does nothing here: keys are shown where the cursor stands.
func silence(*os.File) (restore func()) { return func() {} }

// keepTerminal does nothing here: the live view changes nothing of the terminal.
func keepTerminal(io.Writer) (restore func()) { return func() {} }

// foreground is always true where there are no background jobs.
func foreground(*os.File) bool { return true }

// followJobs does nothing where there are none.
func followJobs(*live) (end func()) { return func() {} }
