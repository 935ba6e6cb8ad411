package cli

import (
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"
)

// absentCommand prints which of the named programs are not on this host's PATH. The runner starts it on each host.
func (a *app) absentCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "absent PROGRAM...",
		Short:  "Print which of the programs this host lacks",
		Hidden: true,
		Args:   usageArgs(cobra.MinimumNArgs(1)),
		RunE: func(_ *cobra.Command, programs []string) error {
			for _, program := range programs {
				if _, err := exec.LookPath(program); err != nil {
					fmt.Fprintln(a.stdout, program)
				}
			}
			return nil
		},
	}
}
