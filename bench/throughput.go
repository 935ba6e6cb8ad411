package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

const throughputName = "sockperf-throughput"

// throughput is sockperf's one-way mode at the highest rate. sockperf prints how many messages it sent. How many were
// delivered is counted on the server's host.
type throughput struct{ *tool.Sockperf }

// Name is what the workloads call it.
func (throughput) Name() string { return throughputName }

// Plan gives the command lines. The server runs under watch, which counts what it receives.
func (throughput) Plan(w experiment.Workload, pair host.Pair) (tool.Plan, error) {
	if w.Mode != experiment.Messages || w.Protocol != experiment.UDP || w.Duration%time.Second != 0 || w.Duration == 0 {
		return tool.Plan{}, fmt.Errorf("workload %s: it is messages over udp, for whole seconds", w.Name)
	}
	bind, dial, err := pair.Addresses(w.IP)
	if err != nil {
		return tool.Plan{}, err
	}
	port := pair.Server.Ports().Data
	watchedServer := watching(tool.Command{Argv: []string{"sockperf", "server", "-i", bind.String(), "-p",
		strconv.Itoa(port)}})
	client := []string{"sockperf", "throughput", "-i", dial.String(), "-p", strconv.Itoa(port)}
	client = append(client, "-m", strconv.Itoa(w.Message), "-t", strconv.Itoa(int(w.Duration.Seconds())), "--mps=max")
	return tool.Plan{
		Server:   &watchedServer,
		Ready:    tool.Ready{Protocol: experiment.UDP, Port: port},
		Client:   tool.Command{Argv: client},
		Expected: w.Duration + 200*time.Millisecond,
	}, nil
}

var throughputTotal = regexp.MustCompile(`Total of (\d{1,15}) messages sent in (\d{1,6}\.\d{1,9}) sec`)

// Parse gives the message rate: messages delivered per second.
func (throughput) Parse(out tool.Output) (result.Measurement, error) {
	m := result.Measurement{Tool: result.ToolVersion{Name: throughputName}}
	total := throughputTotal.FindSubmatch(out.Stdout)
	if out.ExitCode != 0 || total == nil {
		return m, fmt.Errorf("sockperf throughput printed no total and ended with exit status %d: %s%s", out.ExitCode,
			end(out.Stdout), end(out.Stderr))
	}
	server, _, err := readWatched(out.ServerStderr)
	if err != nil {
		return m, err
	}
	sent, err1 := strconv.ParseFloat(string(total[1]), 64)
	took, err2 := strconv.ParseFloat(string(total[2]), 64)
	if err := errors.Join(err1, err2); err != nil {
		return m, err
	}
	if took == 0 || server.Datagrams == 0 {
		return m, errors.New("sockperf throughput delivered nothing")
	}
	m.Mode, m.Protocol = experiment.Messages, experiment.UDP
	m.Duration = time.Duration(took * float64(time.Second))
	m.ReportedAs, m.Definition = result.DefinitionRate, result.DefinitionRate
	m.Metrics = []result.Metric{
		{Name: result.MessageRate, Unit: result.PerSecond, Value: float64(server.Datagrams) / took},
		{Name: result.Sent, Unit: result.One, Value: sent},
		{Name: result.Received, Unit: result.One, Value: float64(server.Datagrams)},
	}
	return m, nil
}
