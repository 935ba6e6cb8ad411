//go:build linux

package lab

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// pingPong exchanges single bytes with an echo server and prints the 10th percentile of the round-trip times in
// nanoseconds, which other programs of the machine change least: ADDRESS ROUNDS.
func pingPong(args []string) error {
	rounds, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	c, err := net.DialTimeout("tcp", net.JoinHostPort(args[0], strconv.Itoa(streamPort)), 5*time.Second)
	if err != nil {
		return err
	}
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	times := make([]time.Duration, rounds)
	b := make([]byte, 1)
	for i := range times {
		start := time.Now()
		if _, err := c.Write(b); err != nil {
			return err
		}
		if _, err := c.Read(b); err != nil {
			return err
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	fmt.Print(times[rounds/10].Nanoseconds())
	return nil
}

// TestWatchWireCost measures how much the watch costs a round trip and a bulk transfer: each runs with and without it,
// in turns, and the ratio is taken for each turn. The processes share a CPU, so that the figures include the watch's
// own time. It judges times, so it runs on request, on an idle machine: TURNS is the number of turns.
func TestWatchWireCost(t *testing.T) {
	turns, err := strconv.Atoi(os.Getenv("TURNS"))
	if err != nil || turns < 1 {
		t.Skip("it runs on request: TURNS=31")
	}
	l := openLab(t, Options{})
	all := l.Facts().CPUs
	cpu := all[len(all)-1:]
	for _, c := range []struct {
		arm  string
		path experiment.Lab
	}{
		{"routed", path(experiment.Bridge, experiment.Router, experiment.Bridge)},
		{"vxlan", path(experiment.VTEP, experiment.Bridge, experiment.Router, experiment.Bridge, experiment.VTEP)},
	} {
		client, server := build(t, l, c.arm, c.path)
		serveWith(t, server, host.Cmd{Argv: []string{host.Self, "echo"}, CPUs: cpu}, "tcp", streamPort)
		at := server.Endpoint().Dial.V4.String()
		for _, run := range []struct{ helper, size string }{{"pingpong", "3000"}, {"transfer", "5000000"}} {
			var ratios, without, with []float64
			for turn := range turns {
				var took [2]float64
				for i := range 2 {
					on := (i + turn) % 2
					end := func() {}
					if on == 1 {
						watched := l.WatchWire(c.arm)
						end = func() { watched() }
					}
					took[on] = timed(t, client, cpu, run.helper, at, run.size)
					end()
				}
				ratios = append(ratios, took[1]/took[0])
				without, with = append(without, took[0]), append(with, took[1])
			}
			slices.Sort(ratios)
			slices.Sort(without)
			t.Logf("%s, %s: %.4g without the watch; with it x %.3f (quartiles %.3f to %.3f)", c.arm, run.helper,
				without[turns/2], ratios[turns/2], ratios[turns/4], ratios[3*turns/4])
			// Other programs disturbed the fastest runs of both kinds least.
			if best := slices.Min(with) / without[0]; best > 1.5 {
				t.Errorf("%s, %s: the watch costs too much: x %.3f", c.arm, run.helper, best)
			}
		}
	}
}

// timed runs a helper on CPUs and returns the number that it prints.
func timed(t *testing.T, h host.Host, cpus []int, words ...string) float64 {
	t.Helper()
	var out strings.Builder
	p, err := h.Start(t.Context(), host.Cmd{Argv: append([]string{host.Self}, words...), CPUs: cpus, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseFloat(out.String(), 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
