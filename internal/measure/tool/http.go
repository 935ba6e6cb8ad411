package tool

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"strconv"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/engine/web"
	"nearfar/internal/onhost/host"
)

const httpName = "http"

// httpProgram declares requests of HTTP, which the engine sends. It is a tool of its own: its times are defined
// otherwise than round trips, and are never compared with them.
func httpProgram() program {
	const ms = time.Millisecond
	return program{
		declared: experiment.Tool{
			Name: httpName, Does: []experiment.Capability{{
				Mode: experiment.HTTP, Protocol: experiment.TCP, Waits: []string{experiment.WaitBlock},
				Request: experiment.Range{Min: 0, Max: 16 << 20}, Response: experiment.Range{Min: 1, Max: 16 << 20},
				Numbers:  map[string]experiment.Range{"concurrency": {Min: 1, Max: 1024}},
				Rate:     experiment.RateLimits{Unit: experiment.EventRate, Min: 0.001, Max: 1e9},
				Duration: experiment.Durations{Min: 10 * ms, Max: 24 * time.Hour, Step: ms},
				Warmup:   experiment.Durations{Default: 500 * ms, Max: time.Hour, Step: ms},
				Keys: []string{"arrivals", "to", "version", "tls", "connect", "ca", "certificate_env",
					"headers_env"},
			}},
			Runs:    "`nearfar engine serve`, `nearfar engine http`",
			Systems: "Linux in a lab; by hand also macOS and Windows", Versions: "of this build",
			Prints: "response times in s, with a histogram and phases; 1/s; errors by kind",
		},
		install: installation{on: []string{linux, windows}, source: "nearfar itself", windows: "it is nearfar itself"},
		parse:   parseNative,
	}
}

// HTTP is the engine's client of HTTP, and its server.
type HTTP struct {
	secret string
	// variable and file read the environment and files of the machine where nearfar runs.
	variable func(name string) (string, bool)
	file     func(name string) ([]byte, error)
}

// NewHTTP returns it as a tool. Client and server prove to each other that they know the secret.
func NewHTTP(secret string) Tool {
	return &HTTP{secret: secret, variable: os.LookupEnv, file: os.ReadFile}
}

// Name is what an experiment file calls it.
func (*HTTP) Name() string { return httpName }

// Probe asks this program for its version.
func (*HTTP) Probe() Probe { return probe(nativeVersion, []string{host.Self}, host.Self, "version") }

// Plan gives the command lines of one trial. With a URL there is no server.
func (h *HTTP) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	bind, dial, err := addressesFor(httpProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	client := Command{
		Argv: []string{host.Self, "engine", "http"}, Env: []string{process.Environment()},
		Stdin: []byte(h.secret + "\n"),
	}
	p := Plan{Expected: w.Warmup + w.Duration + nativeOverhead}
	if w.To == "" {
		ports := pair.Server.Ports()
		p.Server = engineServer(h.secret, bind, ports.Control, ports.Data)
		p.Ready = Ready{Protocol: experiment.TCP, Port: ports.Control}
		p.Sockets = sockets(ports.Control, experiment.TCP, ports.Data)
		p.ServerEnds = onceEnds
		client.Argv = append(client.Argv, netip.AddrPortFrom(dial, uint16(ports.Control)).String(), "-f", "json",
			"--secret-stdin", "--response", bytesFlag(w.Response))
		if w.TLS {
			client.Argv = append(client.Argv, "--tls")
		}
	} else {
		if client.Stdin, err = h.private(w); err != nil {
			return Plan{}, fmt.Errorf("workload %s: %w", w.Name, err)
		}
		to, err := serviceURL(w, dial)
		if err != nil {
			return Plan{}, err
		}
		client.Argv = append(client.Argv, "--to", to, "-f", "json", "--private-stdin", "--ip",
			strconv.Itoa(cmp.Or(w.IP, experiment.IPv4)))
	}
	client.Argv = append(client.Argv, "--duration", w.Duration.String(), "--warmup", w.Warmup.String(), "--request",
		bytesFlag(w.Request), "--http", cmp.Or(w.Version, experiment.HTTP1), "--concurrency",
		strconv.Itoa(max(w.Concurrency, 1)))
	if w.Connect == experiment.PerRequest {
		client.Argv = append(client.Argv, "--per-request")
	}
	if w.OfferedRate > 0 {
		client.Argv = append(client.Argv, "--rate", experiment.FormatPerSecond(w.OfferedRate), "--arrivals",
			cmp.Or(w.Arrivals, experiment.ConstantArrivals))
	}
	p.Client = client
	return p, nil
}

// private reads what the service of the user's needs. It is for the client's standard input alone.
func (h *HTTP) private(w experiment.Workload) ([]byte, error) {
	var p web.Private
	for header, name := range w.HeadersEnv {
		value, set := h.variable(name)
		if !set || value == "" {
			return nil, fmt.Errorf("headers_env: the environment variable %s is not set", name)
		}
		if p.Headers == nil {
			p.Headers = map[string]string{}
		}
		p.Headers[header] = value
	}
	var err error
	if w.CA != "" {
		if p.CA, err = h.file(w.CA); err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
	}
	if w.CertificateEnv != "" {
		path, set := h.variable(w.CertificateEnv)
		if !set || path == "" {
			return nil, fmt.Errorf("certificate_env: the environment variable %s is not set", w.CertificateEnv)
		}
		if p.Certificate, err = h.file(path); err != nil {
			return nil, fmt.Errorf("certificate_env: the file that %s names cannot be read", w.CertificateEnv)
		}
	}
	var o web.Options
	if err := p.Into(&o); err != nil {
		return nil, err
	}
	text, err := json.Marshal(p)
	if err == nil && len(text) > web.MaxPrivate {
		err = fmt.Errorf("headers and certificates have %d bytes together: at most %d", len(text), web.MaxPrivate)
	}
	return text, err
}

// Parse reads the JSON lines that the client printed.
func (*HTTP) Parse(out Output) (result.Measurement, error) { return parseEngine(httpName, out) }

// serviceURL is the address of the user's service, as a workload gives it (to), with that of the arm's server in it.
func serviceURL(w experiment.Workload, dial netip.Addr) (string, error) {
	u, err := experiment.ParseTo(w.To, dial.String())
	if err != nil {
		return "", fmt.Errorf("workload %s: to: %w", w.Name, err)
	}
	return u.String(), nil
}
