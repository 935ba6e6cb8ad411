package tool

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/engine/process"
	"nearfar/internal/engine/record"
	"nearfar/internal/engine/wire"
	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/result"
)

const (
	nativeName = "native"
	nativePort = 7777
	// nativeMessage is the default size of a request and a response, nativeWrite that of one write of a stream, in bytes.
	nativeMessage = 64
	nativeWrite   = 128 << 10
	// nativeOverhead is what the engine takes beside warm-up and window, nativeConnecting what each connection adds.
	nativeOverhead   = 200 * time.Millisecond
	nativeConnecting = 100 * time.Microsecond
)

// Native is nearfar's own engine.
type Native struct{ secret string }

// NewNative returns the engine as a tool. Client and server prove to each other that they know the secret; it travels on
// standard input and must be one line that is not empty.
func NewNative(secret string) Tool { return &Native{secret: secret} }

// Name is what an experiment file calls the engine.
func (*Native) Name() string { return nativeName }

// Probe asks this program for its version.
func (*Native) Probe() Probe {
	return Probe{Programs: []string{host.Self}, Argv: []string{host.Self, "version"}, Version: nativeVersion}
}

var nativeVersionLine = regexp.MustCompile(`(?m)^nearfar (\S{1,100})`)

func nativeVersion(printed []byte) string {
	if m := nativeVersionLine.FindSubmatch(printed); m != nil {
		return string(m[1])
	}
	return ""
}

// Plan gives the command lines of one trial.
func (n *Native) Plan(w experiment.Workload, server host.Endpoint) (Plan, error) {
	return n.plan(w, server, nativePort)
}

// plan gives the command lines of a session on the control port; those of the data are the kernel's choice.
func (n *Native) plan(w experiment.Workload, server host.Endpoint, port uint16) (Plan, error) {
	p, err := nativeParams(w)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", nativeName, err)
	}
	ip, err := addressFor(w, server)
	if err != nil {
		return Plan{}, err
	}
	address := netip.AddrPortFrom(ip, port).String()
	stdin := []byte(n.secret + "\n")
	env := []string{process.Environment()}
	client := []string{host.Self, "engine", p.Mode, address, "-f", "json", "--secret-stdin"}
	if len(w.Steps) == 0 { // which say it themselves
		client = append(client, "--duration", p.Duration.String())
	}
	client = append(client, "--warmup", p.Warmup.String())
	client = append(client, nativeModeFlags(w, p)...)
	return Plan{
		Server: &Command{
			Argv:  []string{host.Self, "engine", "serve", "--listen", address, "--secret-stdin", "--once"},
			Env:   env,
			Stdin: stdin,
		},
		Ready:    Ready{Protocol: experiment.TCP, Port: int(port)},
		Client:   Command{Argv: append(client, nativeSocketFlags(w.Socket)...), Env: env, Stdin: stdin},
		Expected: p.Warmup + p.Duration + nativeOverhead + time.Duration(p.Connections)*nativeConnecting,
	}, nil
}

// nativeModeFlags are those of the mode.
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
		return append(protocol, "--message", bytesFlag(p.Message), "--batch", strconv.Itoa(max(w.Batch, 1)), "--rate", rate)
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

// nativeSocketFlags are those that differ from the engine's defaults.
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

// nativeParams translates a workload, and says what of it the engine cannot do.
func nativeParams(w experiment.Workload) (wire.Params, error) {
	p := wire.Params{
		Mode: w.Mode, Protocol: w.Protocol, Connections: max(w.Connections, 1), Warmup: w.Warmup, Duration: w.Duration,
		Direction: w.Direction, ZeroCopy: w.ZeroCopy, Timestamps: w.Timestamps,
		Options: wire.Options{
			Wait: w.Wait, Congestion: w.Congestion, Nagle: w.NoDelay != nil && !*w.NoDelay, DSCP: w.DSCP,
			SendBuffer: w.SendBuffer, ReceiveBuffer: w.ReceiveBuffer,
		},
	}
	if w.Rate != 0 {
		return p, errors.New("a rate in bits per second is not possible with it")
	}
	switch w.Mode {
	case experiment.Stream:
		p.Message = cmp.Or(w.Message, nativeWrite)
	case experiment.Messages:
		p.Message = cmp.Or(w.Message, nativeMessage)
		p.Flow = wire.Flow{Batch: w.Batch, MessageRate: w.OfferedRate}
	default:
		p.Request = cmp.Or(w.Request, nativeMessage)
		p.Response = cmp.Or(w.Response, p.Request)
	}
	return p, p.Validate()
}

// Parse reads the JSON lines that the client printed.
func (*Native) Parse(out Output) (result.Measurement, error) {
	m := result.Measurement{Tool: result.ToolVersion{Name: nativeName}}
	run, err := record.Read(out.Stdout)
	if err != nil {
		m.Tool.Version = run.Start.Version
		var failed *record.FailedError
		if errors.As(err, &failed) {
			return m, fmt.Errorf("%s: %w", nativeName, err)
		}
		if out.ExitCode != 0 {
			return m, fmt.Errorf("%s: exit status %d: %w%s", nativeName, out.ExitCode, err, lastWords(out.Stderr))
		}
		return m, fmt.Errorf("%s: %w%s", nativeName, err, lastWords(out.Stderr))
	}
	r := run.Result
	m.Tool.Version = r.Version
	if out.ExitCode != 0 {
		return m, fmt.Errorf("%s: exit status %d after a result%s", nativeName, out.ExitCode, lastWords(out.Stderr))
	}
	if w := out.Workload; w != nil && (w.Mode != r.Mode || w.Protocol != r.Protocol) {
		return m, fmt.Errorf("%s: the output is of %s %s, and %s %s was asked for", nativeName, r.Protocol, r.Mode, w.Protocol, w.Mode)
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

// lastWords gives the end of what was printed on standard error, for an error message.
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
