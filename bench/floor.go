package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

const (
	floorName = "floor"
	// floorPath is the program's path on the lab's hosts.
	floorPath = "/tmp/floor"
)

// floorSource has a folder of its own, because without cgo Go does not allow C files in a folder of Go files.
//
//go:embed floor/floor.c
var floorSource []byte

// buildFloor builds the C program in dir, and returns its path.
func buildFloor(ctx context.Context, dir string) (string, error) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", errors.New("there is no C compiler: no cc on PATH")
	}
	source, program := filepath.Join(dir, "floor.c"), filepath.Join(dir, "floor")
	if err := os.WriteFile(source, floorSource, 0o644); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, cc, "-O2", "-Wall", "-Wextra", "-o", program, source)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the floor: %w: %s", err, out)
	}
	return program, nil
}

// floor is the C program as a tool.
type floor struct{}

// Name is what the workloads call it.
func (floor) Name() string { return floorName }

// Probe asks for the version of the compiler that built it.
func (floor) Probe() tool.Probe {
	version := func(printed []byte) string {
		if m := floorVersion.FindSubmatch(printed); m != nil {
			return string(m[1])
		}
		return ""
	}
	return tool.Probe{Programs: []string{floorPath}, Argv: []string{floorPath, "version"}, Version: version}
}

// Plan gives the command lines of the C program: a server and a client.
func (floor) Plan(w experiment.Workload, pair host.Pair) (tool.Plan, error) {
	if w.Mode != experiment.RR || w.Protocol != experiment.TCP || w.Request != w.Response {
		return tool.Plan{}, fmt.Errorf("workload %s: the floor is request/response over tcp, with messages of one size",
			w.Name)
	}
	bind, dial, err := pair.Addresses(w.IP)
	if err != nil {
		return tool.Plan{}, err
	}
	port := pair.Server.Ports().Data
	to := func(verb string, address netip.Addr) []string {
		return []string{floorPath, verb, address.String(), strconv.Itoa(port), strconv.Itoa(w.Request)}
	}
	milliseconds := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	run := append(to("run", dial), milliseconds(w.Warmup), milliseconds(w.Duration))
	return tool.Plan{
		Server:   &tool.Command{Argv: to("serve", bind)},
		Ready:    tool.Ready{Protocol: experiment.TCP, Port: port},
		Client:   tool.Command{Argv: run},
		Expected: w.Warmup + w.Duration + 100*time.Millisecond,
	}, nil
}

var (
	floorVersion = regexp.MustCompile(`(?m)^floor, built with (.{1,100})$`)
	floorLine    = regexp.MustCompile(`(?m)^floor: transactions=(\d{1,12}) window_ns=(\d{1,15}) ` +
		`p50_ns=(\d{1,10}) p99_ns=(\d{1,10})$`)
)

// Parse reads the line that the client printed.
func (floor) Parse(out tool.Output) (result.Measurement, error) {
	m := result.Measurement{Tool: result.ToolVersion{Name: floorName}}
	found := floorLine.FindSubmatch(out.Stdout)
	if out.ExitCode != 0 || found == nil {
		return m, fmt.Errorf("the floor printed no result and ended with exit status %d: %s", out.ExitCode,
			end(out.Stderr))
	}
	var v [4]float64
	for i := range v {
		n, err := strconv.ParseUint(string(found[i+1]), 10, 64)
		if err != nil || n == 0 {
			return m, fmt.Errorf("the floor printed an impossible figure: %s", found[0])
		}
		v[i] = float64(n)
	}
	m.Mode, m.Protocol = experiment.RR, experiment.TCP
	m.Duration = time.Duration(v[1])
	m.ReportedAs, m.Definition = result.DefinitionRTT, result.DefinitionRTT
	m.Metrics = []result.Metric{
		{Name: result.TransactionRate, Unit: result.PerSecond, Value: v[0] / v[1] * 1e9},
		{Name: result.RTT, Stat: result.P50, Unit: result.Seconds, Value: v[2] / 1e9},
		{Name: result.RTT, Stat: result.P99, Unit: result.Seconds, Value: v[3] / 1e9},
	}
	return m, nil
}

// end is the end of an output, for a message.
func end(printed []byte) string {
	const most = 300
	return fmt.Sprintf("%q", printed[max(0, len(printed)-most):])
}
