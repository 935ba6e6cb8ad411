package hostverbs

import (
	"encoding/json"
	"net/netip"

	"github.com/spf13/cobra"

	"nearfar/internal/declare/check"
)

// Facts is the verb that prints the facts of this host as JSON, or the counters of its network devices. `nearfar check`
// starts it on each host.
func (v *Verbs) Facts() *cobra.Command {
	var to string
	var metadata, counters bool
	cmd := &cobra.Command{
		Use:    check.Verb,
		Short:  "Print the facts of this host as JSON",
		Hidden: true,
		Args:   usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := check.Options{Metadata: metadata}
			if to != "" {
				at, err := netip.ParseAddr(to)
				if err != nil {
					return &UsageError{err}
				}
				o.To = at
			}
			if counters {
				return json.NewEncoder(v.Data).Encode(check.ReadCounters(o.To))
			}
			return json.NewEncoder(v.Data).Encode(check.Read(cmd.Context(), o))
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "the address of the other side")
	cmd.Flags().BoolVar(&metadata, "metadata", false, "ask the metadata service of the cloud that the firmware names")
	cmd.Flags().BoolVar(&counters, "counters", false, "print the counters of the devices instead")
	return cmd
}
