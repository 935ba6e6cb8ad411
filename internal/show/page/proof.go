package page

import (
	"maps"
	"slices"
	"strconv"

	"nearfar/internal/declare/check"
	"nearfar/internal/declare/result"
)

// Limits on what hosts said about themselves and about trials.
const (
	maxDiffers  = 500
	maxObserved = 200
	// maxObservedName is the limit for the name of what was observed, in bytes.
	maxObservedName = 200
	// maxProviderList is the limit for the lists in the answer of a provider.
	maxProviderList = 20
)

// Observed is something that was observed during a trial: a place, a counter, or the packets of a device. A side is
// empty if it is not known for that side.
type Observed struct {
	Name   string `json:"name"`
	Client string `json:"client"`
	Server string `json:"server"`
}

// outcomeOf is the worst outcome of a trial's expectations: refuted, then unknown. It is empty for a trial in which all
// were proved, or which has none.
func outcomeOf(t result.Trial) check.Outcome {
	var worst check.Outcome
	for _, j := range t.Expect {
		switch {
		case j.Outcome == check.Refuted:
			return check.Refuted
		case j.Outcome != check.Proved:
			worst = check.Unknown
		}
	}
	return worst
}

// judgements are the judgements of a trial's expectations.
func judgements(t result.Trial) []check.Judgement {
	all := []check.Judgement{}
	for _, j := range t.Expect {
		j.Expectation, j.Evidence = clippedExpectation(j.Expectation), clip(j.Evidence)
		all = append(all, j)
	}
	return all
}

// observed lists what was observed of both sides during a trial.
func observed(t result.Trial) []Observed {
	client, server := map[string]string{}, map[string]string{}
	if s := t.Observed; s != nil {
		flatten(client, "place", s.Client)
		flatten(server, "place", s.Server)
	}
	if s := t.Counters; s != nil {
		flatten(client, "counted", s.Client)
		flatten(server, "counted", s.Server)
	}
	if s := t.Wire; s != nil {
		flatten(client, "left the host", s.Client)
		flatten(server, "left the host", s.Server)
	}
	names := slices.AppendSeq(slices.Collect(maps.Keys(client)), maps.Keys(server))
	slices.Sort(names)
	all := []Observed{}
	for _, name := range slices.Compact(names) {
		if len(all) == maxObserved {
			break
		}
		all = append(all, Observed{Name: clipTo(name, maxObservedName), Client: clip(client[name]),
			Server: clip(server[name])})
	}
	return all
}

// flatten adds the values of a document under names with dots. The elements of a list are named by their name, or else
// by their number.
func flatten(into map[string]string, name string, of any) {
	if v, err := documentOf(of); err == nil {
		flattenValue(into, name, v)
	}
}

func flattenValue(into map[string]string, name string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			flattenValue(into, join(name, key), inner)
		}
	case []any:
		if text, plain := listed(v); plain {
			into[name] = text
			return
		}
		for i, item := range v {
			flattenValue(into, join(name, elementName(item, i)), item)
		}
	case nil:
	default:
		into[name] = scalar(v)
	}
}

// elementName is the name of an element of a list: what it calls itself, or its number from 1.
func elementName(item any, i int) string {
	if o, ok := item.(map[string]any); ok {
		if name, ok := o["name"].(string); ok && name != "" {
			delete(o, "name")
			return name
		}
	}
	return strconv.Itoa(i + 1)
}

// clippedExpectation is an expectation in which no text is longer than maxText.
func clippedExpectation(e check.Expectation) check.Expectation {
	e.Name, e.Path = clip(e.Name), clip(e.Path)
	if text, ok := e.Value.(string); ok {
		e.Value = clip(text)
	}
	return e
}
