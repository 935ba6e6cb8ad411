package cli

import (
	"github.com/spf13/cobra"

	"nearfar/internal/declare/experiment/schema"
	"nearfar/internal/measure/tool"
)

func (a *app) schemaCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema or the reference of the experiment file",
		Long: `Schema prints the JSON Schema of the experiment file. Editors use it to complete and check the file. With
-f markdown it prints the reference of all keys.`,
		Example: `  nearfar schema > nearfar.schema.json
  nearfar schema -f markdown | less`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			var page []byte
			switch format {
			case "json":
				page = schema.JSON(tool.Declared())
			case "markdown":
				page = schema.Reference(tool.Declared())
			default:
				return usagef("--format %s: use one of json, markdown", format)
			}
			_, err := a.data().Write(page)
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "format", "f", "json", "form of the schema: json for editors, markdown for readers")
	return cmd
}
