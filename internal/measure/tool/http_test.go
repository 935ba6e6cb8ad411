package tool

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/declare/result"
	"nearfar/internal/onhost/engine/record"
	"nearfar/internal/onhost/engine/web"
	"nearfar/internal/onhost/host"
)

// httpTool has an environment and files of the test's.
func httpTool(variables map[string]string, files map[string]string) *HTTP {
	return &HTTP{secret: "secret", variable: func(name string) (string, bool) {
		value, set := variables[name]
		return value, set
	}, file: func(name string) ([]byte, error) {
		text, there := files[name]
		if !there {
			return nil, os.ErrNotExist
		}
		return []byte(text), nil
	}}
}

func httpPair() host.Pair {
	end := func(name, address string) host.Endpoint {
		at := host.Addresses{V4: netip.MustParseAddr(address)}
		return host.Endpoint{Name: name, Bind: at, Dial: at, Port: 7776}
	}
	return host.Pair{Client: end("client", "10.0.0.1"), Server: end("server", "10.0.0.2")}
}

func httpWorkload(change func(w *experiment.Workload)) experiment.Workload {
	w := experiment.Workload{Name: "page", Tool: "http", Mode: experiment.HTTP, Protocol: experiment.TCP, IP: 4,
		Response: 1024, Duration: time.Second, Warmup: time.Second,
		Web: experiment.Web{Version: experiment.HTTP1, Connect: experiment.KeepAlive, Concurrency: 1}}
	change(&w)
	return w
}

// TestHTTPPlans: what a workload asks for is in the command lines, and nothing that is secret.
func TestHTTPPlans(t *testing.T) {
	const canary = "canary-77e1"
	h := httpTool(map[string]string{"AUTH": canary}, nil)
	for name, c := range map[string]struct {
		change func(w *experiment.Workload)
		want   string
		server bool
	}{
		"own": {func(w *experiment.Workload) {
			w.TLS, w.Version, w.Connect, w.Concurrency, w.Request = true, experiment.HTTP2, experiment.PerRequest, 8, 64
			w.OfferedRate, w.Arrivals = 500, experiment.PoissonArrivals
		}, "nearfar engine http 10.0.0.2:7777 -f json --secret-stdin --response 1024B --tls --duration 1s --warmup 1s " +
			"--request 64B --http 2 --concurrency 8 --per-request --rate 500/s --arrivals poisson", true},
		"URL": {func(w *experiment.Workload) {
			w.To, w.Response, w.HeadersEnv = "https://{server}:8443/p?q=1", 0, map[string]string{"Authorization": "AUTH"}
		}, "nearfar engine http --to https://10.0.0.2:8443/p?q=1 -f json --private-stdin --ip 4 --duration 1s --warmup 1s " +
			"--request 0B --http 1.1 --concurrency 1", false},
	} {
		p, err := h.Plan(httpWorkload(c.change), httpPair())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := strings.Replace(strings.Join(p.Client.Argv, " "), host.Self, "nearfar", 1)
		if got != c.want || (p.Server != nil) != c.server {
			t.Errorf("%s: %s\nwant %s", name, got, c.want)
		}
		if strings.Contains(got+strings.Join(p.Client.Env, " "), canary) {
			t.Errorf("%s: a secret in %s", name, got)
		}
		if private := (web.Private{}); !c.server {
			if err := json.Unmarshal(p.Client.Stdin, &private); err != nil || private.Headers["Authorization"] != canary {
				t.Errorf("%s: standard input %s, %v", name, p.Client.Stdin, err)
			}
		}
	}
}

// TestHTTPNeedsItsVariables: what is missing is named, and values are not.
func TestHTTPNeedsItsVariables(t *testing.T) {
	h := httpTool(map[string]string{"EMPTY": "", "AUTH": "hush\nX: y", "PEM": "me.pem"},
		map[string]string{"ca.pem": "hush", "me.pem": "hush"})
	service := func(change func(w *experiment.Workload)) func(w *experiment.Workload) {
		return func(w *experiment.Workload) {
			w.To, w.Response = "https://a.example/", 0
			change(w)
		}
	}
	header := func(name, variable string) func(w *experiment.Workload) {
		return func(w *experiment.Workload) { w.HeadersEnv = map[string]string{name: variable} }
	}
	for want, change := range map[string]func(w *experiment.Workload){
		"variable NONE is not set":   service(header("A", "NONE")),
		"variable EMPTY is not set":  service(header("A", "EMPTY")),
		"has control characters":     service(header("A", "AUTH")),
		"set by nearfar":             service(header("Connection", "PEM")),
		"ca: file does not exist":    service(func(w *experiment.Workload) { w.CA = "none.pem" }),
		"no certificate in PEM":      service(func(w *experiment.Workload) { w.CA = "ca.pem" }),
		"certificate and its key":    service(func(w *experiment.Workload) { w.CertificateEnv = "PEM" }),
		"variable OTHER is not set":  service(func(w *experiment.Workload) { w.CertificateEnv = "OTHER" }),
		"ca is for a service":        func(w *experiment.Workload) { w.CA = "ca.pem" },
		"the URL in to says whether": service(func(w *experiment.Workload) { w.TLS = true }),
		"decides how large":          service(func(w *experiment.Workload) { w.Response = 5 }),
		"would be in records":        service(func(w *experiment.Workload) { w.To = "https://u:hush@a.example/" }),
	} {
		_, err := h.Plan(httpWorkload(change), httpPair())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestHTTPParses reads what a run printed.
func TestHTTPParses(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "http", "0.1.0", "http.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	w := httpWorkload(func(*experiment.Workload) {})
	m, err := NewHTTP("").Parse(Output{Workload: &w, Stdout: text})
	if err != nil {
		t.Fatal(err)
	}
	if m.Tool.Name != "http" || m.Definition != result.DefinitionHTTP || len(m.Histogram) == 0 ||
		!slices.ContainsFunc(m.Metrics, func(m result.Metric) bool {
			return m.Name == result.ResponseTime && m.Stat == result.P90
		}) {
		t.Errorf("%+v", m)
	}
	native := experiment.Workload{Mode: experiment.RR, Protocol: experiment.TCP}
	if _, err := NewHTTP("").Parse(Output{Workload: &native, Stdout: text}); err == nil {
		t.Error("taken for rr")
	}
	_, err = NewHTTP("").Parse(Output{Workload: &w, Stdout: []byte(`{"type":"error","message":"why"}`), ExitCode: 1})
	if _, failed := errors.AsType[*record.FailedError](err); !failed || err.Error() != "http: why" {
		t.Errorf("%v", err)
	}
}
