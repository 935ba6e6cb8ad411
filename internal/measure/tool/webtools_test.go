package tool

import (
	"strings"
	"testing"

	"nearfar/internal/declare/experiment"
)

// clientWorkload is a workload of http for a tool of others, which has no warm-up and one version of HTTP.
func clientWorkload(change func(w *experiment.Workload)) experiment.Workload {
	return httpWorkload(func(w *experiment.Workload) {
		w.Version, w.Warmup = "", 0
		change(w)
	})
}

// TestPlansOfClientsOfHTTP: fortio's and wrk's command lines say what the workload asks for, and their servers have one
// listener.
func TestPlansOfClientsOfHTTP(t *testing.T) {
	const server = "fortio server -http-port 10.0.0.2:7776 -grpc-port disabled -tcp-port disabled -udp-port disabled " +
		"-redirect-port disabled -ui-path= -echo-debug-path= -loglevel Error"
	const load = "fortio load -json - -quiet -loglevel Error -r 0.000001 -p 50,90,99,99.9 -t 1s "
	for _, c := range []struct {
		tool           Tool
		change         func(w *experiment.Workload)
		server, client string
	}{
		{NewFortio(), func(*experiment.Workload) {}, server, load + "-c 1 -qps 0 http://10.0.0.2:7776/?size=1024"},
		{NewFortio(), func(w *experiment.Workload) {
			w.Connect, w.Concurrency, w.OfferedRate, w.Request = experiment.PerRequest, 4, 62.5, 100
		}, server, load + "-c 4 -qps 62.5 -uniform -payload-size 100 -keepalive=false http://10.0.0.2:7776/?size=1024"},
		{NewFortio(), func(w *experiment.Workload) { w.To, w.Response = "https://{server}/p?q=1", 0 }, "",
			load + "-c 1 -qps 0 https://10.0.0.2/p?q=1"},
		{NewWrk(), func(*experiment.Workload) {}, "nearfar engine web --listen 10.0.0.2:7776 --response 1024B",
			"wrk -t 1 -c 1 -d 1 --latency --timeout 10 http://10.0.0.2:7776/"},
		{NewWrk(), func(w *experiment.Workload) {
			w.Connect, w.Concurrency, w.To, w.Response = experiment.PerRequest, 9, "http://a.example/b", 0
		}, "", "wrk -t 1 -c 9 -d 1 --latency --timeout 10 -H Connection: close http://a.example/b"},
	} {
		p, err := c.tool.Plan(clientWorkload(c.change), httpPair())
		if err != nil {
			t.Errorf("%s: %v", c.client, err)
			continue
		}
		if got := strings.Join(p.Client.Argv, " "); got != c.client {
			t.Errorf("%s\nwant %s", got, c.client)
		}
		got := ""
		if p.Server != nil {
			got = strings.Join(p.Server.Argv, " ")
		}
		if got != c.server || (p.Server != nil) != (len(p.Sockets) > 0) {
			t.Errorf("%s, sockets %v\nwant %s", got, p.Sockets, c.server)
		}
	}
}

// TestClientsOfHTTPRefuse: what fortio and wrk cannot do of http is said.
func TestClientsOfHTTPRefuse(t *testing.T) {
	for want, c := range map[string]struct {
		tool   Tool
		change func(w *experiment.Workload)
	}{
		"wrk http over tcp takes no rate":    {NewWrk(), func(w *experiment.Workload) { w.OfferedRate = 5 }},
		"wrk http over tcp takes no request": {NewWrk(), func(w *experiment.Workload) { w.Request = 5 }},
		"fortio http over tcp takes no tls":  {NewFortio(), func(w *experiment.Workload) { w.TLS = true }},
		"fortio http over tcp takes 1B to":   {NewFortio(), func(w *experiment.Workload) { w.Response = 1 << 20 }},
		"would be in records": {NewFortio(), func(w *experiment.Workload) {
			w.To, w.Response = "http://u:secret@a.example/", 0
		}},
	} {
		_, err := c.tool.Plan(clientWorkload(c.change), httpPair())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestRunOfFortioFails: a client of fortio that printed nothing, and one that printed half of its JSON, are errors with
// what it said.
func TestRunOfFortioFails(t *testing.T) {
	w := clientWorkload(func(*experiment.Workload) {})
	for want, out := range map[string]Output{
		"no such host":            {Stderr: []byte("fortio\nAborting: no such host\n"), ExitCode: 1},
		"not as fortio writes it": {Stdout: []byte(fortioHTTP[:300])},
		"exit status 3":           {Stdout: []byte(fortioHTTP), ExitCode: 3},
	} {
		out.Workload = &w
		if m, err := NewFortio().Parse(out); err == nil || !strings.Contains(err.Error(), want) || m.Mode != w.Mode {
			t.Errorf("%v, mode %s, want %s", err, m.Mode, want)
		}
	}
	m, err := NewFortio().Parse(Output{Workload: &w, Stdout: []byte(fortioHTTP)})
	if err != nil || m.Protocol != experiment.TCP || len(m.Notes) != 1 { // of three errors, and none of its buckets
		t.Errorf("%v, over %s, notes %q", err, m.Protocol, m.Notes)
	}
}
