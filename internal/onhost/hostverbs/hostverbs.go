// Package hostverbs holds the verbs that nearfar runs on hosts. They are verbs of nearfar, for hosts that are this
// machine, and of nearfar-agent, for other machines.
package hostverbs

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// Verbs has the streams that the verbs use. Each method makes one verb.
type Verbs struct {
	Stdin io.Reader
	// Stdout and Stderr are for text that people read, Data is for output that programs read.
	Stdout, Stderr, Data io.Writer
	// Suggest refuses arguments of a verb that takes only verbs.
	Suggest cobra.PositionalArgs
}

// UsageError is wrong usage of a verb.
type UsageError struct{ Err error }

func (e *UsageError) Error() string { return e.Err.Error() }
func (e *UsageError) Unwrap() error { return e.Err }

func usagef(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// usageArgs makes a wrong number of arguments a usage error that points to the help.
func usageArgs(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usagef("%w\nSee '%s --help'", err, cmd.CommandPath())
		}
		return nil
	}
}
