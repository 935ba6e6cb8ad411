package tool

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/onhost/agent/allow"
	"nearfar/internal/onhost/host"
)

// An agent on a host that nothing can log in to runs only the commands on its own list (internal/onhost/agent/allow).
// Every plan that a tool can make is on that list: all cases just inside of all limits, backgrounds, and the commands
// of probes.
func TestAgentsRunEveryPlan(t *testing.T) {
	commands := 0
	for _, system := range []string{"linux", "windows"} {
		a := allowing{t: t, policy: allow.New(system), pair: at("10.0.0.2", "fd00::2")}
		a.pair.Client.System.OS, a.pair.Server.System.OS = system, system
		tools := All("secret")
		for _, declared := range Declared() {
			one, ok := tools.Lookup(declared.Name)
			if !ok || system == "windows" && !slices.Contains([]string{nativeName, latteName, ntttcpName}, one.Name()) {
				continue // it is only read, or does not run there
			}
			if one.Name() == CommandName || one.Name() == AppName || one.Name() == pgbenchName {
				continue // TestAgentsRunNoCommands, TestAgentsRunNoPgbench
			}
			a.checkTool(one, declared)
		}
		commands += a.commands
	}
	if commands < 1000 {
		t.Errorf("%d commands are too few to be all plans", commands)
	}
	t.Logf("%d commands", commands)
}

// allowing checks commands against the policy of one system.
type allowing struct {
	t        *testing.T
	policy   *allow.Policy
	pair     host.Pair
	commands int
}

func (a *allowing) check(what string, argv, env []string, stdin []byte) {
	a.t.Helper()
	a.commands++
	if err := a.policy.Check(host.Cmd{Argv: argv, Env: env, Stdin: stdin}); err != nil {
		a.t.Errorf("%s: %v\n%s", what, err, strings.Join(argv, " "))
	}
}

func (a *allowing) checkPlan(what string, plan Plan) {
	a.t.Helper()
	plan = plan.Confined(a.pair, []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")})
	// Preflight opens plan.Sockets. The socket that shows that the server is ready must be one of them.
	if s := plan.Server; s != nil {
		if !slices.Contains(plan.Sockets, host.Socket(plan.Ready)) {
			a.t.Errorf("%s: sockets %v without %v", what, plan.Sockets, plan.Ready)
		}
	} else if len(plan.Sockets) > 0 {
		a.t.Errorf("%s: no server, and sockets %v", what, plan.Sockets)
	}
	if s := plan.Server; s != nil {
		a.check(what+", server", s.Words(), s.Env, s.Stdin)
	}
	a.check(what+", client", plan.Client.Words(), plan.Client.Env, plan.Client.Stdin)
}

func (a *allowing) checkTool(one Tool, declared experiment.Tool) {
	a.t.Helper()
	if version := one.Probe().Argv; len(version) > 0 {
		a.check(declared.Name+", version", version, nil, nil)
	}
	a.check(declared.Name+", programs", append([]string{host.Self, "absent"}, one.Probe().Programs...), nil, nil)
	for _, c := range declared.Does {
		base, err := readWorkload(declared.Name, c, nil)
		if err != nil {
			a.t.Fatal(err)
		}
		for _, k := range limitCases(c) {
			for _, ip := range []int{experiment.IPv4, experiment.IPv6} {
				w := base
				k.change(&w)
				w.IP = ip
				plan, err := one.Plan(w, a.pair)
				if err != nil {
					continue // refused, or not over IPv6
				}
				what := fmt.Sprintf("%s %s over %s, %s %v", declared.Name, c.Mode, c.Protocol, k.name, k.yaml)
				a.checkPlan(what, plan)
				if companion, ok := one.(Companion); ok && w.Mode == experiment.Stream {
					if plan, err = companion.PlanBackground(w, a.pair, time.Hour); err == nil {
						a.checkPlan(what+", in the background", plan)
					}
				}
			}
		}
	}
}
