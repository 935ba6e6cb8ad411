package experiment

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"go.yaml.in/yaml/v4"
)

// The bounds and defaults of a workload.
const (
	maxWindow        = 24 * time.Hour
	minNativeWindow  = 10 * time.Millisecond
	maxWarmup        = time.Hour
	maxInterval      = time.Minute
	maxRequests      = 200_000 // of ping in a trial: each prints a line
	defaultWindow    = 2 * time.Second
	defaultInterval  = 10 * time.Millisecond
	defaultRequest   = 64  // bytes
	defaultPing      = 56  // bytes, as ping itself does
	defaultMessage   = 64  // bytes (messages)
	stampsSize       = 16  // bytes, which the server's timestamps take in a response
	defaultDatagrams = 1e6 // bit/s, as iperf3 itself does
)

func workloadKeys() []string {
	keys := append([]string{"name", "tool", "mode", "protocol", "ip", "duration"}, parameterKeys()...)
	return append(keys, "placement", "optional")
}

// parameterKeys are those that not every workload takes.
func parameterKeys() []string {
	keys := []string{"request", "response", "message", "warmup", "interval", "connections", "rate", "arrivals", "steps", "batch",
		"direction", "zerocopy", "timestamps"}
	return append(append(keys, socketKeys()...), "background")
}

// workloads reads the workloads in the order of the file, each of which is measured in all arms.
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
		before := len(r.mistakes)
		w := r.workload(f, common)
		if line, twice := lines[w.Name]; twice && w.Name != "" {
			r.wrong(f.named["name"].value, "give each workload a name of its own",
				"workload %s is here twice; the first is in line %d", quote(w.Name), line)
		}
		lines[w.Name] = n.Line
		workloads = append(workloads, parsedWorkload{w, f, len(r.mistakes) > before})
	}
	return workloads
}

// workload reads one, and fills in what its tool and mode make of what is not said.
func (r *reader) workload(f fields, common *Placement) Workload {
	var w Workload
	if v, ok := r.required(f, "name", "name: rr-1k"); ok {
		if name, ok := r.text(v.value, "name", "rr-1k"); ok && r.name(v.value, "a workload", name) {
			w.Name = name
		}
	}
	can, known := r.capability(f)
	if known {
		w.Tool, w.Mode, w.Protocol = can.tool, can.mode, can.protocol
		r.senseless(f, can)
	} else {
		can = anyCapability() // so that what does not depend on the tool is still checked
	}
	w.IP = r.ip(f, can)
	r.measured(&w, f, can)
	r.times(&w, f, can)
	w.Background = r.background(w, f, common)
	if v, ok := r.optional(f, "optional"); ok {
		w.Optional = r.truth(v.value, "optional")
	}
	w.Placement = r.placed(w, f, common)
	return w
}

// measured reads what says how it is measured, but for the times.
func (r *reader) measured(w *Workload, f fields, can capability) {
	r.sizes(w, f, can)
	if can.mode == Stream || can.mode == Load {
		w.Connections = 1
	}
	if v, ok := r.optional(f, "connections"); ok {
		if n, ok := r.integer(v.value, "connections", 1, int64(can.connections)); ok {
			w.Connections = int(n)
		}
	}
	r.offered(w, f, can)
	r.flow(w, f, can)
	r.socket(&w.Socket, f, can)
	if v, ok := r.optional(f, "timestamps"); ok {
		w.Timestamps = r.truth(v.value, "timestamps")
		r.stampsFit(*w, v.value, can)
		if w.Timestamps && w.Wait == WaitEpoll {
			r.wrong(v.value, "wait in another way, or leave timestamps out", "timestamps do not go with wait: epoll, whose every wait their reports end at once")
		}
	}
}

// stampsFit checks that the response has room for the server's timestamps; a size that was wrong itself is 0.
func (r *reader) stampsFit(w Workload, n *yaml.Node, can capability) {
	least := stampsSize
	if can.protocol == UDP {
		least += can.response.min
	}
	if w.Timestamps && w.Response != 0 && w.Response < least {
		r.wrong(n, fmt.Sprintf("make the response at least %s", FormatSize(least)),
			"a response of %s has no room for the server's timestamps", FormatSize(w.Response))
	}
}

// capability finds what tool, mode and protocol together name.
func (r *reader) capability(f fields) (capability, bool) {
	t, ok := r.required(f, "tool", "tool: native")
	if !ok {
		return capability{}, false
	}
	if t.value.Kind == yaml.ScalarNode && slices.Contains(elsewhereTools(), t.value.Value) {
		r.wrong(t.value, "run it there, and read what it printed with: nearfar import --tool "+t.value.Value+" FILE",
			"%s runs elsewhere, not as a workload", t.value.Value)
		return capability{}, false
	}
	tool, ok := r.word(t.value, "tool", toolNames())
	mode, protocol := "", ""
	at := t.value
	if v, given := r.optional(f, "mode"); given {
		var good bool
		mode, good = r.word(v.value, "mode", modeNames())
		ok, at = ok && good, v.value
	}
	if v, given := r.optional(f, "protocol"); given {
		var good bool
		protocol, good = r.word(v.value, "protocol", protocolNames())
		ok = ok && good
		if _, modeFits := findCapability(tool, mode, ""); modeFits {
			at = v.value
		}
	}
	if !ok {
		return capability{}, false
	}
	can, ok := findCapability(tool, mode, protocol)
	if !ok {
		asked := mode
		if mode == "" || at.Value == protocol {
			asked = fmt.Sprintf("%s over %s", orAny(mode), protocol)
		}
		r.wrong(at, whatToolCan(tool), "%s cannot do %s", tool, asked)
	}
	return can, ok
}

func orAny(mode string) string {
	if mode == "" {
		return "anything"
	}
	return mode
}

// anyCapability takes every parameter within the widest bounds.
func anyCapability() capability {
	widest := limits{1, maxMessage}
	return capability{request: widest, response: widest, message: widest, connections: maxLoadConnections, interval: true, engine: true,
		warmup: time.Second, maxWarmup: maxWarmup, step: time.Nanosecond}
}

// senseless notes parameters that mean nothing to what is measured, and takes them out.
func (r *reader) senseless(f fields, can capability) {
	for _, key := range parameterKeys() {
		if v, given := f.named[key]; given && !can.takes(key) {
			r.wrong(v.key, "it is for "+whoTakes(key), "%s takes no %s", can, key)
			delete(f.named, key)
		}
	}
}

// sizes reads request, response and message.
func (r *reader) sizes(w *Workload, f fields, can capability) {
	if can.takes("request") {
		w.Request = defaultRequest
		if can.mode == Ping {
			w.Request = defaultPing
		}
		if v, ok := r.optional(f, "request"); ok {
			w.Request = r.size(v.value, "request", can, can.request)
		}
	}
	if can.takes("response") {
		w.Response = w.Request
		if v, ok := r.optional(f, "response"); ok {
			w.Response = r.size(v.value, "response", can, can.response)
			r.responseFits(*w, v.value, can)
		}
	}
	if can.mode == Messages {
		w.Message = defaultMessage
	}
	if v, ok := r.optional(f, "message"); ok {
		w.Message = r.size(v.value, "message", can, can.message)
	}
}

// size reads a message size within the limits; 0 stands for one that was wrong.
func (r *reader) size(n *yaml.Node, what string, can capability, within limits) int {
	bytes, ok := quantity(r, n, what, "1024B", ParseSize)
	if !ok {
		return 0
	}
	if bytes < within.min || bytes > within.max {
		who := "a message"
		if can.tool != "" {
			who = can.String()
		}
		r.wrong(n, fmt.Sprintf("%s takes %s to %s", who, FormatSize(within.min), FormatSize(within.max)),
			"%s cannot be %s", what, FormatSize(bytes))
		return 0
	}
	return bytes
}

// responseFits checks a response against the request; sizes that were wrong themselves are 0.
func (r *reader) responseFits(w Workload, n *yaml.Node, can capability) {
	switch {
	case w.Request == 0 || w.Response == 0:
	case can.sameResponse && w.Response != w.Request:
		r.wrong(n, fmt.Sprintf("leave response out, or write %s", FormatSize(w.Request)),
			"%s answers with as much as it received", can.tool)
	case can.noAmplify && w.Response > w.Request:
		r.wrong(n, fmt.Sprintf("at most the request's %s", FormatSize(w.Request)),
			"a response of %s is larger than its request: over UDP the engine sends no more than it received", FormatSize(w.Response))
	}
}

// times reads duration, warm-up and interval.
func (r *reader) times(w *Workload, f fields, can capability) {
	w.Duration = defaultWindow
	if v, given := f.named["duration"]; given && len(w.Steps) > 0 {
		r.wrong(v.key, "leave it out", "the steps say how long the workload takes")
		delete(f.named, "duration")
	}
	if len(w.Steps) > 0 {
		w.Duration = r.stepsDuration(*w, f)
	}
	if v, ok := r.optional(f, "duration"); ok {
		shortest := can.step
		if can.tool == "native" {
			shortest = minNativeWindow
		}
		w.Duration = r.period(v.value, "duration", can, defaultWindow, shortest, maxWindow)
	}
	w.Warmup = can.warmup
	if v, ok := r.optional(f, "warmup"); ok {
		w.Warmup = r.period(v.value, "warmup", can, time.Second, 0, can.maxWarmup)
	}
	if !can.interval {
		return
	}
	w.Interval = defaultInterval
	if v, ok := r.optional(f, "interval"); ok {
		w.Interval = r.period(v.value, "interval", can, defaultInterval, can.step, maxInterval)
	}
	r.echoRequests(*w, f, can)
}

// echoRequests checks that the duration holds one echo request, and not more than ping is asked for in a trial.
func (r *reader) echoRequests(w Workload, f fields, can capability) {
	if can.tool == "" || w.Duration == 0 || w.Interval == 0 {
		return // wrong themselves
	}
	at := f.at
	if v, given := f.named["duration"]; given {
		at = v.value
	} else if v, given := f.named["interval"]; given {
		at = v.value
	}
	switch requests := w.Duration / w.Interval; {
	case requests < 1:
		r.wrong(at, "make the duration longer or the interval shorter", "duration %s is shorter than the interval of %s",
			FormatDuration(w.Duration), FormatDuration(w.Interval))
	case requests > maxRequests:
		r.wrong(at, fmt.Sprintf("at most %d; make the duration shorter or the interval longer", maxRequests),
			"duration %s at an interval of %s makes %d echo requests", FormatDuration(w.Duration), FormatDuration(w.Interval), requests)
	}
}

// period reads a duration within bounds that is a multiple of what the tool counts in; 0 stands for one that was wrong.
func (r *reader) period(n *yaml.Node, what string, can capability, usual, shortest, longest time.Duration) time.Duration {
	d, ok := quantity(r, n, what, FormatDuration(usual), ParseDuration)
	switch {
	case !ok:
		return 0
	case d == 0 && shortest > 0:
		r.wrong(n, "write, for example, "+FormatDuration(usual), "%s must be longer than 0", what)
		return 0
	case d > longest:
		r.wrong(n, "at most "+FormatDuration(longest), "%s %s is too long", what, FormatDuration(d))
		return 0
	case d%can.step != 0:
		r.wrong(n, "write, for example, "+FormatDuration(d.Truncate(can.step)+can.step),
			"%s %s: %s counts in steps of %s", what, FormatDuration(d), can.tool, FormatDuration(can.step))
		return 0
	case d < shortest:
		r.wrong(n, "at least "+FormatDuration(shortest), "%s %s is too short", what, FormatDuration(d))
		return 0
	}
	return d
}
