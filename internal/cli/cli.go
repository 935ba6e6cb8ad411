// Package cli is the command line: one file for each verb, and the mapping of errors to exit codes.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitGate        = 3
	exitInterrupted = 130
)

// app holds what the verbs share: the standard streams.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// usageError is wrong usage or a wrong experiment file.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// errInterrupted says that the user ended the command; what was measured is kept.
var errInterrupted = errors.New("interrupted")

// Main runs the command line and returns the exit code.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := a.rootCommand()
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return flagError(cmd, args, err) })
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	if errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) && ctx.Err() != nil {
		fmt.Fprintln(stderr, "nearfar: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(stderr, "nearfar:", err)
	var usage *usageError
	var gate *gateError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &gate):
		return exitGate
	}
	return exitFailed
}

func (a *app) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "nearfar",
		Short: "How much does this placement, this network feature, this hop cost between two machines?",
		Long: `nearfar stands competing network configurations up side by side, measures them interleaved, and says what differs,
by how much, how surely, and which layer it comes from.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          suggestVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.stdin)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.AddCommand(
		a.initCommand(),
		a.validateCommand(),
		a.runCommand(),
		a.reportCommand(),
		a.compareCommand(),
		a.gateCommand(),
		a.serveCommand(),
		a.importCommand(),
		a.historyCommand(),
		a.engineCommand(),
		a.schemaCommand(),
		a.doctorCommand(),
		a.versionCommand(),
		a.absentCommand(),
	)
	root.AddCommand(a.labCommands()...)
	a.complete(root)
	return root
}
