package hostverbs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/engine"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/timing"
	"nearfar/internal/onhost/engine/web"
	"nearfar/internal/onhost/engine/wire"
)

// httpRun holds the flags of engine http.
type httpRun struct {
	verbs                      *Verbs
	params                     wire.Params
	load                       session.Load
	sweep                      loadFlags // its flags of a sweep
	request, response, version string
	rate, arrivals             string
	seed                       uint64
	to                         string
	ip                         int
	headers                    map[string]string
	ca, certificate            string
	secretStdin, privateStdin  bool
	format                     string
}

func (v *Verbs) engineHTTP() *cobra.Command {
	c := &httpRun{verbs: v, params: wire.Params{Mode: wire.ModeHTTP, Protocol: wire.TCP}}
	cmd := &cobra.Command{
		Use: "http [HOST:PORT]", Short: "Requests of HTTP, to nearfar's server or to a URL",
		Long: `Sends requests of HTTP and times each until the last byte of its answer: one after the other, or with --rate at
their due times, whatever the answers do. With --sweep it measures at one rate after the other, and with --objective
finds the highest rate that keeps it. The server is 'nearfar engine serve', or with --to any service. Redirects are
not followed, and no proxy is used.`,
		Args: usageArgs(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd, args) },
	}
	f := cmd.Flags()
	f.StringVar(&c.to, "to", "", "measure the service at this `URL`")
	f.DurationVar(&c.params.Duration, "duration", 2*time.Second, "length of the measurement window")
	f.DurationVar(&c.params.Warmup, "warmup", 500*time.Millisecond, "time before the window that is discarded")
	f.StringVarP(&c.format, "format", "f", "text", "text, or json: one object a line")
	f.StringVar(&c.version, "http", experiment.HTTP1, "version of HTTP: 1.1 or 2")
	f.BoolVar(&c.params.HTTP.TLS, "tls", false, "TLS 1.3 with nearfar's server; a URL says it itself")
	f.BoolVar(&c.params.HTTP.PerRequest, "per-request", false, "a connection for each request")
	f.IntVar(&c.params.Connections, "concurrency", 1, "requests under way at once")
	f.StringVar(&c.request, "request", "0B", "size of a request's body, which makes it a POST; 0B for a GET")
	f.StringVar(&c.response, "response", "1KiB", "size of an answer of nearfar's server")
	f.StringVar(&c.rate, "rate", "", "requests per second, such as 500/s; without, each follows the last answer")
	f.StringVar(&c.arrivals, "arrivals", timing.ConstantArrivals, "constant, or poisson")
	f.Uint64Var(&c.seed, "seed", 1, "seed of the random times of --arrivals poisson")
	c.sweep.sweepFlags(cmd)
	f.IntVar(&c.ip, "ip", 0, "version of IP for the name in --to, 4 or 6; 0 for any")
	f.StringToStringVar(&c.headers, "header-env", nil, "more headers for --to, each with the environment `VARIABLE` "+
		"that has its value, such as Authorization=API_TOKEN")
	f.StringVar(&c.ca, "ca", "", "PEM `FILE` with the certificates that sign the one of --to")
	f.StringVar(&c.certificate, "certificate", "", "PEM `FILE` with the client's certificate and key")
	f.BoolVar(&c.secretStdin, "secret-stdin", false, "read the secret from the first line of standard input")
	f.BoolVar(&c.privateStdin, "private-stdin", false, "read headers and certificates from standard input, as a run "+
		"gives them")
	return cmd
}

// read reads the flags.
func (c *httpRun) read(cmd *cobra.Command, args []string) error {
	var err error
	if c.params.Request, err = experiment.ParseSize(c.request); err != nil {
		return fmt.Errorf("--request: %w", err)
	}
	if c.params.Response, err = experiment.ParseSize(c.response); err != nil {
		return fmt.Errorf("--response: %w", err)
	}
	version, known := map[string]int{experiment.HTTP1: wire.HTTP1, experiment.HTTP2: wire.HTTP2}[c.version]
	if !known {
		return fmt.Errorf("--http %q: want %s or %s", c.version, experiment.HTTP1, experiment.HTTP2)
	}
	c.params.HTTP.Version = version
	if c.rate != "" {
		rate, err := experiment.ParsePerSecond(c.rate)
		if err != nil {
			return fmt.Errorf("--rate: %w", err)
		}
		c.load.Schedule = timing.Schedule{Arrivals: c.arrivals, Seed: c.seed,
			Steps: []timing.Step{{Rate: rate, Length: c.params.Duration}}}
	}
	if err := c.readSweep(); err != nil {
		return err
	}
	changed := cmd.Flags().Changed
	switch {
	case c.format != "text" && c.format != "json":
		return fmt.Errorf("-f %q: want text or json", c.format)
	case c.ip != 0 && c.ip != 4 && c.ip != 6:
		return fmt.Errorf("--ip %d: want 4 or 6", c.ip)
	case (c.to == "") == (len(args) == 0):
		return errors.New("name the server: HOST:PORT, where 'nearfar engine serve' listens, or a URL with --to")
	case c.to != "" && (changed("tls") || changed("response") || c.secretStdin):
		return errors.New("--tls, --response and --secret-stdin are for nearfar's server: a URL says whether there is TLS, " +
			"and its service decides how large its answers are")
	case c.to == "" && (len(c.headers) > 0 || c.ca != "" || c.certificate != "" || c.privateStdin || c.ip != 0):
		return errors.New("--header-env, --ca, --certificate, --private-stdin and --ip are for a service of your own: --to")
	case c.rate == "" && c.sweep.sweep == "" && changed("arrivals"):
		return errors.New("--arrivals needs --rate or --sweep: without, each request follows the last answer")
	}
	return c.params.Validate()
}

// readSweep reads the flags of a sweep.
func (c *httpRun) readSweep() error {
	l := &c.sweep
	switch {
	case l.sweep == "" && l.objective == "" && l.trials == 1:
		return nil
	case l.sweep == "":
		return errors.New("--objective and --trials need --sweep, which measures at several rates")
	case c.rate != "":
		return errors.New("give one of --rate and --sweep: what is to be offered")
	case l.trials != 1 && l.objective == "":
		return errors.New("--trials needs --objective: they decide whether a rate keeps it")
	}
	c.load.Schedule = timing.Schedule{Arrivals: c.arrivals, Seed: c.seed}
	l.offered = c.load
	return l.readSweep(c.params)
}

func (c *httpRun) run(cmd *cobra.Command, args []string) error {
	if err := c.read(cmd, args); err != nil {
		return &UsageError{err}
	}
	if err := engineProcess(); err != nil {
		return err
	}
	if c.to != "" {
		return c.measureURL(cmd.Context())
	}
	if _, _, err := net.SplitHostPort(args[0]); err != nil {
		return &UsageError{fmt.Errorf("%q: want HOST:PORT, where 'nearfar engine serve' listens", args[0])}
	}
	secret, err := c.verbs.engineSecret(c.secretStdin)
	if err != nil {
		return err
	}
	if secret == nil {
		return noSecret()
	}
	o := session.RunOptions{Server: args[0], Secret: secret, Params: c.params, Load: c.load}
	if c.sweep.sweeps() {
		return c.verbs.printSweep(cmd.Context(), c.format, c.sweep.options(o))
	}
	return c.verbs.printed(c.format, func(to session.Observer) (record.Result, error) {
		return engine.Run(cmd.Context(), o, to)
	})
}

// measureURL measures a service of the user's.
func (c *httpRun) measureURL(ctx context.Context) error {
	u, err := url.Parse(c.to)
	if err == nil {
		err = web.CheckURL(u)
	} else {
		err = errors.New("this is no URL") // its text may be secret
	}
	if err != nil {
		return &UsageError{fmt.Errorf("--to: %w", err)}
	}
	p := c.params
	o := web.Options{URL: u, IP: c.ip, HTTP: p.HTTP, Concurrency: p.Connections, Request: p.Request,
		Schedule: c.load.Schedule, Warmup: p.Warmup, Duration: p.Duration}
	private, err := c.private()
	if err != nil {
		return err
	}
	if err := private.Into(&o); err != nil {
		return err
	}
	if c.sweep.sweeps() {
		options := c.sweep.options(session.RunOptions{Params: p, Load: c.load})
		options.Measure = func(ctx context.Context, rate float64) (record.Result, error) {
			at := o
			at.Schedule.Steps = []timing.Step{{Rate: rate, Length: p.Duration}}
			return web.Measure(ctx, at, engine.Silent{})
		}
		return c.verbs.printSweep(ctx, c.format, options)
	}
	start := record.Start{Version: process.Version(), Mode: p.Mode, Protocol: p.Protocol, Server: c.to,
		Request: p.Request, Connections: p.Connections, Warmup: p.Warmup.Seconds(), Duration: p.Duration.Seconds()}
	if c.rate != "" {
		start.Schedule = c.load.Schedule.String()
	}
	return c.verbs.printed(c.format, func(to session.Observer) (record.Result, error) {
		if err := to.Start(start); err != nil {
			return record.Result{}, err
		}
		return web.Measure(ctx, o, to)
	})
}

// private reads what the service needs, from standard input or as the flags say.
func (c *httpRun) private() (web.Private, error) {
	if c.privateStdin {
		return web.ReadPrivate(c.verbs.Stdin)
	}
	p := web.Private{Headers: map[string]string{}}
	for header, name := range c.headers {
		value, set := os.LookupEnv(name)
		if !set || value == "" {
			return p, &UsageError{fmt.Errorf("--header-env: the environment variable %s is not set", name)}
		}
		p.Headers[header] = value
	}
	for _, f := range []struct {
		name string
		into *[]byte
	}{{c.ca, &p.CA}, {c.certificate, &p.Certificate}} {
		if f.name == "" {
			continue
		}
		text, err := os.ReadFile(f.name)
		if err != nil {
			return p, err
		}
		*f.into = text
	}
	return p, nil
}
