package cli

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Manual is the command line as a tree of verbs and flags, for what is made of it: manual pages and completions.
func Manual() *cobra.Command {
	none := &interruptible{ctx: context.Background(), r: strings.NewReader("")}
	a := &app{stdin: none, plain: none, stdout: io.Discard, stderr: io.Discard, last: &lastWords{}}
	return a.rootCommand()
}
