package experiment

import (
	"fmt"
	"maps"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// workloads reads the workloads in the order of the file.
func (r *reader) workloads(f fields, common *Placement) []parsedWorkload {
	v, ok := r.required(f, "workloads", WorkloadsExample)
	if !ok || !r.isSequence(v.value, "workloads", WorkloadsExample) {
		return nil
	}
	if !r.most(v.key, "workloads", len(v.value.Content), MaxWorkloads) {
		return nil
	}
	var workloads []parsedWorkload
	lines := make(map[string]int)
	for _, n := range v.value.Content {
		f, ok := r.fields(n, n, "the workload", WorkloadKeys())
		if !ok {
			workloads = append(workloads, parsedWorkload{wrong: true})
			continue
		}
		before := r.count()
		w := r.workload(f, common)
		if line, twice := lines[w.Name]; twice && IsName(w.Name) {
			r.wrong(f.named["name"].value, "give each workload a name of its own",
				"workload %s is here twice; the first is in line %d", quote(w.Name), line)
		}
		lines[w.Name] = n.Line
		workloads = append(workloads, parsedWorkload{w, f, r.count() > before})
	}
	return workloads
}

// workload reads one workload, and fills in the defaults of its tool and mode.
func (r *reader) workload(f fields, common *Placement) Workload {
	var w Workload
	if v, ok := r.required(f, "name", "name: rr-1k"); ok {
		w.Name, _ = r.text(v.value, "name", "rr-1k")
	}
	w.Question = r.question(f)
	can, known := r.capability(f)
	if known {
		w.Tool, w.Mode, w.Protocol = can.Tool, can.Mode, can.Protocol
		r.check(f, func(c *Checker) { can.CheckTaken(c, w) })
		maps.DeleteFunc(f.named, func(key string, _ field) bool { return can.Ignores(key) })
	} else {
		can = r.tools.Widest()
	}
	w.Read(f, can, false)
	w.IP = r.ip(f)
	r.offered(&w, f, can)
	r.window(&w, f)
	w.Background = r.background(w, f, common)
	w.Placement = r.placed(w, f, common)
	r.check(f, func(c *Checker) { w.CheckRead(c, can, r.tools) })
	if r.faulty[f.named["ip"].value] {
		w.IP = IPv4 // carried has nothing to add
	}
	return w
}

// capability finds the capability that tool, mode and protocol name together. Without mode or protocol, it is the
// tool's first.
func (r *reader) capability(f fields) (can ToolCapability, ok bool) {
	var w Workload
	if v, ok := r.required(f, "tool", "tool: native"); ok {
		w.Tool = r.scalar(v.value, "tool", r.tools.Names()[0])
	}
	for key, into := range map[string]*string{"mode": &w.Mode, "protocol": &w.Protocol} {
		f.Word(key, r.tools.WordsOf(key)[0], into)
	}
	r.check(f, func(c *Checker) { can, ok = r.tools.Capability(c, w) })
	return can, ok
}

// window reads the duration. Steps give it too.
func (r *reader) window(w *Workload, f fields) {
	w.Duration = DefaultWindow
	if v, given := f.named["duration"]; given && len(w.Steps) > 0 {
		r.wrong(v.key, "leave it out", "the steps say how long the workload takes")
		delete(f.named, "duration")
	}
	if len(w.Steps) > 0 {
		w.Duration = StepsDuration(w.Steps)
	}
	Quantity(f, "duration", FormatDuration(DefaultWindow), ParseDuration, &w.Duration)
}

// background reads the background of a workload. It gives nil if there is none or if it is wrong.
func (r *reader) background(beside Workload, f fields, common *Placement) *Workload {
	v, ok := r.optional(f, "background")
	if !ok {
		return nil
	}
	inner, ok := r.fields(v.value, v.key, "the background", BackgroundKeys())
	if !ok {
		return nil
	}
	can, _ := r.tools.Beside()
	w := Workload{Name: "background", Tool: can.Tool, Mode: can.Mode, Protocol: can.Protocol, IP: beside.IP}
	for key, into := range map[string]*string{"tool": &w.Tool, "mode": &w.Mode, "protocol": &w.Protocol} {
		inner.Word(key, *into, into)
	}
	w.Read(inner, can, true)
	w.Placement = r.placed(w, inner, common)
	return &w
}

// offered reads the offered rate, and the steps.
func (r *reader) offered(w *Workload, f fields, can ToolCapability) {
	switch {
	case can.Mode == Load:
		r.load(w, f)
	case can.Mode == Messages:
		v, ok := r.optional(f, "rate")
		if ok && (v.value.Kind != yaml.ScalarNode || v.value.Value != MaxRateWord) {
			Quantity(f, "rate", "10000/s, or max", ParsePerSecond, &w.OfferedRate)
		}
	case can.Rate.Unit == BitRate:
		w.Rate = 1e6 // bit/s, as iperf3 itself does
		Quantity(f, "rate", "100Mbit/s", ParseRate, &w.Rate)
	}
}

// load reads the offered rate, or the steps instead of it.
func (r *reader) load(w *Workload, f fields) {
	if f.named["steps"].key == nil {
		if _, ok := r.required(f, "rate", "rate: 10000/s"); !ok {
			return
		}
	} else if steps, ok := r.optional(f, "steps"); ok {
		w.Steps = r.steps(steps)
	}
	Quantity(f, "rate", "10000/s", ParsePerSecond, &w.OfferedRate)
}

// steps reads the list of rates that follow each other.
func (r *reader) steps(v field) []Step {
	if !r.isSequence(v.value, "steps", StepsExample) {
		return nil
	}
	var steps []Step
	for _, n := range v.value.Content {
		var s Step
		if f, ok := r.fields(n, n, "the step", KeysOf("step")); ok {
			s = r.step(f)
		}
		steps = append(steps, s)
	}
	return steps
}

func (r *reader) step(f fields) Step {
	var s Step
	if _, ok := r.required(f, "rate", "rate: 1000/s"); ok {
		Quantity(f, "rate", "1000/s", ParsePerSecond, &s.Rate)
	}
	if _, ok := r.required(f, "for", "for: 1s"); ok {
		Quantity(f, "for", FormatDuration(time.Second), ParseDuration, &s.For)
	}
	return s
}

// placed gives the placement of a workload: its own, else the experiment's, else the default of its mode.
func (r *reader) placed(w Workload, f fields, common *Placement) Placement {
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
// the same placement in all arms.
func (r *reader) defaultPlacement(w Workload) Placement {
	switch {
	case r.known.used:
		return Placement{Kind: PlacementSplit}
	case w.Mode == Stream, w.Mode == Messages, w.Mode == Load, w.Wait == WaitSpin:
		return Placement{Kind: PlacementSplit}
	}
	return Placement{Kind: PlacementShared}
}

// placement reads shared, split, free, or {client: [0], server: [1]}. It gives nil if there is none or if it is wrong.
func (r *reader) placement(f fields) *Placement {
	v, ok := r.optional(f, "placement")
	if !ok {
		return nil
	}
	if v.value.Kind != yaml.MappingNode {
		return &Placement{Kind: r.scalar(v.value, "placement", PlacementShared)}
	}
	inner, ok := r.fields(v.value, v.key, "placement", KeysOf("placement"))
	if !ok {
		return nil
	}
	return &Placement{Kind: PlacementExplicit, Client: r.cpus(inner, "client"), Server: r.cpus(inner, "server")}
}

// cpus reads a list of CPU numbers.
func (r *reader) cpus(f fields, side string) []int {
	v, ok := r.required(f, side, CPUsExample(side))
	if !ok || !r.isSequence(v.value, side, CPUsExample(side)) {
		return nil
	}
	cpus := make([]int, len(v.value.Content))
	for i, n := range v.value.Content {
		cpus[i], _ = r.whole(n, CPUNumber, CPUNumbers())
	}
	return cpus
}

// ip reads the version of IP.
func (r *reader) ip(f fields) int {
	v, ok := r.optional(f, "ip")
	if !ok || !r.isScalar(v.value, "ip", "6") {
		return IPv4
	}
	version, err := strconv.Atoi(v.value.Value)
	if err != nil || v.value.ShortTag() != "!!int" {
		r.wrong(v.value, IPVersions, "ip must be a plain whole number, not %s", quote(v.value.Value))
		return IPv4
	}
	return version
}

// carried checks that every arm can carry the workload's version of IP.
func (r *reader) carried(w Workload, f fields, arms []Arm) {
	v, given := f.named["ip"]
	if !given || w.IP != IPv6 {
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
func (r *reader) oneCPU(w Workload, f fields, a Arm) {
	if !a.HasHosts() && a.Kubernetes == nil || r.known.oneMachine(a) {
		return
	}
	at := func(path ...string) *yaml.Node {
		if own, there := f.find(path); there {
			return own.value
		}
		return r.commonPlacement
	}
	if w.Placement.Kind == PlacementShared {
		r.notShared(at("placement"), a)
	}
	if w.Background != nil && w.Background.Placement.Kind == PlacementShared {
		r.notShared(at("background", "placement"), a)
	}
}

// notShared reports placement shared in an arm with two machines. A place in the file is reported for one arm only.
func (r *reader) notShared(at *yaml.Node, a Arm) {
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
func (r *reader) unanswered(w Workload, f fields, a Arm) {
	if at := f.named["tool"].value; !r.reported[at] {
		before := r.count()
		r.check(f, func(c *Checker) { a.CheckAnswered(c, w) })
		r.reported[at] = r.count() > before
	}
}
