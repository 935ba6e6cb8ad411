//go:build !linux && !windows

package hosttest

import (
	"errors"
	"os"
)

// cpus fails: the suite does not know how to ask this system.
func (p *program) cpus() error {
	return errors.New("the CPUs of a process are not known on this system")
}

// thisProgram is the path of this program.
func thisProgram() (string, error) { return os.Executable() }
