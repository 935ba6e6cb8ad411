package cli

import (
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/host/lab"
)

// labCommands returns the hidden verbs with which the lab starts this program on its hosts.
func (a *app) labCommands() []*cobra.Command {
	initCommand := &cobra.Command{
		Use: lab.InitVerb, Short: "Run as the first process of a lab", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return lab.RunInit() },
	}
	wire := &cobra.Command{
		Use: lab.WireVerb, Short: "Simulate the wires of an arm of a lab", Hidden: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return lab.RunWire(a.plain, a.data()) },
	}
	var timeout time.Duration
	waitPort := &cobra.Command{
		Use: lab.WaitPortVerb + " tcp|udp PORT", Short: "Wait until a server listens on a port", Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usagef("%s takes a protocol, tcp or udp, and a port", lab.WaitPortVerb)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			port, err := strconv.Atoi(args[1])
			if err != nil {
				return usagef("port %q: it must be a number", args[1])
			}
			return lab.WaitPort(cmd.Context(), args[0], port, timeout)
		},
	}
	waitPort.Flags().DurationVar(&timeout, "timeout", 10*time.Second, "longest time to wait")
	return []*cobra.Command{initCommand, wire, waitPort}
}
