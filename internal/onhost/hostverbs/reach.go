package hostverbs

import (
	"bufio"
	"encoding/json"
	"io"
	"net/netip"

	"github.com/spf13/cobra"

	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
	"nearfar/internal/onhost/reach"
)

// reachCall is what the verb was asked for.
type reachCall struct {
	secret  []byte
	at      netip.Addr
	sockets []host.Socket
	peers   []netip.Prefix
}

// Reach is the verb that checks whether one host can reach ports of another one.
func (v *Verbs) Reach() *cobra.Command {
	cmd := &cobra.Command{
		Use:    reach.Verb + " {serve|dial} ADDRESS --sockets LIST",
		Short:  "Check whether ports of a host can be reached",
		Hidden: true,
		Args:   v.Suggest,
	}
	add := func(name, short string, run func(cmd *cobra.Command, c reachCall) error) {
		var list, only string
		verb := &cobra.Command{
			Use: name + " ADDRESS --sockets LIST", Short: short, Args: usageArgs(cobra.ExactArgs(1)),
			RunE: func(cmd *cobra.Command, args []string) error {
				at, err := netip.ParseAddr(args[0])
				if err != nil {
					return &UsageError{err}
				}
				sockets, err := reach.ParseSockets(list)
				if err != nil {
					return &UsageError{err}
				}
				line, err := bufio.NewReader(io.LimitReader(v.Stdin, 64)).ReadString('\n')
				if err != nil {
					return usagef("the secret on standard input: %w", err)
				}
				secret, err := reach.ParseSecret(line)
				if err != nil {
					return &UsageError{err}
				}
				peers, err := confine.ParsePrefixes(only)
				if err != nil {
					return usagef("--within: %w", err)
				}
				return run(cmd, reachCall{secret, at, sockets, peers})
			},
		}
		verb.Flags().StringVar(&list, "sockets", "", "the sockets, such as tcp/7777,udp/7777")
		_ = verb.MarkFlagRequired("sockets") // it fails only for a flag that does not exist
		if name == "serve" {
			verb.Flags().StringVar(&only, "within", "", "answer these addresses only")
		}
		cmd.AddCommand(verb)
	}
	add("serve", "Answer on the sockets for some seconds",
		func(cmd *cobra.Command, c reachCall) error {
			return reach.Serve(cmd.Context(), c.secret, c.at, c.sockets, c.peers, v.Data)
		})
	add("dial", "Say which of the sockets answer",
		func(cmd *cobra.Command, c reachCall) error {
			return json.NewEncoder(v.Data).Encode(reach.Dial(cmd.Context(), c.secret, c.at, c.sockets))
		})
	return cmd
}
