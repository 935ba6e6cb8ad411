package hostverbs

import (
	"encoding/json"

	"github.com/spf13/cobra"

	"nearfar/internal/onhost/confine"
)

// Confine is the verb that replaces itself by a measuring program with fewer rights.
func (v *Verbs) Confine() *cobra.Command {
	var supported bool
	cmd := confineVerb(confine.Verb+" [OPTIONS] -- PROGRAM ARGUMENT...", "Run a measuring program with fewer rights",
		nil, func(o confine.Options, args []string) error {
			switch {
			case supported:
				return json.NewEncoder(v.Data).Encode(confine.Supported())
			case len(args) == 0:
				return usagef("name the program, behind --")
			}
			return confine.Run(args, o, v.Stderr)
		})
	cmd.Flags().BoolVar(&supported, "supported", false, "only print what this machine can enforce, as JSON")
	return cmd
}

// ConfineSockets is the verb of the process that makes the sockets of a confined program.
func (v *Verbs) ConfineSockets() *cobra.Command {
	return confineVerb(confine.SocketsVerb, "Make the sockets of a confined program", usageArgs(cobra.NoArgs),
		func(o confine.Options, _ []string) error { return confine.ServeSockets(o) })
}

// confineVerb makes a verb with the options of confine.Options.
func confineVerb(use, short string, args cobra.PositionalArgs,
	run func(o confine.Options, args []string) error) *cobra.Command {
	var o confine.Options
	var peers, within, ports string
	cmd := &cobra.Command{
		Use: use, Short: short, Hidden: true, Args: args,
		RunE: func(_ *cobra.Command, args []string) error {
			var err error
			if o.Peers, err = confine.ParsePrefixes(peers); err != nil {
				return usagef("--peers: %w", err)
			}
			if o.Within, err = confine.ParsePrefixes(within); err != nil {
				return usagef("--within: %w", err)
			}
			if o.Ports, err = confine.ParsePorts(ports); err != nil {
				return usagef("--ports: %w", err)
			}
			return run(o, args)
		},
	}
	f := cmd.Flags()
	f.StringVar(&peers, "peers", "", "take packets from these addresses only")
	f.StringVar(&within, "within", "", "of these, take packets from these addresses only, or do not run")
	f.StringVar(&ports, "ports", "", "the TCP ports of a server, which connects to nothing")
	f.BoolVar(&o.Strict, "strict", false, "leave the program the system's libraries alone, or do not run it")
	f.BoolVar(&o.Scratch, "scratch", false, "let the program make temporary files")
	f.StringVar(&o.Congestion, "congestion", "", "the congestion control that the program sets")
	return cmd
}
