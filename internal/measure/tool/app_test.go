package tool

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/agent/allow"
	"nearfar/internal/onhost/database"
	"nearfar/internal/onhost/front"
	"nearfar/internal/onhost/host"
)

// appTool has an environment of the test's.
func appTool(variables map[string]string) *App {
	a, _ := NewApp("secret").(*App)
	a.variable = func(name string) (string, bool) {
		value, set := variables[name]
		return value, set
	}
	return a
}

func appWorkload(change func(w *experiment.Workload)) experiment.Workload {
	w := experiment.Workload{Name: "page", Tool: AppName, Mode: experiment.App, Protocol: experiment.TCP, IP: 4,
		Response: 1024, Duration: time.Second, Warmup: time.Second,
		Web: experiment.Web{Concurrency: 1},
		Pages: experiment.Pages{Queries: 10, Parallel: 1, DatabaseConnections: experiment.Pooled,
			Front: experiment.FrontClient}}
	change(&w)
	return w
}

// TestAppPlans: the front is on the host that the workload names, the database where it is started, and no secret is in
// a command line.
func TestAppPlans(t *testing.T) {
	const url = "postgres://me:canary-90cc@db.example:5433/shop"
	for name, c := range map[string]struct {
		change                  func(w *experiment.Workload)
		client                  string
		listen, asks, frontAt   string
		server, database, after bool
	}{
		"front beside the caller": {
			change: func(w *experiment.Workload) {},
			client: "nearfar engine app --duration 1s --warmup 1s --concurrency 1", listen: "10.0.0.2:7776",
			asks: "@10.0.0.2:7776/postgres?sslmode=disable", frontAt: "127.0.0.1:0", server: true, database: true,
		},
		"front beside the database": {
			change: func(w *experiment.Workload) {
				w.Front, w.Concurrency, w.OfferedRate = experiment.FrontServer, 4, 50
				w.Arrivals = experiment.PoissonArrivals
			},
			client: "nearfar engine app 10.0.0.2:7776 --duration 1s --warmup 1s --concurrency 4 --rate 50/s --arrivals " +
				"poisson",
			listen: "127.0.0.1:7777", asks: "@127.0.0.1:7777/postgres?sslmode=disable", frontAt: "10.0.0.2:7776",
			server: true, database: true, after: true,
		},
		"TLS": {
			change: func(w *experiment.Workload) { w.TLS = true },
			client: "nearfar engine app --duration 1s --warmup 1s --concurrency 1", listen: "10.0.0.2:7776",
			asks: "@10.0.0.2:7776/postgres?sslmode=require", frontAt: "127.0.0.1:0", server: true, database: true,
		},
		"the user's own": {
			change: func(w *experiment.Workload) { w.DatabaseEnv = "SHOP" },
			client: "nearfar engine app --duration 1s --warmup 1s --concurrency 1", asks: url, frontAt: "127.0.0.1:0",
		},
	} {
		a := appTool(map[string]string{"SHOP": url})
		p, err := a.Plan(appWorkload(c.change), httpPair())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got := strings.Replace(strings.Join(p.Client.Argv, " "), host.Self, "nearfar", 1)
		if got != c.client || p.Database != c.database || (p.Server != nil) != c.server ||
			(p.Front == experiment.FrontServer) != c.after {
			t.Errorf("%s: %s\nwant %s\n%+v", name, got, c.client, p)
		}
		var caller front.Caller
		var backend database.Backend
		if err := json.Unmarshal(p.Client.Stdin, &caller); err != nil {
			t.Fatal(err)
		}
		words := got + strings.Join(p.Client.Env, " ")
		if p.Server != nil {
			words += strings.Join(append(p.Server.Argv, p.Server.Env...), " ")
			if err := json.Unmarshal(p.Server.Stdin, &backend); err != nil {
				t.Fatal(err)
			}
		}
		o := caller.Front
		if c.after {
			o = backend.Front
		}
		if o == nil || !strings.HasSuffix(o.Database, c.asks) || o.Listen != c.frontAt || o.Token != caller.Token {
			t.Errorf("%s: the front %+v", name, o)
		}
		secrets := []string{caller.Token, "canary-90cc"}
		if d := backend.Database; d != nil {
			if d.Listen.String() != c.listen || (len(d.Certificate) > 0) != strings.Contains(c.asks, "require") {
				t.Errorf("%s: the database %+v", name, d)
			}
			secrets = append(secrets, d.Password)
		}
		for _, secret := range secrets {
			if secret == "" || strings.Contains(words, secret) {
				t.Errorf("%s: %q is in the words %s", name, secret, words)
			}
		}
	}
}

// TestAppNeedsItsVariable: a URL that is missing or is none is named, and is not shown.
func TestAppNeedsItsVariable(t *testing.T) {
	a := appTool(map[string]string{"EMPTY": "", "OTHER": "mysql://me:hush@x/", "BROKEN": "postgres://me:hush@[::1/x"})
	for name, want := range map[string]string{
		"NONE": "variable NONE is not set", "EMPTY": "variable EMPTY is not set", "OTHER": "OTHER has no URL such as",
		"BROKEN": "BROKEN has no URL such as",
	} {
		_, err := a.Plan(appWorkload(func(w *experiment.Workload) { w.DatabaseEnv = name }), httpPair())
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAgentsRunNoApps: an agent on a host that nothing can log in to refuses the parts of an application, unless it
// runs programs of experiments' own.
func TestAgentsRunNoApps(t *testing.T) {
	p, err := appTool(nil).Plan(appWorkload(func(w *experiment.Workload) { w.TLS = true }), httpPair())
	if err != nil {
		t.Fatal(err)
	}
	policy := allow.New("linux")
	for _, allowed := range []bool{false, true} {
		if allowed {
			policy.AllowCommands()
		}
		for _, c := range []Command{p.Client, *p.Server} {
			err := policy.Check(host.Cmd{Argv: c.Argv, Env: c.Env, Stdin: c.Stdin})
			if (err == nil) != allowed || err != nil && !strings.Contains(err.Error(), "without --allow-command") {
				t.Errorf("%v, allowed %v: %v", c.Argv, allowed, err)
			}
		}
	}
}
