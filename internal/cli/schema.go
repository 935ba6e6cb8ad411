package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"nearfar/internal/experiment"
)

func (a *app) schemaCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the experiment file, for editors",
		Example: `  nearfar schema > nearfar.schema.json
  nearfar schema -f markdown | less`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			var page []byte
			switch format {
			case "json":
				page = experiment.Schema()
			case "markdown":
				page = experiment.Reference()
			default:
				return &usageError{fmt.Errorf("--format %s: use one of json, markdown", format)}
			}
			_, err := a.data().Write(page)
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "format", "f", "json", "json for editors, markdown for readers")
	return cmd
}
