package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// The C program measures itself over loopback, and Parse reads what it prints.
func TestFloor(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	program, err := buildFloor(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	server := exec.CommandContext(ctx, program, "serve", "127.0.0.1", port, "64")
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	var printed []byte
	for { // until the server listens
		run := exec.CommandContext(ctx, program, "run", "127.0.0.1", port, "64", "10", "100")
		if printed, err = run.CombinedOutput(); err == nil {
			break
		}
		if ctx.Err() != nil || !strings.Contains(string(printed), "connect: ") {
			t.Fatalf("%v: %s", err, printed)
		}
	}
	if err := server.Wait(); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	m, err := floor{}.Parse(tool.Output{Stdout: printed})
	if err != nil {
		t.Fatalf("%v: %s", err, printed)
	}
	trial := result.Trial{Metrics: m.Metrics}
	p50, _ := trial.Value(result.RTT, result.P50)
	p99, _ := trial.Value(result.RTT, result.P99)
	rate, _ := trial.Value(result.TransactionRate, "")
	if p50 <= 0 || p99 < p50 || rate <= 0 || m.Duration < 100*time.Millisecond {
		t.Errorf("p50 %v, p99 %v, rate %v, window %v: %s", p50, p99, rate, m.Duration, printed)
	}
	version, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil || (floor{}).Probe().Version(version) == "" {
		t.Errorf("version %q, %v", version, err)
	}
}

func TestFloorRefusesArguments(t *testing.T) {
	program, err := buildFloor(context.Background(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"", "run 127.0.0.1 1 64 x 1", "run 127.0.0.1 1 2000 1 1", "run here 1 64 1 1", "serve 127.0.0.1 70000 64",
	} {
		out, err := exec.Command(program, strings.Fields(args)...).CombinedOutput()
		if err == nil || !bytes.Contains(out, []byte("floor: ")) {
			t.Errorf("floor %s: %v, %s", args, err, out)
		}
	}
}

func TestFloorParse(t *testing.T) {
	m, err := floor{}.Parse(tool.Output{
		Stdout: []byte("floor: transactions=50000 window_ns=500000000 p50_ns=6000 p99_ns=9000\n")})
	if err != nil {
		t.Fatal(err)
	}
	want := []float64{100000, 6e-6, 9e-6}
	for i, v := range want {
		if m.Metrics[i].Value != v {
			t.Errorf("%+v is not %v", m.Metrics[i], v)
		}
	}
	for _, bad := range []tool.Output{
		{}, {Stdout: []byte("floor: transactions=0 window_ns=5 p50_ns=6 p99_ns=9\n")},
		{Stdout: []byte("floor: transactions=5 window_ns=5 p50_ns=6 p99_ns=9\n"), ExitCode: 1},
		{Stdout: []byte("floor: transactions=-5 window_ns=5 p50_ns=6 p99_ns=9\n")},
	} {
		if m, err := (floor{}).Parse(bad); err == nil {
			t.Errorf("%s gave %+v", bad.Stdout, m)
		}
	}
}

const sockperfSaid = "sockperf: Test ended\nsockperf: Total of 785924 messages sent in 1.000 sec\n\n" +
	"sockperf: Summary: Message Rate is 785540 [msg/sec]\n"

// watchSaid is the line of bench-watch for a process that used this much CPU time, in seconds, and read this many
// datagrams.
func watchSaid(cpu float64, datagrams int) []byte {
	return fmt.Appendf(nil, "\nbench-watch: {\"cpu_seconds\":%v,\"udp_datagrams\":%d}\n", cpu, datagrams)
}

func TestThroughputCountsWhatArrived(t *testing.T) {
	m, err := throughput{}.Parse(tool.Output{Stdout: []byte(sockperfSaid), ServerStderr: watchSaid(0.9, 500000)})
	if err != nil || m.Metrics[0].Name != result.MessageRate || m.Metrics[0].Value != 500000 {
		t.Errorf("%+v, %v", m, err)
	}
	for name, bad := range map[string]tool.Output{
		"no count":  {Stdout: []byte(sockperfSaid)},
		"nothing":   {Stdout: []byte(sockperfSaid), ServerStderr: watchSaid(0.9, 0)},
		"no total":  {ServerStderr: watchSaid(0.9, 7)},
		"exit 1":    {Stdout: []byte(sockperfSaid), ServerStderr: watchSaid(0.9, 7), ExitCode: 1},
		"zero time": {Stdout: []byte("Total of 5 messages sent in 0.000 sec"), ServerStderr: watchSaid(0.9, 7)},
	} {
		if m, err := (throughput{}).Parse(bad); err == nil {
			t.Errorf("%s gave %+v", name, m)
		}
	}
}

// fixed is a stream tool that always gives the same measurement.
type fixed struct{ tool.Tool }

func (fixed) Parse(out tool.Output) (result.Measurement, error) {
	if len(out.Stderr) > 0 {
		return result.Measurement{}, fmt.Errorf("on standard error: %s", out.Stderr)
	}
	goodput := result.Metric{Name: result.Goodput, Unit: result.BitsPerSecond, Value: 10e9}
	return result.Measurement{Duration: 2 * time.Second, Metrics: []result.Metric{goodput}}, nil
}

func TestCPUForEachGigabit(t *testing.T) {
	stream := experiment.Workload{Mode: experiment.Stream}
	client, server := watchSaid(1.5, 0), append([]byte("bye\n"), watchSaid(0.5, 0)...)
	m, err := metered{fixed{}}.Parse(tool.Output{Workload: &stream, Stderr: client, ServerStderr: server})
	if err != nil || len(m.Metrics) != 2 || m.Metrics[1].Name != cpuPerGigabit || m.Metrics[1].Value != 0.1 {
		t.Errorf("%+v, %v; want 2 s of CPU for 20 Gbit", m, err)
	}
	if m, err := (metered{fixed{}}).Parse(tool.Output{Workload: &stream, Stderr: client}); err == nil {
		t.Errorf("without the server's: %+v", m)
	}
	stream.Warmup = time.Second
	warmed := experiment.Workload{Mode: experiment.Stream, Protocol: experiment.TCP,
		Duration: time.Second, Warmup: time.Second}
	if _, err := (metered{tool.NewIperf3()}).Plan(warmed, host.Pair{}); err == nil {
		t.Error("CPU time of the warm-up would count for the window")
	}
}

// A watched process is reported with the CPU that it used, its own output and its own exit status.
func TestWatch(t *testing.T) {
	var stdout, stderr bytes.Buffer
	busy := `i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; read line; echo "got $line"; echo oops >&2; exit 3`
	code := watch([]string{"sh", "-c", busy}, strings.NewReader("words\n"), &stdout, &stderr)
	w, rest, err := readWatched(stderr.Bytes())
	if code != 3 || err != nil || stdout.String() != "got words\n" || string(rest) != "oops\n" || w.CPU <= 0 ||
		w.Datagrams < 0 {
		t.Errorf("exit %d, %v, stdout %q, rest %q, %+v", code, err, stdout.String(), rest, w)
	}
	for _, argv := range [][]string{nil, {"/nowhere/program"}} {
		if code := watch(argv, nil, &stdout, &stderr); code == 0 {
			t.Errorf("%q ended well", argv)
		}
	}
}

func TestParseDatagrams(t *testing.T) {
	n, err := parseDatagrams("Tcp: A B\nTcp: 1 2\nUdp: NoPorts InDatagrams\nUdp: 5 77\n")
	if err != nil || n != 77 {
		t.Errorf("%d, %v", n, err)
	}
	for _, bad := range []string{
		"", "Udp: InDatagrams\n", "Udp: X InDatagrams\nUdp: 1\n", "Udp: InDatagrams\nUdp: x\n",
	} {
		if n, err := parseDatagrams(bad); err == nil {
			t.Errorf("%q gave %d", bad, n)
		}
	}
	if b, err := os.ReadFile("/proc/thread-self/net/snmp"); err == nil {
		if _, err := parseDatagrams(string(b)); err != nil {
			t.Errorf("this kernel's: %v", err)
		}
	}
}

func TestCPUModel(t *testing.T) {
	if got := cpuModel("processor\t: 0\nmodel name\t: A Processor\nmodel name\t: Another\n"); got != "A Processor" {
		t.Error(got)
	}
	if got := cpuModel("processor: 0\n") + loadAverage(""); got != "unknown" {
		t.Error(got)
	}
}

func TestBusy(t *testing.T) {
	for load, want := range map[string]bool{
		"0.40": false, "1.00": false, "1.01": true, "9.91": true, "unknown": false,
	} {
		if got := (machine{CPUs: 2, LoadBefore: load}).busy(); (got != "") != want {
			t.Errorf("a load average of %s: %q", load, got)
		}
	}
}

func FuzzParsers(f *testing.F) {
	f.Add([]byte(sockperfSaid), watchSaid(0.9, 500000), "Udp: InDatagrams\nUdp: 1\n")
	f.Add([]byte("floor: transactions=5 window_ns=5 p50_ns=6 p99_ns=9\n"), []byte("bench-watch: {}"), "")
	f.Add([]byte("clock-alone: due=10000 window_ns=1000000000 p50_ns=0 p99_ns=30 p99.9_ns=400\n"), []byte(nil), "")
	f.Fuzz(func(t *testing.T, stdout, stderr []byte, snmp string) {
		for _, one := range []tool.Tool{floor{}, throughput{}, clockAlone{}} {
			m, err := one.Parse(tool.Output{Stdout: stdout, ServerStderr: stderr})
			for _, got := range m.Metrics {
				mayBeZero := got.Name == result.Sent || got.Name == result.SendLateness && got.Value == 0
				if err != nil || !(got.Value > 0) && !mayBeZero {
					t.Errorf("%+v beside %v", got, err)
				}
			}
		}
		if w, _, err := readWatched(stderr); err == nil && (w.CPU < 0 || w.Datagrams < 0) {
			t.Errorf("%+v", w)
		}
		_, _ = parseDatagrams(snmp) // any text: no panic
	})
}
