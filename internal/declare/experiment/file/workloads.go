package file

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"

	"nearfar/internal/declare/experiment"
)

// workloads reads the workloads in the order of the file.
func (r *reader) workloads(f fields, common *experiment.Placement) []parsedWorkload {
	v, ok := r.required(f, "workloads", experiment.WorkloadsExample)
	if !ok || !r.isSequence(v.value, "workloads", experiment.WorkloadsExample) {
		return nil
	}
	if !r.most(v.key, "workloads", len(v.value.Content), experiment.MaxWorkloads) {
		return nil
	}
	var workloads []parsedWorkload
	lines := make(map[string]int)
	for _, n := range v.value.Content {
		f, ok := r.fields(n, n, "the workload", experiment.WorkloadKeys())
		if !ok {
			workloads = append(workloads, parsedWorkload{wrong: true})
			continue
		}
		before := r.count()
		w := r.workload(f, common)
		if line, twice := lines[w.Name]; twice && experiment.IsName(w.Name) {
			r.wrong(f.named["name"].value, "give each workload a name of its own",
				"workload %s is here twice; the first is in line %d", quote(w.Name), line)
		}
		lines[w.Name] = n.Line
		workloads = append(workloads, parsedWorkload{w, f, r.count() > before})
	}
	return workloads
}

// workload reads one workload, and fills in the defaults of its tool and mode.
func (r *reader) workload(f fields, common *experiment.Placement) experiment.Workload {
	var w experiment.Workload
	if v, ok := r.required(f, "name", "name: rr-1k"); ok {
		w.Name, _ = r.text(v.value, "name", "rr-1k")
	}
	w.Question = r.question(f)
	can, known := r.capability(f)
	if known {
		w.Tool, w.Mode, w.Protocol = can.Tool, can.Mode, can.Protocol
		r.check(f, func(c *experiment.Checker) { can.CheckTaken(c, w) })
		maps.DeleteFunc(f.named, func(key string, _ field) bool { return can.Ignores(key) })
	} else {
		can = r.tools.Widest()
	}
	w.Read(f, can, false)
	w.IP = r.ip(f)
	r.offered(&w, f, can)
	r.window(&w, f)
	r.command(&w, f, can)
	w.Background = r.background(w, f, common)
	w.Placement = r.placed(w, f, common)
	r.check(f, func(c *experiment.Checker) { w.CheckRead(c, can, r.tools) })
	if r.faulty[f.named["ip"].value] {
		w.IP = experiment.IPv4 // carried has nothing to add
	}
	return w
}

// capability finds the capability that tool, mode and protocol name together. Without mode or protocol, it is the
// tool's first.
func (r *reader) capability(f fields) (can experiment.ToolCapability, ok bool) {
	var w experiment.Workload
	if v, ok := r.required(f, "tool", "tool: native"); ok {
		w.Tool = r.scalar(v.value, "tool", r.tools.Names()[0])
	}
	for key, into := range map[string]*string{"mode": &w.Mode, "protocol": &w.Protocol} {
		f.Word(key, r.tools.WordsOf(key)[0], into)
	}
	r.check(f, func(c *experiment.Checker) { can, ok = r.tools.Capability(c, w) })
	return can, ok
}

// window reads the duration. Steps give it too.
func (r *reader) window(w *experiment.Workload, f fields) {
	w.Duration = experiment.DefaultWindow
	if v, given := f.named["duration"]; given && len(w.Steps) > 0 {
		r.wrong(v.key, "leave it out", "the steps say how long the workload takes")
		delete(f.named, "duration")
	}
	if len(w.Steps) > 0 {
		w.Duration = experiment.StepsDuration(w.Steps)
	}
	usual := experiment.FormatDuration(experiment.DefaultWindow)
	experiment.Quantity(f, "duration", usual, experiment.ParseDuration, &w.Duration)
}

// background reads the background of a workload. It gives nil if there is none or if it is wrong.
func (r *reader) background(beside experiment.Workload, f fields, common *experiment.Placement) *experiment.Workload {
	v, ok := r.optional(f, "background")
	if !ok {
		return nil
	}
	inner, ok := r.fields(v.value, v.key, "the background", experiment.BackgroundKeys())
	if !ok {
		return nil
	}
	can, _ := r.tools.Beside()
	w := experiment.Workload{Name: "background", Tool: can.Tool, Mode: can.Mode, Protocol: can.Protocol, IP: beside.IP}
	for key, into := range map[string]*string{"tool": &w.Tool, "mode": &w.Mode, "protocol": &w.Protocol} {
		inner.Word(key, *into, into)
	}
	w.Read(inner, can, true)
	w.Placement = r.placed(w, inner, common)
	return &w
}

// offered reads the offered rate, and the steps.
func (r *reader) offered(w *experiment.Workload, f fields, can experiment.ToolCapability) {
	switch {
	case can.Mode == experiment.Load:
		r.load(w, f)
	case can.Mode == experiment.HTTP, can.Mode == experiment.App:
		experiment.Quantity(f, "rate", "500/s", experiment.ParsePerSecond, &w.OfferedRate)
	case can.Mode == experiment.Messages:
		v, ok := r.optional(f, "rate")
		if ok && (v.value.Kind != yaml.ScalarNode || v.value.Value != experiment.MaxRateWord) {
			experiment.Quantity(f, "rate", "10000/s, or max", experiment.ParsePerSecond, &w.OfferedRate)
		}
	case can.Rate.Unit == experiment.BitRate:
		w.Rate = 1e6 // bit/s, as iperf3 itself does
		experiment.Quantity(f, "rate", "100Mbit/s", experiment.ParseRate, &w.Rate)
	}
}

// load reads the offered rate, or the steps instead of it.
func (r *reader) load(w *experiment.Workload, f fields) {
	if f.named["steps"].key == nil {
		if _, ok := r.required(f, "rate", "rate: 10000/s"); !ok {
			return
		}
	} else if steps, ok := r.optional(f, "steps"); ok {
		w.Steps = r.steps(steps)
	}
	experiment.Quantity(f, "rate", "10000/s", experiment.ParsePerSecond, &w.OfferedRate)
}

// steps reads the list of rates that follow each other.
func (r *reader) steps(v field) []experiment.Step {
	if !r.isSequence(v.value, "steps", experiment.StepsExample) {
		return nil
	}
	var steps []experiment.Step
	for _, n := range v.value.Content {
		var s experiment.Step
		if f, ok := r.fields(n, n, "the step", experiment.KeysOf("step")); ok {
			s = r.step(f)
		}
		steps = append(steps, s)
	}
	return steps
}

func (r *reader) step(f fields) experiment.Step {
	var s experiment.Step
	if _, ok := r.required(f, "rate", "rate: 1000/s"); ok {
		experiment.Quantity(f, "rate", "1000/s", experiment.ParsePerSecond, &s.Rate)
	}
	if _, ok := r.required(f, "for", "for: 1s"); ok {
		experiment.Quantity(f, "for", experiment.FormatDuration(time.Second), experiment.ParseDuration, &s.For)
	}
	return s
}

// placed gives the placement of a workload: its own, else the experiment's, else the default of its mode.
func (r *reader) placed(w experiment.Workload, f fields, common *experiment.Placement) experiment.Placement {
	if own := r.placement(f); own != nil {
		return *own
	}
	if common != nil {
		return *common
	}
	return r.defaultPlacement(w)
}

// defaultPlacement is shared if one request at a time is under way, and split for bulk data and if both sides use a CPU
// all the time. It is split for all workloads if an arm has hosts: different machines share no CPU, and a workload has
// the same placement in all arms. Programs of the experiment's own have as many threads as they like, and are free.
func (r *reader) defaultPlacement(w experiment.Workload) experiment.Placement {
	switch {
	case w.Mode == experiment.CommandMode:
		return experiment.Placement{Kind: experiment.PlacementFree}
	case r.known.used, w.Mode == experiment.Stream, w.Mode == experiment.Messages, w.Mode == experiment.Load,
		w.Wait == experiment.WaitSpin, w.AsksPages() && (w.OfferedRate > 0 || w.Concurrency > 1):
		return experiment.Placement{Kind: experiment.PlacementSplit}
	}
	return experiment.Placement{Kind: experiment.PlacementShared}
}

// placement reads shared, split, free, or {client: [0], server: [1]}. It gives nil if there is none or if it is wrong.
func (r *reader) placement(f fields) *experiment.Placement {
	v, ok := r.optional(f, "placement")
	if !ok {
		return nil
	}
	if v.value.Kind != yaml.MappingNode {
		return &experiment.Placement{Kind: r.scalar(v.value, "placement", experiment.PlacementShared)}
	}
	inner, ok := r.fields(v.value, v.key, "placement", experiment.KeysOf("placement"))
	if !ok {
		return nil
	}
	client, server := r.cpus(inner, "client"), r.cpus(inner, "server")
	return &experiment.Placement{Kind: experiment.PlacementExplicit, Client: client, Server: server}
}

// cpus reads a list of CPU numbers.
func (r *reader) cpus(f fields, side string) []int {
	v, ok := r.required(f, side, experiment.CPUsExample(side))
	if !ok || !r.isSequence(v.value, side, experiment.CPUsExample(side)) {
		return nil
	}
	cpus := make([]int, len(v.value.Content))
	for i, n := range v.value.Content {
		cpus[i], _ = r.whole(n, experiment.CPUNumber, experiment.CPUNumbers())
	}
	return cpus
}

// ip reads the version of IP.
func (r *reader) ip(f fields) int {
	v, ok := r.optional(f, "ip")
	if !ok || !r.isScalar(v.value, "ip", "6") {
		return experiment.IPv4
	}
	version, err := strconv.Atoi(v.value.Value)
	if err != nil || v.value.ShortTag() != "!!int" {
		r.wrong(v.value, experiment.IPVersions, "ip must be a plain whole number, not %s", quote(v.value.Value))
		return experiment.IPv4
	}
	return version
}

// carried checks that every arm can carry the workload's version of IP.
func (r *reader) carried(w experiment.Workload, f fields, arms []experiment.Arm) {
	v, given := f.named["ip"]
	if !given || w.IP != experiment.IPv6 {
		return
	}
	for _, a := range arms {
		if a.Lab == nil {
			continue
		}
		if least := a.Lab.LeastIPv6(); a.Lab.MTU < least {
			r.wrong(v.value, fmt.Sprintf("give it an mtu of %d or more, or leave ip out", least),
				"arm %s has an mtu of %d, which is too small for IPv6", quote(a.Name), a.Lab.MTU)
		}
	}
}

// oneCPU reports a workload that asks for one CPU for client and server in an arm whose hosts are different machines,
// as far as the file shows.
func (r *reader) oneCPU(w experiment.Workload, f fields, a experiment.Arm) {
	if !a.HasHosts() && a.Kubernetes == nil || r.known.oneMachine(a) {
		return
	}
	at := func(path ...string) *yaml.Node {
		if own, there := f.find(path); there {
			return own.value
		}
		return r.commonPlacement
	}
	if w.Placement.Kind == experiment.PlacementShared {
		r.notShared(at("placement"), a)
	}
	if w.Background != nil && w.Background.Placement.Kind == experiment.PlacementShared {
		r.notShared(at("background", "placement"), a)
	}
}

// notShared reports placement shared in an arm with two machines. A place in the file is reported for one arm only.
func (r *reader) notShared(at *yaml.Node, a experiment.Arm) {
	if at == nil || r.moved == nil && r.reported[at] {
		return
	}
	r.reported[at] = true
	hint, has := "write split, or if both are one machine, for example {client: [0], server: [0]}", "different hosts"
	if a.Kubernetes != nil && a.Kubernetes.Nodes != "" {
		hint, has = "write split, or nodes: same in the arm", "pods on different nodes"
	}
	r.wrong(at, hint, "shared is one CPU for client and server, and arm %s has %s", quote(a.Name), has)
}

// unanswered reports a workload that an arm cannot measure. A place in the file is reported for one arm only.
func (r *reader) unanswered(w experiment.Workload, f fields, a experiment.Arm) {
	if at := f.named["tool"].value; !r.reported[at] {
		before := r.count()
		r.check(f, func(c *experiment.Checker) { a.CheckAnswered(c, w) })
		r.reported[at] = r.count() > before
	}
}
