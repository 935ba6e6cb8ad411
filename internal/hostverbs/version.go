package hostverbs

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"nearfar/internal/engine/process"
)

// Version is the verb that prints the version of the program.
func (v *Verbs) Version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Version prints nearfar's version, the system and architecture, and the version of Go.",
		Example: "  nearfar version",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintf(v.Stdout, "nearfar %s %s/%s %s\n",
				process.Version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
			return err
		},
	}
}
