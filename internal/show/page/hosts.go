package page

import (
	"encoding/json"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"nearfar/internal/conclude/answer/environment"
	"nearfar/internal/declare/result"
)

// maxFacts is the largest number of facts on the page.
const maxFacts = 2000

// hosts collects the facts about the hosts: of the run, of single arms, and those that the tools found.
func (c *collector) hosts() Hosts {
	f := &facts{collector: c, arms: map[string][]string{}}
	if len(c.manifest.Hosts) > 0 {
		if v, err := decoded(c.manifest.Hosts); err == nil {
			if all, ok := v.(map[string]any); ok {
				delete(all, "facts") // too many to read; the answer says which of them differ
			}
			f.walk("", v, -1, 0)
		}
	}
	h := Hosts{Run: f.run, Arms: []ArmFact{}, Trials: []ArmFact{}, Varying: []string{}}
	if h.Run == nil {
		h.Run = []Fact{}
	}
	for _, name := range f.order {
		h.Arms = append(h.Arms, c.armFact(-1, name, f.arms[name]))
	}
	if f.left > 0 {
		c.note("%d facts of the hosts are not on the page: see run.json", f.left)
	}
	c.trialFacts(&h)
	return h
}

// facts flattens the JSON that the host kind recorded in run.json, whatever its keys are: nested objects become names
// with dots. An object with a key "arm" holds facts of that arm. If all keys of an object are names of arms, each entry
// holds facts of the arm that is its key.
type facts struct {
	collector *collector
	run       []Fact
	arms      map[string][]string
	order     []string
	left      int
}

func (f *facts) walk(name string, v any, arm, depth int) {
	if depth > 12 {
		f.left++
		return
	}
	switch v := v.(type) {
	case map[string]any:
		if own, ok := v["arm"].(string); ok && arm < 0 {
			if i, known := f.collector.arms[own]; known {
				arm = i
			}
		}
		byArm := arm < 0 && f.allArms(v)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			below := arm
			inner := key
			if byArm {
				below, inner = f.collector.arms[key], ""
			} else if key == "arm" && arm >= 0 {
				continue
			}
			f.walk(join(name, inner), v[key], below, depth+1)
		}
	case []any:
		if text, plain := listed(v); plain {
			f.add(name, text, arm)
			return
		}
		for i, item := range v {
			inner := ""
			if arm >= 0 {
				inner = strconv.Itoa(i)
			}
			if o, ok := item.(map[string]any); ok && arm < 0 {
				if own, named := o["arm"].(string); !named {
					inner = strconv.Itoa(i)
				} else if _, known := f.collector.arms[own]; !known {
					inner = strconv.Itoa(i)
				}
			}
			f.walk(join(name, inner), item, arm, depth+1)
		}
	case nil:
	default:
		f.add(name, scalar(v), arm)
	}
}

// allArms says whether every key of an object is the name of an arm.
func (f *facts) allArms(v map[string]any) bool {
	for key := range v {
		if _, known := f.collector.arms[key]; !known {
			return false
		}
	}
	return len(v) > 0
}

func (f *facts) add(name, value string, arm int) {
	if len(f.run)+len(f.order) >= maxFacts {
		f.left++
		return
	}
	value = clip(value)
	if arm < 0 {
		f.run = append(f.run, Fact{Name: clip(name), Value: value})
		return
	}
	name = clip(name)
	values, known := f.arms[name]
	if !known {
		values = make([]string, len(f.collector.experiment.Arms))
		f.order = append(f.order, name)
	}
	values[arm] = value
	f.arms[name] = values
}

func join(name, inner string) string {
	if name == "" || inner == "" {
		return name + inner
	}
	return name + "." + inner
}

// listed joins a list of plain values; false if the list holds objects or lists.
func listed(items []any) (string, bool) {
	var words []string
	for _, item := range items {
		switch item.(type) {
		case map[string]any, []any:
			return "", false
		}
		words = append(words, scalar(item))
	}
	return strings.Join(words, ", "), true
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case json.Number:
		return v.String()
	}
	return ""
}

// own says whether a fact differs between any two arms, because it identifies the arm's own hosts or counts their
// packets. Its name shows this, or that all of its values are addresses. For facts that tools found (of a workload),
// only the values count.
func own(workload int, name string, values []string) bool {
	if workload < 0 && !environment.ArmFactMatters(name) {
		return true
	}
	known := 0
	for _, v := range values {
		if v == "" {
			continue
		}
		if !address(v) {
			return false
		}
		known++
	}
	return known > 0
}

// address says whether a text is an IP or MAC address. An IP address may have a port or a prefix length.
func address(text string) bool {
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	if _, err := netip.ParseAddrPort(text); err == nil {
		return true
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		return true
	}
	_, err := net.ParseMAC(text)
	return err == nil
}

func (c *collector) armFact(workload int, name string, values []string) ArmFact {
	fact := ArmFact{Workload: workload, Name: name, Values: values, Own: own(workload, name, values)}
	for _, v := range values {
		fact.Differs = fact.Differs || v != values[0]
	}
	return fact
}

// seeFacts notes the facts of a good trial, by workload, name and arm.
func (c *collector) seeFacts(workload, arm int, t *result.Trial) {
	if t.Error != "" {
		return
	}
	c.ran[workload][arm] = true
	values := c.facts[workload]
	note := func(name, value string) {
		of := values[name]
		if of == nil {
			of = make([]string, len(c.experiment.Arms))
			values[name] = of
		}
		switch known := of[arm]; {
		case known == "":
			of[arm] = clip(value)
		case known != clip(value):
			c.varying[name] = true
		}
	}
	for name, value := range t.Facts {
		note(name, value)
	}
	for name, value := range t.Treatment { // the facts that prove that the kernel applied the trial's settings
		if _, known := t.Facts[name]; !known {
			note(name, value)
		}
	}
}

// trialFacts collects the facts that the tools found, if they are equal in all trials of an arm. If all trials of an
// arm failed, its value stays empty and does not count as a difference.
func (c *collector) trialFacts(h *Hosts) {
	varying := c.varying
	for w := range c.experiment.Workloads {
		values, ran := c.facts[w], c.ran[w]
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if varying[name] {
				continue
			}
			if len(h.Trials) >= maxFacts {
				c.note("some facts of the trials are only in their records")
				break
			}
			fact := ArmFact{Workload: w, Name: name, Values: values[name], Own: own(w, name, values[name])}
			first := slices.Index(ran, true)
			for arm, v := range fact.Values {
				fact.Differs = fact.Differs || ran[arm] && v != fact.Values[first]
			}
			h.Trials = append(h.Trials, fact)
		}
	}
	// A fact that varies in one workload is left out for all workloads.
	h.Trials = slices.DeleteFunc(h.Trials, func(f ArmFact) bool { return varying[f.Name] })
	h.Varying = append(h.Varying, slices.Sorted(maps.Keys(varying))...)
}
