package tool

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
)

const nativeTestdata = "testdata/native/0.1.0"

func readNative(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(nativeTestdata, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestNativePlan(t *testing.T) {
	base := experiment.Workload{Tool: "native", Mode: experiment.RR, Protocol: experiment.TCP, Request: 64,
		Response: 64,
		Duration: 2 * time.Second, Warmup: 500 * time.Millisecond}
	for name, c := range map[string]struct {
		change func(*experiment.Workload)
		client string
	}{
		"rr": {func(w *experiment.Workload) { w.Request, w.Response = 1024, 512 },
			"nearfar engine rr 10.0.0.2:7778 -f json --secret-stdin --duration 2s --warmup 500ms --request 1024B --response 512B --protocol tcp"},
		"rr udp": {func(w *experiment.Workload) { w.Protocol = experiment.UDP },
			"nearfar engine rr 10.0.0.2:7778 -f json --secret-stdin --duration 2s --warmup 500ms --request 64B --response 64B --protocol udp"},
		"crr": {func(w *experiment.Workload) { w.Mode, w.Request, w.Response = experiment.CRR, 1, 1 },
			"nearfar engine crr 10.0.0.2:7778 -f json --secret-stdin --duration 2s --warmup 500ms --request 1B --response 1B"},
		"stream": {func(w *experiment.Workload) { w.Mode, w.Connections = experiment.Stream, 4 },
			"nearfar engine stream 10.0.0.2:7778 -f json --secret-stdin --duration 2s --warmup 500ms --message 131072B --connections 4"},
		"stream down": {func(w *experiment.Workload) {
			w.Mode, w.Direction, w.ZeroCopy, w.Message = experiment.Stream, experiment.Download, true, 4096
			w.Congestion, w.DSCP = "reno", 8
		},
			"nearfar engine stream 10.0.0.2:7778 -f json --secret-stdin --duration 2s --warmup 500ms --message 4096B --connections 1 --direction download --zerocopy --congestion reno --dscp 8"},
		"load": {func(w *experiment.Workload) {
			w.Mode, w.OfferedRate, w.Arrivals, w.Connections = experiment.Load, 10000, experiment.PoissonArrivals, 100
		},
			"nearfar engine load 10.0.0.2:7778 -f json --secret-stdin --duration 2s --warmup 500ms --request 64B --response 64B --protocol tcp --connections 100 --rate 10000/s --arrivals poisson"},
		"load in steps": {func(w *experiment.Workload) {
			w.Mode, w.Protocol, w.Request, w.Response = experiment.Load, experiment.UDP, 128, 32
			w.Steps = []experiment.Step{{Rate: 0.5, For: time.Second}, {Rate: 20000, For: time.Second}}
		},
			"nearfar engine load 10.0.0.2:7778 -f json --secret-stdin --warmup 500ms --request 128B --response 32B --protocol udp --connections 1 --steps 0.5/s:1s,20000/s:1s --arrivals constant"},
		"messages": {func(w *experiment.Workload) {
			w.Mode, w.Protocol, w.Message, w.Batch = experiment.Messages, experiment.UDP, 64, 32
		},
			"nearfar engine messages 10.0.0.2:7778 -f json --secret-stdin --duration 2s --warmup 500ms --protocol udp --message 64B --batch 32 --rate max"},
		"messages at a rate": {func(w *experiment.Workload) {
			w.Mode, w.Message, w.OfferedRate, w.Wait = experiment.Messages, 1, 5000, experiment.WaitSpin
		},
			"nearfar engine messages 10.0.0.2:7778 -f json --secret-stdin --duration 2s --warmup 500ms --protocol tcp --message 1B --batch 1 --rate 5000/s --wait spin"},
		"rr with options": {func(w *experiment.Workload) {
			off := false
			w.Timestamps = true
			w.Socket = experiment.Socket{Wait: experiment.WaitBusyPoll, Congestion: "cubic", NoDelay: &off, DSCP: 46,
				SendBuffer: 1 << 20, ReceiveBuffer: 4096}
		},
			"nearfar engine rr 10.0.0.2:7778 -f json --secret-stdin --duration 2s --warmup 500ms --request 64B --response 64B --protocol tcp --timestamps " +
				"--wait busy-poll --congestion cubic --nodelay=false --dscp 46 --send-buffer 1048576B --receive-buffer 4096B"},
		"blocking is the default": {func(w *experiment.Workload) {
			on := true
			w.Socket = experiment.Socket{Wait: experiment.WaitBlock, NoDelay: &on}
		},
			"nearfar engine rr 10.0.0.2:7778 -f json --secret-stdin --duration 2s --warmup 500ms --request 64B --response 64B --protocol tcp --nodelay=true"},
	} {
		w := base
		c.change(&w)
		if w.Mode == experiment.Stream || w.Mode == experiment.Messages {
			w.Request, w.Response = 0, 0
		}
		p, err := NewNative("the secret").Plan(w, at("10.0.0.2"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := strings.Join(p.Client.Argv, " "); got != c.client {
			t.Errorf("%s: client\n%s, not\n%s", name, got, c.client)
		}
		if got, want := strings.Join(p.Server.Argv,
			" "), "nearfar engine serve --listen 10.0.0.2:7778 --data-port 7777 --secret-stdin --once"; got != want {
			t.Errorf("%s: server\n%s, not\n%s", name, got, want)
		}
		if p.Ready != (Ready{Protocol: "tcp", Port: 7778}) || p.Expected < 2500*time.Millisecond {
			t.Errorf("%s: ready %+v, expected %v", name, p.Ready, p.Expected)
		}
		for _, command := range []Command{*p.Server, p.Client} {
			if string(command.Stdin) != "the secret\n" || strings.Contains(strings.Join(command.Argv, " "),
				"the secret") {
				t.Errorf("%s: the secret does not travel on standard input alone", name)
			}
			if !slices.Equal(command.Env, []string{"GODEBUG=asyncpreemptoff=1"}) {
				t.Errorf("%s: environment %q", name, command.Env)
			}
		}
	}
}

func TestNativePlanRefuses(t *testing.T) {
	good := experiment.Workload{Mode: experiment.RR, Protocol: experiment.UDP, Request: 64, Response: 64,
		Duration: time.Second}
	for name, change := range map[string]func(*experiment.Workload){
		"ping":           func(w *experiment.Workload) { w.Mode = experiment.Ping },
		"icmp":           func(w *experiment.Workload) { w.Protocol = experiment.ICMP },
		"udp stream":     func(w *experiment.Workload) { w.Mode = experiment.Stream },
		"small datagram": func(w *experiment.Workload) { w.Request = 10 },
		"rate":           func(w *experiment.Workload) { w.Rate = 1e6 },
		"no duration":    func(w *experiment.Workload) { w.Duration = 0 },
		"small message": func(w *experiment.Workload) {
			w.Mode, w.Message, w.Request, w.Response = experiment.Messages,
				16, 0, 0
		},
		"wait":       func(w *experiment.Workload) { w.Wait = "sleep" },
		"congestion": func(w *experiment.Workload) { w.Congestion = "cubic" }, // of udp
		"dscp":       func(w *experiment.Workload) { w.DSCP = 64 },
	} {
		w := good
		change(&w)
		if p, err := NewNative("x").Plan(w, at("::1")); err == nil {
			t.Errorf("%s: planned %q", name, p.Client.Argv)
		}
	}
}

func nativeValue(t *testing.T, m result.Measurement, name, stat, scope string) float64 {
	t.Helper()
	for _, metric := range m.Metrics {
		if metric.Name == name && metric.Stat == stat && metric.Scope == scope {
			return metric.Value
		}
	}
	t.Errorf("no %s %s %s", name, stat, scope)
	return math.NaN()
}

func TestNativeParse(t *testing.T) {
	for name, c := range map[string]struct {
		mode, protocol, definition string
		bytes                      int
		metrics                    [][3]string
	}{
		"rr-tcp": {"rr", "tcp", "rtt", 1024, [][3]string{{"rtt", "p50"}, {"rtt", "p99.9"}, {"rtt", "stddev"},
			{"transaction_rate"}, {"cpu", "", "server"}}},
		"rr-udp": {"rr", "udp", "rtt", 64, [][3]string{{"rtt", "p50"}, {"sent"}, {"received"}, {"loss"},
			{"duplicates"}}},
		"crr": {"crr", "tcp", "rtt", 64, [][3]string{{"rtt", "p50"}, {"connect_time", "p50"},
			{"transaction_rate"}}},
		"stream": {"stream", "tcp", "rate", 131072, [][3]string{{"goodput"}, {"retransmits"},
			{"cpu", "", "client"}, {"cpu", "", "server"}}},
		"stream-both": {"stream", "tcp", "rate", 131072, [][3]string{{"goodput"}, {"goodput", "", "upload"},
			{"goodput", "", "download"}, {"cpu_per_bit"}}},
		"load-tcp": {"load", "tcp", "response_time", 64, [][3]string{{"response_time", "p50"}, {"response_time", "p99"},
			{"service_time", "p99"},
			{"send_lateness", "p50"}, {"offered_rate"}, {"transaction_rate"}, {"unanswered"}}},
		"load-udp": {"load", "udp", "response_time", 64, [][3]string{{"response_time", "p50"}, {"offered_rate"},
			{"loss"}, {"duplicates"}}},
		"messages-udp": {"messages", "udp", "rate", 64, [][3]string{{"message_rate"}, {"loss"}, {"out_of_order"},
			{"cpu", "", "server"}}},
		"messages-tcp": {"messages", "tcp", "rate", 64, [][3]string{{"message_rate"}}},
	} {
		m, err := NewNative("").Parse(Output{Stdout: readNative(t, name+".jsonl"),
			Workload: &experiment.Workload{Mode: c.mode, Protocol: c.protocol}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.Mode != c.mode || m.Protocol != c.protocol || m.Definition != c.definition ||
			m.ReportedAs != c.definition || m.MessageBytes != c.bytes ||
			m.Tool.Name != "native" || m.Tool.Version == "" || m.Duration < time.Second || m.Duration > 3*time.Second {
			t.Errorf("%s: %+v", name, m)
		}
		if (len(m.Histogram) > 0) != (c.definition != "rate") {
			t.Errorf("%s: a histogram of %d bytes", name, len(m.Histogram))
		}
		for _, want := range c.metrics {
			nativeValue(t, m, want[0], want[1], want[2])
		}
		if c.mode == "rr" {
			if p50 := nativeValue(t, m, "rtt", "p50", ""); p50 < 1e-6 || p50 > 1e-3 {
				t.Errorf("%s: p50 of %v s", name, p50)
			}
		}
	}
}

func TestNativeParseFails(t *testing.T) {
	whole := bytes.TrimSpace(readNative(t, "rr-tcp.jsonl"))
	lines := bytes.SplitAfter(whole, []byte("\n"))
	for name, c := range map[string]struct {
		out  Output
		want string
	}{
		"refused":     {Output{Stdout: readNative(t, "failed-refused.jsonl"), ExitCode: 1}, "refused"},
		"nothing":     {Output{ExitCode: 127, Stderr: []byte("not found\x1b[0m")}, `exit status 127`},
		"cut":         {Output{Stdout: bytes.Join(lines[:len(lines)-1], nil)}, "cut short"},
		"in the line": {Output{Stdout: whole[:len(whole)-1]}, "JSON"},
		"bad exit":    {Output{Stdout: whole, ExitCode: 1}, "exit status 1 after a result"},
		"no metric": {Output{Stdout: bytes.ReplaceAll(whole, []byte(`"name":"rtt"`), []byte(`"name":"jitter"`))},
			`unknown metric "jitter"`},
		"other mode": {Output{Stdout: whole, Workload: &experiment.Workload{Mode: "crr", Protocol: "tcp"}},
			"asked for"},
	} {
		m, err := NewNative("").Parse(c.out)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if len(m.Metrics) != 0 {
			t.Errorf("%s: metrics beside the error", name)
		}
	}
}

func TestNativeVersion(t *testing.T) {
	version := (&Native{}).Probe().Version
	if got := version([]byte("nearfar 0.1.0-dev+abc linux/amd64 go1.26.8\n")); got != "0.1.0-dev+abc" {
		t.Errorf("%q", got)
	}
	if got := version([]byte("usage: nearfar\n")); got != "" {
		t.Errorf("%q", got)
	}
}

func FuzzNative(f *testing.F) {
	for _, name := range []string{"rr-tcp.jsonl", "stream.jsonl", "load-udp.jsonl", "messages-tcp.jsonl",
		"failed-refused.jsonl"} {
		f.Add(readNative(f, name))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := NewNative("").Parse(Output{Stdout: b})
		if err != nil && len(m.Metrics) != 0 {
			t.Error("metrics beside an error")
		}
		for _, metric := range m.Metrics {
			if math.IsNaN(metric.Value) || math.IsInf(metric.Value, 0) || metric.Value < 0 {
				t.Errorf("%+v", metric)
			}
		}
	})
}
