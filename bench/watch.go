package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// watchVerb is the verb with which this program runs another program, and prints the resources that it used on the last
// line of standard error. So CPU time and deliveries are measured from outside, in the same way for every tool.
const watchVerb = "bench-watch"

// watchMark begins the line.
const watchMark = "bench-watch: "

// watched is what the watched process used.
type watched struct {
	// CPU is the user and system time of the process and of the children that it waited for, in seconds, over its whole
	// life, also before and after the window. The time of kernel threads (ksoftirqd) is not included, for any tool.
	CPU float64 `json:"cpu_seconds"`
	// Datagrams is how many UDP datagrams applications in the host's network namespace read during that time.
	Datagrams int64 `json:"udp_datagrams"`
}

// watch runs the command line and returns its exit status.
func watch(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(argv) == 0 {
		fmt.Fprintln(stderr, watchMark+"want a command line")
		return 2
	}
	// A server is stopped by a signal to its process group. This process must outlive it.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(signals)
	path := argv[0]
	if path == host.Self {
		path = nearfarPath
	}
	cmd := exec.CommandContext(context.Background(), path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	before, err := datagrams()
	if err == nil {
		err = cmd.Run()
	}
	if _, exited := errors.AsType[*exec.ExitError](err); err != nil && !exited {
		fmt.Fprintf(stderr, "%s%v\n", watchMark, err)
		return 1
	}
	after, err := datagrams()
	if err != nil {
		fmt.Fprintf(stderr, "%s%v\n", watchMark, err)
		return 1
	}
	state := cmd.ProcessState
	used := watched{CPU: (state.UserTime() + state.SystemTime()).Seconds(), Datagrams: after - before}
	line, err := json.Marshal(used)
	if err != nil {
		fmt.Fprintf(stderr, "%s%v\n", watchMark, err)
		return 1
	}
	fmt.Fprintf(stderr, "\n%s%s\n", watchMark, line)
	return exitStatus(state)
}

// exitStatus is the exit status of the process, or 128 if a signal ended it.
func exitStatus(state *os.ProcessState) int {
	if code := state.ExitCode(); code >= 0 {
		return code
	}
	return 128
}

// datagrams returns how many UDP datagrams applications have read in this network namespace.
func datagrams() (int64, error) {
	b, err := os.ReadFile("/proc/thread-self/net/snmp")
	if err != nil {
		return 0, err
	}
	return parseDatagrams(string(b))
}

// parseDatagrams finds InDatagrams in /proc/net/snmp: a line of names and a line of values, both beginning with "Udp:".
func parseDatagrams(snmp string) (int64, error) {
	var names []string
	for line := range strings.Lines(snmp) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] != "Udp:" {
			continue
		}
		if names == nil {
			names = fields
			continue
		}
		for i, name := range names {
			if name == "InDatagrams" && i < len(fields) {
				return strconv.ParseInt(fields[i], 10, 64)
			}
		}
	}
	return 0, errors.New("no InDatagrams of Udp in /proc/net/snmp")
}

// watching makes the command run under watch.
func watching(c tool.Command) tool.Command {
	c.Argv = append([]string{helperPath, watchVerb}, c.Argv...)
	return c
}

var watchLine = regexp.MustCompile(`(?m)^` + watchMark + `(\{.{1,200}\})\n?`)

// readWatched finds the line in the standard error of a process, and returns the rest without it.
func readWatched(stderr []byte) (w watched, rest []byte, err error) {
	all := watchLine.FindAllSubmatchIndex(stderr, -1)
	if len(all) == 0 {
		return w, stderr, fmt.Errorf("what the process used is not known: %s", end(stderr))
	}
	at := all[len(all)-1]
	if err := json.Unmarshal(stderr[at[2]:at[3]], &w); err != nil {
		return w, stderr, fmt.Errorf("what the process used: %w", err)
	}
	if !(w.CPU >= 0) || w.Datagrams < 0 {
		return w, stderr, fmt.Errorf("what the process used cannot be: %s", stderr[at[2]:at[3]])
	}
	return w, bytes.TrimSuffix(stderr[:at[0]], []byte("\n")), nil
}

// cpuPerGigabit is a metric of bulk transfers that this benchmark adds: the CPU seconds of both sides together per 10^9
// bits delivered.
const (
	cpuPerGigabit     = "cpu_per_gigabit"
	secondsPerGigabit = "s/Gbit"
)

// metered is a tool whose bulk transfers run under watch on both sides.
type metered struct{ tool.Tool }

// Plan makes both processes run under watch.
func (t metered) Plan(w experiment.Workload, pair host.Pair) (tool.Plan, error) {
	p, err := t.Tool.Plan(w, pair)
	if err != nil || !isBulk(w) {
		return p, err
	}
	if p.Server == nil || w.Warmup != 0 {
		return p, fmt.Errorf("workload %s: CPU for each gigabit is measured with a server and without warm-up", w.Name)
	}
	watchedServer := watching(*p.Server)
	p.Server, p.Client = &watchedServer, watching(p.Client)
	return p, nil
}

// Parse adds the CPU time per gigabit. There is no warm-up, so that the CPU time of the processes, start and end
// included, belongs to the bits that were delivered in the window.
func (t metered) Parse(out tool.Output) (result.Measurement, error) {
	if out.Workload == nil || !isBulk(*out.Workload) {
		return t.Tool.Parse(out)
	}
	var client, server watched
	var errClient, errServer error
	client, out.Stderr, errClient = readWatched(out.Stderr)
	server, out.ServerStderr, errServer = readWatched(out.ServerStderr)
	m, err := t.Tool.Parse(out)
	if err = errors.Join(err, errClient, errServer); err != nil {
		return m, err
	}
	for _, got := range m.Metrics {
		if got.Name == result.Goodput && got.Scope == "" && got.Value > 0 && m.Duration > 0 {
			gigabits := got.Value * m.Duration.Seconds() / 1e9
			m.Metrics = append(m.Metrics, result.Metric{Name: cpuPerGigabit, Unit: secondsPerGigabit,
				Value: (client.CPU + server.CPU) / gigabits})
			note := fmt.Sprintf("CPU: client %v, server %v.", seconds(client.CPU), seconds(server.CPU))
			m.Notes = append(m.Notes, note)
			return m, nil
		}
	}
	return m, errors.New("no goodput, so the CPU for each gigabit is not known")
}

// isBulk tells whether a workload sends as much as it can, one way.
func isBulk(w experiment.Workload) bool {
	return w.Mode == experiment.Stream || w.Mode == experiment.Messages
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}
