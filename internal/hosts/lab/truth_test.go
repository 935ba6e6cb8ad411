//go:build linux && groundtruth

package lab

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/host"
)

// These tests check wires with other tools. They need sockperf, iperf3 and a machine with little other work.
//
//	go test -tags groundtruth -run TestGroundTruth -v ./internal/hosts/lab

const truthRounds = 3

func TestGroundTruthDelay(t *testing.T) {
	l := openLab(t, Options{})
	delays := []time.Duration{0, 50 * time.Microsecond, 200 * time.Microsecond}
	cpus, _, err := l.CPUs(experiment.Placement{Kind: experiment.PlacementShared})
	if err != nil {
		t.Fatal(err)
	}
	var clients []host.Host
	var addresses []string
	for _, d := range delays {
		client, server := build(t, l, d.String(), oneWire(experiment.Element{Delay: d}))
		address := server.Endpoint().Dial.V4.String()
		clients, addresses = append(clients, client), append(addresses, address)
		c := host.Cmd{Argv: []string{"sockperf", "server", "--tcp", "-i", address}, CPUs: cpus}
		serveWith(t, server, c, "tcp", 11111)
	}
	median := regexp.MustCompile(`percentile 50\.000 = +([0-9.]+)`)
	rtts := make([][]float64, len(delays)) // in microseconds
	for range truthRounds {
		for i := range delays {
			out := tool(t, clients[i], cpus, "sockperf", "ping-pong", "--tcp", "--full-rtt", "-t", "2", "-i",
				addresses[i])
			rtts[i] = append(rtts[i], number(t, median, out))
		}
	}
	for i, d := range delays {
		t.Logf("wire of %v: median RTTs %v us, %+v", d, rtts[i], *observe(t, l, d.String(), 0).Wire)
		added := middle(rtts[i]) - middle(rtts[0])
		if want := 2 * float64(d.Microseconds()); added < want-5 || added > want+5 {
			t.Errorf("a wire of %v adds %.1f us, want %.0f", d, added, want)
		}
	}
}

func TestGroundTruthRate(t *testing.T) {
	for _, placement := range []string{experiment.PlacementShared, experiment.PlacementSplit} {
		t.Run(placement, func(t *testing.T) { groundTruthRate(t, placement) })
	}
}

func groundTruthRate(t *testing.T, placement string) {
	l := openLab(t, Options{})
	cpus, serverCPUs, err := l.CPUs(experiment.Placement{Kind: placement})
	if err != nil {
		t.Fatal(err)
	}
	goodput := regexp.MustCompile(`"sum_received":\s*{[^}]*"bits_per_second":\s*([0-9.e+]+)`)
	for _, rate := range []float64{1e8, 1e9} {
		arm := fmt.Sprint(rate)
		client, server := build(t, l, arm, oneWire(experiment.Element{Rate: rate}))
		serveWith(t, server, host.Cmd{Argv: []string{"iperf3", "-s"}, CPUs: serverCPUs}, "tcp", 5201)
		var got []float64
		for range truthRounds {
			got = append(got, number(t, goodput, tool(t, client, cpus, "iperf3", "-J", "-O", "1", "-t", "4", "-c",
				server.Endpoint().Dial.V4.String())))
		}
		want := rate * 1448 / 1514
		t.Logf("goodput %v bit/s, want %.4g; %+v", got, want, *observe(t, l, arm, 0).Wire)
		if m := middle(got); m < 0.97*want || m > 1.03*want {
			t.Errorf("goodput %.4g bit/s over a wire of %.4g, want %.4g within 3 %%", m, rate, want)
		}
	}
}

func tool(t *testing.T, h host.Host, cpus []int, argv ...string) string {
	t.Helper()
	var out bytes.Buffer
	p, err := h.Start(t.Context(), host.Cmd{Argv: argv, CPUs: cpus, Stdout: &out})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Wait(); err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out.String())
	}
	return out.String()
}

func number(t *testing.T, pattern *regexp.Regexp, text string) float64 {
	t.Helper()
	m := pattern.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no %s in %s", pattern, text)
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func middle(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
