package experiment

import (
	"maps"
	"time"
)

// Defaults of a workload.
const (
	defaultWindow    = 2 * time.Second
	defaultInterval  = 10 * time.Millisecond
	defaultRequest   = 64  // bytes
	stampsSize       = 16  // bytes of a response that the server's timestamps take
	defaultDatagrams = 1e6 // bit/s, as iperf3 itself does
)

// workloads reads the workloads in the order of the file.
func (r *reader) workloads(f fields, common *Placement) []parsedWorkload {
	v, ok := r.required(f, "workloads", workloadsExample)
	if !ok || !r.isSequence(v.value, "workloads", workloadsExample) {
		return nil
	}
	if !r.most(v.key, "workloads", len(v.value.Content), maxWorkloads) {
		return nil
	}
	var workloads []parsedWorkload
	lines := make(map[string]int)
	for _, n := range v.value.Content {
		f, ok := r.fields(n, n, "the workload", workloadKeys())
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

const workloadsExample = "workloads: [{name: rr, tool: native}]"

// workload reads one workload, and fills in the defaults of its tool and mode.
func (r *reader) workload(f fields, common *Placement) Workload {
	var w Workload
	if v, ok := r.required(f, "name", "name: rr-1k"); ok {
		w.Name, _ = r.text(v.value, "name", "rr-1k")
	}
	w.Question = r.question(f)
	can, known := r.capability(f)
	if known {
		w.Tool, w.Mode, w.Protocol = can.tool, can.Mode, can.Protocol
		r.check(f, func(c *checker) { can.checkTaken(c, w) })
		maps.DeleteFunc(f.named, func(key string, _ field) bool { return can.ignores(key) })
	} else {
		can = r.tools.widest()
	}
	w.Read(values{r, f}, can, false)
	w.IP = r.ip(f)
	r.offered(&w, f, can)
	r.window(&w, f)
	w.Background = r.background(w, f, common)
	w.Placement = r.placed(w, f, common)
	r.check(f, func(c *checker) {
		w.checkName(c)
		w.bounds(c)
		can.check(c, w)
		w.Placement.check(c.in("placement"))
		w.checkBackground(c, r.tools)
	})
	if r.faulty[f.named["ip"].value] {
		w.IP = IPv4 // carried has nothing to add
	}
	return w
}

// capability finds the capability that tool, mode and protocol name together. Without mode or protocol, it is the
// tool's first.
func (r *reader) capability(f fields) (can capability, ok bool) {
	var w Workload
	if v, ok := r.required(f, "tool", "tool: native"); ok {
		w.Tool = r.scalar(v.value, "tool", r.tools.Names()[0])
	}
	for key, into := range map[string]*string{"mode": &w.Mode, "protocol": &w.Protocol} {
		if v, ok := r.optional(f, key); ok {
			*into = r.scalar(v.value, key, r.tools.wordsOf(key)[0])
		}
	}
	r.check(f, func(c *checker) { can, ok = r.tools.capability(c, w) })
	return can, ok
}

// sender names in messages what takes a size.
func (c capability) sender() string {
	if c.tool == "" {
		return "a message"
	}
	return c.String()
}

// window reads the duration. Steps give it too.
func (r *reader) window(w *Workload, f fields) {
	w.Duration = defaultWindow
	if v, given := f.named["duration"]; given && len(w.Steps) > 0 {
		r.wrong(v.key, "leave it out", "the steps say how long the workload takes")
		delete(f.named, "duration")
	}
	if len(w.Steps) > 0 {
		w.Duration = stepsDuration(w.Steps)
	}
	if v, ok := r.optional(f, "duration"); ok {
		w.Duration, _ = quantity(r, v.value, "duration", FormatDuration(defaultWindow), ParseDuration)
	}
}
