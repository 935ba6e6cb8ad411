package tool

import (
	"strconv"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/host"
)

const (
	pingName = "ping"
	// pingWait is how long ping waits for the last replies.
	pingWait = time.Second
)

// pingProgram declares ping. Its payload holds a time stamp of 16 bytes. The number of requests is limited because each
// prints a line of about 70 bytes.
func pingProgram() program {
	const ms = time.Millisecond
	return program{
		declared: experiment.Tool{
			Name: pingName,
			Does: []experiment.Capability{{
				Mode: experiment.Ping, Protocol: experiment.ICMP,
				Request: experiment.Range{Min: 16, Max: 65507}, DefaultRequest: 56, // bytes; 56 is ping's own default
				Duration:     experiment.Durations{Min: ms, Max: 24 * time.Hour, Step: ms},
				Interval:     experiment.Durations{Default: 10 * ms, Min: ms, Max: time.Minute, Step: ms},
				MaxIntervals: 200_000, Keys: []string{"inside", "capture"},
			}},
			Runs: "`ping -n -c -i -s`; on Windows `ping -n -l -w`", Systems: "Linux, Windows",
			Versions: "iputils 20221126 run; others read", Prints: "full round trips, in ms",
		},
		run: NewPing(), mark: pingMark, parse: parsePing,
		install: installation{
			on: []string{linux, windows}, apt: "iputils-ping", dnf: "iputils", amazon: "iputils", azure: "iputils",
			zypper: "iputils", pacman: "iputils", apk: "iputils", source: "https://github.com/iputils/iputils",
			windows: "it is a part of Windows (C:\\Windows\\System32\\PING.EXE)",
		},
	}
}

// Ping is the ping of iputils.
type Ping struct{ known }

// NewPing makes the tool.
func NewPing() *Ping {
	return &Ping{known{pingName, probe(pingVersion, []string{"ping"}, "ping", "-V")}}
}

// Plan gives a ping that sends as many requests as fit into the duration at the interval, and prints a line for each
// reply. Percentiles are computed from these lines. There is no warm-up: the first reply, which waits for address
// resolution, is in the figures.
func (*Ping) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	_, ip, err := addressesFor(pingProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	count := w.Duration / w.Interval
	if pair.Client.System.OS == windows {
		return windowsPingPlan(w, ip)
	}
	argv := []string{"ping", "-n", "-c", strconv.FormatInt(int64(count), 10),
		"-i", strconv.FormatFloat(w.Interval.Seconds(), 'f', -1, 64),
		"-s", strconv.Itoa(w.Request), "-W", strconv.FormatFloat(pingWait.Seconds(), 'f', -1, 64)}
	if ip.Is6() {
		argv = append(argv, "-6")
	}
	return Plan{
		Client:   Command{Argv: append(argv, ip.String()), Env: []string{"LC_ALL=C"}},
		Expected: count*w.Interval + 100*time.Millisecond,
	}, nil
}

// Parse reads what ping printed. Exit status 1 means that replies are missing; the figures show that.
func (*Ping) Parse(out Output) (result.Measurement, error) {
	m, err := parsePing(plain(out.Stdout) + "\n" + plain(out.Stderr))
	if w := out.Workload; w != nil {
		m.Mode, m.Protocol, m.MessageBytes = w.Mode, w.Protocol, w.Request
	}
	if err == nil && out.ExitCode == 1 {
		return m, nil
	}
	return m, ended(pingName, out, err)
}
