package tool

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/wire"
	"nearfar/internal/onhost/host"
)

const (
	nativeName = "native"
	// nativeMessage is the default size of a message, and nativeWrite the default size of one write of a stream, in
	// bytes.
	nativeMessage = 64
	nativeWrite   = 128 << 10
	// nativeOverhead is how long the engine takes in addition to warm-up and window, and nativeConnecting how long each
	// connection takes.
	nativeOverhead   = 200 * time.Millisecond
	nativeConnecting = 100 * time.Microsecond
)

// nativeProgram declares the engine. The engine checks what it is asked for itself (a client of another version may ask
// for anything). TestReaderAndPlansAgreeOnEveryLimit compares its limits with these. Some are narrower here: warm-up,
// short windows, connections of a stream, and buffers below 1 KiB, which the kernel raises.
func nativeProgram() program {
	return program{
		declared: experiment.Tool{
			Name: nativeName, Does: nativeDoes(),
			Runs:    "`nearfar engine serve`, `nearfar engine rr, crr, stream, load, messages`",
			Systems: "Linux in a lab; by hand also macOS and Windows", Versions: "of this build",
			Prints: "full round trips and response times in s, with a histogram; bit/s, 1/s",
		},
		install: installation{on: []string{linux, windows}, source: "nearfar itself", windows: "it is nearfar itself"},
		mark:    nativeMark, parse: parseNative,
	}
}

// nativeDoes lists what the engine measures. Its datagrams begin with a header of 32 bytes. Over UDP it never answers
// with more bytes than it received, so that it cannot be misused to amplify traffic.
func nativeDoes() []experiment.Capability {
	const ms = time.Millisecond
	stream, datagram := experiment.Range{Min: 1, Max: 16 << 20}, experiment.Range{Min: 32, Max: maxDatagram}
	base := func(mode, protocol string, keys ...string) experiment.Capability {
		c := experiment.Capability{
			Mode: mode, Protocol: protocol, Waits: []string{experiment.WaitBlock},
			Buffers:  experiment.Range{Min: 1 << 10, Max: 1 << 30},
			Duration: experiment.Durations{Min: 10 * ms, Max: 24 * time.Hour, Step: ms},
			Warmup:   experiment.Durations{Default: 500 * ms, Max: time.Hour, Step: ms},
			Keys:     append(keys, "dscp"),
		}
		if protocol == experiment.TCP {
			c.Keys = append(c.Keys, "congestion", "nodelay")
		}
		return c
	}
	transactions := func(c experiment.Capability, waits ...string) experiment.Capability {
		c.Request, c.Response, c.Waits = stream, stream, waits
		if c.Protocol == experiment.UDP {
			c.Request, c.Response, c.Reply = datagram, datagram, experiment.ReplyAtMostRequest
		}
		c.Keys = append(c.Keys, "background")
		return c
	}
	messages := func(c experiment.Capability, size experiment.Range, waits ...string) experiment.Capability {
		c.Message, c.DefaultMessage, c.Waits = size, nativeMessage, waits
		c.Numbers, c.BatchBytes = map[string]experiment.Range{"batch": {Min: 1, Max: 1024}}, 16<<20
		c.Rate = experiment.RateLimits{Unit: experiment.EventRate, Min: 1, Max: 1e9}
		return c
	}
	load := func(c experiment.Capability) experiment.Capability {
		c.Numbers = map[string]experiment.Range{"connections": {Min: 1, Max: 1024}}
		c.Rate = experiment.RateLimits{Unit: experiment.EventRate, Min: 0.001, Max: 1e9}
		return c
	}
	all := []string{experiment.WaitBlock, experiment.WaitBusyPoll, experiment.WaitEpoll, experiment.WaitSpin}
	many := []string{experiment.WaitBlock, experiment.WaitEpoll, experiment.WaitSpin} // for many sockets at once
	bulk := base(experiment.Stream, experiment.TCP, "direction", "zerocopy")
	bulk.Message, bulk.Beside = stream, true
	bulk.Numbers = map[string]experiment.Range{"connections": {Min: 1, Max: 128}}
	return []experiment.Capability{
		transactions(base(experiment.RR, experiment.TCP, "timestamps", "inside", "capture"), all...),
		transactions(base(experiment.RR, experiment.UDP, "timestamps", "inside", "capture"), all...),
		transactions(base(experiment.CRR, experiment.TCP), experiment.WaitBlock),
		bulk,
		load(transactions(base(experiment.Load, experiment.TCP, "arrivals", "steps"), many...)),
		load(transactions(base(experiment.Load, experiment.UDP, "arrivals", "steps"), many...)),
		messages(base(experiment.Messages, experiment.UDP), datagram, all...),
		messages(base(experiment.Messages, experiment.TCP), stream, all...),
	}
}

// Native is nearfar's own engine.
type Native struct{ secret string }

// NewNative returns the engine as a tool. Client and server prove to each other that they know the secret; it travels
// on standard input and must be one line that is not empty.
func NewNative(secret string) Tool { return &Native{secret: secret} }

// Name is what an experiment file calls the engine.
func (*Native) Name() string { return nativeName }

// Probe asks this program for its version.
func (*Native) Probe() Probe {
	return probe(nativeVersion, []string{host.Self}, host.Self, "version")
}

var nativeVersion = lazyregexp.New(`(?m)^nearfar (\S{1,100})`)

// Plan gives the command lines of one trial.
func (n *Native) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	ports := pair.Server.Ports()
	return n.plan(w, pair, ports.Control, ports.Data)
}

// plan gives the command lines of a session on a control port and a data port.
func (n *Native) plan(w experiment.Workload, pair host.Pair, control, data int) (Plan, error) {
	bind, dial, err := addressesFor(nativeProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	p, err := nativeParams(w)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", nativeName, err)
	}
	at := func(ip netip.Addr) string { return netip.AddrPortFrom(ip, uint16(control)).String() }
	stdin := []byte(n.secret + "\n")
	env := []string{process.Environment()}
	client := []string{host.Self, "engine", p.Mode, at(dial), "-f", "json", "--secret-stdin"}
	if len(w.Steps) == 0 { // the steps give the duration
		client = append(client, "--duration", p.Duration.String())
	}
	client = append(client, "--warmup", p.Warmup.String())
	client = append(client, nativeModeFlags(w, p)...)
	server := engineServer(n.secret, bind, control, data)
	if pair.Client.Moves {
		server.Argv = append(server.Argv, "--moving-clients")
	}
	return Plan{
		Server:     server,
		Ready:      Ready{Protocol: experiment.TCP, Port: control},
		Sockets:    sockets(control, w.Protocol, data),
		ServerEnds: onceEnds,
		Client:     Command{Argv: append(client, nativeSocketFlags(w.Socket)...), Env: env, Stdin: stdin},
		Expected:   p.Warmup + p.Duration + nativeOverhead + time.Duration(p.Connections)*nativeConnecting,
	}, nil
}

// engineServer serves one session on a control port and a data port.
func engineServer(secret string, bind netip.Addr, control, data int) *Command {
	return &Command{
		Argv: []string{host.Self, "engine", "serve", "--listen", netip.AddrPortFrom(bind, uint16(control)).String(),
			"--data-port", strconv.Itoa(data), "--secret-stdin", "--once"},
		Env: []string{process.Environment()}, Stdin: []byte(secret + "\n"),
	}
}

// nativeModeFlags are the flags of the mode.
func nativeModeFlags(w experiment.Workload, p wire.Params) []string {
	transaction := []string{"--request", bytesFlag(p.Request), "--response", bytesFlag(p.Response)}
	protocol := []string{"--protocol", p.Protocol}
	connections := []string{"--connections", strconv.Itoa(p.Connections)}
	switch w.Mode {
	case experiment.RR:
		flags := append(transaction, protocol...)
		if w.Timestamps {
			flags = append(flags, "--timestamps")
		}
		return flags
	case experiment.Load:
		flags := append(append(transaction, protocol...), connections...)
		if len(w.Steps) > 0 {
			flags = append(flags, "--steps", stepsFlag(w.Steps))
		} else {
			flags = append(flags, "--rate", experiment.FormatPerSecond(w.OfferedRate))
		}
		return append(flags, "--arrivals", cmp.Or(w.Arrivals, experiment.ConstantArrivals))
	case experiment.Messages:
		rate := "max"
		if w.OfferedRate > 0 {
			rate = experiment.FormatPerSecond(w.OfferedRate)
		}
		return append(protocol, "--message", bytesFlag(p.Message), "--batch", strconv.Itoa(max(w.Batch, 1)), "--rate",
			rate)
	case experiment.Stream:
		flags := append([]string{"--message", bytesFlag(p.Message)}, connections...)
		if w.Direction != "" && w.Direction != experiment.Upload {
			flags = append(flags, "--direction", w.Direction)
		}
		if w.ZeroCopy {
			flags = append(flags, "--zerocopy")
		}
		return flags
	}
	return transaction
}

// nativeSocketFlags are the flags for socket options that differ from the engine's defaults.
func nativeSocketFlags(s experiment.Socket) []string {
	var flags []string
	if s.Wait != "" && s.Wait != experiment.WaitBlock {
		flags = append(flags, "--wait", s.Wait)
	}
	if s.Congestion != "" {
		flags = append(flags, "--congestion", s.Congestion)
	}
	if s.NoDelay != nil {
		flags = append(flags, "--nodelay="+strconv.FormatBool(*s.NoDelay))
	}
	if s.DSCP != 0 {
		flags = append(flags, "--dscp", strconv.Itoa(s.DSCP))
	}
	if s.SendBuffer != 0 {
		flags = append(flags, "--send-buffer", bytesFlag(s.SendBuffer))
	}
	if s.ReceiveBuffer != 0 {
		flags = append(flags, "--receive-buffer", bytesFlag(s.ReceiveBuffer))
	}
	return flags
}

func bytesFlag(n int) string { return strconv.Itoa(n) + "B" }

// stepsFlag writes steps as 1000/s:1s,2000/s:500ms.
func stepsFlag(steps []experiment.Step) string {
	var parts []string
	for _, s := range steps {
		parts = append(parts, s.String())
	}
	return strings.Join(parts, ",")
}

// nativeParams translates a workload into the engine's parameters, which the engine then checks.
func nativeParams(w experiment.Workload) (wire.Params, error) {
	p := wire.Params{
		Mode: w.Mode, Protocol: w.Protocol, Connections: max(w.Connections, 1), Warmup: w.Warmup, Duration: w.Duration,
		Direction: w.Direction, ZeroCopy: w.ZeroCopy, Timestamps: w.Timestamps,
		Options: wire.Options{
			Wait: w.Wait, Congestion: w.Congestion, Nagle: w.NoDelay != nil && !*w.NoDelay, DSCP: w.DSCP,
			SendBuffer: w.SendBuffer, ReceiveBuffer: w.ReceiveBuffer,
		},
	}
	switch w.Mode {
	case experiment.Stream:
		p.Message = cmp.Or(w.Message, nativeWrite)
	case experiment.Messages:
		p.Message = w.Message
		p.Flow = wire.Flow{Batch: w.Batch, MessageRate: w.OfferedRate}
	default:
		p.Request, p.Response = w.Request, w.Response
	}
	return p, p.Validate()
}

// Parse reads the JSON lines that the client printed.
func (*Native) Parse(out Output) (result.Measurement, error) { return parseEngine(nativeName, out) }

// parseEngine reads what the engine printed as the client of a tool.
func parseEngine(name string, out Output) (result.Measurement, error) {
	m := result.Measurement{Tool: result.ToolVersion{Name: name}}
	run, err := record.Read(out.Stdout)
	if err != nil {
		m.Tool.Version = run.Start.Version
		if _, failed := errors.AsType[*record.FailedError](err); failed {
			return m, fmt.Errorf("%s: %w", name, err)
		}
		if out.ExitCode != 0 {
			return m, fmt.Errorf("%s: exit status %d: %w%s", name, out.ExitCode, err, lastWords(out.Stderr))
		}
		return m, fmt.Errorf("%s: %w%s", name, err, lastWords(out.Stderr))
	}
	r := run.Result
	m.Tool.Version = r.Version
	if r.Mode == wire.ModeHTTP {
		m.Tool.Name = httpName // also of a recording, which does not say as which tool the engine ran
	}
	if r.Mode == experiment.App {
		m.Tool.Name = AppName
	}
	if out.ExitCode != 0 {
		return m, fmt.Errorf("%s: exit status %d after a result%s", name, out.ExitCode, lastWords(out.Stderr))
	}
	if w := out.Workload; w != nil && (w.Mode != r.Mode || w.Protocol != r.Protocol) {
		return m, fmt.Errorf("%s: the output is of %s %s, and %s %s was asked for", name, r.Protocol, r.Mode,
			w.Protocol, w.Mode)
	}
	m.Mode, m.Protocol, m.MessageBytes = r.Mode, r.Protocol, r.MessageBytes
	m.Duration = time.Duration(r.Duration * float64(time.Second))
	m.ReportedAs, m.Definition = r.ReportedAs, r.Definition
	m.Metrics, m.Facts, m.Notes = r.Metrics, r.Facts, r.Notes
	if r.Histogram != "" {
		m.Histogram = []byte(r.Histogram)
	}
	return m, nil
}

// lastWords gives the end of the standard error, for an error message.
func lastWords(stderr []byte) string {
	const most = 300
	if len(stderr) > most {
		stderr = stderr[len(stderr)-most:]
	}
	if len(stderr) == 0 {
		return ""
	}
	return fmt.Sprintf("; it said: %q", stderr)
}
