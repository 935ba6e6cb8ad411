package schema

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/experiment"
)

// toolWords are what the schema says about the tools.
type toolWords struct{ experiment.Tools }

// at gives what stands in the schema in place of {{place}}. text/template would do it too, but a program that contains
// it keeps every exported method of every type, a quarter of its size, because a template can call any of them.
func (t toolWords) at(place string) (text string, known bool) {
	if key, found := strings.CutPrefix(place, "WhoTakes "); found {
		return t.WhoTakes(key), true
	}
	if span, found := strings.CutPrefix(place, "Keys "); found {
		first, last, _ := strings.Cut(span, " ")
		return t.keys(first, last), true
	}
	beside, _ := t.Beside()
	mode := func(c experiment.ToolCapability) string { return c.Mode }
	protocol := func(c experiment.ToolCapability) string { return c.Protocol }
	say, known := map[string]func() string{
		"Background":       beside.String,
		"BitRates":         t.BitRates,
		"BetterWords":      func() string { return inJSON(experiment.BetterWords()) },
		"CommandUnits":     func() string { return inJSON(experiment.CommandUnits()) },
		"Besides":          func() string { return listed(inBackgrounds, defined) },
		"ConnectionLimits": t.ConnectionLimits,
		"DefaultMessages":  t.DefaultMessages,
		"DefaultModes":     func() string { return t.defaults(mode, true) },
		"DefaultProtocols": func() string { return t.defaults(protocol, true) },
		"DefaultRequests":  t.DefaultRequests,
		"DefaultWarmups":   t.DefaultWarmups,
		"Definitions":      func() string { return listed(func(k experiment.Key) bool { return k.Defined }, t.schemaOf) },
		"Encapsulations":   func() string { return inJSON(check.Encapsulations()) },
		"Modes":            func() string { return inJSON(t.Modes("")) },
		"MostBeside":       func() string { return inJSON(beside.Numbers["connections"].Max) },
		"Names":            func() string { return inJSON(t.Names()) },
		"OnlyIPv4":         t.OnlyIPv4,
		"Places":           t.Places,
		"Protocols":        func() string { return inJSON(t.Protocols("", "")) },
		"Settings":         func() string { return listed(experiment.Key.Settable, inWorkloads) },
	}[place]
	if !known {
		return "", false
	}
	return say(), true
}

// listed writes the schema of the wanted keys as members of an object.
func listed(wanted func(k experiment.Key) bool, schema func(k experiment.Key) string) string {
	var all []string
	for _, k := range experiment.Keys() {
		if wanted(k) {
			all = append(all, inJSON(k.Name)+": {"+schema(k)+"}")
		}
	}
	return strings.Join(all, ", ")
}

// keys writes the keys of a workload from the first to the last.
func (t toolWords) keys(first, last string) string {
	names := experiment.WorkloadKeys()
	names = names[slices.Index(names, first) : slices.Index(names, last)+1]
	return listed(func(k experiment.Key) bool { return slices.Contains(names, k.Name) }, func(k experiment.Key) string {
		if k.Defined {
			return defined(k)
		}
		return t.schemaOf(k)
	})
}

// schemaOf is the schema of a key's values.
func (t toolWords) schemaOf(k experiment.Key) string {
	about := strings.ReplaceAll(k.About, "{{WhoTakes}}", "{{WhoTakes "+k.Name+"}}")
	return `"description": ` + inJSON(t.filled(about)) + ", " + k.Shape(t.Tools)
}

func inBackgrounds(k experiment.Key) bool { return k.Beside && k.Defined }

func defined(k experiment.Key) string { return `"$ref": "#/$defs/` + k.Name + `"` }

func inWorkloads(k experiment.Key) string {
	return `"$ref": "#/$defs/workload/properties/` + k.Name + `"`
}

// inJSON writes words, or a number.
func inJSON(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // texts and numbers always have a form
	}
	return string(text)
}

// Places describes the keys that say where each program is on a host, in the order of the programs.
func (t toolWords) Places() string {
	var all []string
	for _, program := range t.Programs() {
		all = append(all, fmt.Sprintf(`%s: {"description": %s, "$ref": "#/$defs/path"}`, inJSON(program),
			inJSON("Where "+program+" is on the host.")))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// OnlyIPv4 lists the tools that do not support IPv6.
func (t toolWords) OnlyIPv4() string {
	return strings.Join(t.Distinct(func(c experiment.ToolCapability) string {
		if c.OnlyIPv4 == "" {
			return ""
		}
		return c.Tool
	}), ", ")
}

// BitRates lists what takes a rate in bits per second.
func (t toolWords) BitRates() string {
	return strings.Join(t.Distinct(func(c experiment.ToolCapability) string {
		if c.Rate.Unit != experiment.BitRate {
			return ""
		}
		return c.String()
	}), ", ")
}

// DefaultRequests says which size a request has by default.
func (t toolWords) DefaultRequests() string {
	return t.defaults(func(c experiment.ToolCapability) string {
		if !c.Request.Taken() {
			return ""
		}
		if c.Mode == experiment.HTTP || c.Mode == experiment.App {
			return experiment.FormatSize(0)
		}
		return experiment.FormatSize(cmp.Or(c.DefaultRequest, experiment.DefaultRequest))
	}, false)
}

// DefaultMessages says which size a message has by default, where that is not the tool's own.
func (t toolWords) DefaultMessages() string {
	return t.group(func(c experiment.ToolCapability) string {
		if c.DefaultMessage == 0 {
			return ""
		}
		return experiment.FormatSize(c.DefaultMessage)
	}, " for ", "")
}

// DefaultWarmups says which warm-up each tool has by default.
func (t toolWords) DefaultWarmups() string {
	return t.defaults(func(c experiment.ToolCapability) string {
		switch {
		case !c.Warmup.Taken():
			return ""
		case c.Warmup.Default == 0:
			return "none"
		}
		return experiment.FormatDuration(c.Warmup.Default)
	}, false)
}

// ConnectionLimits says how many connections each mode of a tool can have: "1 to 128 (native stream), 1 to 1024
// (load)".
func (t toolWords) ConnectionLimits() string {
	return t.group(func(c experiment.ToolCapability) string {
		if limits := c.Numbers["connections"]; limits.Taken() {
			return limits.String()
		}
		return ""
	}, " (", ")")
}

// defaults writes the value of the first capability, and then each other value with its tools: "rr; stream for iperf3,
// ping for ping".
// With perTool only the first capability of each tool counts.
func (t toolWords) defaults(of func(experiment.ToolCapability) string, perTool bool) string {
	usual := ""
	others := map[string][]string{}
	var order, seen []string
	for _, c := range t.All() {
		value, tool := of(c), c.Tool
		if value == "" || perTool && slices.Contains(seen, tool) {
			continue
		}
		seen = append(seen, tool)
		switch {
		case usual == "":
			usual = value
		case value != usual && !slices.Contains(others[value], tool):
			if others[value] == nil {
				order = append(order, value)
			}
			others[value] = append(others[value], tool)
		}
	}
	if len(order) == 0 {
		return usual
	}
	var parts []string
	for _, value := range order {
		parts = append(parts, value+" for "+strings.Join(others[value], " and "))
	}
	return usual + "; " + strings.Join(parts, ", ")
}

// group writes each value with the tools and modes that have it: "1 to 128 (native stream, iperf3 stream)".
func (t toolWords) group(of func(experiment.ToolCapability) string, before, after string) string {
	who := map[string][]string{}
	for _, c := range t.All() {
		if value := of(c); value != "" && !slices.Contains(who[value], c.Tool+" "+c.Mode) {
			who[value] = append(who[value], c.Tool+" "+c.Mode)
		}
	}
	var parts []string
	for _, value := range t.Distinct(of) {
		parts = append(parts, value+before+strings.Join(who[value], ", ")+after)
	}
	return strings.Join(parts, ", ")
}

// table lists in Markdown what each tool measures, and the limits.
func table(t experiment.Tools) string {
	var b strings.Builder
	b.WriteString("| tool | measures | sizes | window | warm-up | connections | other keys |\n")
	b.WriteString("|---|---|---|---|---|---|---|\n")
	for _, c := range t.All() {
		fmt.Fprintf(&b, "| `%s` | %s over %s | %s | %s | %s | %s | %s |\n", c.Tool, c.Mode, c.Protocol,
			sizesText(c), windowText(c), warmupText(c), connectionsText(c), keysText(c))
	}
	return b.String()
}

func sizeRange(r experiment.Range) string {
	return experiment.FormatSize(r.Min) + " to " + experiment.FormatSize(r.Max)
}

func sizesText(c experiment.ToolCapability) string {
	var parts []string
	switch {
	case !c.Request.Taken():
	case !c.Response.Taken():
		parts = append(parts, "`request` "+sizeRange(c.Request))
	case c.Reply == experiment.ReplySame:
		parts = append(parts, "`request` "+sizeRange(c.Request)+"; `response` as long as the request")
	case c.Reply == experiment.ReplyAtMostRequest:
		parts = append(parts,
			"`request`, `response` "+sizeRange(c.Request)+"; `response` at most as long as the request")
	default:
		parts = append(parts, "`request`, `response` "+sizeRange(c.Request))
	}
	if c.Message.Taken() {
		parts = append(parts, "`message` "+sizeRange(c.Message))
	}
	if limits := c.Numbers["batch"]; limits.Taken() {
		parts = append(parts, fmt.Sprintf("`batch` %s, of %s together", limits, experiment.FormatSize(c.BatchBytes)))
	}
	return strings.Join(parts, "; ")
}

func windowText(c experiment.ToolCapability) string {
	if c.Duration.Min == c.Duration.Step && c.Duration.Step == time.Second {
		return "whole seconds, to " + experiment.FormatDuration(c.Duration.Max)
	}
	text := c.Duration.String()
	if c.Duration.Min != c.Duration.Step {
		text += ", in steps of " + experiment.FormatDuration(c.Duration.Step)
	}
	if c.Interval.Taken() {
		text += fmt.Sprintf("; 1 to %d intervals of %s", c.MaxIntervals, c.Interval)
	}
	return text
}

func warmupText(c experiment.ToolCapability) string {
	if !c.Warmup.Taken() {
		return ""
	}
	return c.Warmup.String()
}

func connectionsText(c experiment.ToolCapability) string {
	if limits := c.Numbers["connections"]; limits.Taken() {
		return limits.String()
	}
	return "1"
}

// keysText lists the keys that have no column of their own.
func keysText(c experiment.ToolCapability) string {
	var keys []string
	for _, k := range experiment.Keys() {
		if k.General || k.Column || !k.IsTaken(c) {
			continue
		}
		text := "`" + k.Name + "`"
		if k.Limits != nil {
			text += k.Limits(c)
		}
		keys = append(keys, text)
	}
	if c.OnlyIPv4 != "" {
		keys = append(keys, "no IPv6")
	}
	return strings.Join(keys, ", ")
}
