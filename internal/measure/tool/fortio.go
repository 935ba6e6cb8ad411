package tool

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
)

const (
	fortioName = "fortio"
	// fortioMost is the largest body of its server, in bytes (-maxpayloadsizekb).
	fortioMost = 256 << 10
)

// fortioProgram declares fortio's load of HTTP/1.1, against its own server or a service of the user's. It has no
// warm-up, but for one request of each connection.
func fortioProgram() program {
	return program{
		declared: experiment.Tool{
			Name: fortioName, Does: []experiment.Capability{{
				Mode: experiment.HTTP, Protocol: experiment.TCP,
				Request: experiment.Range{Min: 0, Max: fortioMost}, Response: experiment.Range{Min: 1, Max: fortioMost},
				Numbers:  map[string]experiment.Range{"concurrency": {Min: 1, Max: 1024}},
				Rate:     experiment.RateLimits{Unit: experiment.EventRate, Min: 1, Max: 1e6},
				Duration: experiment.Durations{Min: 100 * time.Millisecond, Max: 24 * time.Hour, Step: time.Millisecond},
				Keys:     []string{"to", "connect"},
			}},
			Runs: "`fortio server`, `fortio load -json -`", Systems: "Linux", Versions: "1.63 run; 0.9 to 1.69 read",
			Prints: "JSON: response times in s, with percentiles from a histogram; 1/s",
		},
		run: NewFortio(), mark: func(string) mark { return markNone }, parse: noText(fortioName),
		documents: fortioDocuments,
		install:   installation{on: []string{linux}, source: "https://github.com/fortio/fortio"},
	}
}

var fortioVersion = lazyregexp.New(`(?m)^v?(\d+\.\d+\S*)`)

// fortioWhy is the reason in a line of its log, which is JSON.
var fortioWhy = lazyregexp.New(`"level":"err".*"err":"((?:[^"\\]|\\.)*)"`)

// Fortio is fortio.
type Fortio struct{ known }

// NewFortio makes the tool.
func NewFortio() *Fortio {
	return &Fortio{known{fortioName, probe(fortioVersion, []string{fortioName}, fortioName, "version")}}
}

// Plan gives fortio's server with one listener, without its pages for people, and a client that prints JSON. The
// buckets of its histogram begin at 1 us (-r), and are at most a fifth of their value wide. With a rate the connections
// send at times of their own (-uniform), not all at once.
func (*Fortio) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	bind, dial, err := addressesFor(fortioProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	port := pair.Server.Ports().Data
	url, err := webURL(w, dial, port, "/?size="+strconv.Itoa(w.Response))
	if err != nil {
		return Plan{}, err
	}
	client := []string{
		fortioName, "load", "-json", "-", "-quiet", "-loglevel", "Error", "-r", "0.000001", "-p", "50,90,99,99.9",
		"-t", w.Duration.String(), "-c", strconv.Itoa(max(1, w.Concurrency)),
		"-qps", strconv.FormatFloat(w.OfferedRate, 'f', -1, 64), // 0 for as many as possible
	}
	if w.OfferedRate > 0 && w.Concurrency > 1 {
		client = append(client, "-uniform")
	}
	if w.Request > 0 {
		client = append(client, "-payload-size", strconv.Itoa(w.Request))
	}
	if w.Connect == experiment.PerRequest {
		client = append(client, "-keepalive=false")
	}
	if w.To != "" && w.IP == experiment.IPv6 {
		client = append(client, "-resolve-ip-type", "ip6")
	}
	p := Plan{
		Client:   Command{Argv: append(client, url), Rights: &confine.Options{}},
		Expected: w.Duration + 500*time.Millisecond,
	}
	if w.To == "" {
		p.Server = &Command{Argv: []string{
			fortioName, "server", "-http-port", netip.AddrPortFrom(bind, uint16(port)).String(), "-grpc-port", "disabled",
			"-tcp-port", "disabled", "-udp-port", "disabled", "-redirect-port", "disabled", "-ui-path=",
			"-echo-debug-path=", "-loglevel", "Error",
		}, Rights: &confine.Options{}}
		p.Ready, p.Sockets = Ready{Protocol: experiment.TCP, Port: port}, sockets(0, experiment.TCP, port)
	}
	return p, nil
}

// webURL is where requests of HTTP go to: a path of the plan's own server, or the user's service.
func webURL(w experiment.Workload, dial netip.Addr, port int, path string) (string, error) {
	if w.To == "" {
		return "http://" + netip.AddrPortFrom(dial, uint16(port)).String() + path, nil
	}
	return serviceURL(w, dial)
}

// Parse reads the JSON that the client printed.
func (*Fortio) Parse(out Output) (result.Measurement, error) {
	m, err := newMeasured(fortioName).Measurement, errors.New("fortio printed no result")
	if text := strings.TrimSpace(plain(out.Stdout)); text != "" {
		m, err = readFortio(document{body: text})
	} else if why := find(fortioWhy, plain(out.Stderr)); why != "" {
		err = errors.New("fortio: " + excerpt(why))
	}
	if w := out.Workload; w != nil {
		m.Mode, m.Protocol = w.Mode, w.Protocol
		m.Notes = slices.DeleteFunc(m.Notes, func(note string) bool { return note == fortioBuckets }) // not as it is run
	}
	return m, ended(fortioName, out, err)
}
