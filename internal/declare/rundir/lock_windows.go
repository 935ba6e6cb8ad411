package rundir

import (
	"errors"
	"io"
	"os"
)

// dontWait needs no flags: on Windows, opening a file in a directory does not block.
const dontWait = 0

// lockDir fails: Windows cannot lock a directory.
func lockDir(*os.Root, bool) (io.Closer, error) { return nil, errors.ErrUnsupported }

// syncDir does nothing: Windows has no call for it.
func syncDir(*os.Root, string) error { return nil }
