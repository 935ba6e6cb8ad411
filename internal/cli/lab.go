package cli

import (
	"github.com/spf13/cobra"

	"nearfar/internal/hosts/lab"
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
	return []*cobra.Command{initCommand, wire}
}
