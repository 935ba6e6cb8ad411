package experiment_test

import (
	"strings"
	"testing"
	"time"

	"nearfar/internal/declare/experiment"
	experimentfile "nearfar/internal/declare/experiment/file"
)

func TestRecordedPassesCheck(t *testing.T) {
	workloads := []experiment.Workload{{Name: "ping", Tool: "ping"}}
	e, err := experiment.Recorded("zones", "", "", []string{"near", "far"}, workloads)
	if err != nil {
		t.Fatal(err)
	}
	e.Paired, e.Schedule.Blocks = true, experiment.MaxTrials
	if err := e.Check(); err != nil {
		t.Error(err)
	}
	if err := e.CheckRunnable(testTools); err == nil {
		t.Error("results from elsewhere can be run again")
	}
}

const checked = `nearfar: v1

name: checked
arms:
  near: {lab: {path: [bridge]}}
  far:  {lab: {path: [firewall, vtep, {wire: {delay: 1ms}}, vtep]}, set: {wait: spin}}
workloads:
  - {name: rr, tool: native, mode: rr, background: {}}
  - {name: load, tool: native, mode: load, rate: 1000/s}
  - {name: ping, tool: ping}
`

// TestCheckRefuses: an experiment that was read from a run directory can hold anything.
func TestCheckRefuses(t *testing.T) {
	type declaration = experiment.Experiment
	for name, c := range map[string]struct {
		change func(*declaration)
		says   string
		// runs says that the run can be read but not resumed.
		runs bool
	}{
		"a name that leads elsewhere": {func(e *declaration) { e.Name = "../x" }, "no name of an experiment", true},
		"an arm that leads elsewhere": {func(e *declaration) { e.Arms[1].Name = "/../../../../x" }, "no name of an arm",
			true},
		"an arm without a name": {func(e *declaration) { e.Arms[1].Name = "" }, "no name of an arm", true},
		"an arm twice":          {func(e *declaration) { e.Arms[1].Name = "near" }, "twice", false},
		"a workload with a slash": {func(e *declaration) { e.Workloads[2].Name = "a/b" }, "no name of a workload",
			true},
		"a workload twice": {func(e *declaration) { e.Workloads[1].Name = "rr" }, "twice", false},
		"no arms":          {func(e *declaration) { e.Arms = nil }, "no arms", false},
		"too many arms":    {func(e *declaration) { e.Arms = make([]experiment.Arm, 101) }, "101 arms", false},
		"too many workloads": {func(e *declaration) { e.Workloads = make([]experiment.Workload, 101) }, "101 workloads",
			false},
		"too many objectives": {func(e *declaration) { e.Objectives = make([]string, 101) }, "101 objectives",
			false},
		"negative blocks": {func(e *declaration) { e.Schedule.Blocks = -1 }, "blocks cannot be -1", false},
		"huge blocks":     {func(e *declaration) { e.Schedule.Blocks = 1 << 62 }, "blocks", false},
		"endless repeats": {func(e *declaration) { e.Schedule.BaselineRepeats = 1 << 40 }, "repeats", false},
		"endless retries": {func(e *declaration) { e.Schedule.Retries = 1 << 40 }, "retries", false},
		"a long question": {func(e *declaration) { e.Question = strings.Repeat("x", 1001) }, "question",
			true},
		"another baseline": {func(e *declaration) { e.Baseline = "gone" }, "baseline", false},
		"many layers": {func(e *declaration) { e.Arms[0].Layers = map[string]int{"x": -1} }, "layer",
			false},
		"a setting of nothing": {func(e *declaration) { e.Arms[1].Set[0].Workloads[0] = "gone" }, "no workload",
			false},
		"a workload of nothing": {func(e *declaration) { e.Arms[1].Workloads[0].Name = "gone" }, "no workload",
			false},
		"backgrounds all the way": {func(e *declaration) { e.Workloads[0].Background.Background = &experiment.Workload{} },
			"background", false},

		"no blocks": {func(e *declaration) { e.Schedule.Blocks = 0 }, "no blocks", true},
		"no workloads": {func(e *declaration) { e.Workloads, e.Arms[1].Set, e.Arms[1].Workloads = nil, nil, nil },
			"no workloads", true},
		"no hosts":            {func(e *declaration) { e.Arms[0].Lab = nil }, "no hosts", true},
		"no path":             {func(e *declaration) { e.Arms[0].Lab.Path = nil }, "empty", true},
		"an unknown element":  {func(e *declaration) { e.Arms[0].Lab.Path[0].Kind = "moat" }, "moat", true},
		"a negative delay":    {func(e *declaration) { e.Arms[1].Lab.Path[2].Delay = -time.Second }, "delay", true},
		"a bridge with rules": {func(e *declaration) { e.Arms[0].Lab.Path[0].Rules = 7 }, "rules", true},
		"a firewall of 2^40":  {func(e *declaration) { e.Arms[1].Lab.Path[0].Rules = 1 << 40 }, "rules", true},
		"a wire that is slow": {func(e *declaration) { e.Arms[1].Lab.Path[2].Rate = 1e-9 }, "rate", true},
		"a loss of 2":         {func(e *declaration) { e.Arms[1].Lab.Path[2].Loss = 2 }, "loss", true},
		"an odd vtep":         {func(e *declaration) { e.Arms[0].Lab.Path[0].Kind = experiment.VTEP }, "pairs", true},
		"an mtu of 1":         {func(e *declaration) { e.Arms[0].Lab.MTU = 1 }, "mtu", true},
		"an unknown tool":     {func(e *declaration) { e.Workloads[0].Tool = "rm" }, "rm", true},
		"no tool":             {func(e *declaration) { e.Workloads[0].Tool = "" }, `unknown tool ""`, true},
		"a huge request":      {func(e *declaration) { e.Workloads[0].Request = 1 << 40 }, "request", true},
		"a negative response": {func(e *declaration) { e.Workloads[0].Response = -1 }, "response", true},
		"a message of ping":   {func(e *declaration) { e.Workloads[2].Message = 5 }, "message", true},
		"many connections":    {func(e *declaration) { e.Workloads[1].Connections = 1 << 30 }, "connections", true},
		"a batch":             {func(e *declaration) { e.Workloads[1].Batch = -1 }, "batch", true},
		"no end":              {func(e *declaration) { e.Workloads[0].Duration = 1 << 62 }, "duration", true},
		"a negative duration": {func(e *declaration) { e.Workloads[0].Duration = -1 }, "duration", true},
		"a long warm-up":      {func(e *declaration) { e.Workloads[0].Warmup = 24 * time.Hour }, "warmup", true},
		"an interval of 1 ns": {func(e *declaration) { e.Workloads[2].Interval = 1 }, "interval", true},
		"a rate of nothing":   {func(e *declaration) { e.Workloads[1].OfferedRate = 0 }, "no rate", true},
		"a rate of 1e300":     {func(e *declaration) { e.Workloads[1].OfferedRate = 1e300 }, "is too high", true},
		"a rate of the wrong": {func(e *declaration) { e.Workloads[0].Rate = 5 }, "rate", true},
		"an endless step": {func(e *declaration) {
			e.Workloads[1].OfferedRate, e.Workloads[1].Steps = 0, []experiment.Step{{Rate: 1, For: 1 << 62}}
		}, "step", true},
		"odd arrivals":     {func(e *declaration) { e.Workloads[1].Arrivals = "-x" }, "arrivals", true},
		"odd waiting":      {func(e *declaration) { e.Arms[1].Workloads[0].Wait = "-x" }, "wait", true},
		"IPv5":             {func(e *declaration) { e.Workloads[0].IP = 5 }, "ip cannot be 5", true},
		"odd congestion":   {func(e *declaration) { e.Workloads[0].Congestion = "../x" }, "congestion", true},
		"a dscp of 64":     {func(e *declaration) { e.Workloads[0].DSCP = 64 }, "dscp", true},
		"a buffer of 2^40": {func(e *declaration) { e.Workloads[0].SendBuffer = 1 << 40 }, "buffer", true},
		"odd placement":    {func(e *declaration) { e.Workloads[0].Placement.Kind = "" }, "placement", true},
		"a CPU of -1": {func(e *declaration) {
			e.Workloads[0].Placement = experiment.Placement{experiment.PlacementExplicit,
				[]int{-1}, []int{0}}
		}, "CPU number cannot be -1", true},
		"explicitly nowhere": {func(e *declaration) {
			e.Workloads[0].Placement = experiment.Placement{Kind: experiment.PlacementExplicit}
		},
			`unknown placement "explicit"`, true},
		"another background":   {func(e *declaration) { e.Workloads[0].Background.Tool = "iperf3" }, "background", true},
		"a broken background":  {func(e *declaration) { e.Workloads[0].Background.Message = -1 }, "background", true},
		"a background of ages": {func(e *declaration) { e.Workloads[0].Duration = 24 * time.Hour }, "background", true},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := experimentfile.Parse("checked.yaml", []byte(checked), testTools)
			if err != nil {
				t.Fatal(err)
			}
			c.change(e)
			if err := e.Check(); (err == nil) != c.runs {
				t.Errorf("Check says %v", err)
			}
			if err := e.CheckRunnable(testTools); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("CheckRunnable says %v, want %q", err, c.says)
			}
		})
	}
}
