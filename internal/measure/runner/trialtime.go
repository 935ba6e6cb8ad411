package runner

import (
	"fmt"
	"net/netip"
	"time"

	"nearfar/internal/declare/experiment"
	"nearfar/internal/measure/tool"
	"nearfar/internal/onhost/host"
)

// TrialTime estimates without hosts how long one trial of the workload takes. The error says what the workload's tool
// cannot do.
func TrialTime(w experiment.Workload, tools Tools) (time.Duration, error) {
	// Plans need an address; these two are reserved for documentation (RFC 5737, RFC 3849).
	pair := host.Pair{Client: host.Endpoint{Name: "the client"}, Server: host.Endpoint{Name: "the server",
		Dial: host.Addresses{V4: netip.AddrFrom4([4]byte{192, 0, 2, 1}), V6: netip.MustParseAddr("2001:db8::1")}}}
	t, ok := tools.Lookup(w.Tool)
	if !ok {
		return 0, fmt.Errorf("unknown tool %q", w.Tool)
	}
	plan, err := t.Plan(w, pair)
	if err != nil {
		return 0, err
	}
	takes := plan.Expected + overhead
	if w.Background == nil {
		return takes, nil
	}
	beside, _ := tools.Lookup(w.Background.Tool)
	companion, ok := beside.(tool.Companion)
	if !ok {
		return 0, fmt.Errorf("the background: %s cannot run beside another workload", w.Background.Tool)
	}
	limits := DefaultLimits()
	behind, err := companion.PlanBackground(*w.Background, pair, plan.Expected+limits.Patience+limits.ready(plan))
	if err != nil {
		return 0, fmt.Errorf("the background: %w", err)
	}
	return takes + behind.Expected + overhead, nil
}
