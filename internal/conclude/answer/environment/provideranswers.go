package environment

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"nearfar/internal/declare/check"
)

// ProviderAnswer is what the provider of a cloud answered about a host of an arm (`ask_providers` in the experiment
// file). The evidence of expectations comes from it.
type ProviderAnswer struct {
	Arm string `json:"arm"`
	// Side is "client" or "server".
	Side string `json:"side"`
	// Deployments are those in which the provider gave this answer, if the schedule makes the hosts several times.
	Deployments []int `json:"deployments,omitempty"`
	// Cloud and Instance name the machine, by its metadata service.
	Cloud    string `json:"cloud,omitempty"`
	Instance string `json:"instance,omitempty"`
	// Provider is the answer.
	Provider check.Provider `json:"provider"`
}

// maxProviderAnswers bounds the list: each deployment of each arm can add two.
const maxProviderAnswers = 400

// providerAnswers lists what the providers answered, by arm and side. An answer that several deployments share is one
// entry.
func providerAnswers(in Run) (all []ProviderAnswer) {
	facts := readFacts(in.Hosts)
	several := in.Experiment.Schedule.Deployments > 1
	for _, arm := range in.Experiment.Arms {
		for _, side := range []string{sideClient, sideServer} {
			of := facts[arm.Name+"/"+side]
			first := len(all)
			for _, deployment := range slices.Sorted(maps.Keys(of)) {
				f := of[deployment]
				if f.Provider == nil {
					continue
				}
				a := ProviderAnswer{Arm: arm.Name, Side: side, Provider: *f.Provider}
				if f.Where != nil {
					a.Cloud, a.Instance = f.Where.Cloud, cmp.Or(f.Where.Name, f.Where.InstanceID)
				}
				at := slices.IndexFunc(all[first:], a.same)
				if at < 0 {
					if len(all) == maxProviderAnswers {
						return all
					}
					at = len(all) - first
					all = append(all, a)
				}
				if several {
					all[first+at].Deployments = append(all[first+at].Deployments, deployment)
				}
			}
		}
	}
	return all
}

// same reports whether two answers differ at most in their deployments.
func (a ProviderAnswer) same(b ProviderAnswer) bool {
	a.Deployments, b.Deployments = nil, nil
	return reflect.DeepEqual(a, b)
}

// Text is the answer in a line: "group pg-1, strategy cluster, state available". It does not name the machine.
func (a ProviderAnswer) Text() string {
	var parts []string
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+" "+value)
		}
	}
	p := a.Provider
	switch {
	case p.Group == nil:
	case *p.Group == "":
		parts = append(parts, "in no group")
	default:
		add("group", *p.Group)
	}
	add("strategy", p.Strategy)
	add("state", p.State)
	add("colocation of the group", p.GroupColocation)
	add("colocation of the machine", p.Colocation)
	add("network nodes", strings.Join(p.NetworkNodes, " "))
	parts = append(parts, p.Topology.Parts()...)
	add("physical host", p.PhysicalHost)
	if state := p.AcceleratedState(); state != "" {
		add("accelerated networking configured", state+" for "+cmp.Or(p.Configured, "the machine"))
	}
	if p.Problem != "" {
		parts = append(parts, "unknown: "+p.Problem)
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}
