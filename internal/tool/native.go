package tool

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"time"

	"nearfar/internal/engine"
	"nearfar/internal/engine/record"
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
	// nativeOverhead is what the engine takes beside warm-up and window.
	nativeOverhead = 200 * time.Millisecond
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
	p, err := nativeParams(w)
	if err != nil {
		return Plan{}, fmt.Errorf("%s: %w", nativeName, err)
	}
	address := netip.AddrPortFrom(server.Address, nativePort).String()
	stdin := []byte(n.secret + "\n")
	env := []string{engine.Environment()}
	client := []string{host.Self, "engine", p.Mode, address, "-f", "json", "--secret-stdin",
		"--duration", p.Duration.String(), "--warmup", p.Warmup.String()}
	if p.Mode == engine.ModeStream {
		client = append(client, "--message", bytesFlag(p.Message), "--connections", strconv.Itoa(p.Connections))
	} else {
		client = append(client, "--request", bytesFlag(p.Request), "--response", bytesFlag(p.Response))
	}
	if p.Mode == engine.ModeRR {
		client = append(client, "--protocol", p.Protocol)
	}
	return Plan{
		Server: &Command{
			Argv:  []string{host.Self, "engine", "serve", "--listen", address, "--secret-stdin", "--once"},
			Env:   env,
			Stdin: stdin,
		},
		Ready:    Ready{Protocol: experiment.TCP, Port: nativePort},
		Client:   Command{Argv: client, Env: env, Stdin: stdin},
		Expected: p.Warmup + p.Duration + nativeOverhead,
	}, nil
}

func bytesFlag(n int) string { return strconv.Itoa(n) + "B" }

// nativeParams translates a workload, and says what of it the engine cannot do.
func nativeParams(w experiment.Workload) (engine.Params, error) {
	p := engine.Params{Mode: w.Mode, Protocol: w.Protocol, Connections: max(w.Connections, 1), Warmup: w.Warmup, Duration: w.Duration}
	if w.Rate != 0 {
		return p, errors.New("an offered rate is not possible with it")
	}
	if w.Mode == experiment.Stream {
		p.Message = w.Message
		if p.Message == 0 {
			p.Message = nativeWrite
		}
	} else {
		p.Request, p.Response = w.Request, w.Response
		if p.Request == 0 {
			p.Request = nativeMessage
		}
		if p.Response == 0 {
			p.Response = p.Request
		}
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
