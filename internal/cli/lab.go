package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/host/lab"
)

// labCommands are the hidden verbs under which this program runs inside a lab.
func (a *app) labCommands() []*cobra.Command {
	initCommand := &cobra.Command{
		Use: lab.InitVerb, Short: "be the first process of a lab", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return lab.RunInit() },
	}
	wire := &cobra.Command{
		Use: lab.WireVerb, Short: "be the wires of an arm of a lab", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return lab.RunWire(a.plain, a.data()) },
	}
	var timeout time.Duration
	waitPort := &cobra.Command{
		Use: lab.WaitPortVerb + " tcp|udp PORT", Short: "wait until a server's socket is there", Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return &usageError{fmt.Errorf("%s takes a protocol, tcp or udp, and a port", lab.WaitPortVerb)}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			port, err := strconv.Atoi(args[1])
			if err != nil {
				return &usageError{fmt.Errorf("port %q: it must be a number", args[1])}
			}
			return lab.WaitPort(cmd.Context(), args[0], port, timeout)
		},
	}
	waitPort.Flags().DurationVar(&timeout, "timeout", 10*time.Second, "how long to wait at most")
	return []*cobra.Command{initCommand, wire, waitPort}
}
