package cli

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"nearfar/internal/show/page"
	"nearfar/internal/show/serve"
)

func (a *app) serveCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "serve [DIRECTORY]",
		Short: "Browse all runs of a folder: search, reports, history of a figure",
		Long: `Serve shows the run directories in and below DIRECTORY ("runs" by default) in a browser on this machine:
a list with search and verdicts, the report of each run, the comparison of two runs, and one figure over all runs of an
experiment. New runs appear by themselves.

The address that it prints contains a token. Requests without the token and from other machines are refused. Ctrl-C
ends it.`,
		Example: `  nearfar serve
  nearfar serve --listen 127.0.0.1:8080 /srv/nearfar/runs
  ssh -L 8080:127.0.0.1:8080 lab nearfar serve --listen 127.0.0.1:8080`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := serve.CheckAddress(listen); err != nil {
				return usagef("--listen %w", err)
			}
			return a.serve(cmd.Context(), argumentOr(args, runsFolder), listen)
		},
	}
	listenFlag(cmd.Flags(), &listen)
	return cmd
}

// serve serves the folder until ctx ends, which is not an error.
func (a *app) serve(ctx context.Context, dir, listen string) (err error) {
	if info, err := os.Stat(dir); err != nil {
		return usagef("%w: name the folder that contains the run directories", err)
	} else if !info.IsDir() {
		return usagef("%s is not a directory: name the folder that contains the run directories", dir)
	}
	browse, err := page.Browse()
	if err != nil {
		return err
	}
	live, err := page.Live()
	if err != nil {
		return err
	}
	source := pageSource()
	source.Compare = a.sidesDocument
	folder, err := serve.NewFolder(browse, live, dir, source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, folder.Close()) }()
	server, err := serve.Listen(ctx, listen)
	if err != nil {
		return err
	}
	server.Serve(folder)
	fmt.Fprintf(a.stderr, "nearfar: %d runs of %s at %s\n", folder.Runs(), dir, server.URL())
	select {
	case <-ctx.Done():
	case ended := <-server.Ended():
		return fmt.Errorf("the pages are no longer served: %w", ended)
	}
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), interruptPatience)
	defer cancel()
	return endServing(closing, server)
}
