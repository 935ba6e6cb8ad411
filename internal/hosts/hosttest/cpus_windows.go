package hosttest

import (
	"fmt"
	"os"
	"strings"

	"nearfar/internal/onhost/machine"
)

// cpus prints the numbers of the CPUs that the process may run on, separated by spaces.
func (p *program) cpus() error {
	all, err := machine.CPUs()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(p.stdout, strings.Trim(fmt.Sprint(all), "[]"))
	return err
}

// thisProgram is the path of this program.
func thisProgram() (string, error) { return os.Executable() }
