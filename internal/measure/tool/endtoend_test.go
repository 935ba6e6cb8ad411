package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/hosts/hosttest"
	"nearfar/internal/onhost/host"
)

// TestPlansOverLoopback carries out every plan over loopback, as a runner would, and asserts properties of the figures
// that hold on every machine: their order, and that rates and times agree.
func TestPlansOverLoopback(t *testing.T) {
	second := time.Second
	tests := []struct {
		tool    Tool
		w       experiment.Workload
		address string
		check   func(t *testing.T, m result.Measurement)
	}{
		{NewSockperf(), experiment.Workload{Name: "sockperf-tcp", Mode: "rr", Protocol: "tcp", Request: 64,
			Response: 64, Duration: second}, "127.0.0.1", checkRTT},
		{NewSockperf(), experiment.Workload{Name: "sockperf-udp", Mode: "rr", Protocol: "udp", Request: 64,
			Response: 64, Duration: second}, "127.0.0.1", checkRTT},
		{NewSockperf(), experiment.Workload{Name: "sockperf-load-tcp", Mode: "load", Protocol: "tcp", Request: 64,
			Response: 64, OfferedRate: 2000, ReplyEvery: 1, Duration: second}, "127.0.0.1", checkLoad(1)},
		{NewSockperf(), experiment.Workload{Name: "sockperf-load-udp", Mode: "load", Protocol: "udp", Request: 1400,
			Response: 1400, OfferedRate: 2000, ReplyEvery: 10, Duration: second}, "127.0.0.1", checkLoad(10)},
		{NewSockperf(), experiment.Workload{Name: "sockperf-messages-tcp", Mode: "messages", Protocol: "tcp",
			Message: 1000, Duration: second}, "127.0.0.1", checkMessages},
		{NewSockperf(), experiment.Workload{Name: "sockperf-messages-paced", Mode: "messages", Protocol: "tcp",
			Message: 1000, OfferedRate: 5000, Duration: second}, "127.0.0.1", checkPaced(5000)},
		{NewNetperf(), experiment.Workload{Name: "netperf-tcp-rr", Mode: "rr", Protocol: "tcp", Request: 1024,
			Response: 1024, Duration: second}, "127.0.0.1", checkRate},
		{NewNetperf(), experiment.Workload{Name: "netperf-udp-rr", Mode: "rr", Protocol: "udp", Request: 64,
			Response: 32, Duration: second}, "::1", checkRate},
		{NewNetperf(), experiment.Workload{Name: "netperf-crr", Mode: "crr", Protocol: "tcp", Request: 64, Response: 64,
			Duration: second}, "127.0.0.1", checkRate},
		{NewNetperf(), experiment.Workload{Name: "netperf-stream", Mode: "stream", Protocol: "tcp", Message: 8192,
			Duration: second}, "127.0.0.1", checkStream},
		{NewIperf3(), experiment.Workload{Name: "iperf3-tcp", Mode: "stream", Protocol: "tcp", Duration: second,
			Connections: 2}, "127.0.0.1", checkStream},
		{NewIperf3(), experiment.Workload{Name: "iperf3-tcp6", Mode: "stream", Protocol: "tcp", Duration: second,
			Warmup: second}, "::1", checkStream},
		{NewIperf3(), experiment.Workload{Name: "iperf3-udp", Mode: "stream", Protocol: "udp", Message: 1000, Rate: 2e7,
			Duration: second}, "127.0.0.1", checkDatagrams},
		{NewQperf(), experiment.Workload{Name: "qperf-tcp", Mode: "rr", Protocol: "tcp", Request: 64, Response: 64,
			Duration: second}, "127.0.0.1", checkHalves},
		{NewQperf(), experiment.Workload{Name: "qperf-udp6", Mode: "rr", Protocol: "udp", Request: 64, Response: 64,
			Duration: second, IP: 6}, "::1", checkHalves},
		{NewQperf(), experiment.Workload{Name: "qperf-stream", Mode: "stream", Protocol: "tcp", Duration: second},
			"127.0.0.1", checkGoodput},
		{NewQperf(), experiment.Workload{Name: "qperf-stream-udp", Mode: "stream", Protocol: "udp", Message: 1000,
			Duration: second}, "127.0.0.1", checkGoodput},
		{NewPing(), experiment.Workload{Name: "ping", Mode: "ping", Protocol: "icmp", Request: 56,
			Interval: 5 * time.Millisecond, Duration: second}, "127.0.0.1", checkPing},
		{NewPing(), experiment.Workload{Name: "ping6", Mode: "ping", Protocol: "icmp", Request: 56,
			Interval: 10 * time.Millisecond, Duration: second / 4}, "::1", checkPing},
		{NewFortio(), clientWorkload(func(w *experiment.Workload) { w.Name, w.Duration = "fortio", second/2 }),
			"127.0.0.1", checkPages(definitionFortio, 1)},
		{NewFortio(), clientWorkload(func(w *experiment.Workload) {
			// A median needs 20 requests, which take 100 ms each on a busy machine.
			w.Name, w.Duration, w.IP, w.Request, w.Response = "fortio6", 2*second, 6, 100, 100_000
			w.Connect, w.Concurrency, w.OfferedRate = experiment.PerRequest, 4, 200
		}), "::1", checkPages(definitionFortio, 4)},
		{NewWrk(), clientWorkload(func(w *experiment.Workload) { w.Name = "wrk" }), "127.0.0.1",
			checkPages(definitionWrk, 1)},
		{NewWrk(), clientWorkload(func(w *experiment.Workload) {
			w.Name, w.IP, w.Response, w.Connect, w.Concurrency = "wrk6", 6, 100_000, experiment.PerRequest, 4
		}), "::1", checkPages(definitionWrk, 4)},
	}
	for _, test := range tests {
		t.Run(test.w.Name, func(t *testing.T) {
			plan, err := test.tool.Plan(test.w, withFreePorts(t, test.address))
			if err != nil {
				t.Fatal(err)
			}
			for _, program := range test.tool.Probe().Programs {
				if _, err := exec.LookPath(program); err != nil {
					t.Fatalf("%s must be installed for this test: %v", program, err)
				}
			}
			out := carryOut(t, plan)
			out.Workload = &test.w
			m, err := test.tool.Parse(out)
			if err != nil {
				t.Fatalf("%v\nstdout:\n%s\nstderr:\n%s\nserver:\n%s%s", err, out.Stdout, out.Stderr, out.ServerStdout,
					out.ServerStderr)
			}
			sound(t, m)
			if m.Mode != test.w.Mode || m.Protocol != test.w.Protocol {
				t.Errorf("read as %s over %s", m.Mode, m.Protocol)
			}
			// On a busy machine sockperf cuts off more than it says: only a window that was not kept at all is an
			// error.
			if m.Duration != 0 && m.Duration < test.w.Duration/4 {
				t.Errorf("a window of %v, want at least %v", m.Duration, test.w.Duration)
			}
			test.check(t, m)
		})
	}
}

// words are the command line of a command, as a host of this machine runs it: with no more rights than it needs.
func words(c Command) []string {
	line := c.Words()
	if line[0] == host.Self {
		line = append([]string{"/proc/self/exe"}, line[1:]...)
	}
	return line
}

// withFreePorts is a client and a server at an address, on ports that no other test uses.
func withFreePorts(t *testing.T, address string) host.Pair {
	pair := at(address)
	pair.Server.Port = hosttest.Loopback(t, "server").Port
	return pair
}

// carryOut runs a plan: server, wait for its socket, client.
func carryOut(t *testing.T, plan Plan) (out Output) {
	t.Helper()
	onLinux := host.Endpoint{System: host.System{OS: linux}}
	loopback := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("::1/128")}
	plan = plan.Confined(host.Pair{Client: onLinux, Server: onLinux}, loopback)
	ctx, cancel := context.WithTimeout(t.Context(), plan.Expected+30*time.Second)
	defer cancel()
	if plan.Server != nil {
		awaitSocket(ctx, t, plan.Ready, false)
		line := words(*plan.Server)
		server := exec.CommandContext(ctx, line[0], line[1:]...)
		var stdout, stderr bytes.Buffer
		server.Stdout, server.Stderr = &stdout, &stderr
		if err := server.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = server.Wait() // its output says how it went
		}()
		defer func() {
			select {
			case <-ended:
			case <-time.After(plan.ServerEnds):
				_ = server.Process.Signal(os.Interrupt) // it may have ended by itself
				<-ended
			}
			out.ServerStdout, out.ServerStderr = stdout.Bytes(), stderr.Bytes()
		}()
		awaitSocket(ctx, t, plan.Ready, true)
	}
	line := words(plan.Client)
	client := exec.CommandContext(ctx, line[0], line[1:]...)
	client.Env = append(os.Environ(), plan.Client.Env...)
	var stdout, stderr bytes.Buffer
	client.Stdout, client.Stderr = &stdout, &stderr
	err := client.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		out.ExitCode = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	out.Stdout, out.Stderr = stdout.Bytes(), stderr.Bytes()
	return out
}

// awaitSocket waits until a socket is there (or gone): listening for tcp, bound for udp. It reads /proc/net.
func awaitSocket(ctx context.Context, t *testing.T, ready Ready, there bool) {
	t.Helper()
	state := "0A"
	if ready.Protocol == experiment.UDP {
		state = "07"
	}
	port := fmt.Sprintf(":%04X", ready.Port)
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		found := false
		for _, table := range []string{"/proc/net/" + ready.Protocol, "/proc/net/" + ready.Protocol + "6"} {
			data, err := os.ReadFile(table)
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.SplitSeq(string(data), "\n") {
				fields := strings.Fields(line)
				found = found || len(fields) > 3 && strings.HasSuffix(fields[1], port) && fields[3] == state
			}
		}
		if found == there {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s port %d: socket there is %v, waited for %v", ready.Protocol, ready.Port, found, there)
		case <-tick.C:
		}
	}
}

// value finds a metric of the whole trial.
func value(t *testing.T, m result.Measurement, name, stat string) float64 {
	t.Helper()
	trial := result.Trial{Metrics: m.Metrics}
	v, ok := trial.Value(name, stat)
	if !ok {
		t.Fatalf("%s %s is missing in %v", name, stat, m.Metrics)
	}
	return v
}

func checkRTT(t *testing.T, m result.Measurement) {
	low, mean, high := value(t, m, result.RTT, result.Min), value(t, m, result.RTT, result.Mean), value(t, m,
		result.RTT, result.Max)
	if !(low <= mean && mean <= high) || mean <= 0 || mean > 0.1 {
		t.Errorf("rtt min %v, mean %v, max %v", low, mean, high)
	}
	if m.ReportedAs != result.DefinitionRTT || m.Definition != result.DefinitionRTT {
		t.Errorf("reported as %s, is %s", m.ReportedAs, m.Definition)
	}
}

// checkLoad checks latencies under a load in which one of every requests is answered. The number of sent requests
// depends on the machine. A busy machine loses datagrams and ends before the last answers, so that fewer are answered;
// there are never more.
func checkLoad(every float64) func(t *testing.T, m result.Measurement) {
	return func(t *testing.T, m result.Measurement) {
		checkRTT(t, m)
		sent, received := value(t, m, result.Sent, ""), value(t, m, result.Received, "")
		if answered := received * every / sent; answered < 0.2 || answered > 1.1 {
			t.Errorf("%v sent, %v received: one of %v is answered", sent, received, every)
		}
		if p50, p99 := value(t, m, result.RTT, "p50"), value(t, m, result.RTT, "p99"); p50 > p99 {
			t.Errorf("p50 %v above p99 %v", p50, p99)
		}
		if m.MessageBytes == 0 {
			t.Error("the size of the requests is not known")
		}
	}
}

// checkMessages checks the rates of one-way messages of 1000 bytes: both are of the same count.
func checkMessages(t *testing.T, m result.Measurement) {
	rate, goodput := value(t, m, result.MessageRate, ""), value(t, m, result.Goodput, "")
	if bytes := goodput / 8 / rate; bytes < 990 || bytes > 1010 {
		t.Errorf("%v bit/s and %v messages/s: messages of %v bytes", goodput, rate, bytes)
	}
	if m.ReportedAs != result.DefinitionRate || m.Definition != result.DefinitionRate || m.MessageBytes != 1000 {
		t.Errorf("reported as %s, is %s, of %d bytes", m.ReportedAs, m.Definition, m.MessageBytes)
	}
}

// checkPaced checks that no more messages were sent than were asked for.
func checkPaced(most float64) func(t *testing.T, m result.Measurement) {
	return func(t *testing.T, m result.Measurement) {
		checkMessages(t, m)
		if rate := value(t, m, result.MessageRate, ""); rate > most*1.05 {
			t.Errorf("%v messages/s, and %v were asked for", rate, most)
		}
	}
}

func checkRate(t *testing.T, m result.Measurement) {
	checkRTT(t, m)
	rate, mean := value(t, m, result.TransactionRate, ""), value(t, m, result.RTT, result.Mean)
	// One transaction at a time: rate and time are each other's inverse, but for what passes between two transactions,
	// which on a busy machine is more than netperf's own work.
	if product := rate * mean; product > 1.1 || product < 0.4 {
		t.Errorf("%v transactions a second of %v s each come to %v, want a little less than 1", rate, mean, product)
	}
	if p50, p99 := value(t, m, result.RTT, "p50"), value(t, m, result.RTT, "p99"); p50 > p99 {
		t.Errorf("p50 %v above p99 %v", p50, p99)
	}
}

// checkHalves checks a mean round trip that was doubled: one transaction at a time fills the client's window. Each side
// of qperf ends its own window of one second when it gets to it, and counts it in ticks of 10 ms: on a busy machine it
// is longer. Halves would fill half a second, twice the round trip two seconds.
func checkHalves(t *testing.T, m result.Measurement) {
	const shortest, longest = 0.95, 1.9 // s
	mean, received := value(t, m, result.RTT, result.Mean), value(t, m, result.Received, "")
	if filled := mean * received; filled < shortest || filled > longest {
		t.Errorf("%v round trips of %v s fill %v s, want a second or little more", received, mean, filled)
	}
	// The window of the measurement, like the rate, is the mean of both sides' windows.
	if m.Duration.Seconds() < shortest || m.Duration.Seconds() > longest {
		t.Errorf("a window of %v, want a second or little more", m.Duration)
	}
	least, most := 2*shortest/(shortest+longest), 2*longest/(shortest+longest)
	if rate := value(t, m, result.TransactionRate, ""); rate*mean < least || rate*mean > most {
		t.Errorf("%v transactions a second of %v s each", rate, mean)
	}
	if m.ReportedAs != result.DefinitionHalfRTT || m.Definition != result.DefinitionRTT {
		t.Errorf("reported as %s, is %s", m.ReportedAs, m.Definition)
	}
}

func checkGoodput(t *testing.T, m result.Measurement) {
	if goodput := value(t, m, result.Goodput, ""); goodput < 1e6 || goodput > 1e13 {
		t.Errorf("goodput %v bit/s", goodput)
	}
	if m.MessageBytes == 0 {
		t.Error("the size of the messages is not known")
	}
}

func checkStream(t *testing.T, m result.Measurement) {
	if goodput := value(t, m, result.Goodput, ""); goodput < 1e6 || goodput > 1e13 {
		t.Errorf("goodput %v bit/s", goodput)
	}
	value(t, m, result.Retransmits, "")
}

func checkDatagrams(t *testing.T, m result.Measurement) {
	goodput, loss, sent := value(t, m, result.Goodput, ""), value(t, m, result.Loss, ""), value(t, m, result.Sent, "")
	if goodput > 4e7 || loss > 1 || sent < 1 {
		t.Errorf("goodput %v bit/s of 2e7 offered, loss %v, %v sent", goodput, loss, sent)
	}
}

func checkPing(t *testing.T, m result.Measurement) {
	checkRTT(t, m)
	sent, received, loss := value(t, m, result.Sent, ""), value(t, m, result.Received, ""), value(t, m, result.Loss, "")
	if want := (sent - received) / sent; math.Abs(loss-want) > 0.006 {
		t.Errorf("%v sent, %v received, loss %v", sent, received, loss)
	}
	if p50 := value(t, m, result.RTT, "p50"); p50 < value(t, m, result.RTT, result.Min)/1.01 ||
		p50 > value(t, m, result.RTT, result.Max)*1.01 {
		t.Errorf("p50 %v outside of min and max", p50)
	}
}

// checkPages checks response times of a client with so many requests under way. By Little's law, rate times mean is at
// most their number; wrk adds times to its figures that no request had, which leave the median nearly as it is, and a
// median is at most twice a mean.
func checkPages(definition string, concurrency float64) func(t *testing.T, m result.Measurement) {
	return func(t *testing.T, m result.Measurement) {
		stat, most := result.Mean, concurrency
		if definition == definitionWrk {
			stat, most = result.P50, 2*concurrency
		}
		took, rate := value(t, m, result.ResponseTime, stat), value(t, m, result.TransactionRate, "")
		if under := took * rate; took <= 0 || under > 1.1*most {
			t.Errorf("%v requests/s of %v s (%s): %v under way, of at most %v", rate, took, stat, under, most)
		}
		p50, most := value(t, m, result.ResponseTime, result.P50), value(t, m, result.ResponseTime, result.Max)
		if p50 > most {
			t.Errorf("p50 %v above the maximum %v", p50, most)
		}
		if m.ReportedAs != definition || m.Facts["errors"] != "0" || len(m.Notes) > 0 {
			t.Errorf("reported as %s, %v, notes %q", m.ReportedAs, m.Facts, m.Notes)
		}
	}
}

// TestProbes asks the installed programs for their versions.
func TestProbes(t *testing.T) {
	for _, tool := range Foreign() {
		probe := tool.Probe()
		if len(probe.Argv) == 0 {
			continue // it does not print its version
		}
		if tool.Name() == ntttcpName { // which cannot be installed here
			path := standIn(t, ntttcpName)
			ran := exec.CommandContext(t.Context(), path, "-?")
			printed, _ := ran.CombinedOutput() // the usage ends with exit status 1
			if v := probe.Version(printed); v != "5.39" {
				t.Errorf("version %q in %q", v, printed)
			}
			continue
		}
		printed, err := exec.CommandContext(t.Context(), probe.Argv[0], probe.Argv[1:]...).CombinedOutput()
		if err != nil && tool.Name() != wrkName { // which prints its usage then
			t.Errorf("%s: %v", tool.Name(), err)
		}
		if v := probe.Version(printed); v == "" || v[0] < '0' || v[0] > '9' {
			t.Errorf("%s: version %q in %q", tool.Name(), v, printed)
		}
	}
}

// TestFailures runs clients that no server answers: an error that says so, and no figures.
func TestFailures(t *testing.T) {
	for _, test := range []struct {
		tool Tool
		w    experiment.Workload
		want string
	}{
		{NewSockperf(), experiment.Workload{Mode: "rr", Protocol: "udp", Request: 64, Response: 64,
			Duration: time.Second}, "No messages were received"},
		{NewSockperf(), experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 64, Response: 64,
			Duration: time.Second}, "onnect"},
		{NewNetperf(), experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 64, Response: 64,
			Duration: time.Second}, "netserver"},
		{NewIperf3(), experiment.Workload{Mode: "stream", Protocol: "tcp", Duration: time.Second}, "refused"},
		{NewQperf(), experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 64, Response: 64, Duration: time.Second},
			"failed to connect"},
		{NewFortio(), clientWorkload(func(*experiment.Workload) {}), "refused"},
		{NewWrk(), clientWorkload(func(*experiment.Workload) {}), "refused"},
	} {
		plan, err := test.tool.Plan(test.w, withFreePorts(t, "127.0.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		plan.Server = nil
		out := carryOut(t, plan)
		m, err := test.tool.Parse(out)
		if err == nil || !strings.Contains(err.Error(), test.want) || len(m.Metrics) != 0 {
			t.Errorf("%s over %s: %v, %v; want an error with %q", test.tool.Name(), test.w.Protocol, m.Metrics, err,
				test.want)
		}
	}
}
