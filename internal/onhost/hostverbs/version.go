package hostverbs

import (
	"cmp"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"nearfar/internal/onhost/engine/process"
)

// VersionLine is what the verb version prints: version, system, Go, and the commit.
func VersionLine() string {
	return fmt.Sprintf("nearfar %s %s/%s %s commit %s\n", process.Version(), runtime.GOOS, runtime.GOARCH,
		runtime.Version(), cmp.Or(process.Revision(), "unknown"))
}

// Version is the verb that prints the version of the program.
func (v *Verbs) Version() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Version prints nearfar's version, the system and architecture, the version of Go, and the commit.",
		Example: "  nearfar version",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := io.WriteString(v.Stdout, VersionLine())
			return err
		},
	}
}
