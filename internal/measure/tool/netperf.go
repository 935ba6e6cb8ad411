package tool

import (
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"
	"time"

	"nearfar/internal/base/lazyregexp"
	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/confine"
	"nearfar/internal/onhost/host"
)

const netperfName = "netperf"

// netperfProgram declares netperf 2.7.0. The congestion control of crr can be set too, but netperf does not print it,
// so crr does not take the key.
func netperfProgram() program {
	segments, datagrams := experiment.Range{Min: 1, Max: 16 << 20}, experiment.Range{Min: 1, Max: maxDatagram}
	return program{
		declared: experiment.Tool{
			Name: netperfName,
			Does: []experiment.Capability{
				{Mode: experiment.RR, Protocol: experiment.TCP, Request: segments, Response: segments,
					Duration: wholeSeconds(), Keys: []string{"congestion", "background", "inside", "capture"}},
				{Mode: experiment.RR, Protocol: experiment.UDP, Request: datagrams, Response: datagrams,
					Duration: wholeSeconds(), Keys: []string{"background", "inside", "capture"}},
				{Mode: experiment.CRR, Protocol: experiment.TCP, Request: segments, Response: segments,
					Duration: wholeSeconds(), Keys: []string{"background"}},
				{Mode: experiment.Stream, Protocol: experiment.TCP, Message: segments,
					Duration: wholeSeconds(), Keys: []string{"congestion"}},
			},
			Runs: "`netserver -D -f`, `netperf -t TCP_RR, UDP_RR, TCP_CRR, TCP_STREAM`", Systems: "Linux",
			Versions: "2.7.0 run; 2.4 to 2.7 read", Prints: "full round trips, in us; rates in 1/s and Mbit/s",
		},
		install: installation{
			on: []string{linux}, apt: "netperf", debian: "up to Debian 12 from non-free", ubuntu: "from multiverse",
			dnf: "netperf", rhel: "from EPEL: sudo dnf install epel-release", pacman: "netperf",
			source: "https://github.com/HewlettPackard/netperf",
		},
		run: NewNetperf(), mark: netperfMark, parse: parseNetperf,
	}
}

// netperfSelectors are netperf's names of the values that it is asked for.
const netperfSelectors = "THROUGHPUT,THROUGHPUT_UNITS,ELAPSED_TIME,PROTOCOL,DIRECTION,BURST_SIZE," +
	"TRANSACTION_RATE,RT_LATENCY,MIN_LATENCY,MEAN_LATENCY,P50_LATENCY,P90_LATENCY,P99_LATENCY,MAX_LATENCY," +
	"STDDEV_LATENCY,REQUEST_SIZE,RESPONSE_SIZE," +
	"LOCAL_SEND_SIZE,LOCAL_TRANSPORT_RETRANS,REMOTE_TRANSPORT_RETRANS,TRANSPORT_MSS," +
	"LOCAL_CPU_UTIL,LOCAL_CPU_COUNT,REMOTE_CPU_UTIL,REMOTE_CPU_COUNT"

// Netperf is Rick Jones' netperf, with its netserver.
type Netperf struct {
	known
	// passphrase draws the passphrase of one trial.
	passphrase func() string
}

// NewNetperf makes the tool.
func NewNetperf() *Netperf {
	version := probe(netperfVersion, []string{"netperf", "netserver"}, "netperf", "-V")
	return &Netperf{known: known{netperfName, version}, passphrase: rand.Text}
}

// Plan gives a netserver and a client that prints selected values as KEY=value lines. The netserver runs in the
// foreground and forks no process for a test: the CPU time of such a process would be lost with it, and would count as
// other programs' time. netperf takes whole seconds and has no warm-up. -c and -C are not given: their CPU figures cost
// a calibration, and change the measurement. Statistics of latency need -j.
//
// A client can tell netserver what to do, and to send it the content of files. So netserver is left no files but the
// system's libraries, and takes only clients with the passphrase of this trial (-Z), which travels unencrypted.
func (n *Netperf) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	bind, dial, err := addressesFor(netperfProgram(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	test := strings.ToUpper(w.Protocol + "_" + w.Mode)
	family := "4"
	if dial.Is6() {
		family = "6"
	}
	ports, seconds := pair.Server.Ports(), whole(w.Duration)
	control := strconv.Itoa(ports.Control)
	secret := n.passphrase()
	client := []string{"netperf", "-H", dial.String() + "," + family, "-p", control, "-Z", secret, "-t", test, "-l",
		strconv.Itoa(seconds), "-j", "--"}
	switch {
	case w.Mode != experiment.Stream:
		client = append(client, "-r", fmt.Sprintf("%d,%d", w.Request, w.Response))
	case w.Message > 0:
		client = append(client, "-m", strconv.Itoa(w.Message))
	}
	selectors := netperfSelectors
	if w.Congestion != "" {
		// netperf reports no error if the kernel refuses. So it is asked for the value that the connection had.
		client = append(client, "-K", w.Congestion+","+w.Congestion)
		selectors += ",LOCAL_CONG_CONTROL,REMOTE_CONG_CONTROL"
	}
	client = append(client, "-P", ","+strconv.Itoa(ports.Data), "-k", selectors)
	return Plan{
		Server: &Command{
			Argv:   []string{"netserver", "-D", "-f", "-L", bind.String() + "," + family, "-p", control, "-Z", secret},
			Secret: secret, Rights: &confine.Options{Strict: true, Congestion: w.Congestion},
		},
		Ready:    Ready{Protocol: experiment.TCP, Port: ports.Control},
		Sockets:  sockets(ports.Control, w.Protocol, ports.Data),
		Client:   Command{Argv: client, Secret: secret, Rights: &confine.Options{Congestion: w.Congestion}},
		Expected: time.Duration(seconds)*time.Second + 200*time.Millisecond,
	}, nil
}

// Parse reads what the client printed.
func (*Netperf) Parse(out Output) (result.Measurement, error) {
	return parseText(netperfName, out, parseNetperf)
}

var (
	netperfVersion = lazyregexp.New(`(?i)netperf version ([0-9][\w.]*)`)
	netperfBanner  = lazyregexp.New(`^(?:.*[$#>] *)?(?:MIGRATED )?((?:TCP|UDP|SCTP|DCCP|OMNI|UDPLITE|DG|DLCO|DLCL|STREAM|XTI)\b[A-Za-z0-9 /|_]*) TEST(?: |$)`)
	netperfCommand = lazyregexp.New(`(?:^|[$#>%]\s*)(?:sudo\s+)?(?:\./|/\S+/)?netperf\s+(?:-\w)`)
	netperfPair    = lazyregexp.New(`^([A-Z][A-Z0-9_]+)=(.*)$`)
	netperfFailure = lazyregexp.New(`(?i)^establish[_ ]control|are you sure there is a netserver|^remote error|^netperf: |^recv_response|error on remote|^netperf:.*error|could not establish|^send_omni: .*|^send_tcp_\w+: .*|^send_udp_\w+: .*`)
	// netperfInterim is a line of -D: in words, or with -o four fields, the last of which is a time.
	netperfInterim = lazyregexp.New(`^Interim result:|^\d+\.\d\d,[^,]+/s,\d+\.\d{3},\d+\.\d{3}$`)
	netperfBurst   = lazyregexp.New(`first burst (\d+)`)
	netperfFamily  = lazyregexp.New(` to .*\bAF_INET(6?)(?: |$)`)
)

// isNetperfHeader reports whether a line names the columns of -o: the throughput and at least one more.
func isNetperfHeader(line string) bool {
	if !containsAny(line, "hroughput", "THROUGHPUT") || !strings.Contains(line, ",") {
		return false
	}
	known, throughput := 0, false
	for _, name := range csvFields(line) {
		if key := netperfField(name); key != "" {
			known++
			throughput = throughput || key == "THROUGHPUT"
		}
	}
	return known > 1 && throughput
}

// netperfMark recognises lines of netperf's output.
func netperfMark(line string) mark {
	switch {
	case !containsAny(line, "netperf", "netserver", " TEST", "=", "Interim", "establish", "remote", "recv_", "send_",
		","):
		return markNone
	case netperfCommand.MatchString(line):
		return markCommand
	case netperfBanner.MatchString(line):
		return markBanner
	case isNetperfHeader(line):
		return markHeader
	case netperfFailure.MatchString(line), netperfInterim.MatchString(line):
		return markWeak
	}
	if pair := netperfPair.FindStringSubmatch(line); pair != nil {
		if pair[1] == "THROUGHPUT" {
			return markResult
		}
		if netperfField(pair[1]) != "" {
			return markWeak
		}
	}
	return markNone
}
