package tool

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"nearfar/internal/agent/allow"
	"nearfar/internal/experiment"
	"nearfar/internal/host"
)

// An agent on a host that nothing can log in to runs only what its own list allows (internal/agent/allow). Every plan
// that a tool can make is on that list: all cases just inside of all limits, backgrounds, and what a probe runs.
func TestAgentsRunEveryPlan(t *testing.T) {
	tools := New(append([]Tool{NewNative("secret")}, Foreign()...)...)
	policy := allow.New("linux")
	commands := 0
	check := func(what string, argv, env []string, stdin []byte) {
		t.Helper()
		commands++
		if err := policy.Check(host.Cmd{Argv: argv, Env: env, Stdin: stdin}); err != nil {
			t.Errorf("%s: %v\n%s", what, err, strings.Join(argv, " "))
		}
	}
	checkPlan := func(what string, plan Plan) {
		t.Helper()
		if s := plan.Server; s != nil {
			check(what+", server", s.Argv, s.Env, s.Stdin)
		}
		check(what+", client", plan.Client.Argv, plan.Client.Env, plan.Client.Stdin)
	}
	for _, declared := range Declared() {
		one, ok := tools.Lookup(declared.Name)
		if !ok {
			continue // it is only read
		}
		check(declared.Name+", version", one.Probe().Argv, nil, nil)
		check(declared.Name+", programs", append([]string{host.Self, "absent"}, one.Probe().Programs...), nil, nil)
		for _, c := range declared.Does {
			base, err := readWorkload(declared.Name, c, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range limitCases(c) {
				for _, ip := range []int{experiment.IPv4, experiment.IPv6} {
					w := base
					k.change(&w)
					w.IP = ip
					plan, err := one.Plan(w, at("10.0.0.2", "fd00::2"))
					if err != nil {
						continue // refused, or not over IPv6
					}
					what := fmt.Sprintf("%s %s over %s, %s %v", declared.Name, c.Mode, c.Protocol, k.name, k.yaml)
					checkPlan(what, plan)
					if companion, ok := one.(Companion); ok && w.Mode == experiment.Stream {
						if plan, err = companion.PlanBackground(w, at("10.0.0.2", "fd00::2"), time.Hour); err == nil {
							checkPlan(what+", in the background", plan)
						}
					}
				}
			}
		}
	}
	if commands < 1000 {
		t.Errorf("%d commands are too few to be all plans", commands)
	}
	t.Logf("%d commands", commands)
}
