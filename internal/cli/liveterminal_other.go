//go:build !linux && !darwin

package cli

import (
	"io"
	"os"
)

// disableEcho does nothing on this system: typed keys appear at the cursor.
func disableEcho(*os.File) (restore func()) { return func() {} }

// keepTerminal does nothing on this system: the live view does not change the terminal's settings.
func keepTerminal(io.Writer) (restore func()) { return func() {} }

// foreground is always true on this system, which has no background jobs.
func foreground(*os.File) bool { return true }

// followJobs does nothing on this system, which has no background jobs.
func followJobs(*live) (end func()) { return func() {} }
