package page

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"nearfar/internal/conclude/answer"
	"nearfar/internal/declare/check"
	"nearfar/internal/declare/result"
)

// Limits on what hosts said about themselves and about trials.
const (
	maxDiffers  = 500
	maxObserved = 200
	// maxObservedName is the limit for the name of what was observed, in bytes.
	maxObservedName = 200
)

// Judgement says whether an expectation held in a trial.
type Judgement struct {
	check.Expectation
	Outcome  check.Outcome `json:"outcome"`
	Evidence string        `json:"evidence"`
}

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
func judgements(t result.Trial) []Judgement {
	all := []Judgement{}
	for _, j := range t.Expect {
		all = append(all, Judgement{clippedExpectation(j.Expectation), j.Outcome, clip(j.Evidence)})
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
	data, err := json.Marshal(of)
	if err != nil {
		return
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return
	}
	flattenValue(into, name, v)
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

// clipProof bounds what the answer says about proofs, places and differences between hosts.
func clipProof(a *answer.Answer) {
	a.Unproved, a.Unverified = clip(a.Unproved), clip(a.Unverified)
	a.Proof = slices.Clone(a.Proof)
	for i := range a.Proof {
		p := &a.Proof[i]
		p.Expectations = listOf(p.Expectations)
		for k := range p.Expectations {
			e := &p.Expectations[k]
			e.Expectation, e.Evidence = clippedExpectation(e.Expectation), clip(e.Evidence)
		}
	}
	a.Places = slices.Clone(a.Places)
	for i := range a.Places {
		p := &a.Places[i]
		p.Client, p.Server = clippedPlaces(p.Client), clippedPlaces(p.Server)
	}
	a.ProviderAnswers = slices.Clone(a.ProviderAnswers)
	for i := range a.ProviderAnswers {
		p := &a.ProviderAnswers[i]
		p.Cloud, p.Instance = clip(p.Cloud), clip(p.Instance)
		p.Provider = clippedProvider(p.Provider)
	}
	a.Differs = slices.Clone(a.Differs[:min(len(a.Differs), maxDiffers)])
	for i := range a.Differs {
		d := &a.Differs[i]
		d.Fact, d.Name, d.Baseline, d.Value = clip(d.Fact), clip(d.Name), clip(d.Baseline), clip(d.Value)
	}
}

// maxProviderList is the limit for the lists in the answer of a provider.
const maxProviderList = 20

// clippedProvider is the answer of a provider in which no text is longer than maxText.
func clippedProvider(p check.Provider) check.Provider {
	clippedList := func(list []string) []string {
		list = slices.Clone(list[:min(len(list), maxProviderList)])
		for i := range list {
			list[i] = clip(list[i])
		}
		return list
	}
	p.Commands, p.NetworkNodes = clippedList(p.Commands), clippedList(p.NetworkNodes)
	if p.Group != nil {
		group := clip(*p.Group)
		p.Group = &group
	}
	p.Strategy, p.State, p.PhysicalHost = clip(p.Strategy), clip(p.State), clip(p.PhysicalHost)
	p.Configured = clip(p.Configured)
	p.Colocation, p.GroupColocation, p.Problem = clip(p.Colocation), clip(p.GroupColocation), clip(p.Problem)
	p.Topology = clippedTopology(p.Topology)
	return p
}

// clippedTopology is clipped for a physical topology; nil stays nil.
func clippedTopology(t *check.Topology) *check.Topology {
	if t == nil {
		return nil
	}
	return &check.Topology{Cluster: clip(t.Cluster), Block: clip(t.Block), Subblock: clip(t.Subblock),
		Host: clip(t.Host)}
}

func clippedPlaces(all []check.Place) []check.Place {
	all = listOf(all)
	for i := range all {
		p := &all[i]
		for _, text := range []*string{&p.Host, &p.Node, &p.BootID, &p.Kernel, &p.Model, &p.Device, &p.Driver} {
			*text = clip(*text)
		}
		if p.Where == nil {
			continue
		}
		w := *p.Where
		for _, text := range []*string{
			&w.Cloud, &w.InstanceID, &w.Name, &w.ResourceID, &w.InstanceType, &w.Region, &w.Zone, &w.ZoneID,
			&w.Account, &w.FaultDomain, &w.UpdateDomain, &w.ScaleSetGroup, &w.Partition, &w.Host, &w.Problem} {
			*text = clip(*text)
		}
		if w.PlacementGroup != nil {
			group := clip(*w.PlacementGroup)
			w.PlacementGroup = &group
		}
		w.Topology = clippedTopology(w.Topology)
		p.Where = &w
	}
	return all
}
