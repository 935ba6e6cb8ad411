package hostverbs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/engine"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/session"
	"nearfar/internal/onhost/engine/wire"
	"nearfar/internal/onhost/supervise"
)

// SecretVariable is the environment variable that holds the engine's shared secret where it does not come on standard
// input.
const SecretVariable = "NEARFAR_ENGINE_SECRET" //nolint:gosec // a name, no secret

// Engine is the verb that measures with the native engine, by hand or for a trial.
func (v *Verbs) Engine() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Run the native measuring engine by hand",
		Long: `The native engine measures between 'nearfar engine serve' on one machine and a client on the other.

Both must know a secret. By hand: 'serve' prints one; give it to the client in the environment variable
` + SecretVariable + `. It is never given on the command line, where others can see it.`,
		Args: v.Suggest,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(v.engineServe(), v.engineRR(), v.engineCRR(), v.engineStream(), v.engineLoad(), v.engineSamples(),
		v.engineMessages(), v.engineHTTP(), v.engineWeb(), v.engineApp(), v.engineDatabase())
	return cmd
}

func (v *Verbs) engineServe() *cobra.Command {
	o := session.ServeOptions{}
	var stall, within string
	var secretStdin bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve measurements, one at a time, until ended",
		Args:  usageArgs(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := netip.ParseAddrPort(o.Listen); err != nil {
				return &UsageError{fmt.Errorf("--listen %q: want ADDRESS:PORT, such as 192.0.2.1:7777", o.Listen)}
			}
			if o.DataPort < 0 || o.DataPort > 65535 {
				return &UsageError{fmt.Errorf("--data-port %d: want 0 to 65535", o.DataPort)}
			}
			var err error
			if o.Stall, err = parseStall(stall); err != nil {
				return &UsageError{err}
			}
			if o.Within, err = confine.ParsePrefixes(within); err != nil {
				return usagef("--within: %w", err)
			}
			if err := engineProcess(); err != nil {
				return err
			}
			secret, err := v.engineSecret(secretStdin)
			if err != nil {
				return err
			}
			if secret == nil {
				secret = []byte(engine.NewSecret())
				fmt.Fprintf(v.Stderr, "the client needs: export %s=%s\n", SecretVariable, secret)
			}
			o.Secret = secret
			o.Listening = func(at netip.AddrPort) {
				fmt.Fprintf(v.Stderr, "nearfar engine %s serves on %v\n", process.Version(), at)
			}
			o.BeforeSession = process.FreeMemory
			o.Log = func(message string) { fmt.Fprintln(v.Stderr, message) }
			// Without a client, only this ends a server that outlived its agent.
			ctx, stop := supervise.UntilUnsupervised(cmd.Context())
			defer stop()
			return engine.Serve(ctx, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Listen, "listen", "127.0.0.1:7777",
		"control `ADDRESS:PORT`; the data ports are opened on the same address")
	f.IntVar(&o.DataPort, "data-port", 0, "data `PORT` of each session; 0 for any free one")
	f.BoolVar(&o.Once, "once", false, "end after one session")
	f.DurationVar(&o.IdleTimeout, "idle-timeout", 0, "end when there has been no session for this long; 0 for never")
	f.StringVar(&within, "within", "", "serve these `ADDRESSES` only: networks such as 10.0.0.0/24, with commas "+
		"between them")
	f.BoolVar(&o.Moving, "moving-clients", false, "answer the datagrams of a load from whatever address they come, "+
		"for clients behind a translation that changes it; whoever has the session's cookie can then make the server "+
		"answer others")
	f.StringVar(&stall, "stall", "", "for demonstrations: stop answering for a part of each period, such as "+
		"200ms/1s (rr over TCP, load)")
	f.BoolVar(&secretStdin, "secret-stdin", false, "read the secret from the first line of standard input")
	return cmd
}

func (v *Verbs) engineRR() *cobra.Command {
	c := v.newEngineRun(wire.ModeRR)
	cmd := c.command("rr HOST:PORT", "Request/response on one connection",
		"Sends a request and waits for the response, one at a time, on one connection. Each full round trip is timed.")
	c.protocolFlag(cmd)
	c.messageFlags(cmd)
	cmd.Flags().BoolVar(&c.params.Timestamps, "timestamps", false, "divide the round trip by the kernel's timestamps "+
		"(Linux)")
	cmd.Flags().StringVar(&c.params.Loop, "loop", "", "which loop both sides run over TCP: assembly (Linux on amd64) "+
		"or go; the fastest that both have when empty")
	c.load.fileFlags(cmd)
	c.waitFlag(cmd)
	return cmd
}

func (v *Verbs) engineCRR() *cobra.Command {
	c := v.newEngineRun(wire.ModeCRR)
	cmd := c.command("crr HOST:PORT", "Connect/request/response: a new connection for each transaction",
		`Opens a connection, sends a request, reads the response, waits for the server's close and closes. All of this
is timed as one transaction, as in netperf's TCP_CRR.`)
	c.messageFlags(cmd)
	c.load.fileFlags(cmd)
	return cmd
}

func (v *Verbs) engineStream() *cobra.Command {
	c := v.newEngineRun(wire.ModeStream)
	cmd := c.command("stream HOST:PORT", "Bulk data in one direction or in both",
		`Sends as fast as possible. Goodput is the rate at which the receiving side's application received data within
the window, by its clock.`)
	f := cmd.Flags()
	f.StringVar(&c.message, "message", "128KiB", "size of one write")
	f.IntVar(&c.params.Connections, "connections", 1, "connections at the same time; with --direction both, as many "+
		"in each direction")
	f.StringVar(&c.params.Direction, "direction", wire.Upload, "upload (client to server), download, or both")
	f.BoolVar(&c.params.ZeroCopy, "zerocopy", false, "send without copying if the kernel can (MSG_ZEROCOPY)")
	c.intervalFlag(cmd)
	return cmd
}

func (v *Verbs) engineMessages() *cobra.Command {
	c := v.newEngineRun(wire.ModeMessages)
	c.params.Protocol = wire.UDP
	cmd := c.command("messages HOST:PORT", "One-way messages, counted where they arrive",
		`Sends messages one way, as many as possible or at a rate. The messages that the server received within the
window count. Over UDP, one call sends the messages of a batch, and the kernel cuts them from large datagrams if it can
(segmentation offload); --segment=false sends each by itself.`)
	f := cmd.Flags()
	f.StringVar(&c.params.Protocol, "protocol", wire.UDP, "udp or tcp")
	f.StringVar(&c.message, "message", "64B", "size of a message")
	f.IntVar(&c.params.Batch, "batch", 32, "messages that one call sends at most")
	f.StringVar(&c.rate, "rate", "max", "messages a second, such as 10000 or 10000/s; max for as many as possible")
	f.BoolVar(&c.segment, "segment", true, "let the kernel cut the datagrams of a batch from large ones "+
		"(UDP_SEGMENT, UDP_GRO)")
	c.intervalFlag(cmd)
	c.waitFlag(cmd)
	return cmd
}

// engineRun holds the flags of one client mode.
type engineRun struct {
	verbs                      *Verbs
	params                     wire.Params
	request, response, message string
	sendBuffer, receiveBuffer  string
	rate                       string
	segment, nodelay           bool
	format                     string
	secretStdin                bool
	load                       loadFlags
}

func (v *Verbs) newEngineRun(mode string) *engineRun {
	p := wire.Params{Mode: mode, Protocol: wire.TCP, Connections: 1}
	return &engineRun{verbs: v, segment: true, nodelay: true, params: p}
}

func (c *engineRun) command(use, short, long string) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return &UsageError{errors.New("name the server: HOST:PORT, where 'nearfar engine serve' listens")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.DurationVar(&c.params.Duration, "duration", 2*time.Second, "length of the measurement window")
	f.DurationVar(&c.params.Warmup, "warmup", 500*time.Millisecond, "time before the window that is discarded")
	f.StringVarP(&c.format, "format", "f", "text", "text, or json: one object a line")
	f.BoolVar(&c.secretStdin, "secret-stdin", false, "read the secret from the first line of standard input")
	c.optionFlags(cmd)
	return cmd
}

// optionFlags are the flags of the data sockets' options, which both sides apply.
func (c *engineRun) optionFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&c.params.Congestion, "congestion", "", "congestion control of TCP, such as cubic; the kernel's own "+
		"when empty")
	f.BoolVar(&c.nodelay, "nodelay", true, "TCP_NODELAY")
	f.IntVar(&c.params.DSCP, "dscp", 0, "differentiated services code point of the packets, 0 to 63")
	f.StringVar(&c.sendBuffer, "send-buffer", "", "SO_SNDBUF, such as 1MiB; the kernel's choice when empty")
	f.StringVar(&c.receiveBuffer, "receive-buffer", "", "SO_RCVBUF")
}

func (c *engineRun) waitFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.params.Wait, "wait", wire.WaitBlock, "how both sides wait for a message: block, "+
		"busy-poll (not of load), epoll, or spin")
}

func (c *engineRun) intervalFlag(cmd *cobra.Command) {
	cmd.Flags().DurationVar(&c.params.Interval, "interval", 0, "length of an interval; 0 for a second, or more if "+
		"the window is very long")
}

func (c *engineRun) protocolFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.params.Protocol, "protocol", wire.TCP, "tcp or udp")
}

func (c *engineRun) messageFlags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&c.request, "request", "64B", "size of the request")
	cmd.Flags().StringVar(&c.response, "response", "64B", "size of the response")
}

// sizes reads the sizes and the rate. Some parameters have the opposite meaning of their flag.
func (c *engineRun) sizes() error {
	for _, s := range []struct {
		flag, text string
		into       *int
	}{
		{"request", c.request, &c.params.Request},
		{"response", c.response, &c.params.Response},
		{"message", c.message, &c.params.Message},
		{"send-buffer", c.sendBuffer, &c.params.SendBuffer},
		{"receive-buffer", c.receiveBuffer, &c.params.ReceiveBuffer},
	} {
		if s.text == "" {
			continue
		}
		n, err := experiment.ParseSize(s.text)
		if err != nil {
			return fmt.Errorf("--%s: %w", s.flag, err)
		}
		*s.into = n
	}
	c.params.Nagle, c.params.Unsegmented = !c.nodelay, !c.segment
	var err error
	c.params.MessageRate, err = messageRate(c.rate)
	return err
}

// messageRate reads a rate of messages; 0 means as many as possible.
func messageRate(text string) (float64, error) {
	if text == "" || text == "max" {
		return 0, nil
	}
	rate, err := strconv.ParseFloat(strings.TrimSuffix(text, "/s"), 64)
	if err != nil || !(rate > 0) {
		return 0, fmt.Errorf("--rate %q: want messages a second, such as 10000 or 10000/s, or max", text)
	}
	return rate, nil
}

func (c *engineRun) run(ctx context.Context, server string) error {
	if err := c.sizes(); err != nil {
		return &UsageError{err}
	}
	if err := c.load.read(&c.params); err != nil {
		return &UsageError{err}
	}
	if err := c.params.Validate(); err != nil {
		return &UsageError{err}
	}
	if c.format != "text" && c.format != "json" {
		return &UsageError{fmt.Errorf("-f %q: want text or json", c.format)}
	}
	if _, _, err := net.SplitHostPort(server); err != nil {
		return &UsageError{fmt.Errorf("%q: want HOST:PORT, where 'nearfar engine serve' listens", server)}
	}
	if err := engineProcess(); err != nil {
		return err
	}
	secret, err := c.verbs.engineSecret(c.secretStdin)
	if err != nil {
		return err
	}
	if secret == nil {
		return noSecret()
	}
	o := session.RunOptions{
		Server: server, Secret: secret, Params: c.params, Live: c.format == "text", Load: c.load.offered,
	}
	if c.load.sweeps() {
		return c.sweep(ctx, o)
	}
	done, err := c.load.open(&o)
	if err != nil {
		return err
	}
	return errors.Join(c.measure(ctx, o), done())
}

func noSecret() error {
	return &UsageError{fmt.Errorf("no secret: set %s to what 'nearfar engine serve' printed, or give --secret-stdin",
		SecretVariable)}
}

func (c *engineRun) measure(ctx context.Context, o session.RunOptions) error {
	return c.verbs.printed(c.format, func(to session.Observer) (record.Result, error) { return engine.Run(ctx, o, to) })
}

// printed measures and prints the record, each line when it is known; in JSON, a failure is the last.
func (v *Verbs) printed(format string, measure func(to session.Observer) (record.Result, error)) error {
	if format == "json" {
		w := record.NewWriter(v.Data)
		r, err := measure(w)
		if err != nil {
			return errors.Join(err, w.Failure(err.Error()))
		}
		return w.Result(r)
	}
	p := enginePrinter{out: v.Stdout}
	r, err := measure(p)
	if err != nil {
		return err
	}
	return p.result(r)
}

// engineProcess readies this process for measuring; it may start the program again.
func engineProcess() error {
	// Only where this process is the command line's own: never in a program that calls Main.
	if len(os.Args) < 2 || os.Args[1] != "engine" {
		return nil
	}
	if err := process.Reexec(); err != nil {
		return err
	}
	process.Tune()
	return nil
}

// engineSecret reads the shared secret; nil if none was given.
func (v *Verbs) engineSecret(fromStdin bool) ([]byte, error) {
	secret := os.Getenv(SecretVariable)
	if fromStdin {
		line, err := bufio.NewReader(io.LimitReader(v.Stdin, wire.MaxSecret+2)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("reading the secret from standard input: %w", err)
		}
		if secret = strings.TrimRight(line, "\r\n"); secret == "" {
			return nil, &UsageError{errors.New("--secret-stdin: the first line of standard input is empty")}
		}
	}
	if secret == "" {
		return nil, nil
	}
	if err := wire.CheckSecret([]byte(secret)); err != nil {
		from := SecretVariable
		if fromStdin {
			from = "--secret-stdin"
		}
		return nil, &UsageError{fmt.Errorf("%s: %w", from, err)}
	}
	return []byte(secret), nil
}
