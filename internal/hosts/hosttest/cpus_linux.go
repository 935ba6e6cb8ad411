package hosttest

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

// cpus prints the numbers of the CPUs that the process may run on, separated by spaces.
func (p *program) cpus() error {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return err
	}
	var list []string
	for c := range len(set) * 64 {
		if set.IsSet(c) {
			list = append(list, fmt.Sprint(c))
		}
	}
	_, err := fmt.Fprint(p.stdout, strings.Join(list, " "))
	return err
}

// thisProgram is the path of this program. Its path outside a lab may not be visible in it.
func thisProgram() (string, error) { return "/proc/self/exe", nil }
