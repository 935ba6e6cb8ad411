package hostverbs

import (
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"
)

// Absent prints which of the named programs are not on this host's PATH. The runner starts it on each host.
func (v *Verbs) Absent() *cobra.Command {
	return &cobra.Command{
		Use:    "absent PROGRAM...",
		Short:  "Print which of the programs this host lacks",
		Hidden: true,
		Args:   usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, programs []string) error {
			for _, program := range programs {
				if _, err := exec.LookPath(program); err != nil {
					fmt.Fprintln(v.Stdout, program)
				}
			}
			return nil
		},
	}
}
