package hostverbs

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"
)

// ResolveVerb is the verb that resolves a name on a host.
const ResolveVerb = "resolve"

// resolveLimit bounds one look-up.
const resolveLimit = 10 * time.Second

// Resolve prints the addresses of a name as this host's resolver gives them. nearfar starts it in the client's pod: the
// names of Services mean something only there.
func (v *Verbs) Resolve() *cobra.Command {
	return &cobra.Command{
		Use:    ResolveVerb + " NAME",
		Short:  "Print the addresses of a name, one a line",
		Hidden: true,
		Args:   usageArgs(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, names []string) error {
			ctx, cancel := context.WithTimeout(cmd.Context(), resolveLimit)
			defer cancel()
			addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", names[0])
			if err != nil {
				return err
			}
			for _, a := range addresses {
				fmt.Fprintln(v.Stdout, a.Unmap())
			}
			return nil
		},
	}
}
