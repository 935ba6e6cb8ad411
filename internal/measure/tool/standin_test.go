package tool

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/host"
)

// standIn builds a stand-in (testdata/standins) for a program that cannot be installed here.
func standIn(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./testdata/standins/"+name)
	if printed, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, printed)
	}
	return path
}

// TestPlansWithStandIns carries out the plans of tools that cannot be installed here, with stand-ins: programs of this
// project that take the same options and print in the same format. That proves that plan, run and parser fit together.
// It does not prove that the real programs take these options.
func TestPlansWithStandIns(t *testing.T) {
	second := time.Second
	rr := experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 64, Response: 64, Duration: second}
	udp := rr
	udp.Protocol, udp.Request, udp.Response = "udp", 4, 4
	stream := experiment.Workload{Mode: "stream", Protocol: "tcp", Duration: second, Connections: 1}
	wide := stream
	wide.Connections, wide.Message, wide.Warmup = 4, 8192, second
	paths := map[string]string{"latte": standIn(t, "latte"), "ntttcp": standIn(t, "ntttcp")}
	for _, c := range []struct {
		tool           Tool
		w              experiment.Workload
		client, server string
		check          func(t *testing.T, m result.Measurement)
	}{
		{NewLatte(), rr, windows, windows, checkMean},
		{NewLatte(), udp, windows, windows, checkMean},
		{NewNtttcp(), stream, windows, windows, checkWindowsStream},
		{NewNtttcp(), wide, windows, windows, checkWindowsStream},
		{NewNtttcp(), wide, linux, linux, checkGoodput},
		{NewNtttcp(), stream, windows, linux, checkWindowsStream},
		{NewNtttcp(), stream, linux, windows, checkGoodput},
	} {
		t.Run(fmt.Sprintf("%s %s %s to %s, %d", c.tool.Name(), c.w.Protocol, c.client, c.server, c.w.Connections),
			func(t *testing.T) {
				pair := withFreePorts(t, "127.0.0.1")
				pair.Client.System, pair.Server.System = host.System{OS: c.client}, host.System{OS: c.server}
				plan, err := c.tool.Plan(c.w, pair)
				if err != nil {
					t.Fatal(err)
				}
				out := carryOut(t, plan.At(paths, paths))
				out.Workload = &c.w
				m, err := c.tool.Parse(out)
				if err != nil {
					t.Fatalf("%v\nstdout:\n%s\nstderr:\n%s\nserver:\n%s%s", err, out.Stdout, out.Stderr,
						out.ServerStdout, out.ServerStderr)
				}
				sound(t, m)
				if m.Mode != c.w.Mode || m.Protocol != c.w.Protocol || m.Duration < c.w.Duration*9/10 {
					t.Errorf("read as %s over %s, %v long", m.Mode, m.Protocol, m.Duration)
				}
				c.check(t, m)
			})
	}
}

func checkMean(t *testing.T, m result.Measurement) {
	if mean := value(t, m, result.RTT, result.Mean); mean <= 0 || mean > 0.1 {
		t.Errorf("rtt mean %v", mean)
	}
	if m.ReportedAs != result.DefinitionRTT || m.Definition != result.DefinitionRTT || m.MessageBytes == 0 {
		t.Errorf("reported as %s, is %s, of %d bytes", m.ReportedAs, m.Definition, m.MessageBytes)
	}
}

func checkWindowsStream(t *testing.T, m result.Measurement) {
	checkStream(t, m)
	if m.Facts["sender.cpu_percent"] == "" || m.ReportedAs != result.DefinitionRate {
		t.Errorf("facts %v, reported as %s", m.Facts, m.ReportedAs)
	}
}

// TestStandInsAlone runs clients that no server answers, and a receiver to which nothing comes.
func TestStandInsAlone(t *testing.T) {
	paths := map[string]string{"latte": standIn(t, "latte"), "ntttcp": standIn(t, "ntttcp")}
	for _, c := range []struct {
		tool Tool
		w    experiment.Workload
		on   string
	}{
		{NewLatte(), experiment.Workload{Mode: "rr", Protocol: "tcp", Request: 4, Response: 4, Duration: time.Second},
			windows},
		{NewNtttcp(), experiment.Workload{Mode: "stream", Protocol: "tcp", Duration: time.Second}, windows},
		{NewNtttcp(), experiment.Workload{Mode: "stream", Protocol: "tcp", Duration: time.Second}, linux},
	} {
		pair := withFreePorts(t, "127.0.0.1")
		pair.Client.System.OS, pair.Server.System.OS = c.on, c.on
		plan, err := c.tool.Plan(c.w, pair)
		if err != nil {
			t.Fatal(err)
		}
		plan.Server = nil
		m, err := c.tool.Parse(carryOut(t, plan.At(paths, paths)))
		if err == nil || len(m.Metrics) != 0 {
			t.Errorf("%s on %s: %v, %v", c.tool.Name(), c.on, m.Metrics, err)
		}
	}
}

// After an error, ntttcp for Windows prints its tables with a throughput of 0 and ends with exit status 0.
func TestNtttcpWithoutData(t *testing.T) {
	const table = "Copyright Version 5.39\r\n\n\n#####  Totals:  #####\n\n\n" +
		"   Bytes(MEG)    realtime(s) Avg Frame Size Throughput(MB/s)\n" +
		"================ =========== ============== ================\n" +
		"        0.000000       1.000          0.000            0.000\n"
	m, err := NewNtttcp().Parse(Output{Stdout: []byte(table), ServerStdout: []byte(table)})
	if err == nil || len(m.Metrics) != 0 {
		t.Errorf("%v, %v", m.Metrics, err)
	}
}
