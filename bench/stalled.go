package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"nearfar/internal/experiment"
	"nearfar/internal/host"
	"nearfar/internal/tool"
)

const (
	stalledName   = "native-stalled"
	underLoadName = "sockperf-under-load"
	underLoadPort = 11113
)

// stalledServer is the native engine with a server that stalls.
type stalledServer struct{ tool.Tool }

// Name is what the workloads call it.
func (stalledServer) Name() string { return stalledName }

// Plan tells the server to stall.
func (t stalledServer) Plan(w experiment.Workload, server host.Endpoint) (tool.Plan, error) {
	p, err := t.Tool.Plan(w, server)
	if err != nil {
		return p, err
	}
	s := *p.Server
	s.Argv = append(s.Argv[:len(s.Argv):len(s.Argv)], "--stall", stallLength.String()+"/"+stallPeriod.String())
	p.Server = &s
	return p, nil
}

// underLoad is sockperf's under-load mode against a server that is stopped and continued as the engine's stalls.
type underLoad struct{ *tool.Sockperf }

// Name is what the workloads call it.
func (underLoad) Name() string { return underLoadName }

// Plan gives the command lines. The rate is sockperf's --mps, and a reply is asked of every message.
func (underLoad) Plan(w experiment.Workload, server host.Endpoint) (tool.Plan, error) {
	if w.Mode != experiment.Load || w.Protocol != experiment.TCP || w.Duration%time.Second != 0 || w.Request != w.Response || w.Arrivals != experiment.ConstantArrivals {
		return tool.Plan{}, fmt.Errorf("workload %s: it is load over tcp with constant arrivals, for whole seconds, with messages of one size", w.Name)
	}
	to := []string{"-i", server.Address.String(), "-p", strconv.Itoa(underLoadPort), "--tcp"}
	// One second more than the window: what sockperf cuts off comes out of that.
	seconds := int(w.Duration.Seconds()) + 1
	client := append([]string{"sockperf", "under-load"}, to...)
	client = append(client, "-m", strconv.Itoa(w.Request), "-t", strconv.Itoa(seconds), "--mps="+strconv.Itoa(int(w.OfferedRate)), "--reply-every=1", "--full-rtt")
	return tool.Plan{
		Server:   &tool.Command{Argv: append([]string{host.Self, stallVerb, stallLength.String(), stallPeriod.String(), "sockperf", "server"}, to...)},
		Ready:    tool.Ready{Protocol: experiment.TCP, Port: underLoadPort},
		Client:   tool.Command{Argv: client},
		Expected: time.Duration(seconds)*time.Second + 200*time.Millisecond,
	}, nil
}

// stallVerb is the verb under which this program runs another and stops it for the last part of every period.
const stallVerb = "bench-stall"

// stall runs a command line, stops it (SIGSTOP) for the given time at the end of every period, and returns its exit
// status: LENGTH PERIOD PROGRAM ARGUMENT...
func stall(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	length, period, err := readStall(args)
	if err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", stallVerb, err)
		return 2
	}
	// What ends a server goes to its process group: a stopped process sees it when it goes on.
	ctx, end := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer end()
	cmd := exec.Command(args[2], args[3:]...) //nolint:noctx // it is ended below, in the right order
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	if err := cmd.Start(); err != nil {
		fmt.Fprintf(stderr, "%s: %v\n", stallVerb, err)
		return 1
	}
	ended := ending(cmd)
	stopAgainAndAgain(ctx, cmd.Process, length, period, ended)
	return exitStatus(cmd.ProcessState)
}

// stopAgainAndAgain stops and continues the process on a schedule, until it has ended. When ctx ends it lets the process
// go on and asks it to end.
func stopAgainAndAgain(ctx context.Context, p *os.Process, length, period time.Duration, ended <-chan struct{}) {
	timer := time.NewTimer(period - length)
	defer timer.Stop()
	next, stopped := time.Now().Add(period-length), false
	for {
		select {
		case <-ended:
			return
		case <-ctx.Done():
			// An error says that it has ended, which is waited for.
			_ = goOn(p)
			_ = p.Signal(syscall.SIGTERM)
			<-ended
			return
		case <-timer.C:
		}
		if stopped {
			_ = goOn(p)
			next = next.Add(period - length)
		} else {
			_ = hold(p)
			next = next.Add(length)
		}
		stopped = !stopped
		timer.Reset(time.Until(next))
	}
}

func readStall(args []string) (length, period time.Duration, err error) {
	if len(args) < 3 {
		return 0, 0, errors.New("want LENGTH PERIOD PROGRAM")
	}
	length, err1 := time.ParseDuration(args[0])
	period, err2 := time.ParseDuration(args[1])
	if err := errors.Join(err1, err2); err != nil {
		return 0, 0, err
	}
	if length <= 0 || period <= length {
		return 0, 0, fmt.Errorf("a stall of %v in %v: it must be longer than 0 and shorter than its period", length, period)
	}
	return length, period, nil
}
