package hostverbs

import (
	"fmt"
	"os/exec"

	"github.com/spf13/cobra"
)

// Absent prints which of the named programs are not on this host's PATH, or the name of a congestion control that the
// kernel lacks. The runner starts it on hosts.
func (v *Verbs) Absent() *cobra.Command {
	var congestion string
	var commands bool
	cmd := &cobra.Command{
		Use:    "absent PROGRAM...",
		Short:  "Print which of the programs this host lacks",
		Hidden: true,
		RunE: func(_ *cobra.Command, programs []string) error {
			if (congestion == "") == (len(programs) == 0) {
				return usagef("name programs, or a congestion control")
			}
			if congestion != "" && !HasCongestion(congestion) {
				fmt.Fprintln(v.Stdout, congestion)
			}
			for _, program := range programs {
				if _, err := exec.LookPath(program); err != nil {
					fmt.Fprintln(v.Stdout, program)
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&commands, "commands", false,
		"the programs are an experiment's own, which an agent runs only if its owner allows it")
	cmd.Flags().StringVar(&congestion, "congestion", "", "print this congestion control if the kernel lacks it")
	return cmd
}
