package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/result"
	"nearfar/internal/tool"
)

const (
	peakName = "native-peak"
	// peakMemory is the metric that it adds: the most memory that the client had resident, in bytes.
	peakMemory = "peak_memory"
)

// peakVerb is the verb under which this program runs another and tells, on the last line of standard error, the most
// memory that it had resident.
const peakVerb = "bench-peak"

// peakEvery is how often the memory is looked at. The kernel keeps the maximum: only what a process takes in its last
// moment is not seen.
const peakEvery = 20 * time.Millisecond

// peak runs the command line and returns its exit status.
func peak(argv []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if len(argv) == 0 {
		fmt.Fprintln(stderr, peakVerb+": want a command line")
		return 2
	}
	ctx, end := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer end()
	path := argv[0]
	if path == host.Self {
		path = "/proc/self/exe"
	}
	cmd := exec.CommandContext(ctx, path, argv[1:]...)
	cmd.Args[0] = argv[0]
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", peakVerb, err)
		return 1
	}
	ended := ending(cmd)
	most := int64(0)
	look := time.NewTicker(peakEvery)
	defer look.Stop()
	for running := true; running; {
		select {
		case <-ended:
			running = false
		case <-look.C:
			if status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid)); err == nil {
				if v, ok := highWater(status, os.Getpid()); ok {
					most = max(most, v)
				}
			}
		}
	}
	fmt.Fprintf(stderr, "\n%s: %d bytes\n", peakVerb, most)
	return exitStatus(cmd.ProcessState)
}

var (
	statusParent = regexp.MustCompile(`(?m)^PPid:\s+(\d{1,10})$`)
	statusPeak   = regexp.MustCompile(`(?m)^VmHWM:\s+(\d{1,12}) kB$`)
	peakLine     = regexp.MustCompile(`(?m)^` + peakVerb + `: (\d{1,15}) bytes\n?`)
)

// highWater reads the most memory that a process had resident from its /proc/PID/status, in bytes. It must be a child of
// the given process: where /proc shows the processes of another namespace, the number is somebody else's.
func highWater(status []byte, parent int) (int64, bool) {
	p, m := statusParent.FindSubmatch(status), statusPeak.FindSubmatch(status)
	if p == nil || m == nil || string(p[1]) != strconv.Itoa(parent) {
		return 0, false
	}
	kilobytes, err := strconv.ParseInt(string(m[1]), 10, 64)
	return kilobytes << 10, err == nil
}

// peaked is the native engine with its client's memory looked at.
type peaked struct{ tool.Tool }

// Name is what the workloads call it.
func (peaked) Name() string { return peakName }

// Plan puts the client under peakVerb.
func (t peaked) Plan(w experiment.Workload, server host.Endpoint) (tool.Plan, error) {
	p, err := t.Tool.Plan(w, server)
	p.Client.Argv = append([]string{host.Self, peakVerb}, p.Client.Argv...)
	return p, err
}

// Parse adds the memory.
func (t peaked) Parse(out tool.Output) (result.Measurement, error) {
	found := peakLine.FindSubmatchIndex(out.Stderr)
	var bytes float64
	if found != nil {
		v, err := strconv.ParseFloat(string(out.Stderr[found[2]:found[3]]), 64)
		if err == nil {
			bytes = v
		}
		out.Stderr = out.Stderr[:found[0]]
	}
	m, err := t.Tool.Parse(out)
	if err == nil && bytes == 0 {
		err = errors.New("the client's memory is not known")
	}
	if err != nil {
		return m, err
	}
	m.Metrics = append(m.Metrics, result.Metric{Name: peakMemory, Unit: result.One, Value: bytes})
	return m, nil
}
