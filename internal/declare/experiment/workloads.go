package experiment

import (
	"fmt"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
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
	const example = "workloads: [{name: rr, tool: native}]"
	v, ok := r.required(f, "workloads", example)
	if !ok || !r.isSequence(v.value, "workloads", example) {
		return nil
	}
	if len(v.value.Content) == 0 {
		r.wrong(v.value, "write, for example, "+example, "there are no workloads")
	}
	if n := len(v.value.Content); n > maxWorkloads {
		r.wrong(v.key, "at most "+strconv.Itoa(maxWorkloads), "there are %d workloads", n)
		return nil
	}
	var workloads []parsedWorkload
	lines := make(map[string]int)
	for _, n := range v.value.Content {
		f, ok := r.fields(n, n, "the workload", workloadKeys())
		if !ok {
			continue
		}
		before := r.count()
		w := r.workload(f, common)
		if line, twice := lines[w.Name]; twice && w.Name != "" {
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
		if name, ok := r.text(v.value, "name", "rr-1k"); ok && r.name(v.value, "a workload", name) {
			w.Name = name
		}
	}
	w.Question = r.question(f)
	can, known := r.capability(f)
	before := r.count()
	if known {
		w.Tool, w.Mode, w.Protocol = can.tool, can.Mode, can.Protocol
		r.senseless(f, can)
	} else {
		can = r.tools.widest()
	}
	r.values(&w, f, can, func(key) bool { return true })
	r.window(&w, f, can)
	w.Background = r.background(w, f, common)
	w.Placement = r.placed(w, f, common)
	if known && len(f.suspected) == 0 && r.count() == before {
		if err := w.checkRunnable(r.tools); err != nil { // a mistake that no message of its own covers
			r.wrong(f.at, "", "the workload cannot be run: %v", err)
		}
	}
	return w
}

// values reads the wanted keys, and then checks what some of them say together.
func (r *reader) values(w *Workload, f fields, can capability, wanted func(k key) bool) {
	if can.Mode == Stream || can.Mode == Load {
		w.Connections = 1 // also for tools that take no other number
	}
	for _, k := range allKeys() {
		if k.read != nil && wanted(k) {
			k.read(r, w, f, can)
		}
	}
	r.responseFits(*w, f, can)
	r.batchFits(*w, f, can)
	r.stampsFit(*w, f, can)
}

// stampsFit checks that the response has room for the server's timestamps. A size of 0 is already reported.
func (r *reader) stampsFit(w Workload, f fields, can capability) {
	if !w.Timestamps {
		return
	}
	at, least := f.named["timestamps"].value, can.leastStamped()
	if w.Response != 0 && w.Response < least {
		r.wrong(at, fmt.Sprintf("make the response at least %s", FormatSize(least)),
			"a response of %s has no room for the server's timestamps", FormatSize(w.Response))
	}
	if w.Wait == WaitEpoll {
		r.wrong(at, "wait in another way, or leave timestamps out",
			"timestamps cannot be combined with wait: epoll, since each of their reports ends a wait at once")
	}
}

// batchFits checks how large a batch is.
func (r *reader) batchFits(w Workload, f fields, can capability) {
	together := w.Message * w.Batch
	if can.tool == "" || together <= can.BatchBytes {
		return
	}
	at := f.at
	for _, key := range []string{"message", "batch"} {
		if v, given := f.named[key]; given {
			at = v.value
		}
	}
	r.wrong(at, "at most "+FormatSize(can.BatchBytes), "a batch of %d messages of %s has %s",
		w.Batch, FormatSize(w.Message), FormatSize(together))
}

// capability finds the capability that tool, mode and protocol name together.
func (r *reader) capability(f fields) (capability, bool) {
	t, ok := r.required(f, "tool", "tool: native")
	if !ok {
		return capability{}, false
	}
	tool, ok := r.word(t.value, "tool", r.tools.Names())
	mode, protocol := "", ""
	at := t.value
	if v, given := r.optional(f, "mode"); given {
		var good bool
		mode, good = r.word(v.value, "mode", r.tools.Modes(""))
		ok, at = ok && good, v.value
	}
	if v, given := r.optional(f, "protocol"); given {
		var good bool
		protocol, good = r.word(v.value, "protocol", r.tools.Protocols("", ""))
		ok = ok && good
		if _, modeFits := r.tools.find(tool, mode, ""); modeFits {
			at = v.value
		}
	}
	if !ok {
		return capability{}, false
	}
	can, ok := r.tools.find(tool, mode, protocol)
	if !ok {
		asked := mode
		if mode == "" || at.Value == protocol {
			asked = fmt.Sprintf("%s over %s", orAny(mode), protocol)
		}
		r.wrong(at, r.tools.whatToolCan(tool), "%s cannot do %s", tool, asked)
	}
	return can, ok
}

func orAny(mode string) string {
	if mode == "" {
		return "anything"
	}
	return mode
}

// senseless reports keys that the capability does not take, and removes them.
func (r *reader) senseless(f fields, can capability) {
	for _, k := range allKeys() {
		if v, given := f.named[k.name]; given && !k.general && !k.isTaken(can) {
			r.wrong(v.key, "it is for "+r.tools.whoTakes(k.name), "%s takes no %s", can, k.name)
			delete(f.named, k.name)
		}
	}
}

// sender names in messages what takes a size.
func (c capability) sender() string {
	if c.tool == "" {
		return "a message"
	}
	return c.String()
}

// size reads a size in bytes within the limits of the tools in who. It returns 0 for a wrong size.
func (r *reader) size(n *yaml.Node, what, who string, within Range) int {
	bytes, ok := quantity(r, n, what, "1024B", ParseSize)
	if !ok {
		return 0
	}
	if !within.holds(bytes) {
		r.wrong(n, fmt.Sprintf("%s takes %s to %s", who, FormatSize(within.Min), FormatSize(within.Max)),
			"%s cannot be %s", what, FormatSize(bytes))
		return 0
	}
	return bytes
}

// responseFits checks a response against the request. A size of 0 is already reported.
func (r *reader) responseFits(w Workload, f fields, can capability) {
	v, given := f.named["response"]
	n := v.value
	switch {
	case !given:
	case w.Request == 0 || w.Response == 0:
	case can.Reply == ReplySame && w.Response != w.Request:
		r.wrong(n, fmt.Sprintf("leave response out, or write %s", FormatSize(w.Request)),
			"%s answers with as much as it received", can.tool)
	case can.Reply == ReplyAtMostRequest && w.Response > w.Request:
		r.wrong(n, fmt.Sprintf("at most the request's %s", FormatSize(w.Request)),
			"a response of %s is larger than its request: over UDP the engine sends no more than it received",
			FormatSize(w.Response))
	}
}

// window reads the duration. Steps give it too.
func (r *reader) window(w *Workload, f fields, can capability) {
	w.Duration = defaultWindow
	if v, given := f.named["duration"]; given && len(w.Steps) > 0 {
		r.wrong(v.key, "leave it out", "the steps say how long the workload takes")
		delete(f.named, "duration")
	}
	if len(w.Steps) > 0 {
		w.Duration = r.stepsDuration(*w, f, can.Duration.Max)
	}
	if v, ok := r.optional(f, "duration"); ok {
		limits := can.Duration
		limits.Default = defaultWindow
		w.Duration = r.period(v.value, "duration", can, limits)
	}
	r.echoRequests(*w, f, can)
}

// echoRequests checks that the number of echo requests is within its limits, at least 1.
func (r *reader) echoRequests(w Workload, f fields, can capability) {
	if can.tool == "" || !can.Interval.taken() || w.Duration == 0 || w.Interval == 0 {
		return // they are already reported
	}
	at := f.at
	if v, given := f.named["duration"]; given {
		at = v.value
	} else if v, given := f.named["interval"]; given {
		at = v.value
	}
	switch requests := w.Duration / w.Interval; {
	case requests < 1:
		r.wrong(at, "make the duration longer or the interval shorter",
			"duration %s is shorter than the interval of %s",
			FormatDuration(w.Duration), FormatDuration(w.Interval))
	case int(requests) > can.MaxIntervals:
		r.wrong(at, fmt.Sprintf("at most %d; make the duration shorter or the interval longer", can.MaxIntervals),
			"duration %s at an interval of %s makes %d echo requests",
			FormatDuration(w.Duration), FormatDuration(w.Interval), requests)
	}
}

// period reads a duration within the limits. It gives 0 for a wrong one. The default is the example of what to write.
func (r *reader) period(n *yaml.Node, what string, can capability, limits Durations) time.Duration {
	d, ok := quantity(r, n, what, FormatDuration(limits.Default), ParseDuration)
	switch {
	case !ok:
		return 0
	case d == 0 && limits.Min > 0:
		r.wrong(n, "write, for example, "+FormatDuration(limits.Default), "%s must be longer than 0", what)
		return 0
	case d > limits.Max:
		r.wrong(n, "at most "+FormatDuration(limits.Max), "%s %s is too long", what, FormatDuration(d))
		return 0
	case d%limits.Step != 0:
		r.wrong(n, "write, for example, "+FormatDuration(d.Truncate(limits.Step)+limits.Step),
			"%s %s: %s counts in steps of %s", what, FormatDuration(d), can.tool, FormatDuration(limits.Step))
		return 0
	case d < limits.Min:
		r.wrong(n, "at least "+FormatDuration(limits.Min), "%s %s is too short", what, FormatDuration(d))
		return 0
	}
	return d
}
