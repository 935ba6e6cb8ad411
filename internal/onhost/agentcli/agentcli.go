// Package agentcli is the command line of nearfar-agent.
package agentcli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"nearfar/internal/onhost/agent/daemon"
	"nearfar/internal/onhost/hostverbs"
)

// The exit codes; they are the same as those of nearfar.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// Main runs the command line and returns the exit code.
func Main(args []string, stdin, stdout, stderr *os.File) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	root := command(stdin, stdout, stderr)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		fmt.Fprintln(stderr, "nearfar-agent: interrupted")
		return exitInterrupted
	}
	fmt.Fprintln(stderr, "nearfar-agent:", err)
	if _, usage := errors.AsType[*hostverbs.UsageError](err); usage {
		return exitUsage
	}
	return exitFailed
}

func command(stdin, stdout, stderr *os.File) *cobra.Command {
	v := &hostverbs.Verbs{
		Stdin: stdin, Stdout: stdout, Stderr: stderr, Data: stdout, Suggest: onlyVerbs,
	}
	const serve = "serve"
	var stdio bool
	relay := daemon.Options{}
	root := &cobra.Command{
		Use:   "nearfar-agent",
		Short: "Run measuring programs on a host for nearfar, which runs on another machine",
		Long: `nearfar copies this program to a host, starts it there, and removes it at the end.

With --stdio it connects standard input and output with the agent of a folder, and starts that agent if it does not
run. On Windows it is the agent itself, and ends with its standard input. Started by hand, it measures as nearfar does:
see 'nearfar-agent engine --help'.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          onlyVerbs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !stdio {
				return cmd.Help()
			}
			return daemon.Relay(cmd.Context(), relay, []string{serve}, stdin, stdout)
		},
	}
	root.Flags().BoolVar(&stdio, "stdio", false, "connect standard input and output with an agent")
	root.Flags().StringVar(&relay.Folder, "folder", "", "with --stdio: the agent's own `folder` "+
		"(default: one of the session's own, for temporary files)")
	root.Flags().StringArrayVar(&relay.Remove, "remove", nil, "with --stdio: `file` to remove when the agent ends")
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &hostverbs.UsageError{Err: err} })
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddCommand(v.Engine(), v.Version(), v.Absent(), v.InsideWatch(), v.InsideSpace(), v.CapturePackets(), v.Reach(),
		v.Confine(),
		v.ConfineSockets(), v.Facts(),
		v.AgentServe(serve), v.AgentWork(), v.Agent(), v.Resolve(), installCommand(), podCommand())
	return root
}

// onlyVerbs refuses arguments of a command that takes only verbs.
func onlyVerbs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return &hostverbs.UsageError{Err: fmt.Errorf("unknown command %q\nSee '%s --help'", strings.Join(args, " "),
		cmd.CommandPath())}
}
