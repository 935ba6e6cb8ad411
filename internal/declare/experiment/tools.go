package experiment

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Tools are the measuring programs, each as it declares itself; internal/measure/tool has the list. Messages and pages
// name them in this order.
type Tools []Tool

// Tool is what a measuring program declares about itself. The reader of experiment files, the tool's own Plan, the JSON
// Schema, the documentation and shell completion take modes, limits and defaults from here.
type Tool struct {
	Name string
	// Does lists what the program measures. The first capability is the default; the first of each mode gives the
	// mode's default protocol.
	Does []Capability
	// Programs are the names of the programs that it runs on the hosts. It is empty for a tool that nearfar does not
	// run.
	Programs []string
	// The following fields are for the documentation, in Markdown: the command lines that nearfar runs, the operating
	// systems on which it runs them, the versions that were run or read, and the program's output with its units.
	Runs, Systems, Versions, Prints string
}

// Capability is one thing that a tool measures, with the keys of a workload that it takes and their limits.
type Capability struct {
	Mode, Protocol string
	// Request, Response and Message are limits of sizes in bytes.
	Request, Response, Message Range
	// DefaultRequest and DefaultMessage are in bytes. 0 stands for 64 B (requests), and for the tool's own (messages).
	DefaultRequest, DefaultMessage int
	Reply                          Reply
	// Numbers are the limits of the keys whose values are whole numbers, such as connections, by key. A key that is not
	// here is not taken.
	Numbers map[string]Range
	Rate    RateLimits
	// BatchBytes is how large the messages of a batch are together at most.
	BatchBytes int
	// Buffers are the sizes in bytes that the kernel can be asked for as socket buffers.
	Buffers Range
	// Duration is the measurement window. Warmup comes before it; Interval is between two echo requests.
	Duration, Warmup, Interval Durations
	// MaxIntervals is how many intervals a window holds at most.
	MaxIntervals int
	// Waits lists how both sides can wait for a message; the first is the default. The key wait is taken where there
	// are several.
	Waits []string
	// Keys are the other keys of a workload that have a meaning here, such as congestion or direction.
	Keys []string
	// Beside says that it can run as the background of another workload.
	Beside bool
	// OnlyIPv4 says why the tool does not support IPv6; it is empty for a tool that does.
	OnlyIPv4 string
}

// Range is a smallest and a greatest number. The zero value says that a capability does not take the number.
type Range struct{ Min, Max int }

// Taken says that a capability takes the number.
func (r Range) Taken() bool { return r.Max > 0 }

// String writes the range as "1 to 128".
func (r Range) String() string { return fmt.Sprintf("%d to %d", r.Min, r.Max) }

// with gives a range that includes another one.
func (r Range) with(other Range) Range {
	switch {
	case !other.Taken():
		return r
	case !r.Taken():
		return other
	}
	return Range{min(r.Min, other.Min), max(r.Max, other.Max)}
}

// Hint says in a message which numbers are right.
func (r Range) Hint() string { return fmt.Sprintf("write %d to %d", r.Min, r.Max) }

// Holds says that a number is within the range.
func (r Range) Holds(n int) bool { return n >= r.Min && n <= r.Max }

// Durations are the limits of a duration. Max is 0 where a capability does not take it. Every duration is a multiple
// of Step.
type Durations struct{ Default, Min, Max, Step time.Duration }

// Taken says that a capability takes the duration.
func (d Durations) Taken() bool { return d.Max > 0 }

// String writes the range as "10ms to 24h".
func (d Durations) String() string { return FormatDuration(d.Min) + " to " + FormatDuration(d.Max) }

// check checks a duration. The example is for hints.
func (d Durations) check(c *Checker, at Spot, what string, is, example time.Duration, tool string) {
	switch {
	case is == 0 && d.Min > 0:
		c.wrong(at, "write, for example, "+FormatDuration(example), "%s must be longer than 0", what)
	case is > d.Max:
		c.wrong(at, "at most "+FormatDuration(d.Max), "%s %s is too long", what, FormatDuration(is))
	case is%d.Step != 0:
		c.wrong(at, "write, for example, "+FormatDuration(is.Truncate(d.Step)+d.Step),
			"%s %s: %s counts in steps of %s", what, FormatDuration(is), tool, FormatDuration(d.Step))
	case is < d.Min:
		c.wrong(at, "at least "+FormatDuration(d.Min), "%s %s is too short", what, FormatDuration(is))
	}
}

// Reply is how long a response can be.
type Reply int

// The rules for the length of a response.
const (
	// ReplyAny is any length within the limits of responses.
	ReplyAny Reply = iota
	// ReplySame is the length of the request.
	ReplySame
	// ReplyAtMostRequest is at most the length of the request.
	ReplyAtMostRequest
)

// RateUnit is what the key rate counts.
type RateUnit int

// The units of rates.
const (
	// NoRate says that there is no rate to choose.
	NoRate RateUnit = iota
	// BitRate is in bits per second.
	BitRate
	// EventRate is in requests or messages per second.
	EventRate
)

// RateLimits are the limits of an offered rate in its unit. A workload's rate is the sum over its connections. MinEach
// is the lowest rate of one connection. Every rate is a multiple of Step, if Step is not 0.
type RateLimits struct {
	Unit              RateUnit
	Min, Max, MinEach float64
	Step              float64
}

// text writes a rate in the unit.
func (l RateLimits) text(rate float64) string {
	if l.Unit == BitRate {
		return FormatRate(rate)
	}
	return FormatPerSecond(rate)
}

// check checks a rate.
func (l RateLimits) check(c *Checker, at Spot, rate float64, tool string) {
	switch {
	case rate < l.Min:
		c.wrong(at, "at least "+l.text(l.Min), "rate %s is too low", l.text(rate))
	case rate > l.Max:
		c.wrong(at, "at most "+l.text(l.Max), "rate %s is too high", l.text(rate))
	case l.Step != 0 && math.Mod(rate, l.Step) != 0:
		c.wrong(at, "write, for example, "+l.text(math.Ceil(rate/l.Step)*l.Step),
			"rate %s: %s counts in steps of %s", l.text(rate), tool, l.text(l.Step))
	}
}

// ToolCapability is a Capability with the tool that declares it.
type ToolCapability struct {
	Capability
	Tool string
	// protocols is how many protocols the tool has in this mode.
	protocols int
	// others are the tools that messages name for what this one cannot do.
	others Tools
}

// All lists the capabilities of all tools.
func (t Tools) All() []ToolCapability {
	var all []ToolCapability
	for _, tool := range t {
		for _, c := range tool.Does {
			protocols := 0
			for _, o := range tool.Does {
				if o.Mode == c.Mode {
					protocols++
				}
			}
			all = append(all, ToolCapability{c, tool.Name, protocols, t})
		}
	}
	return all
}

// Names lists the tools that nearfar runs.
func (t Tools) Names() []string {
	return t.Distinct(func(c ToolCapability) string { return c.Tool })
}

// Programs lists the programs that the tools run on the hosts, except nearfar itself.
func (t Tools) Programs() []string {
	var names []string
	for _, tool := range t {
		for _, program := range tool.Programs {
			if program != self && !slices.Contains(names, program) {
				names = append(names, program)
			}
		}
	}
	return names
}

// self is the program of the native tool.
const self = "nearfar"

// Modes lists the modes that the tool of this name has; with an empty name, those of all tools.
func (t Tools) Modes(tool string) []string {
	return t.Distinct(func(c ToolCapability) string {
		if tool != "" && c.Tool != tool {
			return ""
		}
		return c.Mode
	})
}

// Protocols lists the protocols that the tool of this name has in this mode; an empty name stands for all.
func (t Tools) Protocols(tool, mode string) []string {
	return t.Distinct(func(c ToolCapability) string {
		if tool != "" && c.Tool != tool || mode != "" && c.Mode != mode {
			return ""
		}
		return c.Protocol
	})
}

// Waits lists the ways of waiting that the tool of this name has in this mode.
func (t Tools) Waits(tool, mode string) []string {
	c, _ := t.Find(tool, mode, "")
	return c.Waits
}

// Find gives the first capability that fits; an empty mode or protocol fits any.
func (t Tools) Find(tool, mode, protocol string) (ToolCapability, bool) {
	return t.first(func(c ToolCapability) bool {
		return c.Tool == tool && (mode == "" || c.Mode == mode) && (protocol == "" || c.Protocol == protocol)
	})
}

// Beside gives the capability of backgrounds.
func (t Tools) Beside() (ToolCapability, bool) {
	return t.first(func(c ToolCapability) bool { return c.Beside })
}

func (t Tools) first(fits func(c ToolCapability) bool) (ToolCapability, bool) {
	all := t.All()
	if at := slices.IndexFunc(all, fits); at >= 0 {
		return all[at], true
	}
	return ToolCapability{}, false
}

// leastStamped is the length of the shortest response, in bytes, that has room for the server's timestamps.
func (c ToolCapability) leastStamped() int {
	if c.Protocol == UDP {
		return stampsSize + c.Response.Min
	}
	return stampsSize
}

// Widest takes every key, with limits that include those of all tools. It stands for an unknown tool, so that the other
// values of its workload are still checked.
func (t Tools) Widest() ToolCapability {
	w := ToolCapability{Capability: Capability{Numbers: map[string]Range{}}}
	for _, c := range t.All() {
		for _, sizes := range []Range{c.Request, c.Response, c.Message} {
			w.Request = w.Request.with(sizes)
		}
		for key, limits := range c.Numbers {
			w.Numbers[key] = w.Numbers[key].with(limits)
		}
		w.Buffers = w.Buffers.with(c.Buffers)
		w.Duration.Max = max(w.Duration.Max, c.Duration.Max)
		w.Warmup.Max = max(w.Warmup.Max, c.Warmup.Max)
		w.Interval.Max = max(w.Interval.Max, c.Interval.Max)
		w.Keys = append(w.Keys, c.Keys...)
		for _, wait := range c.Waits {
			if !slices.Contains(w.Waits, wait) {
				w.Waits = append(w.Waits, wait)
			}
		}
	}
	w.Response, w.Message = w.Request, w.Request
	for _, d := range []*Durations{&w.Duration, &w.Warmup, &w.Interval} {
		d.Min, d.Step = time.Nanosecond, time.Nanosecond
	}
	w.Warmup.Min, w.Warmup.Default = 0, time.Second
	return w
}

// String writes the capability as "native rr over tcp"; a tool that has the name of its mode is written as "ping".
func (c ToolCapability) String() string {
	if c.Tool == c.Mode {
		return c.Tool
	}
	return c.Tool + " " + c.Mode + " over " + c.Protocol
}

// Accepts says whether a key of a workload has a meaning here.
func (c ToolCapability) Accepts(name string) bool { return keyOf(name).IsTaken(c) }

// WhoTakes lists the tools and modes that take a key, as shortly as possible: "native" if a tool always takes it, "rr"
// if every tool takes it in this mode, "native stream" if a tool takes it over every protocol, else "iperf3 stream over
// udp".
func (t Tools) WhoTakes(name string) string {
	all, k := t.All(), keyOf(name)
	var who []string
	named := make([]bool, len(all))
	for i, c := range all {
		if named[i] || !k.IsTaken(c) {
			continue
		}
		for _, group := range []struct {
			name string
			has  func(o ToolCapability) bool
		}{
			{c.Tool, func(o ToolCapability) bool { return o.Tool == c.Tool }},
			{c.Mode, func(o ToolCapability) bool { return o.Mode == c.Mode }},
			{c.Tool + " " + c.Mode, func(o ToolCapability) bool { return o.Tool == c.Tool && o.Mode == c.Mode }},
			{c.String(), func(o ToolCapability) bool { return o.String() == c.String() }},
		} {
			if slices.ContainsFunc(all, func(o ToolCapability) bool { return group.has(o) && !k.IsTaken(o) }) {
				continue
			}
			who = append(who, group.name)
			for j, o := range all {
				named[j] = named[j] || group.has(o)
			}
			break
		}
	}
	return strings.Join(who, ", ")
}

// whatToolCan lists what a tool measures: "sockperf does rr over tcp, rr over udp".
func (t Tools) whatToolCan(tool string) string {
	var what []string
	for _, c := range t.All() {
		if c.Tool == tool {
			what = append(what, c.Mode+" over "+c.Protocol)
		}
	}
	return tool + " does " + strings.Join(what, ", ")
}

// Distinct collects a text of each capability, without empty ones and duplicates, in the order of the capabilities.
func (t Tools) Distinct(of func(ToolCapability) string) []string {
	var values []string
	for _, c := range t.All() {
		if v := of(c); v != "" && !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}

// sender names in messages what takes a size.
func (c ToolCapability) sender() string {
	if c.Tool == "" {
		return "a message"
	}
	return c.String()
}
