package cli

import (
	"github.com/spf13/cobra"

	"nearfar/internal/experiment"
)

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of the experiment file, for editors",
		Example: "  nearfar schema > nearfar.schema.json",
		Args:    usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.stdout.Write(experiment.Schema())
			return err
		},
	}
}
