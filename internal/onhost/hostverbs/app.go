package hostverbs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/database"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/web"
	"nearfar/internal/onhost/engine/wire"
	"nearfar/internal/onhost/front"
	"nearfar/internal/onhost/supervise"
)

// maxPrivate limits what the verbs of an application read from standard input, in bytes.
const maxPrivate = 64 << 10

// readPrivate reads one JSON value. Its errors have nothing of what was read.
func readPrivate(r io.Reader, into any) error {
	text, err := io.ReadAll(io.LimitReader(r, maxPrivate+1))
	switch {
	case err != nil:
		return fmt.Errorf("reading standard input: %w", err)
	case len(text) > maxPrivate || json.Unmarshal(text, into) != nil:
		return errors.New("standard input is not what a plan gives")
	}
	return nil
}

// engineDatabase is the server's side of an application: PostgreSQL, the front, or both.
func (v *Verbs) engineDatabase() *cobra.Command {
	var version bool
	cmd := &cobra.Command{
		Use: "database", Short: "The server's side of an application, as a run starts it", Hidden: true,
		Args: usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := supervise.UntilUnsupervised(cmd.Context())
			defer stop()
			if version {
				found, err := database.Version(ctx)
				if err == nil {
					fmt.Fprintln(v.Data, found)
				}
				return err
			}
			var b database.Backend
			if err := readPrivate(v.Stdin, &b); err != nil {
				return err
			}
			return serveBackend(ctx, b, v.Stderr)
		},
	}
	cmd.Flags().BoolVar(&version, "version", false, "print the version of this host's PostgreSQL")
	return cmd
}

// serveBackend serves until ctx ends.
func serveBackend(ctx context.Context, b database.Backend, log io.Writer) error {
	var databaseEnded <-chan struct{}
	if b.Database != nil {
		s, err := database.Start(ctx, *b.Database, log)
		if err != nil {
			return err
		}
		defer func() { _ = s.Stop() }()
		databaseEnded = s.Ended()
		if b.Front != nil { // which dials it at once
			if err := s.AwaitListening(ctx); err != nil {
				return err
			}
		}
	}
	var frontEnded <-chan struct{}
	if b.Front != nil {
		f, err := front.Start(ctx, *b.Front)
		if err != nil {
			return err
		}
		defer f.End()
		frontEnded = f.Ended()
	}
	select {
	case <-ctx.Done():
		return nil
	case <-databaseEnded:
		return errors.New("PostgreSQL ended")
	case <-frontEnded:
		return errors.New("the front ended")
	}
}

// appRun holds the flags of engine app.
type appRun struct {
	verbs            *Verbs
	warmup, duration time.Duration
	concurrency      int
	rate, arrivals   string
	seed             uint64
}

// engineApp is the caller of an application.
func (v *Verbs) engineApp() *cobra.Command {
	c := &appRun{verbs: v}
	cmd := &cobra.Command{
		Use: "app [HOST:PORT]", Short: "The caller of an application, as a run starts it", Hidden: true,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := engineProcess(); err != nil {
				return err
			}
			var p front.Caller
			if err := readPrivate(v.Stdin, &p); err != nil {
				return err
			}
			if (p.Front == nil) != (len(args) == 1) {
				return usagef("name the front's HOST:PORT, or give its options on standard input")
			}
			return v.printed("json", func(to session.Observer) (record.Result, error) {
				return c.measure(cmd.Context(), p, strings.Join(args, ""), to)
			})
		},
	}
	f := cmd.Flags()
	f.DurationVar(&c.duration, "duration", 2*time.Second, "length of the measurement window")
	f.DurationVar(&c.warmup, "warmup", 500*time.Millisecond, "time before the window that is discarded")
	f.IntVar(&c.concurrency, "concurrency", 1, "pages under way at once")
	f.StringVar(&c.rate, "rate", "", "pages per second, such as 50/s; without, each follows the last one")
	f.StringVar(&c.arrivals, "arrivals", timing.ConstantArrivals, "constant, or poisson")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the random times of --arrivals poisson")
	return cmd
}

// measure starts the front, if it is on this host, and asks it for pages.
func (c *appRun) measure(
	ctx context.Context, p front.Caller, address string, to session.Observer,
) (record.Result, error) {
	if p.Front != nil {
		f, err := front.Start(ctx, *p.Front)
		if err != nil {
			return record.Result{}, err
		}
		defer f.End()
		address = f.Listen
	}
	o, err := c.options(address, p.Token)
	if err != nil {
		return record.Result{}, err
	}
	var counted front.Figures
	o.Window = func(ctx context.Context, _ bool) error {
		counted, err = front.Ask(ctx, address, p.Token)
		return err
	}
	start := record.Start{Version: process.Version(), Mode: experiment.App, Protocol: wire.TCP, Server: address,
		Connections: c.concurrency, Warmup: c.warmup.Seconds(), Duration: c.duration.Seconds()}
	if c.rate != "" {
		start.Schedule = o.Schedule.String()
	}
	if err := to.Start(start); err != nil {
		return record.Result{}, err
	}
	r, err := web.Measure(ctx, o, to)
	if err != nil {
		return r, c.explain(ctx, err, address, p.Token, counted)
	}
	r.Mode, r.ReportedAs, r.Definition = experiment.App, result.DefinitionPage, result.DefinitionPage
	r.Metrics = append(withoutPhases(r.Metrics), pageMetrics(counted)...)
	maps.Copy(r.Facts, counted.Facts)
	if counted.Complaint != "" {
		r.Notes = append(r.Notes, "The front said of a page that failed: "+counted.Complaint)
	}
	return r, nil
}

// options are what the pages are asked for with.
func (c *appRun) options(address, token string) (web.Options, error) {
	if _, err := netip.ParseAddrPort(address); err != nil {
		return web.Options{}, usagef("%q is no address of a front", address)
	}
	o := web.Options{
		URL:  &url.URL{Scheme: "http", Host: address, Path: front.PagePath},
		HTTP: wire.HTTP{Version: wire.HTTP1}, Header: http.Header{front.TokenHeader: {token}}, Secrets: []string{token},
		Concurrency: c.concurrency, Warmup: c.warmup, Duration: c.duration,
	}
	if c.rate != "" {
		rate, err := experiment.ParsePerSecond(c.rate)
		if err != nil {
			return o, usagef("--rate: %w", err)
		}
		o.Schedule = timing.Schedule{Arrivals: c.arrivals, Seed: c.seed,
			Steps: []timing.Step{{Rate: rate, Length: c.duration}}}
	}
	return o, nil
}

// explain adds what the front says of its pages to why nothing was measured.
func (c *appRun) explain(ctx context.Context, err error, address, token string, counted front.Figures) error {
	said := counted.Complaint
	if now, failed := front.Ask(ctx, address, token); failed == nil && said == "" {
		said = now.Complaint
	}
	if said == "" {
		return err
	}
	return fmt.Errorf("%w; the front said: %s", err, said)
}

// withoutPhases leaves out the parts of a request of HTTP, which say nothing of a page.
func withoutPhases(all []result.Metric) (kept []result.Metric) {
	for _, m := range all {
		switch m.Name {
		case result.LookupTime, result.ConnectTime, result.TLSTime, result.FirstByteTime, result.RestTime:
		default:
			kept = append(kept, m)
		}
	}
	return kept
}

// pageMetrics are the front's figures of the window.
func pageMetrics(f front.Figures) []result.Metric {
	if f.Pages == 0 {
		return nil
	}
	return append(f.Metrics, result.Metric{Name: result.PageQueries, Unit: result.One,
		Value: float64(f.Queries) / float64(f.Pages)})
}
