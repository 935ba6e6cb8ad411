package tool

import (
	"net/netip"
	"strconv"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/engine/process"
	"nearfar/internal/onhost/host"
)

const (
	wrkName = "wrk"
	// wrkTimeout is how long wrk waits for an answer before it counts a timeout.
	wrkTimeout = 10 * time.Second
)

// wrkProgram declares wrk, against nearfar's own server or a service of the user's. It has no warm-up, and sends GETs
// alone unless it is programmed.
func wrkProgram() program {
	return program{
		declared: experiment.Tool{
			Name: wrkName, Does: []experiment.Capability{{
				Mode: experiment.HTTP, Protocol: experiment.TCP, Response: experiment.Range{Min: 1, Max: 16 << 20},
				Numbers: map[string]experiment.Range{"concurrency": {Min: 1, Max: 1024}}, Duration: wholeSeconds(),
				Keys: []string{"to", "connect"},
			}},
			Runs: "`nearfar engine web`, `wrk -t 1 --latency`", Systems: "Linux",
			Versions: "4.1 run; wrk 4 and wrk2 read",
			Prints:   "response times in us to s, with percentiles (`--latency`); requests/s",
		},
		run: NewWrk(), mark: wrkMark, parse: parseWrk,
		install: installation{
			on: []string{linux}, apt: "wrk", ubuntu: "from universe", pacman: "wrk", apk: "wrk",
			source: "https://github.com/wg/wrk",
		},
	}
}

var wrkVersion = lazyregexp.New(`(?m)^wrk (?:debian/)?v?(\d\S*)`)

// Wrk is wrk.
type Wrk struct{ known }

// NewWrk makes the tool.
func NewWrk() *Wrk {
	return &Wrk{known{wrkName, probe(wrkVersion, []string{wrkName}, wrkName, "-v")}}
}

// Plan gives nearfar's server, which answers whoever asks, and wrk with one thread.
func (*Wrk) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	bind, dial, err := addressesFor(wrkProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	port := pair.Server.Ports().Data
	url, err := webURL(w, dial, port, "/")
	if err != nil {
		return Plan{}, err
	}
	seconds := whole(w.Duration)
	client := []string{
		wrkName, "-t", "1", "-c", strconv.Itoa(max(1, w.Concurrency)), "-d", strconv.Itoa(seconds), "--latency",
		"--timeout", strconv.Itoa(whole(wrkTimeout)),
	}
	if w.Connect == experiment.PerRequest {
		client = append(client, "-H", "Connection: close")
	}
	p := Plan{
		Client:   Command{Argv: append(client, url), Rights: &confine.Options{}},
		Expected: time.Duration(seconds)*time.Second + 300*time.Millisecond,
	}
	if w.To == "" {
		p.Server = &Command{Argv: []string{
			host.Self, "engine", "web", "--listen", netip.AddrPortFrom(bind, uint16(port)).String(), "--response",
			bytesFlag(w.Response),
		}, Env: []string{process.Environment()}}
		p.Ready, p.Sockets = Ready{Protocol: experiment.TCP, Port: port}, sockets(0, experiment.TCP, port)
	}
	return p, nil
}

// Parse reads what the client printed.
func (*Wrk) Parse(out Output) (result.Measurement, error) { return parseText(wrkName, out, parseWrk) }
