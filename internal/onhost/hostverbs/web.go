package hostverbs

import (
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/web"
	"nearfar/internal/onhost/supervise"
)

// engineWeb is the verb that answers clients of HTTP which are not nearfar's.
func (v *Verbs) engineWeb() *cobra.Command {
	var listen, response, within string
	cmd := &cobra.Command{
		Use: "web", Short: "Answer requests of HTTP/1.1 from any client",
		Long: `Answers every request with the same number of bytes, until it is ended. It is for clients that are not
nearfar's, such as wrk, and serves whoever reaches it.`,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := web.PagesOptions{Listening: func(at netip.AddrPort) {
				fmt.Fprintf(v.Stderr, "nearfar engine %s answers on http://%v/\n", process.Version(), at)
			}}
			var err error
			if o.Listen, err = netip.ParseAddrPort(listen); err != nil {
				return usagef("--listen %q: want ADDRESS:PORT, such as 192.0.2.1:7777", listen)
			}
			if o.Response, err = experiment.ParseSize(response); err != nil {
				return usagef("--response: %w", err)
			}
			if o.Within, err = confine.ParsePrefixes(within); err != nil {
				return usagef("--within: %w", err)
			}
			if err := engineProcess(); err != nil {
				return err
			}
			ctx, stop := supervise.UntilUnsupervised(cmd.Context())
			defer stop()
			answered, err := web.ServePages(ctx, o)
			if err == nil {
				fmt.Fprintf(v.Stderr, "nearfar engine answered %d requests\n", answered)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:7777", "`ADDRESS:PORT` to answer on")
	f.StringVar(&response, "response", "1KiB", "size of an answer's body")
	f.StringVar(&within, "within", "", "answer these `ADDRESSES` only: networks such as 10.0.0.0/24, with commas "+
		"between them")
	return cmd
}
