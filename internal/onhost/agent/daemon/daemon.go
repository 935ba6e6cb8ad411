// Package daemon runs an agent as a program of its own, which serves connections to a socket in its folder.
//
// It consists of two processes. The worker is the agent. The keeper starts the worker, and removes what it leaves
// behind: if the worker is killed, the keeper kills all processes that it started and removes all files that it put. If
// the keeper is killed, the worker ends in order. Processes or files can stay only if both are killed at the same
// moment.
package daemon

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"nearfar/internal/onhost/agent"
)

// Options are the settings of a daemon.
type Options struct {
	// Folder is the agent's own. It is made if it does not exist, and removed at the end if it is empty then.
	Folder string
	// Attached says that the agent ends when its standard input ends, because the process that started it has ended.
	Attached bool
	// Remove are files that are removed at the end, such as the program itself.
	Remove []string
	// Work is the command line, without the program, with which this program calls Work. The keeper adds the folder and
	// the files to remove.
	Work []string
	// Change changes how the worker serves, for tests; it may be nil.
	Change func(*agent.ServerOptions)
}

// Names in the agent's folder.
const (
	socketName = "socket"
	lockName   = "lock"
)

// Socket is the path of the socket in an agent's folder.
func Socket(folder string) string { return filepath.Join(folder, socketName) }

// ready is the line that says that the daemon can be reached. Any other line says why it cannot.
const ready = "ready"

// clear removes the remaining processes and files of an agent. It can be repeated.
func clear(folder string, remove []string) error {
	err := agent.RemoveFiles(folder)
	for _, path := range append([]string{Socket(folder), filepath.Join(folder, lockName)}, remove...) {
		if e := os.Remove(path); e != nil && !errors.Is(e, fs.ErrNotExist) {
			err = errors.Join(err, e)
		}
	}
	_ = os.Remove(folder) // it stays if somebody has put something else into it
	return err
}

// checkFolder makes the folder, or checks that it belongs to this user alone.
func checkFolder(folder string) error {
	err := os.Mkdir(folder, 0o700)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(folder)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", folder)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("%s is open to other users (mode %o): it must have mode 700", folder, info.Mode().Perm())
	}
	return ownedByUser(info)
}

// maxSocketPath is how long the path of a socket may be (unix(7)).
const maxSocketPath = 107

func checkLength(folder string) error {
	if n := len(Socket(folder)); n > maxSocketPath {
		return fmt.Errorf("the path %s has %d bytes: the system allows %d for a socket; choose a shorter folder",
			Socket(folder), n, maxSocketPath)
	}
	return nil
}

// args are the arguments of a command that gets the folder and the files to remove.
func (o Options) args(command []string) []string {
	args := append(slices.Clone(command), "--folder", o.Folder)
	for _, path := range o.Remove {
		args = append(args, "--remove", path)
	}
	return args
}

// untilEnd returns when the stream has ended.
func untilEnd(r io.Reader) { _, _ = io.Copy(io.Discard, r) }
