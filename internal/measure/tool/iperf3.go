package tool

import (
	"errors"
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

const iperf3Name = "iperf3"

// iperf3Program declares iperf3 3.12. The limits are its own: blocks of up to 1 MiB, datagrams of 16 bytes or more, 128
// streams, 60 s of warm-up. A rate of 0 bit/s would be no limit at all, so each connection has at least 1 bit/s.
func iperf3Program() program {
	connections := map[string]experiment.Range{"connections": {Min: 1, Max: 128}}
	omit := experiment.Durations{Max: time.Minute, Step: time.Second}
	return program{
		declared: experiment.Tool{
			Name: iperf3Name,
			Does: []experiment.Capability{
				{Mode: experiment.Stream, Protocol: experiment.TCP, Message: experiment.Range{Min: 1, Max: 1 << 20},
					Numbers: connections, Duration: wholeSeconds(), Warmup: omit, Keys: []string{"congestion"}},
				{Mode: experiment.Stream, Protocol: experiment.UDP,
					Message: experiment.Range{Min: 16, Max: maxDatagram},
					Numbers: connections, Duration: wholeSeconds(), Warmup: omit,
					Rate: experiment.RateLimits{Unit: experiment.BitRate, Min: 1, Max: 1e15, MinEach: 1}},
			},
			Runs: "`iperf3 -s -1`, `iperf3 -J -c`", Systems: "Linux", Versions: "3.12 run; 3.0 to 3.18 read",
			Prints: "bytes and bit/s; the kernel's smoothed round trip, in us",
		},
		install: installation{
			on: []string{linux, windows}, apt: "iperf3", dnf: "iperf3", amazon: "iperf3", azure: "iperf3",
			zypper: "iperf", pacman: "iperf3", apk: "iperf3", source: "https://github.com/esnet/iperf",
			windows: "get it from https://iperf.fr/iperf-download.php",
		},
		run: NewIperf3(), mark: iperf3Mark, parse: parseIperf3Text,
	}
}

// Iperf3 is ESnet's iperf3.
type Iperf3 struct{ known }

// NewIperf3 makes the tool.
func NewIperf3() *Iperf3 {
	return &Iperf3{known{iperf3Name, probe(iperf3Version, []string{"iperf3"}, "iperf3", "--version")}}
}

// Plan gives a server that ends after one client, and a client that prints JSON. Window and warm-up (-O, left out of
// the figures) are whole seconds: iperf3 reads 0.5 as 0, which means forever.
func (*Iperf3) Plan(w experiment.Workload, pair host.Pair) (Plan, error) {
	bind, dial, err := addressesFor(iperf3Program(), w, pair)
	if err != nil {
		return Plan{}, err
	}
	seconds, omit := whole(w.Duration), int(w.Warmup/time.Second)
	connections := max(1, w.Connections)
	data := pair.Server.Ports().Data // for iperf3's control connection too
	port := strconv.Itoa(data)
	client := []string{"iperf3", "-J", "-c", dial.String(), "-p", port, "-t", strconv.Itoa(seconds),
		"--connect-timeout", "5000"}
	if dial.Is6() {
		client = append(client, "-6")
	}
	if omit > 0 {
		client = append(client, "-O", strconv.Itoa(omit))
	}
	if connections > 1 {
		client = append(client, "-P", strconv.Itoa(connections))
	}
	if w.Message > 0 {
		client = append(client, "-l", strconv.Itoa(w.Message))
	}
	if w.Congestion != "" {
		client = append(client, "-C", w.Congestion)
	}
	if w.Protocol == experiment.UDP {
		client = append(client, "-u")
		if w.Rate > 0 {
			// iperf3 takes the rate of each connection.
			client = append(client, "-b", strconv.FormatFloat(w.Rate/float64(connections), 'f', 0, 64))
		}
	}
	return Plan{
		Server: &Command{
			Argv: []string{"iperf3", "-s", "-1", "-B", bind.String(), "-p", port}, Rights: iperf3Rights(w),
		},
		Ready:      Ready{Protocol: experiment.TCP, Port: data},
		Sockets:    sockets(data, w.Protocol, data),
		ServerEnds: onceEnds,
		Client:     Command{Argv: client, Rights: iperf3Rights(w)},
		Expected:   time.Duration(seconds+omit)*time.Second + 300*time.Millisecond,
	}, nil
}

// iperf3Rights let iperf3 keep the buffers of its streams in temporary files.
func iperf3Rights(w experiment.Workload) *confine.Options {
	return &confine.Options{Scratch: true, Congestion: w.Congestion}
}

// Parse reads what the client printed.
func (*Iperf3) Parse(out Output) (result.Measurement, error) {
	text := plain(out.Stdout)
	var m result.Measurement
	var err error
	switch docs, _ := jsonDocuments(text); {
	case len(docs) > 0 && isIperf3Event(docs[0]):
		m, err = parseIperf3Stream(docs)
	case len(docs) > 0:
		m, err = parseIperf3JSON(docs[0])
	default:
		m, err = parseIperf3Text(text + "\n" + plain(out.Stderr))
	}
	if w := out.Workload; w != nil {
		m.Mode, m.Protocol = w.Mode, w.Protocol
		if w.Message > 0 {
			m.MessageBytes = w.Message
		}
	}
	return m, ended(iperf3Name, out, err)
}

var (
	iperf3Version   = lazyregexp.New(`iperf (3[\w.+-]*)`)
	iperf3Command   = lazyregexp.New(`(?:^|[$#>%]\s*)(?:sudo\s+)?(?:\./|/\S+/)?iperf3(?:\.exe)?\s+(?:-\S)`)
	iperf3Begin     = lazyregexp.New(`(?:^|\s)(?:Connecting to host \S+, port \d+|Accepted connection from \S+, port \d+)`)
	iperf3Listening = lazyregexp.New(`^Server listening on \S*\d+`)
	iperf3Failure   = lazyregexp.New(`iperf3: ((?:error|interrupt|parameter error|exiting|the client|the server).*)`)
	iperf3Row       = lazyregexp.New(`\[ *(\d+|SUM)\](?:\[([TR]X-[CS])\])? +([0-9.]+) *- *([0-9.]+) +sec +([0-9.]+) ([KMGTP]?)Bytes +([0-9.]+) ([KMGTP]?)(bits|Bytes)/sec(.*)$`)
	iperf3UDP       = lazyregexp.New(`^ +([0-9.]+) ms +(-?\d+)/(-?\d+) \(`)
	iperf3Retr      = lazyregexp.New(`^ +(\d+) +(?:[0-9.]+ [KMG]?Bytes)?`)
	iperf3Sent      = lazyregexp.New(`Total Datagrams|Lost/Total`)
)

// iperf3Mark recognises lines of iperf3's text output.
func iperf3Mark(line string) mark {
	switch {
	case !containsAny(line, "iperf", "/sec", "port ", "listening on"):
		return markNone
	case iperf3Command.MatchString(line):
		return markCommand
	case iperf3Listening.MatchString(line):
		return markCommand // a waiting server has printed nothing about a run
	case iperf3Begin.MatchString(line):
		return markHeader
	case iperf3Failure.MatchString(line), iperf3Row.MatchString(line), line == "iperf Done.":
		return markWeak
	}
	return markNone
}

// iperf3Line is one row of figures in iperf3's text.
type iperf3Line struct {
	id, role, rest   string
	seconds, rate    float64
	bytes            float64
	sender, receiver bool
}

// parseIperf3Text reads one run as iperf3 prints it without -J. Transfers are by powers of 1024, rates in bits by
// powers of 1000 (in bytes, of 1024). Goodput is the receiver's rate of the last summary.
func parseIperf3Text(text string) (result.Measurement, error) {
	m := newMeasured(iperf3Name)
	m.Mode = experiment.Stream
	m.Tool.Version = find(iperf3Version, text)
	var rows []iperf3Line
	failure, done, summary, connected, udp := "", false, false, false, false
	for line := range strings.SplitSeq(text, "\n") {
		switch {
		case iperf3Failure.MatchString(line):
			if failure == "" {
				failure = excerpt(strings.TrimPrefix(find(iperf3Failure, line), "error - "))
			}
		case strings.HasPrefix(strings.TrimSpace(line), "- - - - -"):
			rows, summary = rows[:0], true // only the last block between rules is the summary
		case strings.HasPrefix(line, "iperf Done."):
			done = true
		case strings.Contains(line, " connected to "), iperf3Begin.MatchString(line):
			connected = true
		case iperf3Sent.MatchString(line):
			udp = true
		}
		if row, ok := readIperf3Line(line); ok && !strings.Contains(row.rest, "(omitted)") {
			rows = append(rows, row)
		}
	}
	if udp {
		m.Protocol = experiment.UDP
	} else if connected {
		m.Protocol = experiment.TCP
	}
	if !summary {
		// Rows of intervals alone do not make a result. Rows that name a side belong to the summary, even without its
		// header.
		rows = slices.DeleteFunc(rows, func(r iperf3Line) bool { return !r.sender && !r.receiver })
	}
	measureIperf3Rows(m, rows, udp)
	if failure != "" || !done {
		dropZeroGoodput(m)
	}
	switch {
	case failure != "":
		return m.Measurement, errors.New("iperf3: " + failure)
	case len(m.Metrics) == 0:
		return m.Measurement, errors.New(
			"iperf3 printed no summary: the run was ended before, or the output is cut off")
	case !m.has(result.Goodput):
		return m.Measurement, errors.New("iperf3 printed no receiver's figure, so the goodput is not known")
	}
	noteZeroGoodput(m, done)
	return m.Measurement, nil
}

func readIperf3Line(line string) (iperf3Line, bool) {
	s := iperf3Row.FindStringSubmatch(line)
	if s == nil {
		return iperf3Line{}, false
	}
	begin, ok1 := number(s[3])
	end, ok2 := number(s[4])
	bytes, ok3 := number(s[5])
	rate, ok4 := number(s[7])
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return iperf3Line{}, false
	}
	base, bits := 1000.0, 1.0
	if s[9] == "Bytes" {
		base, bits = 1024, 8
	}
	row := iperf3Line{id: s[1], role: s[2], seconds: end - begin, rest: s[10]}
	row.bytes = bytes * power(1024, s[6])
	row.rate = rate * bits * power(base, s[8])
	row.sender = strings.HasSuffix(strings.TrimSpace(s[10]), "sender")
	row.receiver = strings.HasSuffix(strings.TrimSpace(s[10]), "receiver")
	return row, true
}

// power is the base to the power of the prefix.
func power(base float64, prefix string) float64 {
	v := 1.0
	for i := strings.Index("KMGTP", prefix); prefix != "" && i >= 0; i-- {
		v *= base
	}
	return v
}

// measureIperf3Rows reads the rows of the summary. The figures of the trial are in the row SUM, or in the only
// stream's.
func measureIperf3Rows(m *measured, rows []iperf3Line, udp bool) {
	streams, bidirectional := map[string]bool{}, false
	for _, r := range rows {
		streams[r.id+r.role] = true
		bidirectional = bidirectional || r.role != ""
	}
	sum := false
	for id := range streams {
		sum = sum || strings.HasPrefix(id, "SUM")
	}
	for _, r := range rows {
		scope := ""
		if sum && r.id != "SUM" || !sum && !bidirectional && len(streams) > 1 {
			scope = "stream " + r.id
		}
		if bidirectional {
			scope = strings.TrimSpace(iperf3Direction(r.role) + " " + scope)
		}
		loss := iperf3UDP.FindStringSubmatch(r.rest)
		if scope == "" {
			m.seconds(r.seconds)
		}
		switch {
		case r.receiver:
			m.add(result.Goodput, "", r.rate, scope)
			if loss != nil {
				measureIperf3Loss(m, loss, scope)
			}
			m.define(result.DefinitionRate, result.DefinitionRate)
		case r.sender && udp:
			if loss != nil {
				m.addPrinted(result.Sent, "", loss[3], 1, scope)
			}
		case r.sender:
			m.addPrinted(result.Retransmits, "", find(iperf3Retr, r.rest), 1, scope)
		case loss != nil:
			// iperf3 before 3.2: one row with the sender's rate and the receiver's losses.
			lost, ok1 := number(loss[2])
			total, ok2 := number(loss[3])
			if ok1 && ok2 && lost >= 0 && total > 0 && lost <= total {
				m.add(result.Goodput, "", r.rate*(1-lost/total), scope)
				m.add(result.Sent, "", total, scope)
				measureIperf3Loss(m, loss, scope)
				m.define(result.DefinitionRate, result.DefinitionRate)
				m.note("This iperf3 prints the sender's rate; the goodput is that less the loss.")
			}
		}
	}
}

func iperf3Direction(role string) string {
	if strings.HasPrefix(role, "TX-C") || strings.HasPrefix(role, "RX-S") {
		return "client to server"
	}
	return "server to client"
}

func measureIperf3Loss(m *measured, printed []string, scope string) {
	m.addPrinted(result.IPDV, result.Mean, printed[1], millisecond, scope)
	lost, ok1 := number(printed[2])
	total, ok2 := number(printed[3])
	if !ok1 || !ok2 || total <= 0 || lost < 0 || lost > total {
		return
	}
	m.add(result.Lost, "", lost, scope)
	m.add(result.Loss, "", lost/total, scope)
}

// dropZeroGoodput removes a goodput of 0 from a run that ended before the receiver's figures arrived. 0 then means that
// the goodput is not known.
func dropZeroGoodput(m *measured) {
	if m.hasZero(result.Goodput) {
		m.drop(result.Goodput)
		m.note("The receiver's figures never came: the goodput is not known.")
	}
	if !m.has(result.Goodput) && m.Definition == result.DefinitionRate {
		m.define(result.DefinitionNone, result.DefinitionNone)
	}
}

func noteZeroGoodput(m *measured, done bool) {
	if done && m.hasZero(result.Goodput) {
		m.note("The receiver reported 0 bytes: the transfer was too short to be measured.")
	}
}
